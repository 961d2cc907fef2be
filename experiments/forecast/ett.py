"""ETT by the published online protocol, labels as they come.

All channels are z-scored with rows 0–2879 and scored on rows 3600–14399: squared errors averaged over channels and over
all origins whose whole horizon H lies there. Published figures average leads 1 … H as well; the error at exactly lead H
is given beside. A forecaster has learnt every row up to its origin, and none later.
"""

import csv
import functools
import os
import tempfile
import time

import numpy as np

from . import cache, program, regression, smoothing
from .scores import by_row, seasonal_naive
from .series import parse_times

SCALED, FIRST, END = 2880, 3600, 14400
HORIZONS = (1, 24, 48)
REFIT = 1000  # rows after which ridge and LightGBM are made anew


class Channels:
    """The file's channels, z-scored, as one array (rows, channels)."""

    def __init__(self, path, periods):
        with open(path, newline="", encoding="utf-8") as file:
            header, *rows = list(csv.reader(file))
        self.name = os.path.basename(path).removesuffix(".csv")
        self.names, self.dates, self.periods = header[1:], [row[0] for row in rows[:END]], periods
        values = np.array([[float(v) for v in row[1:]] for row in rows[:END]])
        self.y = (values - values[:SCALED].mean(axis=0)) / values[:SCALED].std(axis=0)

    def write(self, path):
        with open(path, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["date", *self.names])
            writer.writerows([date, *map(repr, map(float, row))] for date, row in zip(self.dates, self.y))


def score(channels, forecasts):
    """{H: {"mean": over leads 1 … H, "exact": at lead H}}; forecasts: {lead: (rows, channels)} by row. The mean is
    left out where not all leads are there."""
    found = {}
    for horizon in HORIZONS:
        errors = {}
        for lead in range(1, horizon + 1):
            if lead in forecasts:
                rows = slice(FIRST - 1 + lead, END - horizon + lead)
                errors[lead] = float(np.mean((channels.y[rows] - forecasts[lead][rows]) ** 2))
        if horizon in errors:
            found[str(horizon)] = {"exact": errors[horizon]}
            if len(errors) == horizon:
                found[str(horizon)]["mean"] = float(np.mean(list(errors.values())))
    return found


def of_program(binary, channels, learner, seed, extra, together, jobs):
    """All channels as targets of one learner, or a learner for each."""
    leads = range(1, max(HORIZONS) + 1)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, channels.name + ".csv")
        channels.write(path)
        groups = [channels.names] if together else [[name] for name in channels.names]
        runs = [
            functools.partial(
                program.run, binary, path, names, END, learner, seed, max(HORIZONS), None, extra
            )
            for names in groups
        ]
        results = [result for _, result in program.in_parallel(runs, jobs)]

    def at(lead):
        columns = [
            by_row(output.get(f"forecast_{lead}", name), lead)
            for names, (output, _) in zip(groups, results)
            for name in names
        ]
        return np.stack(columns, axis=1)

    us = sum(report["us_per_step"] for _, report in results)
    return {"scores": score(channels, {lead: at(lead) for lead in leads}), "us": us}


def each_channel(channels, forecast, leads):
    """{lead: (rows, channels)} of a forecaster of one series: forecast(y, lead)."""
    return {lead: np.stack([forecast(y, lead) for y in channels.y.T], axis=1) for lead in leads}


def holt_winters(channels, periods):
    """Gains are fitted for each lead of HORIZONS; leads between use those of the next one of these."""
    fitted, found = {}, {}

    def gains(channel, y, origin, lead):
        key = channel, origin, lead
        if key not in fitted:
            earlier = fitted.get((channel, origin - REFIT, lead))
            fitted[key] = smoothing.fit(y, periods, lead, origin + 1, earlier)
        return fitted[key]

    first, second = (list(periods) + [0, 0])[:2]
    for lead in range(1, max(HORIZONS) + 1):
        found[lead] = np.full(channels.y.shape, np.nan)
        fitted_for = min(h for h in HORIZONS if h >= lead)
        for channel, y in enumerate(np.ascontiguousarray(channels.y.T)):
            for origin in range(FIRST - 1, END - lead, REFIT):
                stop = min(origin + REFIT, END - lead)
                made = smoothing.run(y, gains(channel, y, origin, fitted_for), first, second, lead, stop)
                found[lead][origin + lead : stop + lead, channel] = made[origin:]
    return found


def rivals(channels):
    """{name: function that gives the forecasts}"""
    all_leads, periods = range(1, max(HORIZONS) + 1), channels.periods
    times = parse_times(channels.dates)
    found = {
        "last value": lambda: each_channel(channels, lambda y, lead: seasonal_naive(y, 1, lead), all_leads)
    }
    for period in periods:
        found[f"seasonal naive {period}"] = lambda period=period: each_channel(
            channels, lambda y, lead: seasonal_naive(y, period, lead), all_leads
        )
    found["Holt–Winters, AR(1)"] = lambda: holt_winters(channels, periods[:1])
    found["double seasonal Holt–Winters"] = lambda: holt_winters(channels, periods[:2])
    found["ridge: lags, seasons"] = lambda: each_channel(
        channels, lambda y, lead: regression.ridge(y, periods, lead, REFIT, FIRST // 3), all_leads
    )
    found["LightGBM on differences"] = lambda: each_channel(
        channels,
        lambda y, lead: regression.lightgbm(y, periods, times, lead, REFIT, FIRST - 1, True),
        HORIZONS,
    )
    return found


def of_rivals(folder, channels, only_kept=False):
    """{name: {"scores": …, "us": CPU time per row of all channels}}, kept from run to run."""
    found = {}
    for name, forecast in rivals(channels).items():

        def compute():
            begin = time.process_time()
            scores = score(channels, forecast())
            return {"scores": scores, "us": (time.process_time() - begin) / END * 1e6}

        module = smoothing if "Holt" in name else regression
        key = cache.digest(module, channels.y.tobytes().hex(), channels.periods, REFIT, name)
        try:
            slow = only_kept and "naive" not in name and "value" not in name
            found[name] = cache.kept(folder, f"{channels.name} {name} ett", key, None if slow else compute)
        except ImportError:
            continue
    return {name: result for name, result in found.items() if result}
