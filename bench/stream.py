#!/usr/bin/env python3
"""What `kalstream stream` costs beyond its learner, on one core: JSON lines in, JSON lines out.

    bench/stream.py [PROGRAM] [--rounds 5]         (make bench-stream)

Each round runs, one after the other, the learner alone (`kalstream run`, time per sample for predict and
learn) and the stream on the same rows; the table has medians over the rounds. Then ten thousand models by key
beside a single one (--keyed: these alone), in processor time, which other work on the machine disturbs less.
Needs nothing but Python's standard library."""

import argparse
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def rows(count, inputs=8):
    """Standard normal inputs, a smooth function of them with noise."""
    source = random.Random(1)
    for _ in range(count):
        x = [source.gauss(0, 1) for _ in range(inputs)]
        yield x, math.sin(x[0] + x[1]) + 0.5 * x[2] * x[3] + 0.1 * source.gauss(0, 1)


def write_rows(folder, count):
    names = [f"x{k}" for k in range(8)]
    csv, jsonl = os.path.join(folder, "rows.csv"), os.path.join(folder, "rows.jsonl")
    with open(csv, "w") as c, open(jsonl, "w") as j:
        c.write(",".join(names) + ",target\n")
        for x, d in rows(count):
            c.write(",".join(repr(v) for v in (*x, d)) + "\n")
            j.write(json.dumps({**dict(zip(names, x)), "target": d}) + "\n")
    return csv, jsonl


def write_keyed(folder, keys, each, in_turn):
    """Every key in turn, so that no model stays in the cache; or one after the other."""
    names = [f"x{k}" for k in range(8)]
    path = os.path.join(folder, f"keyed-{keys}-{each}-{in_turn}.jsonl")
    order = random.Random(2)
    turns = []
    if in_turn:
        for _ in range(each):
            turn = list(range(keys))
            order.shuffle(turn)
            turns += turn
    else:
        turns = [key for key in range(keys) for _ in range(each)]
    with open(path, "w") as out:
        for key, (x, d) in zip(turns, rows(keys * each)):
            numbers = ",".join(f'"{n}":{v:.6f}' for n, v in zip(names, x))
            out.write(f'{{"key":"k{key}",{numbers},"target":{d:.6f}}}\n')
    return path


def pinned(command, **more):
    return subprocess.run(["taskset", "-c", str(max(os.sched_getaffinity(0))), *command], check=True, **more)


def learner_alone(program, csv, options, count):
    """Microseconds per sample."""
    out = pinned([program, "run", "--data", csv, "--steps", str(count), "--jobs", "1", "--quiet", "--json", "-",
                  *options], stdout=subprocess.PIPE).stdout
    return json.loads(out)["summary"][0]["us_per_step"]


def processor_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def stream(program, jsonl, options, count=None):
    """The summary of a stream, with microseconds of wall time and of processor time per sample."""
    with tempfile.TemporaryDirectory() as folder:
        summary = os.path.join(folder, "summary.json")
        with open(jsonl) as data:
            head = data if count is None else subprocess.Popen(["head", f"-{count}"], stdin=data, stdout=subprocess.PIPE).stdout
            start, used = time.perf_counter(), processor_seconds()
            pinned([program, "stream", "--quiet", "--json", summary, *options], stdin=head, stdout=subprocess.DEVNULL)
            seconds, used = time.perf_counter() - start, processor_seconds() - used
        with open(summary) as file:
            result = json.load(file)
    result["us"] = 1e6 * seconds / result["samples"]
    result["processor_us"] = 1e6 * used / result["samples"]
    return result


def cpu_name():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def by_itself(a, folder):
    """One model: the stream beside the learner alone."""
    print("| 8 inputs, 16 units | samples | learner alone | stream | above it | samples/s | median | 99 % | 99 %/median |")
    print("|---|---|---|---|---|---|---|---|---|")
    csv, jsonl = write_rows(folder, 40_000)
    for name, count, alone, live in [
        ("auto", 6000, ["--learner", "auto"], []),
        ("auto, intervals", 6000, ["--learner", "auto"], ["--interval", "0.9"]),
        ("alg2", 20_000, ["--learner", "alg2"], ["--learner", "alg2"]),
        ("alg2, intervals", 20_000, ["--learner", "alg2"], ["--learner", "alg2", "--interval", "0.9"]),
        ("ekf", 6000, ["--learner", "ekf"], ["--learner", "ekf"]),
        ("rls", 40_000, ["--learner", "rls"], ["--learner", "rls"]),
    ]:
        measured = []
        for _ in range(a.rounds):
            measured.append((learner_alone(a.program, csv, alone, count), stream(a.program, jsonl, live, count)))
        own = statistics.median(m[0] for m in measured)
        us = statistics.median(m[1]["us"] for m in measured)
        above = statistics.median(m[1]["us"] - m[0] for m in measured)
        median = statistics.median(m[1]["work_us"]["median"] for m in measured)
        p99 = statistics.median(m[1]["work_us"]["p99"] for m in measured)
        print(f"| {name} | {count:,} | {own:.1f} µs | {us:.1f} µs | {above:.1f} µs | {1e6 / us:,.0f} "
              f"| {median:.1f} µs | {p99:.1f} µs | {p99 / median:.1f} |", flush=True)


def by_key(a, folder):
    """Many models; all kinds in every round, so that they can be compared."""
    options = ["--learner", "alg1", "--hidden", "8", "--key", "key", "--max-models", str(a.keys)]
    node = ["--set", "partition=node"]
    kinds = [
        ("one model", 1, 20_000, True, []),
        (f"{a.keys:,} models, one after the other", a.keys, 30, False, []),
        (f"{a.keys:,} models in turn", a.keys, 30, True, []),
        (f"{a.keys:,} models in turn, for longer", a.keys, a.each, True, []),
        (f"{a.keys:,} models in turn, {node[1]}", a.keys, 30, True, node),
    ]
    data = [write_keyed(folder, keys, each, in_turn) for _, keys, each, in_turn, _ in kinds]
    rounds = [[stream(a.program, file, options + kind[4]) for file, kind in zip(data, kinds)]
              for _ in range(min(a.rounds, 3))]
    print("| alg1, 8 units, 8 inputs | samples | per sample | memory |")
    print("|---|---|---|---|")
    for (label, keys, each, _, _), measured in zip(kinds, zip(*rounds)):
        us = statistics.median(m["processor_us"] for m in measured)
        mib = statistics.median(m["resident_bytes"] for m in measured) / 2**20
        print(f"| {label} | {keys:,} × {each:,} | {us:.1f} µs | {mib:,.0f} MiB |")
    ratios = [in_turn["processor_us"] / one_by_one["processor_us"] for _, one_by_one, in_turn, *_ in rounds]
    print(f"\nIn turn beside one after the other: {statistics.median(ratios):.2f} times "
          f"({min(ratios):.2f} to {max(ratios):.2f})")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?", default="build/release/kalstream")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keys", type=int, default=10_000)
    parser.add_argument("--each", type=int, default=100, help="samples of each model in the long run")
    parser.add_argument("--keyed", action="store_true", help="models by key only")
    a = parser.parse_args()
    print(f"{cpu_name()}, one core, {time.strftime('%Y-%m-%d', time.gmtime())}; medians of {a.rounds} rounds\n")
    with tempfile.TemporaryDirectory() as folder:
        if not a.keyed:
            by_itself(a, folder)
            print()
        by_key(a, folder)


if __name__ == "__main__":
    sys.exit(main())
