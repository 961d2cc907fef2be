#!/usr/bin/env python3
"""`auto` beside everything else, on many streams: the tables of docs/auto.md.

    experiments/auto_table.py --kalstream build/release/kalstream [--data DIR] [--out FILE.json]
        [--seeds 20] [--tuning-seeds 3] [--steps 2500] [--jobs N] [--streams NAME,...]
    experiments/auto_table.py --kalstream … [--data DIR] --experts 1,2,4,8,12 [--seeds 5]

auto, auto-max and the baselines run as they are, one default for every stream, on raw data. Their
rivals are tuned for each stream: every combination of the grids below (the paper's, with three choices
of gate biases), scored with other seeds on the very rows that count later, which flatters them. EKF
takes over DEKF's best settings, as in the paper, and tries the biases anew. DIR may hold
kin8nm.csv, elevators.csv, puma8nm.csv, puma32fm.csv; what is absent is left out.

With --experts only auto runs, with the first so many networks: what a smaller budget costs.
"""
import argparse
import concurrent.futures
import csv
import io
import itertools
import json
import math
import os
import subprocess
import sys

REAL = ["kin8nm", "elevators", "puma8nm", "puma32fm"]
GENERATED = [
    "gen:kin-like", "gen:kin-like?inputs=32&dynamics=f", "gen:puma-like", "gen:puma-like?noise=h",
    "gen:puma-like?inputs=32&dynamics=f", "gen:friedman", "gen:friedman?drift=abrupt&period=800",
    "gen:friedman?drift=gradual", "gen:mackey-glass", "gen:mackey-glass?noise=0.1", "gen:narma10",
    "gen:lorenz", "gen:lorenz?noise=0.1&ahead=5", "gen:sine", "gen:addition?n=2",
]
UNTUNED = ["auto", "auto-max", "rls", "ar", "naive", "mean"]
BASELINES = ["rls", "ar", "naive", "mean"]
HIDDEN = {"elevators": 12, "puma32fm": 12}  # as published; 16 elsewhere

# Gate biases as (forget, input, output): the published rivals', Algorithm 2's, and large ones.
BIASES = [(0.5, -0.5, -0.5), (0.5, 0.5, "none"), (5, 5, "none")]
GRIDS = {
    "adam": {"learning_rate": [0.002, 0.004, 0.006, 0.008, 0.01, 0.015]},
    "dekf": {"initial_covariance": [25, 50, 100], "measurement_noise": ["10..3", "30..3", "100..3"],
             "process_noise": ["1e-2..1e-6", "1e-3..1e-6", "1e-4..1e-6"], "partition": ["node"]},
    "alg2": {"initial_covariance": [0.5, 10, 50], "process_noise": ["1e-4..1e-8", "1e-7..1e-8"],
             "error_bounds": ["0.01,0.0188,0.0354,0.0665,0.125"], "partition": ["node"]},
}


def combinations(grid):
    for bias in BIASES:
        for values in itertools.product(*grid.values()):
            yield {**dict(zip(grid, values)), **dict(zip(("forget_gate_bias", "input_gate_bias",
                                                          "output_gate_bias"), bias))}


def run(options, stream, learner, settings, seeds, form):
    name = os.path.splitext(os.path.basename(stream))[0]
    command = options.kalstream.split() + [
        "run", "--data", stream, "--learner", learner, "--steps", str(options.steps), "--seeds", seeds,
        "--jobs", "1", form, "-", "--quiet"]
    if learner in GRIDS or learner == "ekf":
        command += ["--unscaled", "--hidden", str(HIDDEN.get(name, 16))]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(" ".join(command) + "\n" + done.stderr)
    return done.stdout


def nse(options, stream, learner, settings, seeds):
    value = json.loads(run(options, stream, learner, settings, seeds, "--json"))["summary"][0]["nse_mean"]
    return 10 if value is None else min(value, 10)


def late_error(options, stream, learner, seed):
    """Mean squared error after the first 500 samples."""
    rows = list(csv.DictReader(io.StringIO(run(options, stream, learner, {}, f"{seed}..{seed}", "--csv"))))
    target, prediction = [c for c in rows[0] if c not in ("learner", "seed", "step")][:2]
    errors = [(float(r[target]) - float(r[prediction])) ** 2 for r in rows[500:]
              if r[target] and r[prediction]]
    return sum(errors) / len(errors)


def show(v):
    return f"{v:.3f}" if v >= 0.0995 else f"{v:.2g}"


def stream_name(s):
    return f"`{s}`" if s.startswith("gen:") else os.path.splitext(os.path.basename(s))[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--kalstream", required=True)
    parser.add_argument("--data")
    parser.add_argument("--out")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--tuning-seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=2500)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--experts", help="numbers of networks to compare")
    parser.add_argument("--streams", help="only those whose name contains one of these")
    options = parser.parse_args()

    real = [os.path.join(options.data, n + ".csv") for n in REAL] if options.data else []
    streams = [s for s in real if os.path.exists(s)] + GENERATED
    if options.streams:
        streams = [s for s in streams if any(w in s for w in options.streams.split(","))]
    tuning = f"1001..{1000 + options.tuning_seeds}"
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        def each(jobs):  # [(key, function, arguments)] → {key: result}, with a note of progress
            futures = [(key, pool.submit(f, options, *a)) for key, f, a in jobs]
            results = {}
            for key, future in futures:
                results[key] = future.result()
                if sys.stderr.isatty():
                    print(f"\r{len(results)} of {len(jobs)}", end="", file=sys.stderr)
            return results

        if options.experts:
            numbers = options.experts.split(",")
            found = each([((n, s), nse, (s, "auto", {"experts": n}, f"1..{options.seeds}"))
                          for n in numbers for s in streams])
            print("| networks | geometric mean of NSE | " + " | ".join(stream_name(s) for s in streams) + " |")
            print("|---" * (len(streams) + 2) + "|")
            for n in numbers:
                values = [found[n, s] for s in streams]
                mean = math.exp(sum(map(math.log, values)) / len(values))
                print(f"| {n} | {mean:.4f} | " + " | ".join(map(show, values)) + " |")
            return

        def best(learner, candidates):
            found = each([((s, i), nse, (s, learner, c, tuning))
                          for s in streams for i, c in enumerate(candidates(s))])
            chosen = {}
            for s in streams:
                scores = [(value, i) for (stream, i), value in found.items() if stream == s]
                chosen[s, learner] = list(candidates(s))[min(scores)[1]]
            return chosen

        chosen = {}
        for learner, grid in GRIDS.items():
            chosen.update(best(learner, lambda s, grid=grid: list(combinations(grid))))
        bias_keys = ("forget_gate_bias", "input_gate_bias", "output_gate_bias")
        chosen.update(best("ekf", lambda s: [
            {**{k: v for k, v in chosen[s, "dekf"].items() if k != "partition"}, **dict(zip(bias_keys, b))}
            for b in BIASES]))

        learners = UNTUNED[:2] + ["ekf", "alg2", "dekf", "adam"] + BASELINES
        per_seed = each([((s, learner, k), nse, (s, learner, chosen.get((s, learner), {}), f"{k}..{k}"))
                         for s in streams for learner in learners
                         for k in range(1, (1 if learner in BASELINES else options.seeds) + 1)])
        late = each([((s, learner), late_error, (s, learner, 1))
                     for s in streams for learner in ["auto"] + BASELINES])

    table = {}
    for s in streams:
        for learner in learners:
            values = [v for (stream, l, _), v in per_seed.items() if (stream, l) == (s, learner)]
            table.setdefault(s, {})[learner] = sum(values) / len(values)
        table[s]["behind"] = late[s, "auto"] / min(late[s, b] for b in BASELINES) - 1
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            json.dump({"nse": table, "settings": {f"{s} {l}": c for (s, l), c in chosen.items()}}, file, indent=1)

    print("| stream | " + " | ".join(learners) + " | auto and the best baseline, after 500 |")
    print("|---" * (len(learners) + 2) + "|")
    for s in streams:
        lowest = min(table[s][l] for l in learners)
        cells = [f"**{show(table[s][l])}**" if table[s][l] == lowest else show(table[s][l]) for l in learners]
        print(f"| {stream_name(s)} | " + " | ".join(cells) + f" | {100 * table[s]['behind']:+.1f} % |")


if __name__ == "__main__":
    main()
