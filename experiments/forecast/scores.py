"""The scores, the same for all. A forecast is an array whose element i is for row i; nan is not scored."""

import numpy as np

FIRST_ORIGIN = 1000  # forecasts of fixed leads are scored from this origin on
LEADS = (12, 24)


def first_scored(rows):
    """One step ahead: the first 300 rows are not scored, a quarter of a series shorter than 1,200."""
    return 300 if rows >= 1200 else rows // 4


def nse(y, predicted, start):
    """Σ(d − d̂)² / Σ(d − mean d)² over the rows from start on that have a prediction."""
    d, p = y[start:], predicted[start:]
    seen = np.isfinite(p)
    d, p = d[seen], p[seen]
    if not len(d):
        return float("nan")
    return float(np.sum((d - p) ** 2) / np.sum((d - d.mean()) ** 2))


def by_row(forecasts, lead):
    """Forecasts made at origins 0, 1, … for the row lead steps later, moved to the row they are for."""
    moved = np.full(len(forecasts), np.nan)
    moved[lead:] = forecasts[: len(forecasts) - lead]
    return moved


def at_rows(forecasts, rows):
    """Forecasts moved to the rows they are for; those for row −1 are dropped."""
    moved = np.full(len(forecasts), np.nan)
    moved[rows[rows >= 0]] = forecasts[rows >= 0]
    return moved


def seasonal_naive(y, period, lead=1):
    """ŷ(t) = y(t − m·⌈lead/m⌉): the last season's value that is known lead steps before; m = 1 is the last value."""
    back = period * -(-lead // period)
    predicted = np.full(len(y), np.nan)
    if back < len(y):
        predicted[back:] = y[:-back]
    return predicted


def lead_nse(y, predicted, lead):
    return nse(y, predicted, FIRST_ORIGIN + lead)


def naive_band(y, period, lead, low=0.05, high=0.95, every=50):
    """Seasonal naive's own residual band: the median width between the 5 and 95 % quantiles of the residuals known
    at the origin, and its coverage; quantiles are taken anew every so many rows."""
    residual = y - seasonal_naive(y, period, lead)
    start, widths, inside = FIRST_ORIGIN + lead, [], []
    for row in range(start, len(y), every):
        past = residual[: row - lead + 1]
        past = past[np.isfinite(past)]
        if len(past) < 20:
            continue
        lower, upper = np.quantile(past, [low, high])
        block = residual[row : row + every]
        widths.append(np.full(len(block), upper - lower))
        inside.append((block >= lower) & (block <= upper))
    if not widths:
        return float("nan"), float("nan")
    return float(np.median(np.concatenate(widths))), float(np.mean(np.concatenate(inside)))


def geometric_mean(values):
    values = np.array([v for v in values if v is not None and np.isfinite(v) and v > 0])
    return float(np.exp(np.log(values).mean())) if len(values) else float("nan")
