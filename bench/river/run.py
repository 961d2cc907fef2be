#!/usr/bin/env python3
"""kalstream beside river and deep-river on the four data sets of river's regression and forecasting tracks.

    python bench/river/run.py [--out results.json] [--skip-deep-river] [--only NAME] [--seeds 5]

Progressive validation as river does it: each sample is predicted, scored, then learnt; forecasts are made at every
step for the whole horizon and the absolute error is averaged over all of them. kalstream runs with `auto` and no settings.
Of river's models with settings, the best of a small grid is shown, chosen by the error on the very data: this flatters them.
"""

from __future__ import annotations

import argparse
import itertools
import json
import platform
import statistics
import time

import river
from river import (
    base,
    datasets,
    dummy,
    forest,
    linear_model,
    metrics,
    neighbors,
    optim,
    preprocessing,
    stats,
    time_series,
    tree,
)

import kalstream
from kalstream.river import Forecaster, Regressor

try:
    from river.evaluate import iter_evaluate
except ImportError:
    from river.time_series import iter_evaluate


class LastTarget(base.Wrapper, base.Regressor):
    """Any regressor, with the last target as one more feature: what `auto` looks at by itself."""

    def __init__(self, model):
        self.model = model
        self._last = 0.0

    @property
    def _wrapped_model(self):
        return self.model

    def learn_one(self, x, y):
        self.model.learn_one({**x, "last target": self._last}, y)
        self._last = y

    def predict_one(self, x):
        return self.model.predict_one({**x, "last target": self._last})


class WithoutDates(time_series.base.Forecaster):
    """Forecasters that compute with features cannot take the date that is the only one in these data."""

    def __init__(self, model):
        self.model = model

    def learn_one(self, y, x=None):
        self.model.learn_one(y)

    def forecast(self, horizon, xs=None):
        return self.model.forecast(horizon)


def scaled(model):
    return preprocessing.StandardScaler() | model


def deep_river_lstm():
    """As in deep-river's own benchmark (benchmarks/config.py)."""
    from deep_river.regression.zoo import LSTMRegressor

    return scaled(
        LSTMRegressor(
            loss_fn="mse",
            optimizer_fn="adam",
            lr=1e-3,
            hidden_size=64,
            num_layers=1,
            dropout=0.1,
            gradient_clip_value=1.0,
            window_size=30,
            is_feature_incremental=True,
        )
    )


def deep_river_forecaster(**settings):
    from deep_river.forecasting.zoo import LSTMForecaster

    return WithoutDates(LSTMForecaster(**settings))


REGRESSION = {
    "river: linear regression, scaled": [lambda: scaled(linear_model.LinearRegression())]
    + [
        lambda rate=rate, intercept=intercept: scaled(
            linear_model.LinearRegression(optim.SGD(rate), intercept_lr=intercept)
        )
        for rate in (0.003, 0.01, 0.03, 0.1)
        for intercept in (0.01, 0.1, 0.3)
    ],
    "river: Bayesian linear regression, scaled": [lambda: scaled(linear_model.BayesianLinearRegression())],
    "river: nearest neighbours, scaled": [
        lambda n=n: scaled(neighbors.KNNRegressor(n_neighbors=n)) for n in (3, 5, 10)
    ],
    "river: Hoeffding adaptive tree": [
        lambda grace=grace: tree.HoeffdingAdaptiveTreeRegressor(grace_period=grace, seed=1)
        for grace in (20, 50, 200)
    ],
    "river: adaptive random forest": [lambda: scaled(forest.ARFRegressor(seed=1))],
    "river: aggregated Mondrian forest": [
        lambda n=n, step=step: forest.AMFRegressor(n_estimators=n, step=step, seed=1)
        for n in (10, 30)
        for step in (0.1, 1.0, 5.0)
    ],
    "river: linear regression, scaled, with last target": [
        lambda rate=rate: LastTarget(scaled(linear_model.LinearRegression(optim.SGD(rate), intercept_lr=0.1)))
        for rate in (0.003, 0.01, 0.03, 0.1)
    ],
    "river: aggregated Mondrian forest, with last target": [
        lambda step=step: LastTarget(forest.AMFRegressor(step=step, seed=1)) for step in (0.1, 1.0, 5.0)
    ],
    "the mean": [lambda: dummy.StatisticRegressor(stats.Mean())],
    "the last target": [lambda: Regressor("naive")],
}


def holt_winters(season):
    grid = itertools.product((0.1, 0.3, 0.6), (0.01, 0.1), (0.1, 0.6), (True, False))
    return [
        lambda a=a, b=b, g=g, m=m: WithoutDates(
            time_series.HoltWinters(alpha=a, beta=b, gamma=g, seasonality=season, multiplicative=m)
        )
        for a, b, g, m in grid
    ]


def snarimax(season):
    grid = itertools.product((1, season), (0, 1), (0, 3), (0.01, 0.1, 0.3))
    return [
        lambda p=p, d=d, sp=sp, rate=rate: WithoutDates(
            time_series.SNARIMAX(
                p=p,
                d=d,
                q=0,
                m=season,
                sp=sp,
                regressor=scaled(linear_model.LinearRegression(optim.SGD(0.01), intercept_lr=rate)),
            )
        )
        for p, d, sp, rate in grid
    ]


FORECASTING = {
    "river: linear regression on the past, scaled": lambda season: [
        lambda: WithoutDates(
            time_series.SNARIMAX(p=season, d=0, q=0, regressor=scaled(linear_model.LinearRegression()))
        )
    ],
    "river: SNARIMAX": snarimax,
    "river: Holt-Winters": holt_winters,
    "the last target": lambda season: [lambda: Forecaster("naive")],
}


def regression_error(model, dataset):
    metric = metrics.MAE()
    for x, y in dataset:
        metric.update(y, model.predict_one(x) or 0.0)
        model.learn_one(x, y)
    return metric.get()


def forecasting_error(model, dataset, horizon):
    *_, last = iter_evaluate(dataset, model, metrics.MAE(), horizon=horizon, agg_func=statistics.mean)
    return last[-1].get()


def timed(measure, make, *arguments):
    start = time.perf_counter()
    try:
        error = measure(make(), *arguments)
    except (OverflowError, ZeroDivisionError, ValueError, FloatingPointError):
        error = float("inf")
    return error, time.perf_counter() - start


def rows_for(measure, ours, theirs, deep, arguments, samples, seeds):
    """A row per model: its error, its range over seeds or settings, microseconds per sample."""
    runs = [timed(measure, lambda seed=seed: ours(seed=seed), *arguments) for seed in range(1, seeds + 1)]
    errors = [error for error, _ in runs]
    rows = [("kalstream: auto", statistics.mean(errors), max(errors) - min(errors), runs[0][1], 1)]
    for name, makes in (theirs | deep).items():
        tried = [timed(measure, make, *arguments) for make in makes]
        error, seconds = min(tried)
        rows.append((name, error, None, seconds, len(tried)))
    return [
        {"model": n, "mae": e, "range_over_seeds": r, "us_per_sample": s * 1e6 / samples, "settings_tried": t}
        for n, e, r, s, t in rows
    ]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out")
    parser.add_argument("--skip-deep-river", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--seeds", type=int, default=5)
    a = parser.parse_args()
    deep = not a.skip_deep_river
    versions = {
        "kalstream": kalstream.__version__,
        "river": river.__version__,
        "python": platform.python_version(),
    }
    if deep:
        import importlib.metadata

        import torch

        torch.set_num_threads(1)
        versions |= {name: importlib.metadata.version(name) for name in ("deep-river", "torch")}

    results = {}
    for dataset in (datasets.TrumpApproval(), datasets.ChickWeights()):
        lstm = {"deep-river: LSTM, scaled": [deep_river_lstm]} if deep else {}
        results[type(dataset).__name__] = (
            regression_error,
            Regressor,
            REGRESSION,
            lstm,
            (dataset,),
            dataset.n_samples,
        )
    for dataset, season in ((datasets.AirlinePassengers(), 12), (datasets.WaterFlow(), 24)):
        theirs = {name: models(season) for name, models in FORECASTING.items()}
        lstm = {}
        if deep:
            lstm["deep-river: LSTM"] = [deep_river_forecaster]
            lstm["deep-river: LSTM, window and size of its regressor"] = [
                lambda: deep_river_forecaster(window_size=30, hidden_size=64)
            ]
        name = f"{type(dataset).__name__}, {season} ahead"
        results[name] = (forecasting_error, Forecaster, theirs, lstm, (dataset, season), dataset.n_samples)

    tables = {}
    for name, job in results.items():
        if a.only and a.only not in name:
            continue
        table = sorted(rows_for(*job, a.seeds), key=lambda row: row["mae"])
        tables[name] = table
        print(f"\n**{name}**\n\n| | MAE | µs per sample |\n|---|---|---|")
        for row in table:
            error = f"{row['mae']:.4g}" if row["mae"] < 1e5 else "diverges"
            if row["range_over_seeds"] is not None:
                error += f" (range over {a.seeds} seeds: {row['range_over_seeds']:.2g})"
            tried = f", best of {row['settings_tried']} settings" if row["settings_tried"] > 1 else ""
            bold = "**" if row["model"].startswith("kalstream") else ""
            print(
                f"| {bold}{row['model']}{bold}{tried} | {error} | {row['us_per_sample']:,.0f} |", flush=True
            )
    print("\n" + ", ".join(f"{name} {version}" for name, version in versions.items()))
    if a.out:
        with open(a.out, "w") as file:
            json.dump({"versions": versions, "tables": tables}, file, indent=1)


if __name__ == "__main__":
    main()
