#!/usr/bin/env python3
"""Runs the notebooks in docs/notebooks and writes what they show as Markdown beside them.

    PYTHONPATH=build/release/python build/python-venv/bin/python tools/render-notebooks.py [NAME ...]

Cells are plain Python, so no notebook server is needed. The last expression of a cell is shown, unless a semicolon
ends it, and so is every figure that the cell drew.
"""

import ast
import contextlib
import io
import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

NOTEBOOKS = pathlib.Path(__file__).resolve().parents[1] / "docs/notebooks"


def execute(source, names):
    """Runs a cell; gives what it printed and, as text, the value of its last expression."""
    tree = ast.parse(source)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(tree.body.pop().value)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "cell", "exec"), names)
        value = None if last is None else eval(compile(last, "cell", "eval"), names)
    text = printed.getvalue()
    if value is not None and not isinstance(value, (matplotlib.axes.Axes, list)):
        text += repr(value)
    return text.rstrip()


def cells(path):
    return [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text())["cells"]]


def render(path):
    names = {"__name__": "__main__"}
    lines = [f"<!-- Written by tools/render-notebooks.py from {path.name}. -->", ""]
    figures = 0
    for kind, source in cells(path):
        if kind == "markdown":
            lines += [source, ""]
            continue
        text = execute(source, names)
        lines += ["```python", source, "```", ""]
        if text:
            lines += ["```", text, "```", ""]
        for number in plt.get_fignums():
            figures += 1
            name = f"{path.stem}-{figures}.png"
            plt.figure(number).savefig(path.parent / name, dpi=90, metadata={"Software": None})
            lines += [f"![Figure {figures}]({name})", ""]
        plt.close("all")
    path.with_suffix(".md").write_text("\n".join(lines).rstrip() + "\n")


if __name__ == "__main__":
    for one in sorted(NOTEBOOKS.glob("*.ipynb")):
        if not sys.argv[1:] or one.stem in sys.argv[1:]:
            print(one.name)
            render(one)
