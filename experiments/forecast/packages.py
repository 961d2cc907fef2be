"""Forecasters of other packages: river, skaters (timemachines' forecaster) and statsforecast.

The first two learn with every row. Those of statsforecast are fitted to a stretch of the past and are slow, so they
forecast some of the last 1,000 origins only (1,000, 200, 50), and are compared with others on the very rows they forecast.
"""

import functools
import warnings

import numpy as np

from .scores import LEADS

LAST = 1000  # origins that slow forecasters are asked for
ALL_LEADS = (1, *LEADS)


def every_lead(forecaster, one_step_apart):
    """A forecaster of all leads at once serves each lead's question from one run; one step may be worth its own."""
    kept = {}

    @functools.wraps(forecaster)
    def answer(series, lead, refit, first):
        if lead == 1 and (one_step_apart or not series.has_horizons):
            return forecaster(series, (1,))[1]
        key = (series.name, len(series.y))
        if key not in kept:
            kept.clear()
            kept[key] = forecaster(series, ALL_LEADS)
        return kept[key][lead]

    return answer


def placed(y, leads, origins, forecast):
    """{lead: forecasts by row}; forecast(origin) gives the values of the next rows, or None."""
    found = {lead: np.full(len(y), np.nan) for lead in leads}
    for origin in origins:
        ahead = forecast(origin)
        for lead in leads if ahead is not None else ():
            if origin + lead < len(y):
                found[lead][origin + lead] = ahead[lead - 1]
    return found


def bounded(value, past_low, past_high):
    """A recursion that runs away is held within twice the range of the past."""
    room = past_high - past_low
    return min(max(value, past_low - room), past_high + room) if np.isfinite(value) else past_high


def river_model(make):
    """The model with the least squared error one step ahead so far, of those that make(periods) gives."""

    def forecaster(series, leads):
        y, models = series.y, make(series.periods)
        errors, expected = np.zeros(len(models)), [None] * len(models)
        low, high = y[0], y[0]

        def forecast(origin):
            nonlocal low, high
            value = float(y[origin])
            low, high = min(low, value), max(high, value)
            for i, model in enumerate(models):
                if expected[i] is not None:
                    errors[i] += (value - expected[i]) ** 2
                model.learn_one(value)
                try:
                    expected[i] = bounded(model.forecast(horizon=1)[0], low, high)
                except (IndexError, ValueError, ZeroDivisionError, OverflowError):  # too few rows yet
                    expected[i] = None
            best = int(np.argmin(errors))
            if expected[best] is None:
                return None
            if max(leads) == 1:
                return [expected[best]]
            return [bounded(v, low, high) for v in models[best].forecast(horizon=max(leads))]

        return placed(y, leads, range(len(y)), forecast)

    return every_lead(forecaster, True)


def river_smoothers(periods):
    from river.time_series import HoltWinters

    gains = [(0.3, 0.01, 0.2), (0.8, 0.01, 0.1), (0.1, 0.001, 0.3)]
    return [HoltWinters(alpha=a, beta=b, gamma=g, seasonality=m) for a, b, g in gains for m in periods or [0]]


def river_autoregressions(periods):
    from river import linear_model, optim, preprocessing
    from river.time_series import SNARIMAX

    def regression(rate):
        return preprocessing.StandardScaler() | linear_model.LinearRegression(
            intercept_init=0, optimizer=optim.SGD(rate)
        )

    return [
        SNARIMAX(
            p=24 if periods else 6,
            d=d,
            q=0,
            m=m,
            sp=2 if m > 1 else 0,
            sd=0,
            sq=0,
            regressor=regression(rate),
        )
        for m in (periods[:1] or [1])
        for d in (0, 1)
        for rate in (0.01, 0.001)
    ]


def laplace(series, lead, refit, first):
    from skaters import laplace as make

    model, state, y = make(k=1), None, series.y
    predicted = np.full(len(y) + 1, np.nan)
    for row, value in enumerate(y):
        ahead, state = model(float(value), state)
        predicted[row + 1] = ahead[0].mean
    return predicted[:-1]


def statsforecast_model(make, window, count, forward):
    """So many origins, evenly spread. Fitted to the last rows before the first origin, once more half-way; between, the fitted model is carried
    forward over new rows; or, if it cannot be, fitted anew at each origin."""

    def forecaster(series, leads):
        y = series.y
        first = max(len(y) - LAST - max(leads), len(y) // 4)
        origins = range(first, len(y) - 1, -(-(len(y) - 1 - first) // count))
        again = {origins[0], origins[len(origins) // 2]}
        model, failed = None, False

        def forecast(origin):
            nonlocal model, failed
            past = y[max(0, origin + 1 - window) : origin + 1]
            if forward:
                if origin in again:
                    try:
                        model, failed = make(series.periods).fit(past), False
                    except Exception:  # some series cannot be fitted: they are left out
                        failed = True
                return None if failed else model.forward(past, h=max(leads))["mean"]
            try:
                return make(series.periods).forecast(past, h=max(leads))["mean"]
            except Exception:
                return None

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return placed(y, leads, origins, forecast)

    return every_lead(forecaster, False)


def short_season(periods):
    """These models stand seasons of up to 24 rows; longer ones take minutes to fit, or are not taken at all."""
    return periods[0] if periods and periods[0] <= 24 else 1


def ets(periods):
    from statsforecast.models import AutoETS

    return AutoETS(season_length=short_season(periods))


def arima(periods):
    from statsforecast.models import AutoARIMA

    return AutoARIMA(season_length=short_season(periods), approximation=True, max_p=3, max_q=3)


def mstl(periods):
    from statsforecast.models import MSTL

    return MSTL(season_length=periods)


RIVALS = [
    {"name": "river HoltWinters", "forecast": river_model(river_smoothers), "package": "river"},
    {"name": "river SNARIMAX", "forecast": river_model(river_autoregressions), "package": "river"},
    {"name": "skaters laplace", "forecast": laplace, "package": "skaters", "horizons": False},
    {"name": "AutoETS", "forecast": statsforecast_model(ets, 2000, 1024, True), "package": "statsforecast",
     "partial": True},
    {"name": "AutoARIMA", "forecast": statsforecast_model(arima, 1000, 200, True), "package": "statsforecast",
     "partial": True},
    {"name": "MSTL", "forecast": statsforecast_model(mstl, 2000, 50, False), "package": "statsforecast",
     "partial": True, "usable": lambda series: bool(series.periods)},
]  # fmt: skip
