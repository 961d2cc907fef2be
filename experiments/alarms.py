#!/usr/bin/env python3
"""What `--strangeness` finds, and how often it is wrong: the tables of docs/anomalies.md.

    experiments/alarms.py [--program build/release/kalstream] [--data FOLDER] [--learner auto]
    experiments/alarms.py --constants      each constant halved and doubled (make experiments)

Three collections, all with times left out:

  labelled   series with windows of Numenta's benchmark, scored by its rules (experiments/anomalies.py)
  ordinary   the other series of that folder, every column of theirs, and ten made-up ones: alarms in 1,000 rows
  families   fifteen of the ordinary and made-up series, 4,000 rows each, into each of which one anomaly is put:
             a spike, a level, a drift, a stuck value, a larger spread, or a slow failure
"""

import argparse
import collections
import concurrent.futures
import csv
import json
import math
import pathlib
import random
import subprocess
import tempfile

from anomalies import HERE, Series, normalised

ROWS = 4000
KINDS = ["spike", "level", "drift", "stuck", "spread", "failure"]
RIGHT_KIND = {"failure": ("drift", "level")}
CONSTANTS = {
    "threshold": 6, "size": 10, "first_rows": 200, "history": 10000, "short_window": 10, "long_window": 30,
    "gate": 2, "proneness": 1, "prone_step": 0.04, "prone_memory": 4096, "growth": 0.5, "lasting": 1024,
    "young_part": 8, "leak": 0.125, "renew": 1.5, "calm": 30, "quiet": 100, "stuck_rows": 40, "stuck_times": 4,
    "stuck_memory": 8192,
}  # fmt: skip


def made_up():
    """Series without anomalies."""
    rng = random.Random(3)
    near, place, wave = 0.0, 100.0, 0.0
    series = collections.defaultdict(list)
    for t in range(ROWS):
        near = 0.9 * near + rng.gauss(0, 1)
        place += rng.gauss(0, 1)
        wave = 0.8 * wave + (rng.expovariate(1 / 8) if rng.random() < 0.03 else 0)
        day = 80 if 9 <= (t % 288) * 24 / 288 < 18 else 20
        series["noise"].append(10 + rng.gauss(0, 1))
        series["ar"].append(50 + near)
        series["walk"].append(place)
        series["counts"].append(float(int(10 + 3 * wave + 3 * abs(rng.gauss(0, 1)))))
        series["days"].append(day + rng.uniform(-2, 2))
        series["season"].append(50 + 20 * math.sin(2 * math.pi * t / 144) + rng.gauss(0, 2))
        series["at 99"].append(99 - abs(rng.gauss(0, 0.3)))
        series["trend"].append(0.02 * t + rng.gauss(0, 3))
        series["steps"].append(20.0 + 2 * round(3 * math.sin(2 * math.pi * t / 288)) + (rng.random() < 0.1))
        series["bursts"].append(5 + rng.gauss(0, 0.2) + (40 if t % 97 == 0 else 0))
    return dict(series)


def with_anomaly(kind, values, rng):
    """The series with one of this kind, and its first and last row. Sizes are those of the middle 96 % of values."""
    y = list(values)
    first = rng.randrange(2200, 3400)
    ranked = sorted(y[:first])
    width = ranked[int(0.98 * first)] - ranked[int(0.02 * first)]
    step = sorted(abs(b - a) for a, b in zip(y[: first - 1], y[1:first]))[first // 2]
    sign = rng.choice((-1, 1))
    last = first + {"spike": 1, "drift": 400, "failure": 288}.get(kind, 200)
    low = ranked[0] - 0.9 * width
    for t in range(first, first + 1 if kind == "spike" else last):
        part = (t - first) / 1
        if kind == "spike":
            y[t] += sign * max(width, 12 * step)
        elif kind == "level":
            y[t] += sign * 0.7 * width
        elif kind == "drift":
            y[t] += sign * 0.8 * width * min(1, part / 300)
        elif kind == "stuck":
            y[t] = y[first]
        elif kind == "spread":
            y[t] += 3 * max(step, 0.08 * width) * rng.gauss(0, 1)
        else:
            fallen = min(1, part / 200)
            y[t] = y[t] * (1 - fallen) + fallen * (low + 0.02 * width * rng.gauss(0, 1))
    return y, (first, last)


class Case:
    """A series, what is to be found in it, and what was told of it."""

    def __init__(self, group, name, values, windows=()):
        self.group, self.name, self.values, self.windows = group, name, values, list(windows)
        self.rows = len(values)
        self.probation = min(int(0.15 * self.rows), 750)
        self.told, self.alarms, self.predicted = [], [], []

    score = Series.score

    def run(self, program, learner):
        command = [program, "stream", "--learner", learner, "--strangeness", "--target", "1", "--time", "none",
                   "--inputs", "none", "--answers", "jsonl", "--quiet"]  # fmt: skip
        text = "".join(f"{v!r}\n" for v in self.values)
        lines = subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.splitlines()
        for row, answer in enumerate(map(json.loads, lines)):
            self.told.append(answer["strangeness"])
            self.predicted.append((answer["target"], answer["prediction"], answer["surprise"]))
            alarm = answer.get("alarm")
            if alarm and alarm["event"] == "start":
                self.alarms.append({"start": row, "kind": alarm["kind"]})
            elif alarm:
                self.alarms[-1].update(kind=alarm["kind"], end=row)
        return self

    def starts(self):
        return [alarm["start"] for alarm in self.alarms]


def columns_of(path):
    with open(path, newline="") as file:
        header, *rows = csv.reader(file)
    times = [k for k, name in enumerate(header) if name in ("time", "date")]
    names = [name for name in ("y", "value") if name in header] or [h for k, h in enumerate(header) if k not in times]
    for name in names:
        k = header.index(name)
        yield (path.stem if len(names) == 1 else f"{path.stem} {name}"), [float(row[k]) for row in rows]


def cases_of(folder):
    windows = json.loads((folder / "anomaly_windows.json").read_text())
    cases, ordinary = [], {}
    for path in sorted(folder.glob("*.csv")):
        for name, values in columns_of(path):
            if path.stem in windows:
                labelled = Series(name, path, windows[path.stem])
                cases.append(Case("labelled", name, values, labelled.windows))
            else:
                ordinary[name] = values
                cases.append(Case("ordinary", name, values))
    bases = made_up()
    cases += [Case("made up", name, values) for name, values in bases.items()]
    for name in ("AEP-load", "beijing-temp", "ETTh1 HUFL", "ETTh1 OT", "bike"):
        bases[name] = ordinary[name][:ROWS]
    for kind in KINDS:
        for name, values in bases.items():
            y, window = with_anomaly(kind, values, random.Random(f"{kind} {name}"))
            cases.append(Case(kind, name, y, [window]))
    return cases


def alarms_per_1000(cases, detect):
    return 1000 * sum(len(detect(c)) for c in cases) / sum(c.rows for c in cases)


def score_of(cases, detect):
    windows = sum(len(c.windows) for c in cases)
    scores = [c.score(detect(c)) for c in cases]
    return normalised(sum(s for s, _ in scores), windows), sum(f for _, f in scores), windows


def found_in(cases, detect):
    """How many of the anomalies, and how many other alarms after the probation."""
    inside = lambda c, t: c.windows[0][0] <= t <= c.windows[0][1] + 10  # noqa: E731
    found = sum(any(inside(c, t) for t in detect(c)) for c in cases)
    others = sum(sum(not inside(c, t) and t >= c.probation for t in detect(c)) for c in cases)
    return found, others


def print_tables(groups):
    labelled = groups["labelled"]
    print("\nLabelled series, Numenta's rules, standard profile; rows: every row told with so much")
    print("| | score | windows found | rows told | ordinary series: in 1,000 rows |\n|:---|---:|---:|---:|---:|")
    best = max(
        (score_of(labelled, lambda c, t=t: told(c, t))[0], t) for t in [0.5 + 0.05 * k for k in range(50)]
    )[1]
    for what, detect in {
        "alarms": Case.starts,
        "rows, 1 and more": lambda c: told(c, 1),
        f"rows, {best:.2f} and more (the best)": lambda c: told(c, best),
    }.items():
        score, found, windows = score_of(labelled, detect)
        others = alarms_per_1000(groups["ordinary"], detect)
        count = sum(len(detect(c)) for c in labelled)
        print(f"| {what} | {score:.1f} | {found} of {windows} | {count} | {others:.2f} |")
    print("\nAlarms in series without labels\n| series | rows | alarms | in 1,000 rows | kinds |\n|:---|---:|---:|---:|:---|")
    for c in groups["ordinary"] + groups["made up"]:
        kinds = collections.Counter(a["kind"] for a in c.alarms)
        text = ", ".join(f"{n} {kind}" for kind, n in kinds.most_common())
        print(f"| {c.name} | {c.rows} | {len(c.alarms)} | {1000 * len(c.alarms) / c.rows:.2f} | {text} |")
    for group in ("ordinary", "made up"):
        print(f"all {group}: {alarms_per_1000(groups[group], Case.starts):.2f} alarms in 1,000 rows")
    print("\nFamilies\n| anomaly | score | found | told as its kind | told as | other alarms |\n|:---|---:|---:|---:|:---|---:|")
    for kind in KINDS:
        cases = groups[kind]
        found, others = found_in(cases, Case.starts)
        first = [[a["kind"] for a in c.alarms if c.windows[0][0] <= a["start"] <= c.windows[0][1] + 10][:1] for c in cases]
        kinds = collections.Counter(k for one in first for k in one)
        right = sum(kinds[k] for k in RIGHT_KIND.get(kind, (kind,)))
        text = ", ".join(f"{n} {k}" for k, n in kinds.most_common())
        score = score_of(cases, Case.starts)[0]
        print(f"| {kind} | {score:.0f} | {found} of {len(cases)} | {right} | {text} | {others} |")


def told(case, threshold):
    return [t for t, s in enumerate(case.told) if s is not None and s >= threshold]


def print_constants(program, groups):
    """What comes of each constant halved and doubled, on predictions that stay what they are."""
    folder = pathlib.Path(tempfile.mkdtemp())
    files = {}
    for cases in groups.values():
        for c in cases:
            path = folder / f"{c.group} {c.name}".replace(" ", "_")
            none = float("nan")
            path.write_text("".join(f"{d!r},{p!r},{none if s is None else s!r}\n" for d, p, s in c.predicted))
            files[str(path)] = c
    print("| constant | labelled: score | ordinary: in 1,000 rows | made up | families: found | others |")
    print("|:---|---:|---:|---:|---:|---:|")
    variants = [("as it is", [])]
    variants += [
        (f"{k} {f * v:g}", [f"{k}={f * v}"])
        for k, v in CONSTANTS.items()
        for f in (0.5, 2)
        if k != "renew" or f * v > 1
    ]
    for name, settings in variants:
        said = subprocess.run([program, *settings, *files], capture_output=True, text=True, check=True).stdout
        starts = collections.defaultdict(list)
        for line in said.splitlines():
            if line.startswith("# "):
                at = starts[id(files[line[2:]])]
            elif line.endswith(" 1"):
                at.append(int(line.split()[0]))
        detect = lambda c, starts=starts: starts[id(c)]  # noqa: E731
        found, others = found_in([c for k in KINDS for c in groups[k]], detect)
        print(
            f"| {name} | {score_of(groups['labelled'], detect)[0]:.0f} "
            f"| {alarms_per_1000(groups['ordinary'], detect):.2f} | {alarms_per_1000(groups['made up'], detect):.2f} "
            f"| {found} of {sum(len(groups[k]) for k in KINDS)} | {others} |"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=str(HERE / "build/release/kalstream"))
    parser.add_argument("--data", type=pathlib.Path, default=HERE.parent / "shared/data/series")
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--constants", action="store_true", help="each constant halved and doubled")
    a = parser.parse_args()
    groups = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        for c in workers.map(lambda case: case.run(a.program, a.learner), cases_of(a.data)):
            groups[c.group].append(c)
    if a.constants:
        print_constants(pathlib.Path(a.program).parent / "alarm_constants", groups)
    else:
        print_tables(groups)


if __name__ == "__main__":
    main()
