#!/usr/bin/env python3
"""How well `surprise` finds labelled anomalies, scored by the rules of Numenta's benchmark.

    make bench-anomalies
    experiments/anomalies.py [--data FOLDER] [--windows FILE.json] [--learner auto,ar,naive] [--seeds 3]
    experiments/anomalies.py --calibration [ROWS]

The folder holds series, time first, the value in a column `y` or `value` (or the last one); the JSON file
names windows [begin, end] for each, as that benchmark's own files do. Each series goes through
`kalstream stream --surprise`; a row is detected if its surprise is at most a threshold, one for all
series, the best of all, which is how the benchmark chooses it. Two ways to count are told:

  rows     every such row is a detection: what `--alarm-rate` marks
  events   such rows within 50 of the last one belong to it and are not told again

Rules (standard profile): the first 15 % of a series, 750 rows at most, are not scored. The first detection
inside a window earns sigma(p)/sigma(-1), p its place from -1 (begin) to 0 (end), sigma(p) = 2/(1 + e^5p) - 1;
others there nothing. One outside costs 0.11·|sigma(distance to the window before, in its widths)|, or 0.11
before any. A window missed costs 1. 0 is the score of no detection at all, 100 of all at once.
"""

import argparse
import csv
import json
import math
import pathlib
import random
import subprocess
import sys
from datetime import datetime

HERE = pathlib.Path(__file__).resolve().parent.parent
EVENT_GAP = 50  # rows
FALSE_ALARM = 0.11
THRESHOLDS = [10 ** (-k / 20) for k in range(24, 240)]  # 0.06 to 1e-12


def sigma(p):
    return 2 / (1 + math.exp(min(5 * p, 500))) - 1


class Series:
    def __init__(self, name, path, windows):
        self.name = name
        with open(path, newline="") as file:
            header, *rows = csv.reader(file)
        self.target = next((h for h in ("y", "value") if h in header), header[-1])
        self.time = header[0]
        column = header.index(self.target)
        self.text = "".join(f"{row[0]},{row[column]}\n" for row in rows)
        times = [datetime.fromisoformat(row[0]) for row in rows]
        self.rows = len(rows)
        self.probation = min(int(0.15 * self.rows), 750)
        self.windows = []  # first and last row
        for begin, end in windows:
            begin, end = datetime.fromisoformat(begin), datetime.fromisoformat(end)
            inside = [i for i, t in enumerate(times) if begin <= t <= end]
            if inside:
                self.windows.append((inside[0], inside[-1]))

    def surprise(self, program, learner, seed):
        """One per row; None where there is none."""
        command = [program, "stream", "--format", "csv", "--learner", learner, "--target", self.target,
                   "--time", self.time, "--inputs", "none", "--surprise", "--answers", "jsonl", "--quiet",
                   "--seed", str(seed)]  # fmt: skip
        text = f"{self.time},{self.target}\n{self.text}"
        answers = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        surprise = [json.loads(line).get("surprise") for line in answers.splitlines()]
        if len(surprise) != self.rows:
            sys.exit(f"{self.name}: {len(surprise)} answers to {self.rows} rows")
        return surprise

    def score(self, detections):
        """Between -windows (none found) and +windows; and how many were found."""
        total, found = 0.0, set()
        for i in detections:
            if i < self.probation:
                continue
            window = next((k for k, (a, b) in enumerate(self.windows) if a <= i <= b), None)
            if window is None:
                before = [w for w in self.windows if w[1] < i]
                cost = 1.0
                if before:
                    a, b = before[-1]
                    cost = -sigma(min((i - b) / max(b - a, 1), 3))
                total -= FALSE_ALARM * cost
            elif window not in found:
                found.add(window)
                a, b = self.windows[window]
                total += sigma((i - b - 1) / (b - a + 1)) / sigma(-1)
        return total - (len(self.windows) - len(found)), len(found)


def rows_of(surprise, threshold):
    return [i for i, p in enumerate(surprise) if p is not None and p <= threshold]


def events_of(surprise, threshold):
    events, last = [], -math.inf
    for i in rows_of(surprise, threshold):
        if i - last > EVENT_GAP:
            events.append(i)
        last = i
    return events


WAYS = {"rows": rows_of, "events": events_of}


def normalised(score, windows):
    return 100 * (score + windows) / (2 * windows) if windows else 100 * score


def best(series, surprise, detect):
    """(score, threshold) with the threshold that is best for all series together."""
    windows = sum(len(s.windows) for s in series)

    def at(threshold):
        return normalised(sum(s.score(detect(p, threshold))[0] for s, p in zip(series, surprise)), windows)

    return max((at(t), t) for t in THRESHOLDS)


# Streams without anomalies, each with a learner that predicts all there is to predict.
def calibration_streams(rng):
    def normal(t):
        return rng.gauss(0, 1)

    def heavy(t):
        return rng.gauss(0, 1) / math.sqrt(rng.gammavariate(1.5, 2) / 3)

    def skewed(t):
        return math.exp(1.5 * rng.gauss(0, 1))

    def drifting(t):
        return rng.gauss(0, 1) * math.exp(2 * math.sin(t / 3000))

    def jumping(t):
        return rng.gauss(0, 5 if t // 5000 % 2 else 1)

    def walk(step):
        place = 0.0

        def next_place(t):
            nonlocal place
            place += step(t)
            return place

        return next_place

    return {
        "normal": ("mean", normal),
        "Student's, 3 degrees": ("mean", heavy),
        "log-normal": ("mean", skewed),
        "size drifts by e^±2": ("mean", drifting),
        "size jumps by 5": ("mean", jumping),
        "random walk": ("naive", walk(normal)),
        "random walk, Student's": ("naive", walk(heavy)),
        "season and noise": ("ar", lambda t: 10 * math.sin(0.26 * t) + normal(t)),
    }


def print_calibration(program, rows):
    """How many surprises are p or less, as a multiple of p."""
    levels = [0.1, 0.01, 1e-3, 1e-4, 1e-5]
    print(f"{rows} rows\n| stream | learner | " + " | ".join(f"{p:g}" for p in levels) + " |")
    print("|:---|:---|" + "---:|" * len(levels))
    for name, (learner, value) in calibration_streams(random.Random(1)).items():
        text = "".join(f"{value(t)}\n" for t in range(rows))
        command = [program, "stream", "--learner", learner, "--surprise", "--answers", "jsonl", "--quiet"]
        answers = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
        surprise = [json.loads(line)["surprise"] for line in answers.splitlines()]
        surprise = [p for p in surprise[200:] if p is not None]
        ratios = [sum(s <= p for s in surprise) / (p * len(surprise)) for p in levels]
        print(f"| {name} | `{learner}` | " + " | ".join(f"{r:.2f}" for r in ratios) + " |", flush=True)


def print_table(series, detections):
    print(f"  {'series':40} {'score':>6} {'windows found':>14} {'detections':>11}")
    for s, of in zip(series, detections):
        score, found = s.score(of)
        windows = len(s.windows)
        print(f"  {s.name:40} {normalised(score, windows):6.1f} {found:7} of {windows:3} {len(of):11}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE / "build/release/kalstream"))
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parent / "shared/data/series")
    parser.add_argument("--windows", type=pathlib.Path, help="default: anomaly_windows.json in that folder")
    parser.add_argument("--learner", default="auto", help="one or several, separated by commas")
    parser.add_argument("--seeds", type=int, default=1, help="1 up to this; the mean score is told")
    parser.add_argument("--calibration", type=int, nargs="?", const=400000, metavar="ROWS",
                        help="how often surprise is p or less, on streams without anomalies")  # fmt: skip
    a = parser.parse_args()
    if a.calibration:
        return print_calibration(a.program, a.calibration)
    windows = a.windows or a.data / "anomaly_windows.json"
    if not windows.exists():
        sys.exit(f"{windows} is not there: name the folder of series with --data")
    series = []
    for name, of in json.loads(windows.read_text()).items():
        path = a.data / (name if name.endswith(".csv") else name + ".csv")
        series.append(Series(name, path, of))

    for learner in a.learner.split(","):
        totals = {way: [] for way in WAYS}
        for seed in range(1, a.seeds + 1):
            surprise = [s.surprise(a.program, learner, seed) for s in series]
            for way, detect in WAYS.items():
                total, threshold = best(series, surprise, detect)
                totals[way].append(total)
                print(f"\n{learner}, seed {seed}, {way}: score {total:.1f} at surprise <= {threshold:.1e}")
                print_table(series, [detect(p, threshold) for p in surprise])
        for way, scores in totals.items():
            if len(scores) > 1:
                print(f"\n{learner}, {way}: mean {sum(scores) / len(scores):.1f} over seeds 1..{a.seeds}")


if __name__ == "__main__":
    main()
