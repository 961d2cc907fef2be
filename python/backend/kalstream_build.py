"""How pip builds this package: by scikit-build-core, once there is what it takes. Where something is missing, CMake would
say so in pages; this says it in a line."""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile

from scikit_build_core import build as builder
from scikit_build_core.build import *  # noqa: F403  the other hooks stay as they are

# What the oldest compilers that call themselves C++20 do not have.
CODE = """
#include <bit>
#include <charconv>
#include <concepts>
#include <ranges>
#include <span>
int main() {
  double number = 0;
  const char text[] = "1";
  std::from_chars(text, text + 1, number);
  return std::ranges::empty(std::span<int>()) ? std::bit_cast<int>(1.0f) : 0;
}
"""


def has_cpp20(compiler):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "try.cc"
        source.write_text(CODE)
        command = [*compiler, "-std=c++20", "-fsyntax-only", str(source)]
        return subprocess.run(command, capture_output=True).returncode == 0


def missing():
    """What the build lacks and how to get it, or nothing."""
    compiler = shlex.split(os.environ.get("CXX", "")) or [next(filter(shutil.which, ("c++", "g++", "clang++")), "")]
    if not compiler[0]:
        return "a C++20 compiler, and there is none: install one (Debian 12 and later: apt install g++)"
    if not shutil.which(compiler[0]):
        return f"a C++20 compiler, and CXX names one that is not there: {compiler[0]}"
    if not has_cpp20(compiler):
        return f"a C++20 compiler, and {' '.join(compiler)} is too old: install another (GCC 12 or later) and name it by CXX"
    if not (pathlib.Path(sysconfig.get_path("include")) / "Python.h").exists():
        return "Python's headers, and there are none: install them (Debian: apt install python3-dev)"
    return ""


def need_tools():
    if lack := missing():
        sys.exit(f"kalstream: to build it takes {lack}, or take a wheel")


def build_wheel(*arguments, **more):
    need_tools()
    return builder.build_wheel(*arguments, **more)


def build_editable(*arguments, **more):
    need_tools()
    return builder.build_editable(*arguments, **more)
