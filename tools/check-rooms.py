#!/usr/bin/env python3
"""Checks that the rooms (folders of src/) include only what their CMake targets link.

    tools/check-rooms.py [--graph]

The links in CMake are the graph of the project: a file may include a header of its own target, and of every target
that this one links, directly or through others. Public headers (kalstream/...) may be included everywhere; unit
tests may include everything. The graph must have no cycles. --graph prints it.

CMake files are read, not run: both branches of an if() count, and variables that they do not set are left alone.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CMAKE = ["cmake/Page.cmake", "src/CMakeLists.txt", "src/*/CMakeLists.txt", "apps/*/CMakeLists.txt",
         "experiments/CMakeLists.txt", "bench/CMakeLists.txt", "python/CMakeLists.txt"]
MAKES_TARGET = {"add_library", "add_executable", "nanobind_add_module", "target_sources", "kalstream_module"}
FOR_EACH_WORDS = {"IN", "LISTS", "ITEMS", "RANGE"}


def commands_of(file):
    """(name, arguments) of every command of a CMake file."""
    text = re.sub(r"#.*", "", file.read_text())
    for name, inside in re.findall(r"(\w+)\s*\(((?:\"[^\"]*\"|\$<[^>]*>|\([^()]*\)|[^()\"])*)\)", text):
        yield name, [word.strip('"') for word in re.findall(r'"[^"]*"|[^\s"]+', inside)]


class Graph:
    """The targets: what each links, and the files that it compiles."""

    def __init__(self):
        self.links = {}    # target -> names of targets
        self.sources = {}  # target -> paths of files
        self.where = {}    # target -> the CMake file that makes it
        for file in sorted(path for pattern in CMAKE for path in ROOT.glob(pattern)):
            self.read(list(commands_of(file)), file, {"PROJECT_SOURCE_DIR": [str(ROOT)]})
        self.known = {target: self.all_linked(target) for target in self.links}

    def read(self, commands, file, variables):
        while commands:
            name, words = commands.pop(0)
            words = [part for word in words for part in self.expanded(word, variables)]
            if name == "foreach":
                body, depth = [], 1
                while depth > 0:
                    body.append(commands.pop(0))
                    depth += {"foreach": 1, "endforeach": -1}.get(body[-1][0], 0)
                for value in self.values(words[1:], variables):
                    self.read(body[:-1], file, variables | {words[0]: [value]})
            elif name == "set" and words:
                variables[words[0]] = words[1:]
            elif name == "list" and words[0] == "TRANSFORM" and words[2] == "PREPEND":
                variables[words[1]] = [words[3] + value for value in variables.get(words[1], [])]
            elif name == "file" and words[0] == "GLOB":
                patterns = [word for word in words[2:] if "*" in word]
                variables[words[1]] = [str(path) for p in patterns for path in self.glob(file, p)]
            elif name in MAKES_TARGET and words:
                self.make(name, words, file)
            elif name == "target_link_libraries":
                self.links.setdefault(words[0], set()).update(words[1:])

    @staticmethod
    def expanded(word, variables):
        """${list} alone is its values; within a word, its first value."""
        whole = re.fullmatch(r"\$\{(\w+)\}", word)
        if whole and whole[1] in variables:
            return variables[whole[1]]
        return [re.sub(r"\$\{(\w+)\}", lambda m: (variables.get(m[1]) or [m[0]])[0], word)]

    @staticmethod
    def values(words, variables):
        """What foreach() goes through."""
        found, lists = [], False
        for word in words:
            if word in FOR_EACH_WORDS:
                lists = word == "LISTS"
            else:
                found += variables.get(word, []) if lists else [word]
        return found

    @staticmethod
    def glob(file, pattern):
        path = file.parent / pattern
        return path.parent.glob(path.name)

    def make(self, name, words, file):
        target = f"kalstream_{words[0]}" if name == "kalstream_module" else words[0]
        self.where.setdefault(target, file)
        links = self.links.setdefault(target, set())
        section = "SOURCES"
        for word in words[1:]:
            if word in ("DEPENDS", "SOURCES"):
                section = word
            elif section == "DEPENDS":
                links.add(f"kalstream_{word}")
            elif word.startswith("$<TARGET_OBJECTS:"):
                links.add(word[17:-1])
            elif word.endswith(".cc"):
                self.sources.setdefault(target, set()).add((file.parent / word).resolve())

    def all_linked(self, target):
        found, waiting = {target}, [target]
        while waiting:
            for link in self.links.get(waiting.pop(), ()):
                if link in self.links and link not in found:
                    found.add(link)
                    waiting.append(link)
        return found

    def cycles(self):
        return [target for target, links in self.links.items()
                if any(link != target and target in self.known.get(link, ()) for link in links)]

    def compiling(self, file):
        """The targets that compile the file; of a header its source, or else any source of its folder."""
        source = file.with_suffix(".cc")
        return ({t for t, files in self.sources.items() if source in files} or
                {t for t, files in self.sources.items() if any(f.parent == file.parent for f in files)})

    def rules_for(self, file):
        """The targets whose links say what the file may include: its room, or all that compile it."""
        targets = self.compiling(file)
        room = {f"kalstream_{file.relative_to(ROOT / 'src').parts[0]}"} if ROOT / "src" in file.parents else set()
        return targets & room or targets or room & self.links.keys()


def included_by(file):
    """(line, name, path) of what a file includes from src/ or experiments/."""
    for number, line in enumerate(file.read_text().splitlines(), 1):
        include = re.match(r'#include "(\w+/[^"]+)"', line)
        for folder in ("src", "experiments"):
            if include and (ROOT / folder / include[1]).exists():
                yield number, include[1], ROOT / folder / include[1]


def main():
    graph = Graph()
    short = lambda targets: ", ".join(sorted(t.removeprefix("kalstream_") for t in targets))
    if "--graph" in sys.argv:
        for target, links in graph.links.items():
            print(f"{short([target])}: {short(link for link in links if link in graph.links)}")
        return 0
    wrong = [f"{graph.where[t].relative_to(ROOT)}: {short([t])} depends on itself through others; take one of its "
             f"dependencies away ({short(graph.links[t] & graph.links.keys())})" for t in graph.cycles()]
    files = [f for folder in ("src", "apps", "experiments", "bench", "python/src/extension")
             for f in sorted((ROOT / folder).rglob("*.*"))
             if f.suffix in (".cc", ".h", ".inc") and not f.stem.endswith("_test")]
    for file in files:
        place = file.relative_to(ROOT)
        targets = graph.rules_for(file)
        if not targets and place.parts[0] == "src":
            wrong.append(f"{place}: no target compiles a file of this folder; name one in CMake")
        for number, name, header in included_by(file):
            of_header = graph.compiling(header)
            for target in targets:
                if not of_header & graph.known[target]:
                    room = short([target])
                    wrong.append(f"{place}:{number}: includes {name} of {short(of_header)}, which {room} does not link; "
                                 f"add that to DEPENDS of {room} in {graph.where[target].relative_to(ROOT)} if {room} "
                                 "may know it, or move what is needed to a room that both may know")
    print("\n".join(wrong) or f"{len(files)} files include only what their targets link")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
