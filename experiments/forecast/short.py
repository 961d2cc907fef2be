#!/usr/bin/env python3
"""Short monthly, quarterly and yearly series: `auto` beside AutoETS and AutoTheta of statsforecast.

    experiments/forecast/short.py --kalstream build/release/kalstream [--data ../shared/data/series] [--only REGEX]
        [--period told|found] [--json FILE]

Forty series of 30 to 60 rows: pieces of real ones (the folder's nottem, UKgas, co2-weekly and lynx; macrodata, elnino,
nile and sunspots, which come with statsmodels) and made-up ones of trend and season. One forecast is made at the end
of each, 12 steps ahead of months, 8 of quarters and years. The score is MASE: the mean absolute error, divided by that of the
last season's value within the history. `--period told` gives the period to every method; `found` keeps it from kalstream
alone.
"""

import argparse
import csv
import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass

import numpy as np

COVERAGE = 0.8


@dataclass
class Piece:
    name: str
    period: int
    past: np.ndarray
    future: np.ndarray

    def mase(self, forecast):
        season = max(self.period, 1)
        scale = np.mean(np.abs(self.past[season:] - self.past[:-season]))
        return float(np.mean(np.abs(self.future - forecast)) / scale)


def column(path, name="y"):
    with open(path, newline="", encoding="utf-8") as file:
        return np.array([float(row[name]) for row in csv.DictReader(file)])


def monthly_means(path):
    """Of a file with times, by calendar month."""
    months = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            months.setdefault(row["time"][:7], []).append(float(row["y"]))
    return np.array([np.mean(months[month]) for month in sorted(months)])


def cut(name, y, period, begin, rows):
    steps = 12 if period == 12 else 8
    return Piece(f"{name}@{begin}+{rows}", period, y[begin : begin + rows], y[begin + rows : begin + rows + steps])


def real(folder):
    import statsmodels.datasets as datasets

    nottem, gas = column(f"{folder}/nottem.csv"), column(f"{folder}/UKgas.csv")
    lynx, co2 = column(f"{folder}/lynx.csv"), monthly_means(f"{folder}/co2-weekly.csv")
    macro = datasets.macrodata.load_pandas().data
    nino = datasets.elnino.load_pandas().data.iloc[:, 1:].to_numpy(float).ravel()
    pieces = [cut("nottem", nottem, 12, b, n) for b, n in ((0, 36), (100, 48), (180, 40))]
    pieces += [cut("UKgas", gas, 4, b, n) for b, n in ((0, 32), (30, 40), (60, 40))]
    pieces += [cut("co2", co2, 12, b, n) for b, n in ((100, 36), (300, 48), (400, 60))]
    pieces += [cut("lynx", lynx, 1, b, n) for b, n in ((0, 40), (50, 50))]
    pieces += [cut("elnino", nino, 12, b, n) for b, n in ((24, 36), (240, 48))]
    names = (("realgdp", 0, 40), ("realcons", 60, 36), ("realinv", 120, 48), ("cpi", 40, 40), ("m1", 100, 60))
    names += (("unemp", 20, 44), ("infl", 130, 36))
    pieces += [cut(name, macro[name].to_numpy(float), 4, b, n) for name, b, n in names]
    pieces += [cut("nile", datasets.nile.load_pandas().data["volume"].to_numpy(float), 1, 10, 50)]
    pieces += [cut("sunspots", datasets.sunspots.load_pandas().data["SUNACTIVITY"].to_numpy(float), 1, 150, 60)]
    return pieces


def season_of(random, period):
    """A year's shape: two waves and a little that is irregular."""
    phase = 2 * np.pi * np.arange(period) / period
    shape = np.sin(phase + random.uniform(0, 6.28)) + 0.5 * np.sin(2 * phase + random.uniform(0, 6.28))
    shape += 0.3 * random.standard_normal(period)
    return shape - shape.mean()


def made_up():
    pieces = []

    def add(name, period, rows, make):
        random = np.random.default_rng(len(pieces))
        steps = 12 if period == 12 else 8
        t = np.arange(rows + steps)
        y = make(random, t, np.resize(season_of(random, period), len(t)))
        pieces.append(Piece(name, period, y[:rows], y[rows:]))

    for period, rows, noise in ((12, 30, 0.1), (12, 36, 1), (12, 48, 3), (4, 30, 0.3), (4, 40, 2), (12, 60, 0.5)):
        add(
            f"trend+season/{noise}-{period}-{rows}", period, rows,
            lambda r, t, s, noise=noise: 100 + 0.5 * t + 5 * s + noise * r.standard_normal(len(t)),
        )
    for period, rows, noise in ((12, 36, 0.02), (12, 48, 0.08), (4, 32, 0.03), (4, 48, 0.1)):
        add(
            f"multiplicative/{noise}-{period}-{rows}", period, rows,
            lambda r, t, s, noise=noise: np.exp(5 + 0.015 * t + 0.2 * s + noise * r.standard_normal(len(t))),
        )
    for period, rows in ((12, 36), (4, 36), (12, 54)):
        add(
            f"level-shift-{period}-{rows}", period, rows,
            lambda r, t, s, rows=rows: 50 + 3 * s + 20 * (t > rows * 0.6) + r.standard_normal(len(t)),
        )
    for period, rows, mean in ((12, 36, 4), (12, 48, 20), (4, 40, 8)):
        add(
            f"counts-{mean}-{period}-{rows}", period, rows,
            lambda r, t, s, mean=mean: r.poisson(mean * np.exp(0.3 * s)).astype(float),
        )
    for period, rows in ((12, 40), (4, 40)):
        add(
            f"walk+season-{period}-{rows}", period, rows,
            lambda r, t, s: 100 + np.cumsum(r.standard_normal(len(t))) + 3 * s + 0.5 * r.standard_normal(len(t)),
        )
    return pieces


def collect(folder):
    return real(folder) + made_up()


def rivals(piece):
    from statsforecast.models import AutoETS, AutoTheta

    season = piece.period
    said = {}
    for name, make in (("AutoETS", AutoETS), ("AutoTheta", AutoTheta)):
        said[name] = make(season_length=season).forecast(piece.past, h=len(piece.future))["mean"]
    return said


def kalstream(binary, piece, period, extra=()):
    """Its forecasts, and the share of values within the bounds of 80 %."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "y.csv")
        with open(path, "w", encoding="utf-8") as file:
            file.write("y\n" + "\n".join(repr(float(v)) for v in piece.past) + "\n")
        command = [binary, "forecast", path, "--horizon", str(len(piece.future)), "--interval", str(COVERAGE), "--json", "-", "--quiet"]
        if period == "told":
            command += ["--period", str(piece.period) if piece.period > 1 else "none"]
        done = subprocess.run(command + list(extra), capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["forecast"]
    said = np.array([row["value"] for row in rows])
    low, high = (np.array([row[key] for row in rows]) for key in ("low", "high"))
    return said, float(np.mean((low <= piece.future) & (piece.future <= high)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kalstream", default="build/release/kalstream")
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--data", default=os.path.join(here, "..", "..", "..", "shared", "data", "series"))
    parser.add_argument("--only", default="")
    parser.add_argument("--period", choices=("told", "found"), default="told")
    parser.add_argument("--cache", default="build/forecast-cache/short.json", help="the rivals' forecasts")
    parser.add_argument("--json")
    options = parser.parse_args()
    cache = {}
    if os.path.exists(options.cache):
        with open(options.cache, encoding="utf-8") as file:
            cache = json.load(file)
    results = {}
    for piece in collect(options.data):
        if not re.search(options.only, piece.name):
            continue
        if piece.name not in cache:
            cache[piece.name] = {name: list(map(float, said)) for name, said in rivals(piece).items()}
        scores = {name: piece.mase(np.array(said)) for name, said in cache[piece.name].items()}
        said, held = kalstream(options.kalstream, piece, options.period)
        results[piece.name] = {"auto": piece.mase(said), **scores, "coverage": held}
        one = results[piece.name]
        print(f"{piece.name:32} auto {one['auto']:6.3f}  AutoETS {one['AutoETS']:6.3f}"
              f"  AutoTheta {one['AutoTheta']:6.3f}  within {held:4.2f}")
    os.makedirs(os.path.dirname(options.cache), exist_ok=True)
    with open(options.cache, "w", encoding="utf-8") as file:
        json.dump(cache, file)
    table = np.array([[r["auto"], r["AutoETS"], r["AutoTheta"], r["coverage"]] for r in results.values()])
    auto, ets, theta, held = table.T
    print(f"{len(table)} series; mean MASE: auto {auto.mean():.3f}, AutoETS {ets.mean():.3f}, AutoTheta {theta.mean():.3f}")
    for name, rival in (("AutoETS", ets), ("AutoTheta", theta), ("the better one in hindsight", np.minimum(ets, theta))):
        print(f"auto / {name}: of means {auto.mean() / rival.mean():.3f}, "
              f"geometric mean of ratios {np.exp(np.mean(np.log(auto / rival))):.3f}")
    print(f"bounds of {COVERAGE:.0%} held {held.mean():.1%}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
