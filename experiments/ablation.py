#!/usr/bin/env python3
"""What each part of `auto` is worth: its errors without it, and with half and double of each constant.

    make ablation [DATA=DIR] [ABLATION_OPTIONS="--rows 1000 --only kernel"]

Streams are those of experiments/auto_error.cc, and river's streams of classes. For each variant the table has the change
of the geometric mean of the errors over each kind of streams, in percent: positive is worse. Beside it the stream that
loses most, and the one that gains most. What has been measured is kept in --results, by the program's checksum: an
interrupted run goes on.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import subprocess

KINDS = ("tables", "series", "streams", "classes")


def write_sequences(folder, rows=2500):
    """Streams of classes where those before tell something: river's have none."""
    source = random.Random(1)

    def write(name, next_row):
        with open(folder / f"{name}.csv", "w") as file:
            file.write("x1,x2,class\n")
            file.writelines(f"{x1:.5f},{x2:.5f},{y}\n" for x1, x2, y in (next_row() for _ in range(rows)))

    def addition(carry=[0]):
        a, b = source.randrange(2), source.randrange(2)
        total = a + b + carry[0]
        carry[0] = total // 2
        return a, b, total % 2

    def chain(last=[0, 1]):
        y = (2 * last[0] + last[1] + 1) % 3 if source.random() < 0.8 else source.randrange(3)
        last[:] = [y, last[0]]
        return source.gauss(0, 1), source.gauss(0, 1), y

    def regimes(state=[1]):
        state[0] *= -1 if source.random() < 0.02 else 1
        x = source.gauss(0, 1), source.gauss(0, 1)
        return *x, int(state[0] * (x[0] + 0.5 * x[1]) + source.gauss(0, 0.3) > 0)

    def persistent(last=[0]):
        x = source.gauss(0, 1)
        last[0] = last[0] if source.random() < 0.9 else int(x + source.gauss(0, 1) > 0)
        return x, source.gauss(0, 1), last[0]

    for one in (addition, chain, regimes, persistent):
        write(one.__name__, one)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default="build/ablation/auto_error")
    parser.add_argument("--data", default="../shared/data")
    parser.add_argument("--classes", default="build/class-streams")
    parser.add_argument("--rows", default="2500")
    parser.add_argument("--seeds", default="1")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--only", help="parts whose name contains this")
    parser.add_argument("--results", default="build/ablation/results.json")
    parser.add_argument("--markdown", help="write the table there")
    a = parser.parse_args()

    write_sequences(pathlib.Path(a.classes))
    options = ["--data", a.data, "--classes", a.classes, "--seeds", a.seeds, "--jobs", "1", "--rows"]

    def run(variant, rows, *more):
        environment = {**os.environ, "KALSTREAM_ABLATION": variant}
        command = [a.program, *options, rows, *more]
        return subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout

    def errors(variant):
        lines = (line.rsplit(None, 1) for line in run(variant, a.rows).splitlines())
        return {" ".join(name.split()): float(value) for name, value in lines if "geometric mean" not in name}

    parts = dict(line.rsplit(None, 1) for line in run("", "100", "--parts", "1").splitlines())
    variants = [""]
    for part, value in parts.items():
        if a.only and a.only not in part:
            continue
        if part.startswith("without="):
            variants.append(part)
        else:
            variants += [f"{part}={float(value) * factor:g}" for factor in (0.5, 2)]

    checksum = hashlib.sha256(pathlib.Path(a.program).read_bytes() + f"{a.rows} {a.seeds}".encode()).hexdigest()
    file = pathlib.Path(a.results)
    measured = json.loads(file.read_text()) if file.exists() else {}
    known = measured.setdefault(checksum, {})
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        waiting = {pool.submit(errors, v): v for v in variants if v not in known}
        for n, done in enumerate(concurrent.futures.as_completed(waiting), 1):
            known[waiting[done]] = done.result()
            file.write_text(json.dumps(measured))
            print(f"\r{n} of {len(waiting)}", end="", flush=True)
    print()

    usual = known[""]
    head = "| part | " + " | ".join(KINDS) + " | worst | best |"
    table = [head, "|---|" + "---:|" * len(KINDS) + "---|---|"]
    for variant in variants[1:]:
        change = {name: math.log(known[variant][name] / usual[name]) for name in usual if usual[name] > 0}
        cells = []
        for kind in KINDS:
            of_kind = [c for name, c in change.items() if name.startswith(kind)]
            cells.append(f"{100 * math.expm1(sum(of_kind) / len(of_kind)):+.2f}" if of_kind else "")
        for pick in (max, min):
            name = pick(change, key=change.get)
            cells.append(f"{name.split(' ', 1)[1]} {100 * math.expm1(change[name]):+.1f}")
        table.append(f"| `{variant}` | " + " | ".join(cells) + " |")
    print("\n".join(table))
    if a.markdown:
        pathlib.Path(a.markdown).write_text("\n".join(table) + "\n")


if __name__ == "__main__":
    main()
