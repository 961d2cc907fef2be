"""The package as such: types, documentation, import."""

import ast
import doctest
import importlib
import inspect
import pathlib
import subprocess
import sys

import pytest

import kalstream
from kalstream import _core

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(kalstream.__file__).parent
MODULES = ["kalstream", "kalstream._learner", "kalstream._evaluation", "kalstream._many", "kalstream._streams"]
OPTIONAL = {"kalstream.river": "river", "kalstream.sklearn": "sklearn", "kalstream.plot": "matplotlib"}


@pytest.mark.parametrize("name", MODULES + list(OPTIONAL))
def test_examples_in_docstrings(name):
    if name in OPTIONAL:
        pytest.importorskip(OPTIONAL[name])
    module = importlib.import_module(name)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testmod(module, extraglobs={"kalstream": kalstream}, optionflags=flags)
    assert failed == 0 and tried > 0


def test_only_numpy_is_imported():
    """Whoever does without river, scikit-learn or matplotlib does not pay for them."""
    code = "import sys, kalstream; print([m for m in ('river', 'sklearn', 'pandas', 'matplotlib') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_stubs_are_complete():
    stub = ast.parse((PACKAGE / "_core.pyi").read_text())
    named = {node.name: node for node in stub.body if hasattr(node, "name")}
    public = {name for name in dir(_core) if not name.startswith("_")}
    assert public == set(named)
    for name in ("Learner", "Report"):
        members = {node.name for node in named[name].body if hasattr(node, "name")}
        assert {m for m in vars(getattr(_core, name)) if not m.startswith("_")} == {m for m in members if not m.startswith("_")}


def test_typed():
    assert (PACKAGE / "py.typed").exists()


def test_everything_public_is_explained():
    for name in kalstream.__all__:
        thing = getattr(kalstream, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert inspect.getdoc(thing)


@pytest.mark.slow
def test_types():
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", ROOT / "pyproject.toml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout
