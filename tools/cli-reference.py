#!/usr/bin/env python3
"""Writes docs/cli-reference.md from the program's own help texts and lists of settings; with --check only says whether it is up to date.

    tools/cli-reference.py [--check] [PROGRAM]
"""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/cli-reference.md"


def help_of(program, *command):
    text = subprocess.run([program, *command, "--help"], capture_output=True, text=True, check=True).stdout
    text = re.sub(r"\(default: \d+, one per core\)", "(default: one per core)", text)  # is the machine's
    return "\n".join(line.rstrip() for line in text.rstrip().splitlines())


def learners(program):
    told = subprocess.run([program, "inspect", "--learner", "?"], capture_output=True, text=True).stderr
    return re.search(r"known: (.*)", told)[1].split(", ")


def settings_of(program, learner):
    """The table of settings, without the lines above it that tell sizes."""
    text = subprocess.run([program, "inspect", "--learner", learner], capture_output=True, text=True, check=True).stdout
    table = text[text.index("key for --set") :].splitlines()[2:-1]
    return "\n".join(line.rstrip() for line in table) or "none"


def commands_in(text):
    if "Subcommands:" not in text:
        return []
    return re.findall(r"^  (\w+) {2,}", text.split("Subcommands:")[1].split("\n\n")[0], re.M)


def page(program):
    overview = help_of(program)
    commands = commands_in(overview)
    parts = [
        "<!-- Written by tools/cli-reference.py. -->",
        "# Command line reference",
        "What `kalstream --help` and `kalstream COMMAND --help` say; [command-line.md](command-line.md) explains it.",
        " · ".join(f"[{command}](#kalstream-{command})" for command in commands)
        + " · [settings](#settings-of-each-learner)",
        "## kalstream",
        f"```\n{overview}\n```",
    ]
    for command in commands:
        text = help_of(program, command)
        parts += [f"## kalstream {command}", f"```\n{text}\n```"]
        for inner in commands_in(text):
            parts += [f"### kalstream {command} {inner}", f"```\n{help_of(program, command, inner)}\n```"]
    parts += ["## Settings of each learner", "Key for `--set`, default and meaning, as `kalstream inspect` lists them."]
    for learner in learners(program):
        parts += [f"### {learner}", f"```\n{settings_of(program, learner)}\n```"]
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    arguments = [a for a in sys.argv[1:] if a != "--check"]
    text = page(arguments[0] if arguments else ROOT / "build/release/kalstream")
    if "--check" not in sys.argv:
        PAGE.write_text(text)
    elif not PAGE.exists() or PAGE.read_text() != text:
        sys.exit("docs/cli-reference.md is out of date: make docs")
