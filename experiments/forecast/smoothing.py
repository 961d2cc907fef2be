"""Holt–Winters with none, one or two additive seasons and an AR(1) residual, as a forecaster of fixed leads.

    ŷ(t+k) = l + k·b + s₁(t+k) + s₂(t+k) + φᵏ e(t),   e(t) = y(t) − (l + b + s₁ + s₂ as they were before y(t))

Gains are those that had the least squared error at the very lead on the past, sought anew as the series grows. States
start from the first value; while a state has been seen n times only, its gain is 1/n at least, so nothing is
initialised from rows that lie ahead.
"""

import numba
import numpy as np
from scipy.optimize import minimize


@numba.njit(cache=True)
def run(y, gains, first_period, second_period, lead, stop):
    """Forecasts made at rows 0 … stop−1 for lead steps later. gains: level, trend, season 1, season 2, φ,
    and how eagerly season 2 begins."""
    alpha, beta, gamma, delta, phi, eager = gains
    m1, m2 = max(first_period, 1), max(second_period, 1)
    s1, s2 = np.zeros(m1), np.zeros(m2)
    level, trend, residual = y[0], 0.0, 0.0
    forecasts = np.empty(stop)
    for t in range(stop):
        i, j = t % m1, t % m2
        expected = level + trend + s1[i] + s2[j]
        error = y[t] - expected - phi * residual
        residual = y[t] - expected
        level += trend + max(alpha, 1.0 / (t + 1)) * error
        trend += beta * error
        if first_period:
            s1[i] += max(gamma, 1.0 / (t // m1 + 2)) * error
        if second_period:
            s2[j] += max(delta, eager / (t // m2 + 2)) * error
        ahead = t + lead
        forecasts[t] = level + lead * trend + s1[ahead % m1] + s2[ahead % m2] + phi**lead * residual
    return forecasts


@numba.njit(cache=True)
def squared_error(y, gains, first_period, second_period, lead, begin, stop):
    """Mean squared error at a lead over the rows begin … stop−1, from forecasts made lead rows before."""
    forecasts = run(y, gains, first_period, second_period, lead, stop - lead)
    total = 0.0
    for row in range(max(begin, lead), stop):
        total += (y[row] - forecasts[row - lead]) ** 2
    return total / max(stop - max(begin, lead), 1)


STARTS = np.array(
    [[0.1, 0.001, 0.1, 0.05, 0.8, 0.5], [0.8, 0.001, 0.1, 0.05, 0.1, 0.1], [0.02, 0.001, 0.2, 0.2, 0.9, 0.9]]
)
LARGEST = np.array([1, 1, 1, 1, 0.999, 1])


def fit(y, periods, lead, stop, gains):
    """The gains with the least error at the lead over the rows before stop; those given are where one search begins."""
    first, second = (list(periods) + [0, 0])[:2]
    begin = min(first or 10, stop // 3)
    used = np.array([True, True, first > 0, second > 0, True, second > 0])

    def error(free):
        trial = np.zeros(len(used))
        trial[used] = free
        outside = np.sum(np.maximum(trial - LARGEST, 0) + np.maximum(-trial, 0))
        return squared_error(y, np.clip(trial, 0, LARGEST), first, second, lead, begin, stop) * (
            1 + 10 * outside
        )

    starts = list(STARTS) if gains is None else list(STARTS) + [gains]
    searches = [
        minimize(
            error, start[used], method="Nelder-Mead", options={"maxfev": 200, "xatol": 1e-3, "fatol": 1e-8}
        )
        for start in starts
    ]
    gains = np.zeros(len(used))
    gains[used] = min(searches, key=lambda found: found.fun).x
    return np.clip(gains, 0, LARGEST)


def forecast(y, periods, lead, refit, first_origin=0):
    """Forecasts by row; gains are sought anew after so many rows or a tenth of the past, with what is known then."""
    predicted, gains = np.full(len(y), np.nan), None
    first, second = (list(periods) + [0, 0])[:2]
    origin = max(first_origin, 2 * lead, 20)
    while origin < len(y) - lead:
        gains = fit(y, periods, lead, origin + 1, gains)
        stop = min(origin + max(refit, origin // 10), len(y) - lead)
        predicted[origin + lead : stop + lead] = run(y, gains, first, second, lead, stop)[origin:]
        origin = stop
    return predicted
