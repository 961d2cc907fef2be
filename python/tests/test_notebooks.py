"""The notebooks of docs/ run as they stand."""

import importlib.util
import pathlib

import pytest

pytest.importorskip("matplotlib")

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("render", ROOT / "tools/render-notebooks.py")
render = importlib.util.module_from_spec(spec)
spec.loader.exec_module(render)


@pytest.mark.parametrize("path", sorted(render.NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_notebook(path):
    names = {"__name__": "__main__"}
    rendered = path.with_suffix(".md").read_text()
    for kind, source in render.cells(path):
        if kind == "code":
            render.execute(source, names)
        assert source in rendered, "run tools/render-notebooks.py"
    render.plt.close("all")
