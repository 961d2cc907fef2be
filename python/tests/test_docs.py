"""The documentation keeps up with the program, and its links and examples with it."""

import doctest
import importlib.util
import pathlib
import re
import shutil

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tool(name):
    spec = importlib.util.spec_from_file_location(name.replace("-", "_"), ROOT / f"tools/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_command_line_reference_is_up_to_date(program):
    reference = tool("cli-reference")
    assert reference.PAGE.read_text() == reference.page(program.path), "make docs"


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or not shutil.which("git"), reason="no git, or no repository"
)
def test_no_link_leads_nowhere():
    assert tool("check-links").main([]) == 0


def test_links_that_lead_nowhere_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# One heading\n[a](#one-heading) [b](#two) [c](none.md) `[d](none.md)` [e](page.md#one-heading)\n"
    )
    assert [link for _, link, _ in tool("check-links").broken([page])] == ["#two", "none.md"]


def python_blocks(path):
    return re.findall(r"^```python\n(.*?)^```", path.read_text(), re.M | re.S)


@pytest.mark.parametrize("name", ["docs/python.md"])
def test_examples_run_as_they_stand(name, tmp_path, monkeypatch):
    """The blocks of a page, in their order, as one program."""
    for module in ("river", "sklearn", "pandas", "matplotlib"):
        pytest.importorskip(module)
    import matplotlib

    matplotlib.use("Agg")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "__main__"}
    for block in python_blocks(ROOT / name):
        if "Client(" in block:
            continue  # these need a server: test_client.py
        if ">>>" in block:
            runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
            example = doctest.DocTestParser().get_doctest(block, names, name, name, 0)
            assert runner.run(example, clear_globs=False).failed == 0
            names.update(example.globs)
        else:
            exec(compile(block, name, "exec"), names)
    matplotlib.pyplot.close("all")


def test_the_readme_shows_lines_that_run():
    blocks = python_blocks(ROOT / "README.md")
    if not blocks:
        pytest.skip("README.md shows no Python yet")
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {"__name__": "__main__"})
