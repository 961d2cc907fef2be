#!/usr/bin/env python3
"""Compares two builds of the benchmarks by interleaved rounds.

    tools/bench-diff.py BASE NEW [--rounds 9] [--filter REGEX] [--threshold 1.05]

BASE and NEW are kalstream_bench programs. Each round runs both, one after the other, in changing
order, so that what disturbs the machine disturbs both; what counts is the median over rounds of the
ratio new : base. Exits with 1 if a benchmark became slower by more than the threshold, and its
whole 25–75 % range of ratios lies above 1.
"""

import argparse
import json
import re
import statistics
import subprocess
import sys


def run(program: str, pattern: str) -> dict[str, float]:
    """Nanoseconds per iteration, by benchmark."""
    done = subprocess.run(
        [program, f"--benchmark_filter={pattern}", "--benchmark_format=json",
         "--benchmark_min_time=0.05"],
        capture_output=True, text=True, check=True)
    scale = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
    return {b["name"]: b["real_time"] * scale[b["time_unit"]]
            for b in json.loads(done.stdout)["benchmarks"]}


def main() -> int:
    parser = argparse.ArgumentParser(description="Compares two builds by interleaved rounds")
    parser.add_argument("base")
    parser.add_argument("new")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--filter", default=".", help="which benchmarks (a regular expression)")
    parser.add_argument("--threshold", type=float, default=1.05)
    a = parser.parse_args()
    re.compile(a.filter)

    times: dict[str, dict[str, list[float]]] = {a.base: {}, a.new: {}}
    for r in range(a.rounds):
        for program in (a.base, a.new) if r % 2 == 0 else (a.new, a.base):
            for name, ns in run(program, a.filter).items():
                times[program].setdefault(name, []).append(ns)
        if sys.stderr.isatty():
            print(f"\rround {r + 1} of {a.rounds}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print(file=sys.stderr)

    slower = 0
    print(f"{'benchmark':<44} {'base µs':>10} {'new µs':>10} {'new:base':>9} {'25–75 %':>14}")
    for name, new in times[a.new].items():
        base = times[a.base].get(name)
        if base is None:
            print(f"{name:<44} {'–':>10} {statistics.median(new) / 1e3:>10.3g}   (new)")
            continue
        ratios = sorted(n / b for n, b in zip(new, base))
        ratio = statistics.median(ratios)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        worse = ratio > a.threshold and low > 1
        slower += worse
        print(f"{name:<44} {statistics.median(base) / 1e3:>10.3g} "
              f"{statistics.median(new) / 1e3:>10.3g} {ratio:>9.3f} {low:>6.3f}–{high:.3f}"
              f"{'  slower' if worse else ''}")
    gone = [name for name in times[a.base] if name not in times[a.new]]
    if gone:
        print("only in the base: " + ", ".join(gone))
    print(f"{slower} slower by more than {(a.threshold - 1) * 100:.0f} %")
    return 1 if slower else 0


if __name__ == "__main__":
    sys.exit(main())
