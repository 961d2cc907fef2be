#!/usr/bin/env python3
"""How the default settings were chosen, and how to choose them again.

Random search over the settings of each rule, the same for every stream, scored by the mean over
streams of log NSE; a default is a setting that does well everywhere, not the best anywhere.

    experiments/choose_defaults.py --kalstream build/release/kalstream --data DIR --out FILE.json
        [--tries 40] [--seeds 3] [--jobs N] [--learners ekf,alg2,...]

DIR may hold kin8nm.csv, elevators.csv, puma8nm.csv, puma32fm.csv; those that are absent are left
out, the generated streams are always there. Prints the best settings of each rule.
"""
import argparse
import concurrent.futures
import json
import math
import os
import random
import subprocess
import sys

GENERATED = [
    "gen:kin-like?inputs=32&dynamics=f", "gen:puma-like?noise=h", "gen:mackey-glass", "gen:narma10",
    "gen:lorenz", "gen:friedman?drift=abrupt&period=1500", "gen:sine", "gen:addition?n=2",
]
REAL = ["kin8nm", "elevators", "puma8nm", "puma32fm"]

BIASES = [(0.5, -0.5, -0.5), (0.5, 0.5, None), (1, 1, None), (2, 1, None), (2, 2, None), (5, 5, None), (1, 0, 0)]


def bias(rng):
    forget, inp, out = rng.choice(BIASES)
    return {"forget_gate_bias": forget, "input_gate_bias": inp,
            "output_gate_bias": "none" if out is None else out}


def kalman(rng):
    return {"initial_covariance": rng.choice([1, 3, 10, 30, 100]),
            "measurement_noise": rng.choice(["0.1", "0.3", "1", "3", "10", "10~1@300", "10~3@300", "3~0.3@300", "10~0.3@300"]),
            "process_noise": rng.choice(["0", "1e-6", "1e-5", "1e-4", "1e-3", "1e-3~1e-5@500", "1e-4~1e-6@1000"])}


def algorithm1(rng):
    return {"initial_covariance": rng.choice([1, 3, 10, 30, 100]),
            "noise_floor": rng.choice([0.03, 0.1, 0.25, 0.5, 1, 2]),
            "noise_factor": rng.choice([1, 3, 6]),
            "process_noise": rng.choice(["1e-7", "1e-6", "1e-5", "1e-4", "1e-3"]),
            "process_noise_when_gated": "false",
            "partition": rng.choice(["node", "unit"])}


def first_order(rates):
    return lambda rng: {"learning_rate": rng.choice(rates)}


RULES = {
    "sgd": first_order([0.05, 0.1, 0.2, 0.3, 0.4, 0.6]),
    "rmsprop": first_order([0.001, 0.002, 0.004, 0.006, 0.008, 0.012, 0.02]),
    "adam": first_order([0.001, 0.002, 0.004, 0.006, 0.008, 0.012, 0.02]),
    "ekf": kalman,
    "dekf": lambda rng: {**kalman(rng), "partition": rng.choice(["node", "unit", "gate"])},
    "iekf": lambda rng: {**kalman(rng), "partition": rng.choice(["node", "unit", "gate"])},
    "alg1": algorithm1,
    "alg2": lambda rng: {**algorithm1(rng), "mixing_rate": rng.choice(["none", 1])},
}


def streams(folder, steps):
    found = [os.path.join(folder, name + ".csv") for name in REAL] if folder else []
    return [f for f in found if os.path.exists(f)] + GENERATED


def run(program, learner, settings, stream, seeds, steps):
    command = program.split() + ["run", "--data", stream, "--learner", learner, "--steps", str(steps),
                                 "--seeds", str(seeds), "--jobs", "1", "--json", "-", "--quiet"]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return json.loads(done.stdout)["summary"][0]["nse_mean"]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--kalstream", default="build/release/kalstream")
    p.add_argument("--data", default="")
    p.add_argument("--out", required=True)
    p.add_argument("--tries", type=int, default=40)
    p.add_argument("--seeds", type=int, default=3)
    p.add_argument("--steps", type=int, default=2500)
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--learners", default=",".join(RULES))
    a = p.parse_args()

    names = streams(a.data, a.steps)
    rng = random.Random(1)
    tries = []
    for learner in a.learners.split(","):
        seen = set()
        for _ in range(a.tries):
            settings = {**RULES[learner](rng), **bias(rng)}
            if str(settings) not in seen:
                seen.add(str(settings))
                tries.append({"learner": learner, "settings": settings, "nse": {}})
    jobs = [(t, s) for t in tries for s in names]
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        futures = {pool.submit(run, a.kalstream, t["learner"], t["settings"], s, a.seeds, a.steps): (t, s)
                   for t, s in jobs}
        for future in concurrent.futures.as_completed(futures):
            t, s = futures[future]
            t["nse"][os.path.basename(s)] = future.result()
    for t in tries:
        values = [v if v is not None else 10 for v in t["nse"].values()]
        t["score"] = sum(math.log(min(max(v, 1e-6), 10)) for v in values) / len(values)
    tries.sort(key=lambda t: (t["learner"], t["score"]))
    with open(a.out, "w") as f:
        json.dump(tries, f, indent=1)
    for learner in a.learners.split(","):
        print(f"\n{learner}: geometric mean NSE, settings, NSE per stream")
        for t in [t for t in tries if t["learner"] == learner][:5]:
            per = " ".join(f"{os.path.splitext(s)[0].replace('gen:', '')[:8]}={v:.3f}" for s, v in sorted(t["nse"].items()))
            print(f"  {math.exp(t['score']):.4f}  {t['settings']}\n          {per}")


if __name__ == "__main__":
    main()
