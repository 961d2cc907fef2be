#!/usr/bin/env python3
"""What Python adds: to a step, over the C++ calls; to a whole run, over the program.

    PYTHONPATH=build/release/python build/python-venv/bin/python bench/python/overhead.py [PROGRAM]

A step: predict and learn from Python against the time of the same calls in C++, as `run` measures it inside, for learners
that cost almost nothing. A run: `kalstream.run` against `kalstream run` on the same file and seed, in turn; the
fastest of the rounds of each, by the time each measures in predict and learn, and by the clock around the Python call.
"""

import json
import subprocess
import sys
import tempfile
import time

import numpy as np

import kalstream


def per_call(work, rounds=40, calls=2_000):
    best = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            work()
        best = min(best, time.perf_counter() - start)
    return best / calls * 1e6


def step(name, coverage):
    X, y = kalstream.generate("friedman", 4_000)
    inside = min(kalstream.run(X, y, name, coverage=None).us_per_step for _ in range(15))
    learner = kalstream.Learner(name, inputs=10, coverage=coverage)
    learner.run(X[:2000], y[:2000])
    x, target = X[0].copy(), float(y[0])

    def both():
        learner.predict(x)
        learner.learn(x, target)

    return inside, per_call(both) - per_call(lambda: None)


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/kalstream"
    print("| predict and learn, µs | C++ | Python | more |\n|---|---|---|---|")
    for name in ("naive", "rls"):
        for coverage in (None, 0.9):
            inside, outside = step(name, coverage)
            intervals = ", with intervals" if coverage else ""
            print(f"| {name}{intervals} | {inside:.2f} | {outside:.2f} | {outside - inside:.2f} |")

    X, y = kalstream.generate("friedman", 1000)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        np.savetxt(file, np.column_stack([X, y]), delimiter=",", fmt="%.17g")
        file.flush()
        print(
            "\n| 1,000 rows, seconds | program | kalstream.run, coverage=None | more | by the clock | with intervals |"
        )
        print("|---|---|---|---|---|---|")
        for name in ("auto", "ekf", "adam"):
            theirs, ours, clock, bounded = [], [], [], []
            for _ in range(20):
                command = [
                    program,
                    "run",
                    "--data",
                    file.name,
                    "--learner",
                    name,
                    "--quiet",
                    "--json",
                    "-",
                ]
                output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
                theirs.append(json.loads(output)["runs"][0]["seconds"])
                start = time.perf_counter()
                ours.append(kalstream.run(X, y, name, coverage=None, weight_points=0).seconds)
                clock.append(time.perf_counter() - start)
                bounded.append(kalstream.run(X, y, name, weight_points=0).seconds)
            a, b, c, d = min(theirs), min(ours), min(clock), min(bounded)
            print(
                f"| {name} | {a:.4f} | {b:.4f} | {100 * (b / a - 1):+.1f} % | {100 * (c / a - 1):+.1f} % | "
                f"{100 * (d / a - 1):+.1f} % |"
            )

    start = "import time; t = time.perf_counter(); import kalstream; print(time.perf_counter() - t)"
    seconds = min(float(subprocess.check_output([sys.executable, "-c", start])) for _ in range(5))
    print(f"\nimport kalstream, NumPy included: {seconds:.2f} s")


if __name__ == "__main__":
    main()
