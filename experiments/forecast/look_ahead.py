"""No rival may know what comes: its forecasts must stay the same when all values after their origins are others."""

import numpy as np

from . import rivals
from .scores import seasonal_naive
from .series import Series

ROWS, CUT = 1600, 1300


def example():
    """A series with two seasons and noise."""
    random, rows = np.random.default_rng(1), np.arange(ROWS)
    y = (
        10
        + 3 * np.sin(2 * np.pi * rows / 24)
        + 2 * np.cos(2 * np.pi * rows / 168)
        + random.normal(0, 0.5, ROWS)
    )
    other = y.copy()
    other[CUT + 1 :] = 10 + random.normal(0, 5, ROWS - CUT - 1)
    return [Series("example", "", "y", values, [24, 168]) for values in (y, other)]


def check(only=""):
    """Raises if a forecast made at row CUT or before depends on a later value."""
    one, other = example()
    tried = [("seasonal naive", lambda s, lead, refit, first: seasonal_naive(s.y, 24, lead), (1, 12, 24))]
    for rival in rivals.ALL:
        if rivals.installed(rival) and rival.usable(one):
            leads = (12,) if rival.partial else (1, 12, 24) if rival.horizons else (1,)
            tried.append((rival.name, rival.forecast, leads))
    for name, forecast, leads in tried:
        if only not in name:
            continue
        for lead in leads:
            one.name, other.name = "one", "other"  # some keep what they made for a name
            before = forecast(one, lead, 200, 1000)[: CUT + lead + 1]
            after = forecast(other, lead, 200, 1000)[: CUT + lead + 1]
            if not np.array_equal(before, after, equal_nan=True):
                row = np.flatnonzero(~np.isclose(before, after, rtol=0, atol=0, equal_nan=True))[0]
                raise AssertionError(
                    f"{name}, {lead} ahead: the forecast for row {row} depends on rows after {CUT}"
                )
            if not np.isfinite(before).any():
                raise AssertionError(f"{name}, {lead} ahead: no forecast at all")
        print(f"{name}: no look-ahead", flush=True)
