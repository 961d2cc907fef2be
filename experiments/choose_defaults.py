#!/usr/bin/env python3
"""How the default settings were chosen, and how to choose them again.

Every combination of a small grid for each rule, the same for every stream, scored by the mean over
streams of log NSE: a default is a setting that does well everywhere, not the best anywhere.

    experiments/choose_defaults.py --kalstream build/release/kalstream --data DIR --out FILE.json
        [--seeds 2] [--steps 2500] [--jobs N] [--learners ekf,alg2,...] [--without puma32fm,...]

DIR may hold kin8nm.csv, elevators.csv, puma8nm.csv, puma32fm.csv; those that are absent are left
out, the generated streams are always there. Prints the best settings of each rule, and for each
value of each setting the median score of the combinations that have it.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import math
import os
import statistics
import subprocess
import sys

GENERATED = [
    "gen:kin-like?inputs=32&dynamics=f", "gen:puma-like?noise=h", "gen:mackey-glass", "gen:narma10",
    "gen:lorenz", "gen:friedman?drift=abrupt&period=1500", "gen:sine", "gen:addition?n=2",
]
REAL = ["kin8nm", "elevators", "puma8nm", "puma32fm"]

# Gate biases as (forget, input, output); none: random.
CLOSED = (0.5, -0.5, -0.5)
OPEN = (1, 1, "none")
WIDE = (2, 1, "none")

KALMAN = {"initial_covariance": [10, 30, 100],
          "measurement_noise": ["1", "3", "3~0.3@300"],
          "process_noise": ["1e-6", "1e-4", "1e-4~1e-6@1000"],
          "bias": [CLOSED, OPEN]}
ALGORITHM = {"initial_covariance": [10, 30],
             "noise_floor": [0.1, 0.25, 0.5],
             "process_noise": ["1e-6", "1e-5", "1e-4"],
             "partition": ["node", "unit"],
             "bias": [OPEN, WIDE]}
GRIDS = {
    "sgd": {"learning_rate": [0.1, 0.2, 0.3, 0.4], "bias": [CLOSED, OPEN, WIDE]},
    "rmsprop": {"learning_rate": [0.002, 0.004, 0.006, 0.008, 0.012], "bias": [CLOSED, OPEN, WIDE]},
    "adam": {"learning_rate": [0.002, 0.004, 0.006, 0.008, 0.012], "bias": [CLOSED, OPEN, WIDE]},
    "ekf": KALMAN,
    "dekf": {**KALMAN, "partition": ["node", "unit", "gate"]},
    "iekf": {**KALMAN, "partition": ["node", "unit", "gate"]},
    "alg1": ALGORITHM,
    "alg2": {**ALGORITHM, "mixing_rate": ["none", 1]},
}


def combinations(grid):
    for values in itertools.product(*grid.values()):
        settings = dict(zip(grid.keys(), values))
        forget, inp, out = settings.pop("bias")
        yield {**settings, "forget_gate_bias": forget, "input_gate_bias": inp, "output_gate_bias": out}


def streams(folder, without):
    found = [os.path.join(folder, name + ".csv") for name in REAL] if folder else []
    return [s for s in [f for f in found if os.path.exists(f)] + GENERATED
            if not any(w and w in s for w in without)]


def nse(program, learner, settings, stream, seeds, steps):
    command = program.split() + ["run", "--data", stream, "--learner", learner, "--steps", str(steps),
                                 "--seeds", str(seeds), "--unscaled", "--jobs", "1", "--json", "-", "--quiet"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    value = json.loads(done.stdout)["summary"][0]["nse_mean"]
    return 10 if value is None else min(max(value, 1e-6), 10)


def score(result):
    return statistics.fmean(math.log(v) for v in result["nse"].values())


def show(learner, results):
    results.sort(key=score)
    print(f"\n{learner}: geometric mean NSE over streams; settings; NSE per stream")
    for r in results[:4]:
        per = " ".join(f"{os.path.splitext(s)[0].replace('gen:', '')[:9]}={v:.3f}"
                       for s, v in sorted(r["nse"].items()))
        print(f"  {math.exp(score(r)):.4f}  {r['settings']}\n          {per}")
    for key in results[0]["settings"]:
        by_value = collections.defaultdict(list)
        for r in results:
            by_value[str(r["settings"][key])].append(score(r))
        if len(by_value) > 1:
            print(f"  {key}: " + "  ".join(f"{v} {math.exp(statistics.median(s)):.4f}"
                                           for v, s in by_value.items()))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kalstream", default="build/release/kalstream")
    p.add_argument("--data", default="")
    p.add_argument("--out", required=True)
    p.add_argument("--seeds", type=int, default=2)
    p.add_argument("--steps", type=int, default=2500)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--learners", default=",".join(GRIDS))
    p.add_argument("--without", default="", help="streams to leave out, by parts of their names")
    a = p.parse_args()

    everything = []
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for learner in a.learners.split(","):
            results = [{"learner": learner, "settings": s, "nse": {}} for s in combinations(GRIDS[learner])]
            futures = {pool.submit(nse, a.kalstream, learner, r["settings"], s, a.seeds, a.steps): (r, s)
                       for r in results for s in streams(a.data, a.without.split(","))}
            for future in concurrent.futures.as_completed(futures):
                r, stream = futures[future]
                r["nse"][os.path.basename(stream)] = future.result()
            everything += results
            with open(a.out, "w") as f:  # after each rule: an interruption loses one rule at most
                json.dump(everything, f, indent=1)
            show(learner, results)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
