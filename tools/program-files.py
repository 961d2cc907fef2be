#!/usr/bin/env python3
"""program-files.py PROGRAM FOLDER: what is installed beside the program, written from its own help: manual pages, and
completions for bash, zsh and fish, in the places that they have under FOLDER (such as /usr/share)."""

import pathlib
import re
import subprocess
import sys

from program_help import pages_of

program, folder = sys.argv[1], pathlib.Path(sys.argv[2])
pages = pages_of(program)
version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]


def write(path, text):
    target = folder / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)


# ---- Manual pages.


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    text = re.sub(r"^\.", r"\\&.", text, flags=re.MULTILINE)
    return re.sub(r"[^\x00-\x7f]", lambda c: f"\\[u{ord(c[0]):04X}]", text)


def entries(title, pairs):
    if not pairs:
        return []
    lines = [f".SH {title}"]
    for name, meaning in pairs:
        lines += [".TP", name, roff(meaning) or "\\&"]
    return lines


def named(option):
    names = ", ".join(f"\\fB{roff(name)}\\fR" for name in option.names)
    value = "|".join(option.choices) or option.value
    details = option.details
    return names + (f" \\fI{roff(value)}\\fR" if value else "") + (f" {roff(details)}" if details else "")


def manual(page):
    name = "kalstream" + ("-" + page.command if page.command else "")
    lines = [f'.TH {name.upper().replace("-", chr(92) + "-")} 1 "" "kalstream {version}" "User Commands"']
    lines += [".SH NAME", f"{roff(name)} \\- {roff(page.summary.rstrip('.'))}"]
    lines += [".SH SYNOPSIS", f"\\fB{roff(page.usage)}\\fR"]
    lines += entries("COMMANDS", [(f"\\fB{roff(c)}\\fR", meaning) for c, meaning in page.commands])
    lines += entries("ARGUMENTS", [(f"\\fI{roff(p)}\\fR", meaning) for p, meaning in page.positionals])
    lines += entries("OPTIONS", [(named(option), option.meaning) for option in page.options])
    for title, text in page.rest:
        lines += [f".SH {roff(title.upper())}", ".nf", roff(text), ".fi"]
    others = [p.command for p in pages if p.command != page.command]
    also = ", ".join(f"\\fB{roff('kalstream' + ('-' + other if other else ''))}\\fR(1)" for other in others)
    return "\n".join([*lines, ".SH SEE ALSO", also]) + "\n"


for page in pages:
    write(f"man/man1/kalstream{'-' + page.command if page.command else ''}.1", manual(page))

# ---- Completions. Values are choices where the help lists them, else files.

commands = pages[0].commands


def bash():
    cases = ""
    for page in pages[1:]:
        words = " ".join(name for option in page.options for name in option.names if name.startswith("--"))
        cases += f"    {page.command}) words='{words}' ;;\n"
    choices = ""
    for page in pages[1:]:
        for option in page.options:
            if option.choices:
                choices += f"    {page.command}:{option.names[-1]}) words='{' '.join(option.choices)}' ;;\n"
    names = " ".join(name for name, _ in commands)
    return f"""# Written by tools/program-files.py.
_kalstream() {{
  local now=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD-1]}} command=${{COMP_WORDS[1]}} words=''
  if [ "$COMP_CWORD" -eq 1 ]; then
    mapfile -t COMPREPLY < <(compgen -W '{names} --help --version' -- "$now")
    return
  fi
  case "$command:$before" in
{choices}  esac
  if [ -n "$words" ]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$now")
    return
  fi
  if [[ $now == -* ]]; then
    case "$command" in
{cases}    esac
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$now")
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$now")
  fi
}}
complete -o filenames -F _kalstream kalstream
"""


def zsh_text(text):
    return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")


def zsh():
    lines = ["#compdef kalstream", "# Written by tools/program-files.py.", "local -a commands", "commands=("]
    lines += [f"  '{name}:{zsh_text(meaning)}'" for name, meaning in commands]
    lines += [")", "if (( CURRENT == 2 )); then", "  _describe command commands", "  return", "fi",
              "local command=$words[2]", "shift words", "(( CURRENT-- ))", "case $command in"]
    for page in pages[1:]:
        lines += [f"{page.command})", "  _arguments -s \\"]
        for option in page.options:
            value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files" if option.value else ""
            for name in option.names:
                lines.append(f"    '*{name}[{zsh_text(option.meaning)}]{value}' \\")
        lines += ["    '*:file:_files'", "  ;;"]
    return "\n".join([*lines, "esac"]) + "\n"


def fish_text(text):
    return text.replace("\\", "\\\\").replace("'", "\\'")


def fish():
    lines = ["# Written by tools/program-files.py."]
    for name, meaning in commands:
        lines.append(f"complete -c kalstream -n __fish_use_subcommand -f -a {name} -d '{fish_text(meaning)}'")
    for page in pages[1:]:
        for option in page.options:
            names = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.value else ""
            lines.append(f"complete -c kalstream -n '__fish_seen_subcommand_from {page.command}' {names}{value} "
                         f"-d '{fish_text(option.meaning)}'")
    return "\n".join(lines) + "\n"


write("bash-completion/completions/kalstream", bash())
write("zsh/vendor-completions/_kalstream", zsh())
write("fish/vendor_completions.d/kalstream.fish", fish())
