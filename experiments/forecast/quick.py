"""Only kalstream, one line per series, beside the naive forecasts and the figures in the series' README."""

import functools
import json
import os

import numpy as np

from . import program, program_scores
from .scores import LEADS, geometric_mean

LONG = 700  # rows from which on a series counts for the worst ratio


def ratio(value, other):
    return value / other if other else float("nan")


def shown(value, width=6):
    return f"{'-':>{width}}" if value is None or not np.isfinite(value) else f"{value:{width}.3f}"


def measure(binary, series, learner, seeds, jobs, interval, extra, clock):
    """{series name: {"auto": mean over seeds, "seeds": […], "simple": {name: scores}, "bands": …}}"""
    runs, tasks = [], []
    for one in series:
        for seed in seeds:
            runs.append((one, seed))
            tasks.append(
                functools.partial(
                    program_scores.of_learner, binary, one, learner, seed, interval, extra, False, clock
                )
            )
        runs.append((one, None))
        tasks.append(
            functools.partial(program_scores.of_learner, binary, one, "ar", 1, None, (), False, clock)
        )
    found = {
        one.name: {"rows": len(one.y), "seeds": [], "simple": program_scores.of_naives(one)} for one in series
    }
    for index, result in program.in_parallel(tasks, jobs):
        one, seed = runs[index]
        entry = found[one.name]
        if seed is None:
            entry["simple"]["ar"] = {key: value for key, value in result.items() if key.isdigit()}
        else:
            entry["seeds"].append(result)
    for one in series:
        entry = found[one.name]
        keys = ["1"] + [str(lead) for lead in LEADS if one.has_horizons] + ["us"]
        entry["auto"] = {key: float(np.mean([run[key] for run in entry["seeds"]])) for key in keys}
        for key in ("coverage", "width"):
            leads = entry["seeds"][0][key]
            entry["auto"][key] = {
                lead: float(np.mean([run[key][lead] for run in entry["seeds"]])) for lead in leads
            }
        if one.has_horizons and interval:
            entry["bands"] = program_scores.naive_bands(one, LEADS)
    return found


def best(simple, key, only=None):
    """(value, name) of the best simple forecast at a lead; only: those whose names begin so."""
    return min(
        (s[key], name) for name, s in simple.items() if key in s and (not only or name.startswith(only))
    )


def read_rivals(path):
    """The best rivals that a full run has kept, {series: {lead: [NSE, name]}}: its file, or its folder of results."""
    if not path:
        return {}
    if not os.path.isdir(path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    found = {}
    for name in os.listdir(path):
        if not name.endswith(".json"):
            continue
        with open(os.path.join(path, name), encoding="utf-8") as file:
            result = json.load(file)
        if "series" not in result or result["partial"]:
            continue
        for lead, value in result["scores"].items():
            kept = found.setdefault(result["series"], {})
            if np.isfinite(value) and value < kept.get(lead, [np.inf])[0]:
                kept[lead] = [value, result["rival"]]
    return found


def with_rivals(figures, found):
    """The README's figures, replaced by those found."""
    one_step, at_leads, auto = figures
    one_step, at_leads = dict(one_step), dict(at_leads)
    for name, leads in found.items():
        for lead, (value, rival) in leads.items():
            if lead == "1":
                one_step[name] = (value, rival)
            else:
                at_leads[name, int(lead)] = value
    return one_step, at_leads, auto


def line(series, entry, figures, before):
    """One series; returns the text and what the summary needs."""
    one_step, at_leads, _ = figures
    auto, simple = entry["auto"], entry["simple"]
    value, name = best(simple, "1")
    against = {"simple": ratio(auto["1"], value)}
    rival = one_step.get(series.name)
    against["rival"] = ratio(auto["1"], min(value, rival[0])) if rival else float("nan")
    text = (
        f"{series.name:13} {auto['1']:9.4g} {shown(against['simple'])} {name:18.18} {shown(against['rival'])}"
    )
    for lead in LEADS:
        key = str(lead)
        if key in auto:
            seasonal = best(simple, key, "seasonal")[0]
            against[f"season {key}"] = ratio(auto[key], seasonal)
            against[f"simple {key}"] = ratio(auto[key], best(simple, key)[0])
            rival = at_leads.get((series.name, lead))
            against[f"rival {key}"] = (
                ratio(auto[key], min(rival, best(simple, key)[0])) if rival else float("nan")
            )
            text += f" |{auto[key]:8.4g} {shown(against['season ' + key])} {shown(against['rival ' + key])}"
            if "bands" in entry and key in auto["width"]:
                against[f"width {key}"] = ratio(auto["width"][key], entry["bands"][lead][0])
                text += f" {shown(against['width ' + key], 5)}"
    coverage = list(auto["coverage"].values())
    if coverage:
        against["coverage"] = (min(coverage), max(coverage))
        text += f" | {min(coverage):.2f}-{max(coverage):.2f}"
    text += f" {auto['us']:6.0f} µs"
    if before and series.name in before:
        old = before[series.name]["auto"]
        against["before"] = [
            ratio(auto[key], old[key])
            for key in ["1"] + [str(k) for k in LEADS]
            if key in old and key in auto
        ]
        text += " |" + " ".join(shown(r, 5) for r in against["before"])
    return text, against


def summary(series, found):
    """Geometric means and worst ratios as lines of text."""

    def over(key, long_only=False):
        return [
            (found[s.name][key], s.name)
            for s in series
            if np.isfinite(found[s.name].get(key, np.nan)) and (not long_only or len(s.y) >= LONG)
        ]

    def told(title, values):
        if not values:
            return None
        worst, name = max(values)
        return f"{title:58} mean {geometric_mean([v for v, _ in values]):.3f}  worst {worst:.3f} ({name}), {len(values)} of them"

    leads = [str(lead) for lead in LEADS]
    lines = [
        told("one step / best rival", over("rival")),
        told(f"one step / best of ar, naive, seasonal naive (≥ {LONG} rows)", over("simple", True)),
        told("12 and 24 steps / best rival", [v for k in leads for v in over(f"rival {k}")]),
        told("12 and 24 steps / better seasonal naive", [v for k in leads for v in over(f"season {k}")]),
        told(
            "12 and 24 steps / best of ar, naive, seasonal naive",
            [v for k in leads for v in over(f"simple {k}")],
        ),
        told(
            "12 and 24 steps: median width / seasonal naive's band",
            [v for k in leads for v in over(f"width {k}")],
        ),
    ]
    inside = [found[s.name]["coverage"] for s in series if "coverage" in found[s.name] and s.has_horizons]
    if inside:
        lines.append(f"coverage by lead: {min(c[0] for c in inside):.3f} to {max(c[1] for c in inside):.3f}")
    before = [r for s in series for r in found[s.name].get("before", [])]
    if before:
        lines.append(
            f"all leads / before: mean {geometric_mean(before):.3f}, worst {max(before):.3f}, best {min(before):.3f}"
        )
    return [text for text in lines if text]


def run(options, series, figures):
    before = None
    if options.rivals:
        figures = with_rivals(figures, read_rivals(options.rivals))
    if options.against:
        with open(options.against, encoding="utf-8") as file:
            before = json.load(file)
    found = measure(
        options.kalstream,
        series,
        options.learner,
        options.seeds,
        options.jobs,
        options.interval,
        options.extra,
        options.leads == "clock",
    )
    print(
        f"{'series':13} {'one step':>9} {'/simple':>25} {'/rival':>7}"
        + "".join(f" |{k:>5} st /season /rival width" for k in LEADS)
        + " | coverage"
        + ("" if not before else " | / before")
    )
    ratios = {}
    for one in series:
        text, ratios[one.name] = line(one, found[one.name], figures, before)
        print(text)
    print()
    print("\n".join(summary(series, ratios)))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)
