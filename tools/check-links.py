#!/usr/bin/env python3
"""Finds links that lead nowhere: in the Markdown of this tree, and in HTML pages of folders that are named.

    tools/check-links.py [FOLDER ...]

Links to other places on the net are not followed.
"""

import html.parser
import pathlib
import re
import subprocess
import sys
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[1]
ELSEWHERE = ("http:", "https:", "mailto:", "javascript:", "data:")


def anchors_in_markdown(text):
    """As GitHub names headings."""
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", without_code(text), re.M):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
        found.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return found


def without_code(text):
    return re.sub(r"^```.*?^```", "", text, flags=re.M | re.S)


def links_in_markdown(text):
    text = re.sub(r"`[^`\n]*`", "", without_code(text))
    return re.findall(r"\]\(([^)\s]+)(?: \"[^\"]*\")?\)", text) + re.findall(r"(?:src|href)=\"([^\"]+)\"", text)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name in ("href", "src") and value:
                self.links.append(value)
            elif name in ("id", "name") and value:
                self.anchors.add(value)


def broken(files):
    anchors = {}

    def has_anchor(path, anchor):
        if path not in anchors:
            text = path.read_text(errors="replace")
            anchors[path] = anchors_in_markdown(text) if path.suffix == ".md" else Page(text).anchors
        return anchor in anchors[path]

    for file in files:
        text = file.read_text(errors="replace")
        for link in links_in_markdown(text) if file.suffix == ".md" else Page(text).links:
            if link.startswith(ELSEWHERE):
                continue
            path, _, anchor = urllib.parse.unquote(link).partition("#")
            target = (file.parent / path).resolve() if path else file
            if not target.exists():
                yield file, link, "no such file"
            elif anchor and target.suffix in (".md", ".html") and not has_anchor(target, anchor):
                yield file, link, "no such heading"


def main(folders):
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=ROOT, text=True)
    files = [ROOT / name for name in listed.split() if (ROOT / name).exists()]
    for folder in folders:
        files += pathlib.Path(folder).rglob("*.html")
    count = 0
    for file, link, why in broken(files):
        print(f"{file}: {link}: {why}")
        count += 1
    return count


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
