"""Everything is measured: kalstream through its command line, the naive forecasts, the rivals, ETT's protocol."""

import datetime
import functools
import os
import platform
import sys

import numpy as np

from . import cache, ett, program, program_scores, rivals
from .machine import machine
from .scores import LEADS

OWN = ("ar", "rls", "adam", "alg2")  # kalstream's other learners, one step ahead
BANDS = (1, 2, 4, 8, 12, 16, 20, 24)  # leads of the table of bounds


def told(text):
    print(text, file=sys.stderr, flush=True)


def program_key(options):
    """What the program's own results depend on, beside series, learner and seed."""
    with open(options.kalstream, "rb") as file:
        return cache.digest(file.read().hex(), options.extra, options.interval, options.leads, program_scores)


def of_program(options, series):
    """{series: {"seeds": […], "own": {learner: scores}}}; the first seed's forecasts come along, for rivals that
    forecast fewer rows. A program that has been measured is not run again."""
    key, tasks, runs = program_key(options), [], []

    def run(one, learner, seed):
        # learners that need past targets as inputs get 24, or fewer in a short series
        lags = ["--lags", str(min(24, len(one.y) // 10))] if learner not in ("auto", "ar") else []
        mine, keep = learner == "auto", learner == "auto" and seed == options.seeds[0]
        extra, interval = (options.extra, options.interval) if mine else (lags, None)
        result = program_scores.of_learner(
            options.kalstream, one, learner, seed, interval, extra, keep, options.leads == "clock"
        )
        if keep:
            result["forecasts"] = {lead: values.tolist() for lead, values in result["forecasts"].items()}
        return result

    for one in series:
        for learner, seed in [("auto", seed) for seed in options.seeds] + [(learner, 1) for learner in OWN]:
            runs.append((one.name, learner))
            name = f"kalstream {one.name} {learner} {seed}"
            mine = cache.digest(key, one.y.tobytes().hex(), options.seeds[0])
            compute = functools.partial(run, one, learner, seed)
            tasks.append(functools.partial(cache.kept, options.cache, name, mine, compute))
    found = {one.name: {"seeds": [], "own": {}} for one in series}
    for index, result in program.in_parallel(tasks, options.jobs):
        name, learner = runs[index]
        if learner == "auto":
            found[name]["seeds"].append(result)
            told(f"{name}: auto {result['1']:.4g}")
        else:
            found[name]["own"][learner] = {k: v for k, v in result.items() if k.isdigit() or k == "us"}
    return found


def on_same_rows(series, forecasts, kept):
    """Squared error of auto over that of a rival that forecast some rows only: {lead: (ratio, rows)}."""
    found = {}
    for lead, (rows, values) in kept.items():
        rows, values = np.array(rows, dtype=int), np.array(values)
        mine = np.array(forecasts[lead])[rows] if len(rows) else np.zeros(0)
        seen = np.isfinite(mine) & np.isfinite(values)
        if seen.sum() >= 20:
            d = series.y[rows][seen]
            found[lead] = (
                float(np.sum((d - mine[seen]) ** 2) / np.sum((d - values[seen]) ** 2)),
                int(seen.sum()),
            )
    return found


def of_rivals(options, series, results):
    """Adds {"rivals": {name: {lead: NSE, "us": …}}, "partial": {name: {lead: (auto / rival, rows)}}} to each series.
    Returns {name: how many runs are not there}."""
    for one in series:
        results[one.name].update(rivals={}, partial={}, costs={})
    missing = {}
    for one, rival, protocol in rivals.tasks(series):
        result = rivals.cached(options.cache, one, rival, protocol, options.cached_rivals)
        if result is None:
            missing[rival.name] = missing.get(rival.name, 0) + 1
            continue
        entry = results[one.name]
        if rival.partial:
            kept = on_same_rows(one, entry["seeds"][0]["forecasts"], result["partial"])
            entry["partial"].setdefault(rival.name, {}).update(kept)
        else:
            entry["rivals"].setdefault(rival.name, {}).update(result["scores"])
        if protocol == "one step":
            entry["costs"][rival.name] = result["us"]
    return missing


def of_ett(options, series):
    """{file: {name: {"scores": …, "us": …}}} for every ETT file of hours that is long enough; auto's first seed."""
    found = {}
    for path in sorted({one.path for one in series if os.path.basename(one.path).startswith("ETTh")}):
        channels = ett.Channels(path, next(one.periods for one in series if one.path == path))
        if len(channels.y) < ett.END:
            continue
        entries = {}
        for name, learner, together in (
            ("auto", "auto", True), ("auto, each channel by itself", "auto", False), ("ar, each channel by itself", "ar", False)
        ):  # fmt: skip
            told(f"{channels.name}, published protocol: {name}")
            key = cache.digest(
                program_key(options), channels.y.tobytes().hex(), learner, together, options.seeds[0]
            )
            entries[name] = cache.kept(
                options.cache, f"{channels.name} kalstream {name}", key,
                lambda: ett.of_program(
                    options.kalstream, channels, learner, options.seeds[0], options.extra, together, options.jobs
                ),
            )  # fmt: skip
        told(f"{channels.name}, published protocol: rivals")
        entries.update(ett.of_rivals(options.cache, channels, options.cached_rivals))
        found[channels.name] = entries
    return found


def measure(options, series, figures):
    """All results, as they go into the JSON file."""
    results = of_program(options, series)
    missing = of_rivals(options, series, results)
    for one in series:
        entry = results[one.name]
        entry["rows"], entry["simple"] = len(one.y), program_scores.of_naives(one)
        entry["simple"]["ar"] = {key: value for key, value in entry["own"]["ar"].items() if key.isdigit()}
        keys = ["1"] + [str(lead) for lead in LEADS if one.has_horizons]
        entry["auto"] = {key: float(np.mean([run[key] for run in entry["seeds"]])) for key in keys}
        entry["us"] = float(np.median([run["us"] for run in entry["seeds"]]))
        if one.has_horizons:
            entry["bands"] = program_scores.naive_bands(one, BANDS)
        for run in entry["seeds"]:
            run.pop("forecasts", None)
        entry["published"] = {"1": figures[0].get(one.name)}
        entry["published"].update({str(k): figures[1].get((one.name, k)) for k in LEADS})
    about = {
        "date": datetime.date.today().isoformat(),
        "machine": machine(),
        "kalstream": program.version(options.kalstream),
        "python": platform.python_version(),
        "packages": {r.package: rivals.installed(r) for r in rivals.ALL if r.package},
        "seeds": options.seeds,
        "jobs": options.jobs,
        "missing": missing,
        "remark": options.remark,
    }
    return {"about": about, "series": results, "ett": of_ett(options, series)}
