"""Scores of kalstream's learners and of the naive forecasts on one series."""

import numpy as np

from . import program
from .scores import FIRST_ORIGIN, LEADS, at_rows, first_scored, lead_nse, naive_band, nse, seasonal_naive

HORIZON = max(LEADS)
INTERVAL = 0.9


def of_learner(binary, series, learner, seed=1, interval=INTERVAL, extra=(), keep=False, clock=False):
    """NSE one step ahead ("1") and at every lead of LEADS, coverage and median width by lead, µs per sample; if told to
    keep them also the forecasts by row. Forecasts that carry times are for the rows of these times, if clock."""
    horizon = HORIZON if series.has_horizons else 0
    output, report = program.run(
        binary, series.path, [series.target], len(series.y), learner, seed, horizon, interval, extra
    )
    target = output.get("target", series.target)
    if len(target) != len(series.y) or not np.allclose(target, series.y, equal_nan=True):
        raise RuntimeError(f"{series.name}: the program's rows are not the file's")
    y, start = series.y, first_scored(len(series.y))
    result = {
        "1": nse(y, output.get("prediction", series.target), start),
        "us": report["us_per_step"],
        "wall_s": report["wall_s"],
        "coverage": {},
        "width": {},
    }

    if keep:
        result["forecasts"] = {"1": output.get("prediction", series.target)}

    clock = clock and output.timed

    def bounds(name, lead, first):
        ahead = series.ahead(lead, clock)
        low, high = (output.get(f"{name}_{side}", series.target) for side in ("low", "high"))
        if low is None:
            return
        low, high = (at_rows(low, ahead), at_rows(high, ahead)) if lead else (low, high)
        seen = np.isfinite(low[first:]) & np.isfinite(high[first:])
        inside = (y >= low) & (y <= high)
        result["coverage"][str(max(lead, 1))] = float(inside[first:][seen].mean())
        result["width"][str(max(lead, 1))] = float(np.median((high - low)[first:][seen]))

    if not horizon:
        bounds("prediction", 0, start)
    for lead in range(1, horizon + 1):
        bounds(f"forecast_{lead}", lead, FIRST_ORIGIN + lead)
        if lead in LEADS:
            forecast = at_rows(output.get(f"forecast_{lead}", series.target), series.ahead(lead, clock))
            result[str(lead)] = lead_nse(y, forecast, lead)
            if keep:
                result["forecasts"][str(lead)] = forecast
    return result


def of_naives(series):
    """{name: {"1": NSE, "12": …, "24": …}} of the last value and of the last season's, for every period."""
    y, found = series.y, {}
    for period in [1] + series.periods:
        name = "naive" if period == 1 else f"seasonal naive {period}"
        found[name] = {"1": nse(y, seasonal_naive(y, period), first_scored(len(y)))}
        if series.has_horizons:
            for lead in LEADS:
                found[name][str(lead)] = lead_nse(y, seasonal_naive(y, period, lead), lead)
    return found


def naive_bands(series, leads):
    """{lead: (median width, coverage)} of the narrower seasonal naive's residual band."""
    return {lead: min(naive_band(series.y, period, lead) for period in series.periods) for lead in leads}
