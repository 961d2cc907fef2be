#!/usr/bin/env python3
"""kalstream stream and serve under faults from outside: killed at random moments, every system call failing once,
a followed file rotated, a bit of a store changed.

Each life of a stream ends in the same way as one that was never troubled: every line has its answer, and but
one; what was learnt is the same to the bit; no file is left behind. Of a changed bit: no sample is lost but those of
the request that it hit, and that is told. Needs strace.

  tests/soak/faults.py build/release/kalstream [--kills 2000] [--flips 500] [--seed 1] [--only kills|calls|flips]
"""

import argparse
import collections
import http.client
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
import threading
import time
import urllib.error
import urllib.request

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
        keyed = ["--key", "k", "--max-models", "5"] if kind in ("folder", "jobs") else []
        keyed += ["--jobs", "4"] if kind == "jobs" else []
        replay = ["--replay"] if kind == "pipe" else []
        follow = ["--follow", str(self.folder / "log")] if kind == "follow" else []
        self.command = [program, "stream", "--quiet", "--learner", "rls", *fields, *store, *keyed, *replay, *follow]
        self.clear()

    def clear(self):
        subprocess.run(["rm", "-rf", str(self.kept)], check=True)
        self.kept.mkdir()
        (self.folder / "answers").write_text("")
        for log in self.folder.glob("log*"):
            log.unlink()
        (self.folder / "log").touch()
        self.written = 0
        if self.kind == "follow":  # a stream that begins does so with the file of this name, whatever was before
            self.write_more(60)
            process = self.start()
            while not (self.kept / "state").exists():
                time.sleep(0.01)
            process.kill()
            process.wait()

    def write_more(self, most):
        """Appends lines to the file that is followed, and rotates it now and then."""
        lines = (self.folder / "lines").read_text().splitlines(keepends=True)[self.written : self.written + most]
        log = self.folder / "log"
        for line in lines:
            with open(log, "a") as file:
                file.write(line)
            self.written += 1
            if self.written % 97 == 0:
                for number in range(self.written // 97, 0, -1):
                    older = log.with_name(f"log.{number}")
                    if older.exists():
                        older.rename(log.with_name(f"log.{number + 1}"))
                log.rename(log.with_name("log.1"))
                log.touch()

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
        if self.kind not in ("folder", "jobs"):
            return names, (self.kept / "state").read_bytes()
        with sqlite3.connect(self.kept / "state" / "state.db") as database:
            rows = [database.execute("SELECT state FROM stream").fetchall()]
            rows += [sorted(database.execute("SELECT key, state FROM models").fetchall())]
        database.close()
        return names, rows

    def finish(self):
        """Runs it to its end; what it then has to show."""
        process = self.start()
        if self.kind == "follow":  # has no end
            self.write_more(self.count)
            while len(self.answers()) < self.count and process.poll() is None:
                time.sleep(0.02)
            process.terminate()
        code = process.wait()
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
        if stream.kind == "follow":
            stream.write_more(rng.randrange(200))
        process = stream.start()
        try:
            process.wait(rng.uniform(0, min(usual, 0.5)))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        if process.wait() == -signal.SIGKILL:
            killed += 1
            if stream.kind == "follow" and stream.written == stream.count:
                lives += 1
                compare(stream, sound, f"after {killed} kills")
                stream.clear()
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


class Server:
    """kalstream serve on a store, asked by HTTP."""

    def __init__(self, program, store):
        command = [program, "serve", "--store", str(store), "--port", "0", "--learner", "rls"]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.said = ""
        while "serving at" not in self.said:
            line = self.process.stderr.readline()
            if not line:
                sys.exit(f"serve ended: {self.said}")
            self.said += line
        self.url = re.search(r"http://\S+/", self.said).group()
        while self.ask("GET", "readyz")[0] != 200:
            time.sleep(0.005)

    def ask(self, method, path, body=None, kind="application/x-ndjson"):
        data = None if body is None else body.encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": kind}, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                return answer.status, answer.read().decode(errors="replace")
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    def samples(self, name, first, last):
        lines = "".join(lines_of(last).splitlines(keepends=True)[first:last])
        return self.ask("POST", f"api/v1/streams/{name}/samples", lines)

    def end(self, how):
        self.process.send_signal(how)
        self.said += self.process.communicate()[1]


STREAMS = {"plain": "{}", "keyed": '{"key":"k"}', "auto": '{"learner":"auto","experts":2}'}


class Client(threading.Thread):
    """Sends the samples of one stream, a few in each request, until the server is gone or all are sent."""

    def __init__(self, server, name, lines, rng):
        super().__init__()
        self.server, self.name, self.lines, self.rng = server, name, lines, random.Random(rng.random())
        self.answers = {}
        self.acknowledged = 0

    def run(self):
        try:
            status, text = self.server.ask("GET", f"api/v1/streams/{self.name}")
            at = json.loads(text)["samples"] if status == 200 else 0
            while at < len(self.lines):
                several = self.rng.randint(1, 5)
                status, text = self.server.ask(
                    "POST", f"api/v1/streams/{self.name}/samples", "".join(self.lines[at : at + several])
                )
                if status != 200:
                    sys.exit(f"serve, {self.name}: {status} {text}")
                for line in text.splitlines():
                    self.answers[json.loads(line)["id"]] = line
                at += several
                self.acknowledged = min(at, len(self.lines))
        except (OSError, http.client.HTTPException):  # killed
            pass


def kill_server(program, kills, rng, folder):
    """A server that is killed again and again while clients send samples: none that was answered is lost, none is
    learnt twice, and what is learnt is what a server learns that was never killed."""
    lines = lines_of(3000).splitlines(keepends=True)

    def take_all(store, most_kills):
        answers = {name: {} for name in STREAMS}
        known = dict.fromkeys(STREAMS, 0)
        killed = 0
        while True:
            server = Server(program, store)
            for name, options in STREAMS.items():
                server.ask("PUT", f"api/v1/streams/{name}", options, "application/json")
                samples = json.loads(server.ask("GET", f"api/v1/streams/{name}")[1])["samples"]
                if not known[name] <= samples <= known[name] + 5:
                    sys.exit(f"serve, {name}: {known[name]} samples were answered, {samples} are there")
                known[name] = samples
            clients = [Client(server, name, lines, rng) for name in STREAMS]
            for client in clients:
                client.start()
            if killed < most_kills:
                clients[0].join(rng.uniform(0, 0.25))
                orderly = rng.random() < 0.1  # with a checkpoint, from which the next ones go on
                server.end(signal.SIGTERM if orderly else signal.SIGKILL)
                killed += not orderly
            for client in clients:
                client.join()
                for sample, text in client.answers.items():
                    if answers[client.name].setdefault(sample, text) != text:
                        sys.exit(f"serve, {client.name}: sample {sample} has two answers")
                known[client.name] = max(known[client.name], client.acknowledged)
            if all(n == len(lines) for n in known.values()):
                break
        if server.process.poll() is not None:
            server = Server(program, store)
        states = {
            name: server.ask("GET", f"api/v1/streams/{name}/snapshot" + ("?key=key%201" if name == "keyed" else ""))
            for name in STREAMS
        }
        server.end(signal.SIGTERM)
        return answers, states, killed

    sound, states, _ = take_all(folder / "sound", 0)
    killed = lives = 0
    while killed < kills:
        store = folder / f"life-{lives}"
        answers, kept, n = take_all(store, kills - killed)
        killed += n
        lives += 1
        for name in STREAMS:
            wrong = [s for s, text in answers[name].items() if sound[name][s] != text]
            if wrong or kept[name] != states[name]:
                sys.exit(f"serve, {name}, after {killed} kills: differs; samples {wrong[:10]}")
        subprocess.run(["rm", "-rf", str(store)], check=True)
    print(f"serve: {killed} kills in {lives} lives of {len(STREAMS)} streams of {len(lines)}: nothing lost", flush=True)


def flip_bits(program, flips, rng, folder):
    """A store that was killed, with one bit of one file another: what the next server makes of it."""
    whole, store, size, requests = folder / "whole", folder / "store", 5, 60
    server = Server(program, whole)
    options = STREAMS
    for name, of in options.items():
        server.ask("PUT", f"api/v1/streams/{name}", of, "application/json")
    for k in range(requests):
        for name in options:
            server.samples(name, k * size, (k + 1) * size)
        if k in (20, 40):  # a checkpoint, or an orderly end
            server.end(signal.SIGTERM)
            server = Server(program, whole)
    server.end(signal.SIGKILL)
    subprocess.run(["cp", "-a", str(whole), str(store)], check=True)
    server = Server(program, store)
    sound = {name: server.samples(name, requests * size, (requests + 1) * size)[1] for name in options}
    server.end(signal.SIGKILL)
    files = sorted(p.relative_to(whole) for p in whole.rglob("*") if p.is_file() and p.stat().st_size > 0)
    found = collections.Counter()
    for flip in range(flips):
        subprocess.run(["rm", "-rf", str(store)], check=True)
        subprocess.run(["cp", "-a", str(whole), str(store)], check=True)
        name = files[flip % len(files)]
        content = bytearray((store / name).read_bytes())
        at = rng.randrange(8 * len(content))
        content[at // 8] ^= 1 << (at % 8)
        (store / name).write_bytes(content)
        server = Server(program, store)
        got = {name: server.samples(name, requests * size, (requests + 1) * size) for name in options}
        server.end(signal.SIGKILL)
        for stream, (status, text) in got.items():
            where = f"{name} bit {at}, {stream}: {status} {text[:300]}\n{server.said}"
            if text == sound[stream]:
                found["unharmed"] += 1
                continue
            if f"{stream}: " not in server.said:
                sys.exit(f"wrong, and nobody was told: {where}")
            if status == 200 and ": input " in server.said:
                lost = [json.loads(s).get("sample", 0) - json.loads(t)["sample"]
                        for s, t in zip(sound[stream].splitlines(), text.splitlines())]
                if not all(0 <= n <= size for n in lost):
                    sys.exit(f"more was lost than one request: {where}")
                found["one request lost, and named"] += 1
            elif status == 503 and "stream.json" in str(name):
                found["unavailable, and named"] += 1
            else:
                sys.exit(f"wrong: {where}")
    print(f"serve: {flips} changed bits, of {len(options)} streams: {dict(found)}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--kills", type=int, default=2000, help="in all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--flips", type=int, default=500, help="of one bit each")
    parser.add_argument("--only", choices=["kills", "calls", "flips"])
    parser.add_argument(
        "--kinds", nargs="+", default=["serve", "file", "folder", "jobs", "pipe", "follow"], help="of doors and streams"
    )
    options = parser.parse_args()
    program = os.path.abspath(options.program)
    rng = random.Random(options.seed)
    kinds = options.kinds if options.only != "flips" else []
    if options.only in (None, "flips"):
        with tempfile.TemporaryDirectory() as folder:
            flip_bits(program, options.flips, rng, pathlib.Path(folder))
    for k, kind in enumerate(kinds):
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            if options.only != "calls":
                kills = (options.kills * (k + 1)) // len(kinds) - (options.kills * k) // len(kinds)
                if kind == "serve":
                    kill_server(program, kills, rng, pathlib.Path(folder))
                else:
                    kill_at_random(Stream(program, kind, 4000, 50, folder), kills, rng)
                print(f"{kind}: {time.monotonic() - begin:.0f} s", flush=True)
        with tempfile.TemporaryDirectory() as folder:
            if options.only != "kills" and kind not in ("serve", "follow"):  # which have no end
                fail_every_call(Stream(program, kind, 12, 4, folder), pathlib.Path(folder))


main()
