"""The examples of docs/serve.md, run as they stand: blocks of shell commands that call curl, in order."""

import re
import shutil
import socket
import subprocess

import pytest
from conftest import ROOT
from server import Server, free_port

PAGE = ROOT / "docs/serve.md"

# What the server refuses is a failure; an example that follows events is stopped after a while.
CURL = """curl() {
  command curl -sS --fail-with-body --max-time 10 "$@"
  local code=$?
  [ $code -eq 28 ] || return $code
}"""


def blocks():
    if not PAGE.exists():
        return []
    found = re.findall(r"^```(?:sh|bash|shell|console)?\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return [block for block in found if re.search(r"^(\$ )?curl ", block, re.M)]


def commands(block):
    """What is typed: in a block with prompts the lines that have one and their continuations, else all."""
    if not re.search(r"^\$ ", block, re.M):
        return block
    typed, on = [], False
    for line in block.splitlines():
        if line.startswith("$ "):
            line, on = line[2:], True
        if on:
            typed.append(line)
            on = line.endswith("\\")
    return "\n".join(typed)


def free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            return True
        except OSError:
            return False


def test_the_page_has_examples():
    if not PAGE.exists():
        pytest.skip("there is no docs/serve.md")
    assert len(blocks()) > 0


def test_examples_run_as_they_stand(program, tmp_path):
    if not blocks():
        pytest.skip("docs/serve.md shows no curl")
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    port = 8080 if free(8080) else free_port()  # only where somebody else has it are they changed
    rows = [f"boiler-{t % 3},{20 + t % 7},{0.3 + t % 5 / 10}\n" for t in range(60)]
    (tmp_path / "plant.csv").write_text(
        "device,temp,load\n" + "".join(rows)
    )  # a file that the examples speak of
    server = Server(program.path, tmp_path / "store", port=port)
    try:
        for block in blocks():
            typed = commands(block).replace("8080", str(port))
            script = f"{CURL}\nset -e\n{typed}"
            done = subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True, text=True)
            assert done.returncode == 0, f"{typed}\n{done.stdout}\n{done.stderr}"
    finally:
        server.stop()
