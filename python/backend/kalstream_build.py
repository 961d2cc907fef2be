"""How pip builds this package: by scikit-build-core, once there is a compiler for it. Where there is none, CMake would
say so in pages; this says it in a line."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

from scikit_build_core import build as builder
from scikit_build_core.build import *  # noqa: F403  the other hooks stay as they are

CODE = "#include <concepts>\n#include <ranges>\n#include <span>\nint main() { return std::ranges::empty(std::span<int>()) ? 0 : 1; }\n"


def missing():
    """What the build lacks, or nothing."""
    command = shlex.split(os.environ.get("CXX", "")) or [next(filter(shutil.which, ("c++", "g++", "clang++")), "")]
    if not command[0] or not shutil.which(command[0]):
        return "there is none" if not command[0] else f"there is no {command[0]}"
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "try.cc"
        source.write_text(CODE)
        done = subprocess.run([*command, "-std=c++20", "-fsyntax-only", str(source)], capture_output=True)
    return f"{' '.join(command)} is none" if done.returncode != 0 else ""


def need_compiler():
    if lack := missing():
        sys.exit(f"kalstream: to build it takes a C++20 compiler, and {lack}: install one (Debian 12: apt install g++), or take a wheel")


def build_wheel(*arguments, **more):
    need_compiler()
    return builder.build_wheel(*arguments, **more)


def build_editable(*arguments, **more):
    need_compiler()
    return builder.build_editable(*arguments, **more)
