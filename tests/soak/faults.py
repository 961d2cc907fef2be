#!/usr/bin/env python3
"""kalstream stream under faults from outside: killed at random moments, and every system call failing once.

Each life of a stream ends in the same way as one that was never troubled: every line has its answer, and but
one; what was learnt is the same to the bit; no file is left behind. Needs strace.

  tests/soak/faults.py build/release/kalstream [--kills 1000] [--seed 1] [--only kills|calls]
"""

import argparse
import collections
import json
import math
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

CALLS = (
    "openat read pread64 write pwrite64 lseek fsync fdatasync rename link unlink ftruncate newfstatat flock fcntl "
    "poll mkdir getdents64"
).split()
FAULTS = ["error=EIO", "error=ENOSPC", "error=EINTR", "signal=KILL"]
KEYS = 7


def lines_of(count):
    text = ""
    for t in range(count):
        a, b = math.sin(0.7 * t), math.cos(1.1 * t)
        line = {"id": t, "k": f"key {(5 * t + t // 3) % KEYS}", "a": a, "b": b, "target": 40 + 9 * math.sin(a + 2 * b)}
        text += json.dumps(line) + "\n"
    return text


class Stream:
    """One stream in a folder of its own, started again and again with the same command."""

    def __init__(self, program, kind, lines, every, folder):
        self.folder = pathlib.Path(folder)
        self.kind = kind
        self.count = lines
        (self.folder / "lines").write_text(lines_of(lines))
        self.kept = self.folder / "kept"
        fields = ["--inputs", "a,b", "--target", "target"]
        store = ["--checkpoint", str(self.kept / "state"), "--every", str(every), "--resume"]
        keyed = ["--key", "k", "--max-models", "5"] if kind == "folder" else []
        replay = ["--replay"] if kind == "pipe" else []
        self.command = [program, "stream", "--quiet", "--learner", "rls", *fields, *store, *keyed, *replay]
        self.clear()

    def clear(self):
        subprocess.run(["rm", "-rf", str(self.kept)], check=True)
        self.kept.mkdir()
        (self.folder / "answers").write_text("")

    def start(self, before=()):
        """With standard input from the file, or through a pipe from its beginning."""
        answers = open(self.folder / "answers", "ab")
        errors = open(self.folder / "errors", "wb")
        if self.kind == "pipe":
            feeder = subprocess.Popen(["cat", str(self.folder / "lines")], stdout=subprocess.PIPE)
            lines = feeder.stdout
        else:
            lines = open(self.folder / "lines", "rb")
        with answers, errors, lines:
            return subprocess.Popen([*before, *self.command], stdin=lines, stdout=answers, stderr=errors)

    def answers(self):
        found = collections.defaultdict(set)
        for line in (self.folder / "answers").read_text().splitlines():
            try:
                answer = json.loads(line)
            except ValueError:  # cut off
                continue
            found[answer.get("id", "refused")].add(line)
        return dict(found)

    def state(self):
        names = sorted(str(p.relative_to(self.kept)) for p in self.kept.rglob("*"))
        names = [n for n in names if not n.endswith(".previous")]  # there may be none yet, or not any more
        if self.kind != "folder":
            return names, (self.kept / "state").read_bytes()
        with sqlite3.connect(self.kept / "state" / "state.db") as database:
            rows = [database.execute("SELECT state FROM stream").fetchall()]
            rows += [sorted(database.execute("SELECT key, state FROM models").fetchall())]
        database.close()
        return names, rows

    def finish(self):
        """Runs it to its end; what it then has to show."""
        code = self.start().wait()
        if code != 0:
            raise SystemExit(f"{self.kind}: ended with {code}: {(self.folder / 'errors').read_text()}")
        return self.answers(), self.state()


def compare(stream, sound, what):
    answers, state = stream.finish()
    if answers != sound[0]:
        wrong = [(t, answers.get(t)) for t in [*range(stream.count), "refused"] if answers.get(t) != sound[0].get(t)]
        sys.exit(f"{stream.kind}, {what}: these answers are missing or differ: {wrong[:20]}")
    if state != sound[1]:
        sys.exit(f"{stream.kind}, {what}: what is kept differs: {state[0]} and {sound[1][0]}")


def kill_at_random(stream, kills, rng):
    """Lives of a stream, each killed again and again until it is through."""
    begin = time.monotonic()
    sound = stream.finish()
    usual = time.monotonic() - begin
    stream.clear()
    killed = lives = 0
    while killed < kills:
        process = stream.start()
        try:
            process.wait(rng.uniform(0, usual))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            killed += 1
        elif process.returncode == 0:
            lives += 1
            compare(stream, sound, f"after {killed} kills")
            stream.clear()
        else:
            sys.exit(f"{stream.kind}: ended with {process.returncode}: {(stream.folder / 'errors').read_text()}")
    compare(stream, sound, f"after {killed} kills")
    print(f"{stream.kind}: {killed} kills in {lives + 1} lives of {stream.count} lines: nothing lost", flush=True)


def fail_every_call(stream, folder):
    sound = stream.finish()
    stream.clear()
    trace = str(folder / "trace")
    stream.start(["strace", "-f", "-o", trace]).wait()
    made = collections.Counter(re.findall(r"^\d+ +(\w+)\(", pathlib.Path(trace).read_text(), re.MULTILINE))
    runs = failed = 0
    for call in CALLS:
        for number in range(1, made[call] + 1):
            for fault in FAULTS:
                stream.clear()
                inject = ["-e", f"trace={call}", "-e", f"inject={call}:{fault}:when={number}"]
                code = stream.start(["strace", "-f", "-o", "/dev/null", *inject]).wait()
                compare(stream, sound, f"{call} {number} {fault}")
                runs += 1
                failed += code != 0
    print(f"{stream.kind}: {runs} runs with a failing call, {failed} of which ended: nothing lost", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=1000, help="in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", choices=["kills", "calls"])
    parser.add_argument("--kinds", nargs="+", default=["file", "folder", "pipe"], help="of streams")
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    rng = random.Random(options.seed)
    kinds = options.kinds
    for k, kind in enumerate(kinds):
        with tempfile.TemporaryDirectory() as folder:
            if options.only != "calls":
                kills = (options.kills * (k + 1)) // len(kinds) - (options.kills * k) // len(kinds)
                kill_at_random(Stream(program, kind, 4000, 50, folder), kills, rng)
        with tempfile.TemporaryDirectory() as folder:
            if options.only != "kills":
                fail_every_call(Stream(program, kind, 12, 4, folder), pathlib.Path(folder))


main()
