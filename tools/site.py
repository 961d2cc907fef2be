#!/usr/bin/env python3
"""site.py OUT: the documentation as a site, in the folder OUT (make site).

The pages are those of docs/, README as the first one, and the READMEs of other folders that they lead to. Their links are
those of the repository; here they are turned to where things are on the site: a page, or a copy of a file. The C++
reference of Doxygen goes in as it is, if build/docs/cpp has it.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAGE = ROOT / "build/site-pages"
ELSEWHERE = ("http:", "https:", "mailto:")
LINK = re.compile(r"(\]\(|(?:src|href)=\")([^)\s\"]+)")
CODE = re.compile(r"(^```.*?^```|`[^`\n]*`)", re.M | re.S)

NAVIGATION = {
    "Start": ["README.md", "docs/install.md", "docs/neighbours.md", "docs/stability.md", "CHANGELOG.md"],
    "Use": ["docs/command-line.md", "docs/data.md", "docs/streaming.md", "docs/serve.md", "docs/fleet.md", "docs/forecasting.md",
            "docs/losses.md", "docs/intervals.md", "docs/classes.md", "docs/anomalies.md", "docs/monitoring.md", "docs/robustness.md", "docs/snapshots.md", "docs/batches.md"],
    "Notebooks": ["docs/notebooks/first-steps.md", "docs/notebooks/forecasting.md", "docs/notebooks/sensor-drift.md",
                  "docs/notebooks/the-paper.md"],
    "Languages": ["docs/python.md", "docs/c-api.md", "docs/bindings.md", "bindings/rust/README.md", "bindings/go/README.md",
                  "bindings/node/README.md"],
    "References": ["docs/cli-reference.md", "docs/python-reference.md", "docs/cpp-reference.md"],
    "How it works": ["docs/auto.md", "docs/auto-results.md", "docs/kernels.md", "docs/trees.md", "docs/architecture.md", "docs/non-goals.md", "docs/notation.md", "docs/defaults.md", "docs/presets.md",
                     "docs/noise-floor.md", "docs/decisions/*.md"],
    "Figures": ["docs/performance.md", "docs/forecasting-results.md", "docs/reproduction.md", "bench/river/README.md",
                "bench/peers/README.md", "experiments/forecast/README.md"],
    "Help with it": ["CONTRIBUTING.md", "tests/corpus/README.md", "page/README.md"],
}
WRITTEN_HERE = {
    "docs/python-reference.md": "# Python reference\n\nOut of the package itself. [python.md](python.md) explains it by examples.\n\n"
                                + "".join(f"::: kalstream{module}\n    options: {{show_root_heading: true}}\n\n"
                                          for module in ("", ".river", ".sklearn", ".plot")),
}


def place_of(page):
    """Where a page of the repository is on the site."""
    if page == "README.md":
        return "index.md"
    return page.removeprefix("docs/") if page.startswith("docs/") else page.replace("README.md", "about.md").lower()


def all_pages():
    named = [found for pages in NAVIGATION.values() for name in pages
             for found in ([name] if name in WRITTEN_HERE else sorted(str(p.relative_to(ROOT)) for p in ROOT.glob(name)))]
    rest = sorted(f"docs/{path.relative_to(ROOT / 'docs')}" for path in (ROOT / "docs").rglob("*.md"))
    forgotten = [page for page in rest if page not in named]
    if forgotten:
        sys.exit(f"site.py: say in NAVIGATION where these go: {', '.join(forgotten)}")
    return named


def turned(text, page, pages):
    """A page's text with links that lead to places on the site."""
    here = pathlib.Path(page).parent
    start = pathlib.Path(place_of(page)).parent

    def link(found):
        before, target = found.groups()
        path, mark, anchor = target.partition("#")
        if target.startswith(ELSEWHERE) or not path:
            return found[0]
        file = os.path.normpath(here / urllib.parse.unquote(path))
        if file not in pages and f"{file}/README.md" in pages:
            file += "/README.md"
        if file in pages:
            goal = place_of(file)
        elif (ROOT / file).is_file():
            goal = file.removeprefix("docs/") if file.startswith("docs/") else f"source/{file}"
            (STAGE / goal).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / file, STAGE / goal)
        else:  # a folder: the site has files alone
            goal = place_of("docs/architecture.md")
            anchor = ""
        return before + os.path.relpath(goal, start) + (mark + anchor if anchor else "")

    parts = CODE.split(text)
    return "".join(part if k % 2 else LINK.sub(link, part) for k, part in enumerate(parts))


def stage_package():
    """The Python package with the examples of its docstrings as Markdown has code, for the reference."""
    folder = STAGE.with_name("site-package")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(ROOT / "python/src/kalstream", folder / "kalstream", ignore=shutil.ignore_patterns("__pycache__"))
    example = re.compile(r"^( *)>>> .*\n(?:\1(?!\"\"\").+\n)*", re.M)  # up to an empty line or the docstring's end
    for path in (folder / "kalstream").glob("*.py"):
        path.write_text(example.sub(lambda found: f"{found[1]}```python\n{found[0]}{found[1]}```\n", path.read_text()))
    return folder


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    shutil.rmtree(STAGE, ignore_errors=True)
    pages = all_pages()
    for page in pages:
        text = WRITTEN_HERE.get(page) or (ROOT / page).read_text()
        target = STAGE / place_of(page)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(turned(text, page, set(pages)))
    for figure in (ROOT / "docs").rglob("*.*"):  # pictures, also those that HTML names
        if figure.suffix in (".svg", ".png", ".ipynb"):
            target = STAGE / figure.relative_to(ROOT / "docs")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(figure, target)
    if (ROOT / "build/docs/cpp").exists():
        shutil.copytree(ROOT / "build/docs/cpp", STAGE / "cpp")
        with open(STAGE / "cpp-reference.md", "a") as reference:
            reference.write("\n[All classes and functions](cpp/annotated.html) · [the headers](cpp/files.html)\n")

    navigation = "nav:\n"
    for section, names in NAVIGATION.items():
        navigation += f"  - {section}:\n"
        for name in names:
            for page in [name] if name in WRITTEN_HERE else sorted(str(p.relative_to(ROOT)) for p in ROOT.glob(name)):
                navigation += f"    - {place_of(page)}\n"
    configuration = STAGE.with_suffix(".yml")
    configuration.write_text((ROOT / "docs/mkdocs.yml").read_text().replace("PACKAGE", str(stage_package())) + navigation + f"docs_dir: {STAGE}\nsite_dir: {out}\n")
    subprocess.run([sys.executable, "-m", "mkdocs", "build", "--clean", "--strict", "--quiet", "-f", configuration],
                   check=True, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"})
    (out / "404.html").unlink()  # its links hold at the root of a server alone
    print(f"The site: {out}/index.html")


main()
