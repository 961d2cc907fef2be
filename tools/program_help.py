"""What the program's help says, as data: for manual pages and completions."""

import re
import subprocess
from dataclasses import dataclass, field


@dataclass
class Option:
    names: list[str]  # "-h", "--help"
    value: str = ""  # what it takes, in one word: "TEXT"; empty: nothing
    details: str = ""  # default, and what it needs or excludes
    choices: list[str] = field(default_factory=list)
    meaning: str = ""


@dataclass
class Page:
    command: str  # empty: the program itself
    summary: str
    usage: str
    options: list[Option]
    positionals: list[tuple[str, str]]
    commands: list[tuple[str, str]]
    rest: list[tuple[str, str]]  # other sections: title and text


def help_of(program, *command):
    return subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout


def _entries(lines):
    """Name and meaning of each entry of a list whose meanings stand in a column of their own, or on the next line."""
    entries = []
    for line in lines:
        if re.match(r"  \S", line):
            name, _, meaning = re.match(r"  (\S.*?)(  +|$)(.*)", line).groups()
            if not meaning and len(line) > 34 and line[33] == " ":  # one blank only, where a name is as long as its column
                name, meaning = line[2:33].strip(), line[34:].strip()
            entries.append([name, meaning])
        elif entries and line.strip():
            entries[-1][1] = (entries[-1][1] + " " + line.strip()).strip()
    return [tuple(entry) for entry in entries]


def _option(name, meaning):
    names, _, details = name.partition(" ")
    option = Option([re.sub(r"\{.*", "", n) for n in names.split(",")], details=details, meaning=meaning)
    kind = re.match(r"(TEXT|UINT|INT|FLOAT|ENUM)", details)
    if kind:
        option.value = kind[1]
        choices = re.search(r":\{([^}]*)\}", details)
        option.choices = choices[1].split(",") if choices else []
        option.details = re.sub(r"^(TEXT|UINT|INT|FLOAT|ENUM)(:(N\b|\{[^}]*\}|FLOAT in |\S+?(?==|\s|$)))?", "", details).strip()
    return option


def page_of(program, command=""):
    text = help_of(program, *([command] if command else []))
    head, *sections = re.split(r"\n\n(?=[A-Z][\w ]*:)", text.rstrip())
    summary, usage = re.match(r"(.*?)\nUsage: (.*)", head, re.DOTALL).groups()
    page = Page(command, " ".join(summary.split()), usage.strip(), [], [], [], [])
    for section in sections:
        title, *lines = section.split("\n")
        title, same = title.split(":", 1)
        if title == "Options":
            page.options = [_option(*entry) for entry in _entries(lines)]
        elif title == "Positionals":
            page.positionals = _entries(lines)
        elif title == "Subcommands":
            page.commands = _entries(lines)
        else:
            page.rest.append((title, "\n".join([same.strip(), *lines]).strip("\n")))
    return page


def pages_of(program):
    """That of the program, and of each command."""
    first = page_of(program)
    return [first, *(page_of(program, name) for name, _ in first.commands)]
