"""Markdown from the results of full.measure()."""

import statistics

from .full import BANDS
from .scores import LEADS, geometric_mean

LONG = 700  # rows from which on a series counts for the worst ratio
KEYS = [str(lead) for lead in LEADS]


def best(scores, key):
    """(NSE, name) of the best at a lead."""
    return min((s[key], name) for name, s in scores.items() if key in s and s[key] == s[key])


def contest(entry, key):
    """What auto is measured by at a lead: the best of the simple forecasts, the better seasonal naive, the best of all."""
    seasonal = {name: s for name, s in entry["simple"].items() if name.startswith("seasonal")}
    return {
        "auto": entry["auto"][key],
        "simple": best(entry["simple"], key),
        "season": best(seasonal, key) if seasonal else None,
        "rival": best({**entry["rivals"], **entry["simple"]}, key),
        "published": entry["published"].get(key),
    }


def over(value, other):
    return value / other[0]


def table(header, rows):
    return "\n".join(["| " + " | ".join(row) + " |" for row in [header, ["---"] * len(header), *rows]])


def published(value):
    """A figure of the series' README, which may come with its rival's name."""
    return None if value is None else value[0] if isinstance(value, (list, tuple)) else value


def one_step(series):
    rows = []
    for name, entry in series.items():
        c = contest(entry, "1")
        values = [run["1"] for run in entry["seeds"]]
        rows.append([
            name, f"{entry['rows']:,}", f"{c['auto']:.4g}", f"{min(values):.4g}–{max(values):.4g}",
            f"{c['simple'][0]:.4g} {c['simple'][1]}", f"{over(c['auto'], c['simple']):.2f}",
            f"{c['rival'][0]:.4g} {c['rival'][1]}", f"{over(c['auto'], c['rival']):.2f}", f"{entry['us']:.0f}",
        ])  # fmt: skip
    return table(
        ["series", "rows", "auto", "over seeds", "best of ar, naive, seasonal naive", "auto / it", "best rival", "auto / it",
         "µs"], rows,
    )  # fmt: skip


def horizons(series):
    rows = []
    for name, entry in series.items():
        for key in KEYS:
            if key not in entry["auto"]:
                continue
            c = contest(entry, key)
            rows.append([
                name, key, f"{c['auto']:.4g}", f"{c['season'][0]:.4g} {c['season'][1].removeprefix('seasonal naive ')}",
                f"{over(c['auto'], c['season']):.2f}", f"{c['rival'][0]:.4g} {c['rival'][1]}",
                f"{over(c['auto'], c['rival']):.2f}",
            ])  # fmt: skip
    return table(
        ["series", "k", "auto", "better seasonal naive", "auto / it", "best rival", "auto / it"], rows
    )


def summary(series):
    """The rows that are asked for, as ratios."""
    first = {name: contest(entry, "1") for name, entry in series.items()}
    later = {(n, k): contest(e, k) for n, e in series.items() for k in KEYS if k in e["auto"]}
    long = {name: c for name, c in first.items() if series[name]["rows"] >= LONG}

    def line(title, contests, against):
        ratios = {}
        for name, c in contests.items():
            other = published(c["published"]) if against == "published" else c[against] and c[against][0]
            if other:
                ratios[name if isinstance(name, str) else f"{name[0]}, {name[1]}"] = c["auto"] / other
        if not ratios:
            return [title, "", "", ""]
        worst = max(ratios, key=ratios.get)
        wins = sum(r < 0.995 for r in ratios.values()), sum(0.995 <= r <= 1.005 for r in ratios.values())
        losses = len(ratios) - sum(wins)
        return [
            title, f"{geometric_mean(ratios.values()):.3f}", f"{ratios[worst]:.2f} ({worst})",
            f"{wins[0]} / {wins[1]} / {losses}",
        ]  # fmt: skip

    return table(
        ["`auto` against", "geometric mean", "worst", "wins / ties / losses"],
        [
            line("one step: the best rival in hindsight", first, "rival"),
            line("one step: the best rival of the series' README", first, "published"),
            line(f"one step, series of ≥ {LONG} rows: best of ar, naive, seasonal naive", long, "simple"),
            line("12 and 24 steps: the best rival in hindsight", later, "rival"),
            line("12 and 24 steps: the best rival of the series' README", later, "published"),
            line("12 and 24 steps: the better seasonal naive", later, "season"),
            line("12 and 24 steps: best of ar, naive, seasonal naive", later, "simple"),
        ],
    )


def standings(results):
    """{name: {"1": [ratios rival / auto], "leads": […], "us": […], "rows": rows in common, if not all}}"""
    found = {}

    def entry(name):
        return found.setdefault(name, {"1": [], "leads": [], "us": [], "rows": 0})

    for series in results["series"].values():
        scores = {**series["rivals"], **series["simple"]}
        scores.update({f"kalstream {name}": s for name, s in series["own"].items() if name != "ar"})
        for name, score in scores.items():
            label = "seasonal naive" if name.startswith("seasonal naive") else name
            for key in ["1", *KEYS]:
                if key in score and key in series["auto"] and score[key] == score[key]:
                    entry(label)["1" if key == "1" else "leads"].append(score[key] / series["auto"][key])
        for name, kept in series["partial"].items():
            for key, (ratio, rows) in kept.items():
                entry(name)["1" if key == "1" else "leads"].append(1 / ratio)
                entry(name)["rows"] += rows if key == "1" else 0
        for name, cost in series["costs"].items():
            entry(name)["us"].append(cost)
        for name, learner in series["own"].items():
            entry(name if name == "ar" else f"kalstream {name}")["us"].append(learner["us"])
        entry("auto")["us"].append(series["us"])
    found["auto"]["1"] = [1.0] * len(results["series"])
    found["auto"]["leads"] = [1.0]
    # one that was run on a few series only cannot be compared with those run on all
    return {name: entry for name, entry in found.items() if 2 * len(entry["1"]) >= len(results["series"])}


def ranking(results):
    rows = []
    listed = sorted(standings(results).items(), key=lambda item: geometric_mean(item[1]["1"]))
    for name, entry in listed:
        if name == "auto":
            continue
        ratio, later = geometric_mean(entry["1"]), geometric_mean(entry["leads"])
        rows.append([
            name, f"{ratio:.2f}", f"{sum(r > 1 for r in entry['1'])} of {len(entry['1'])}",
            f"{later:.2f}" if entry["leads"] else "", f"{sum(r > 1 for r in entry['leads'])} of {len(entry['leads'])}" if entry["leads"] else "",
            f"{statistics.median(entry['us']):,.0f}" if entry["us"] else "", f"{entry['rows']:,} rows" if entry["rows"] else "",
        ])  # fmt: skip
    return table(
        [
            "rival",
            "its error / auto's, one step",
            "auto better",
            "12 and 24 steps",
            "auto better",
            "µs per sample",
            "scored on",
        ],
        rows,
    )


def published_protocol(entries):
    rows = []
    for name, entry in entries.items():
        row = [name]
        for horizon, score in sorted(entry["scores"].items(), key=lambda item: int(item[0])):
            mean = f"{score['mean']:.3f}" if "mean" in score else "–"
            row += [mean] if horizon == "1" else [mean, f"{score['exact']:.3f}"]
        rows.append(row + [f"{entry['us']:,.0f}"])
    header = [
        "",
        "1 step",
        "mean of 1–24",
        "exactly 24",
        "mean of 1–48",
        "exactly 48",
        "µs per row, all channels",
    ]
    return table(header, rows)


def bounds(series):
    """Per series and per lead: coverage, and median width against seasonal naive's own band."""

    def mean(entry, what, lead):
        return statistics.mean(run[what][str(lead)] for run in entry["seeds"])

    there = {
        name: entry for name, entry in series.items() if "bands" in entry and entry["seeds"][0]["coverage"]
    }
    if not there:
        return ""
    by_lead = []
    for lead in BANDS:
        covered = {name: mean(entry, "coverage", lead) for name, entry in there.items()}
        naive = [entry["bands"][lead][1] for entry in there.values()]
        widths = [mean(entry, "width", lead) / entry["bands"][lead][0] for entry in there.values()]
        by_lead.append([
            str(lead), f"{statistics.mean(covered.values()):.3f}",
            f"{min(covered.values()):.3f} ({min(covered, key=covered.get)})",
            f"{max(covered.values()):.3f} ({max(covered, key=covered.get)})",
            f"{statistics.mean(naive):.3f}", f"{min(naive):.3f}–{max(naive):.3f}", f"{geometric_mean(widths):.2f}", f"{max(widths):.2f}",
        ])  # fmt: skip
    by_series = []
    for name, entry in there.items():
        leads = entry["seeds"][0]["coverage"]
        covered = [mean(entry, "coverage", lead) for lead in leads]
        row = [name, f"{min(covered):.3f}–{max(covered):.3f}"]
        for lead in (1, *LEADS):
            row.append(f"{mean(entry, 'width', lead) / entry['bands'][lead][0]:.2f}")
        by_series.append(row)
    first = table(
        [
            "lead",
            "mean coverage",
            "least",
            "most",
            "seasonal naive's mean",
            "its range",
            "width / naive's, mean",
            "widest",
        ],
        by_lead,
    )
    second = table(
        ["series", "coverage, leads 1–24", "width / naive's at 1", *(f"at {k}" for k in LEADS)], by_series
    )
    return first + "\n\n" + second


def unmeasured(missing):
    """A remark on rivals that were not run on all series."""
    if not missing:
        return ""
    return (
        "Not all rivals had been run, so these lack series or leads: "
        + ", ".join(missing)
        + "; those that lack half are not ranked."
    )


def markdown(results, chart):
    about, series = results["about"], results["series"]
    packages = ", ".join(f"{name} {version}" for name, version in about["packages"].items() if version)
    missing = [name for name, version in about["packages"].items() if not version]
    parts = [
        "# Forecasts of real series, measured",
        "Written by `make bench-forecast`; what the figures mean is said in "
        "[experiments/forecast/README.md](../experiments/forecast/README.md).",
        f"{about['date']}, {about['kalstream']}, {about['machine']}, processes at a time: {about['jobs']}; `auto` with no settings, "
        f"mean of seeds {', '.join(map(str, about['seeds']))}; Python {about['python']}, {packages}."
        + (f" Not installed, so left out: {', '.join(missing)}." if missing else ""),
        about["remark"],
        unmeasured(about["missing"]),
        "## At a glance",
        "Ratios of NSE; below 1 `auto` is better. The best rival is the best in hindsight for each series and lead, the simple "
        "forecasts included.",
        summary(series),
        f"![Error against cost]({chart})" if chart else "",
        "## One step ahead",
        one_step(series),
        "## Exactly 12 and 24 steps ahead",
        horizons(series),
        "## Rival by rival",
        "Geometric means of a rival's squared error over `auto`'s; above 1 `auto` is better. A rival of which rows are told "
        "was slow, forecast some of the last 1,000 origins only, and is compared on these rows.",
        ranking(results),
    ]
    for name, entries in results["ett"].items():
        parts += [
            f"## {name}, published online protocol",
            "MSE of z-scored channels, labels as they come.",
            published_protocol(entries),
        ]
    parts += ["## Bounds that hold 0.9 of the targets", bounds(series)]
    return "\n\n".join(part for part in parts if part) + "\n"
