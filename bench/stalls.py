#!/usr/bin/env python3
"""What checkpoints cost a live stream in time, and what many models cost in memory.

    bench/stalls.py [PROGRAM] [--only keys,ekf,rls,auto] [--seconds 40]         (make bench-stalls)

Stalls: lines come at a fixed rate through a pipe; every answer is timed when it is read, so that a gap is what a
reader sees, and a latency is from the moment the line was due. Ten thousand models of `alg1`, all of them used
between two checkpoints; one EKF of 32 units, which is given the next line when it has answered (its step is the
median gap). "Its own" is a gap without the time in which the stream, or this script, waited for a processor that
others had. Memory: more models than fit into --memory, each used a few times in turn; the answers are compared with
those of a stream with memory for all. Needs nothing but Python's standard library."""

import argparse
import hashlib
import json
import math
import os
import random
import select
import subprocess
import sys
import tempfile
import time

INPUTS = 3


def line(source, key=None):
    x = [source.gauss(0, 1) for _ in range(INPUTS)]
    d = math.sin(x[0] + x[1]) + 0.5 * x[1] * x[2] + 0.1 * source.gauss(0, 1)
    numbers = ",".join(f'"x{k}":{v:.6f}' for k, v in enumerate(x))
    named = "" if key is None else f'"key":"k{key}",'
    return f'{{{named}{numbers},"target":{d:.6f}}}\n'.encode()


def in_turn(keys):
    """Every key, in another order each time."""
    order, turn = random.Random(2), list(range(keys))
    while True:
        order.shuffle(turn)
        yield from turn


def waited(*processes):
    """Milliseconds that the main threads of these have waited for a processor that others had."""
    total = 0
    for process in processes:
        with open(f"/proc/{process}/task/{process}/schedstat") as file:
            total += int(file.read().split()[1])
    return total / 1e6


class Gaps:
    """Milliseconds between answers, and what is left of them without waiting for a processor."""

    def __init__(self, stream):
        self.processes = (stream.process.pid, os.getpid())
        self.all, self.own = [], []
        self.last, self.before = time.perf_counter(), waited(*self.processes)

    def add(self):
        now, delay = time.perf_counter(), waited(*self.processes)
        self.all.append(1e3 * (now - self.last))
        self.own.append(self.all[-1] - (delay - self.before))
        self.last, self.before = now, delay


class Stream:
    """A running `kalstream stream`, whose answers are timed as they come."""

    def __init__(self, program, options):
        self.process = subprocess.Popen([program, "stream", "--quiet", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, bufsize=0)
        os.set_blocking(self.process.stdin.fileno(), False)
        self.unsent = b""

    def send(self, data=b""):
        self.unsent += data
        try:
            self.unsent = self.unsent[os.write(self.process.stdin.fileno(), self.unsent):] if self.unsent else b""
        except BlockingIOError:
            pass

    def answers(self, wait):
        """How many have come, after waiting for some no longer than so many seconds."""
        if not select.select([self.process.stdout], [], [], max(0, wait))[0]:
            return 0
        return os.read(self.process.stdout.fileno(), 1 << 16).count(b"\n")

    def end(self):
        self.process.stdin.close()
        while os.read(self.process.stdout.fileno(), 1 << 16):
            pass
        if self.process.wait() != 0:
            sys.exit("the stream has failed")


def quantile(values, p):
    return sorted(values)[min(len(values) - 1, int(p * len(values)))]


def all_answered(stream, lines):
    """Sends lines as fast as they are answered."""
    sent = got = 0
    for data in lines:
        stream.send(data)
        sent += 1
        while sent - got > 100:
            got += stream.answers(1)
            stream.send()
    while got < sent:
        got += stream.answers(1)
        stream.send()


def at_a_rate(stream, lines, rate, seconds):
    """Gaps between answers, and latencies in milliseconds."""
    gaps, latencies, due = Gaps(stream), [], []
    begin = time.perf_counter()
    sent = got = 0
    while got < rate * seconds:
        now = time.perf_counter()
        while sent < rate * seconds and begin + sent / rate <= now:
            due.append(begin + sent / rate)
            stream.send(next(lines))
            sent += 1
        stream.send()
        until_next = begin + sent / rate - now if sent < rate * seconds else 1
        n = stream.answers(until_next if not stream.unsent else 0.001)
        now = time.perf_counter()
        if n > 0:
            gaps.add()
            latencies += [1e3 * (now - t) for t in due[got:got + n]]
            got += n
    return gaps, latencies


def keyed(a, folder):
    keys, rate = 10_000, a.rate
    source, turn = random.Random(1), in_turn(keys)
    options = ["--learner", "alg1", "--hidden", "8", "--key", "key"]
    print("| 10,000 models of alg1, 8 units | lines/s | median | 99.9 % | longest latency | longest gap | … its own |")
    print("|---|---|---|---|---|---|---|")
    for name, more in [("no checkpoints", []), ("checkpoint every 10 s", ["--every", "10s", "--checkpoint", os.path.join(folder, "keyed")])]:
        stream = Stream(a.program, options + more)
        all_answered(stream, [line(source, key) for key in range(keys)])
        lines = (line(source, next(turn)) for _ in iter(int, 1))
        gaps, latencies = at_a_rate(stream, lines, rate, a.seconds)
        stream.end()
        print(f"| {name} | {rate:,} | {quantile(latencies, 0.5):.2f} ms | {quantile(latencies, 0.999):.2f} ms "
              f"| {max(latencies):.1f} ms | {max(gaps.all):.1f} ms | {max(gaps.own):.1f} ms |", flush=True)


def ekf(a, folder):
    print("| one EKF of 32 units | samples | its step (median gap) | 99.9 % | longest gap | beyond the step | … its own |")
    print("|---|---|---|---|---|---|---|")
    for name, more in [("no checkpoints", []),
                       ("checkpoint every 5 s", ["--every", "5s", "--checkpoint", os.path.join(folder, "ekf.kal")])]:
        source = random.Random(1)
        stream = Stream(a.program, ["--learner", "ekf", "--hidden", "32", *more])
        for _ in range(10):
            all_answered(stream, [line(source)])
        gaps = Gaps(stream)
        end = gaps.last + a.seconds
        while gaps.last < end:
            stream.send(line(source))
            while stream.answers(1) == 0:
                pass
            gaps.add()
        stream.end()
        step, own_step = quantile(gaps.all, 0.5), quantile(gaps.own, 0.5)
        print(f"| {name} | {len(gaps.all):,} | {step:.1f} ms | {quantile(gaps.all, 0.999):.1f} ms "
              f"| {max(gaps.all):.1f} ms | {max(gaps.all) - step:.1f} ms | {max(gaps.own) - own_step:.1f} ms |", flush=True)


def resident(a, folder, learner, keys, each):
    """Peak of resident memory, a sum of the answers, seconds: with --memory 1GiB and without."""
    data = os.path.join(folder, "rows.jsonl")
    source, turn = random.Random(1), in_turn(keys)
    with open(data, "wb") as out:
        for _ in range(keys * each):
            out.write(line(source, next(turn)))
    print(f"| {keys:,} models of {learner}, {each} samples each | memory counted | resident, peak | on disk | seconds | answers |")
    print("|---|---|---|---|---|---|")
    sums = []
    for name, more in [("--memory 1GiB", ["--memory", "1GiB"]), ("--memory 1000GiB", ["--memory", "1000GiB"])]:
        summary = os.path.join(folder, "summary.json")
        options = ["--learner", learner, "--key", "key", "--max-models", "1000000", "--every", "10s", "--json", summary,
                   "--checkpoint", os.path.join(folder, f"{learner}-{len(sums)}"), *more]
        begin = time.perf_counter()
        with open(data, "rb") as rows:
            process = subprocess.Popen([a.program, "stream", "--quiet", *options], stdin=rows, stdout=subprocess.PIPE)
        sum_ = hashlib.sha256()
        while chunk := process.stdout.read(1 << 16):
            sum_.update(chunk)
        _, status, usage = os.wait4(process.pid, 0)
        if status != 0:
            sys.exit("the stream has failed")
        sums.append(sum_.hexdigest())
        with open(summary) as file:
            told = json.load(file)
        print(f"| {name} | {told['memory_bytes'] / 2**20:,.0f} MiB | {usage.ru_maxrss / 2**10:,.0f} MiB "
              f"| {told['models_on_disk']:,} | {time.perf_counter() - begin:.0f} "
              f"| {'the same' if sums[-1] == sums[0] else 'OTHERS'} |", flush=True)


def cpu_name():
    with open("/proc/cpuinfo") as file:
        names = [text.split(":")[1].strip() for text in file if text.startswith("model name")]
    return names[0] if names else "unknown processor"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?", default="build/release/kalstream")
    parser.add_argument("--only", default="keys,ekf,rls,auto")
    parser.add_argument("--seconds", type=int, default=40, help="of each stream that is timed")
    parser.add_argument("--rate", type=int, default=1500, help="lines per second for ten thousand models")
    parser.add_argument("--folder", help="where to keep checkpoints meanwhile (gigabytes)")
    a = parser.parse_args()
    print(f"{cpu_name()}, {len(os.sched_getaffinity(0))} cores, {time.strftime('%Y-%m-%d', time.gmtime())}")
    parts = {"keys": keyed, "ekf": ekf, "rls": lambda a, f: resident(a, f, "rls", 100_000, 3),
             "auto": lambda a, f: resident(a, f, "auto", 2000, 2)}
    for part in a.only.split(","):
        print()
        with tempfile.TemporaryDirectory(dir=a.folder) as folder:
            parts[part](a, folder)


if __name__ == "__main__":
    sys.exit(main())
