"""The rivals by name, and their results, kept in JSON files until their code, their package or the data change."""

import importlib.metadata
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from . import cache, packages, regression, smoothing
from .scores import FIRST_ORIGIN, LEADS, first_scored, lead_nse, nse

REFIT = 200


@dataclass
class Rival:
    """forecast(series, lead, refit, first origin) → forecasts by row, nan where there is none."""

    name: str
    forecast: Callable
    module: object
    package: str = None  # what must be installed
    early: bool = False  # begins early, to choose its own settings from the errors made before any is scored
    partial: bool = False  # slow: only the last origins, so its score is compared on these rows only
    horizons: bool = True
    usable: Callable = lambda series: True


def holt_winters(choose):
    return lambda s, lead, refit, first: smoothing.forecast(s.y, choose(s.periods), lead, refit, first)


def lightgbm(differences):
    return lambda s, lead, refit, first: regression.lightgbm(
        s.y, s.periods, s.times, lead, refit, first, differences
    )


ALL = [
    Rival("smoothing, AR(1)", holt_winters(lambda p: []), smoothing, early=True),
    Rival("Holt–Winters, AR(1)", holt_winters(lambda p: p[:1]), smoothing, early=True, usable=lambda s: s.periods),
    Rival("Holt–Winters, longer season", holt_winters(lambda p: p[1:2]), smoothing, early=True,
          usable=lambda s: len(s.periods) > 1),
    Rival("double seasonal Holt–Winters", holt_winters(lambda p: p[:2]), smoothing, early=True,
          usable=lambda s: len(s.periods) > 1),
    Rival("ridge: lags, seasons", lambda s, lead, refit, first: regression.ridge(s.y, s.periods, lead, refit, first),
          regression, early=True),
    Rival("LightGBM on differences", lightgbm(True), regression, "lightgbm"),
    *(Rival(module=packages, **about) for about in packages.RIVALS),
    Rival("LightGBM", lightgbm(False), regression, "lightgbm"),
]  # fmt: skip


def installed(rival):
    try:
        return importlib.metadata.version(rival.package) if rival.package else "-"
    except importlib.metadata.PackageNotFoundError:
        return None


def measure(series, rival, protocol):
    """Forecasts at the protocol's leads, scored: {"scores": {lead: NSE}, "us": CPU time per row, …}."""
    leads = [1] if protocol == "one step" else LEADS
    rows = len(series.y)
    refit = max(10, min(REFIT, rows // 20))
    start = first_scored(rows) if protocol == "one step" else FIRST_ORIGIN
    first = max(start // 3, 15) if rival.early else start - (protocol == "one step")
    begin, scores, kept = time.process_time(), {}, {}
    for lead in leads:
        predicted = rival.forecast(series, lead, refit, first)
        if protocol == "one step":
            scores["1"] = nse(series.y, predicted, start)
        else:
            scores[str(lead)] = lead_nse(series.y, predicted, lead)
        if rival.partial:
            there = np.flatnonzero(np.isfinite(predicted))
            kept[str(lead)] = [there.tolist(), predicted[there].tolist()]
    forecasts = sum(len(rows) for rows, _ in kept.values()) if rival.partial else rows * len(leads)
    us = (time.process_time() - begin) / max(forecasts, 1) * 1e6
    return {
        "scores": scores,
        "us": us,
        "partial": kept,
        "version": installed(rival),
        "at": time.strftime("%Y-%m-%d"),
    }


def cached(folder, series, rival, protocol, only_kept=False):
    """The kept result, or a new one (none if only kept ones are wanted)."""
    key = cache.digest(
        rival.module, installed(rival), rival.name, protocol, series.y.tobytes().hex(), series.periods
    )
    about = {"series": series.name, "rival": rival.name, "protocol": protocol}
    compute = None if only_kept else lambda: {**about, **measure(series, rival, protocol)}
    return cache.kept(folder, f"{series.name} {rival.name} {protocol}", key, compute)


def tasks(series, only=""):
    """(series, rival, protocol) of all that can be run here, the quick rivals first."""
    for rival in ALL:
        if installed(rival) is None or only not in rival.name:
            continue
        for one in series:
            if not rival.usable(one):
                continue
            yield one, rival, "one step"
            if one.has_horizons and rival.horizons:
                yield one, rival, "leads"
