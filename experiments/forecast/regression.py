"""Ridge regression and LightGBM on past values, seasonal lags and the calendar; direct: a model for each lead.

A row's features are what is known lead steps before it, and its own phase and calendar. A model is made anew every so
many rows, with the rows whose values are known by then.
"""

import numpy as np

LAGS = 24


def past(y, rows, lead, periods):
    """(features relative to the origin's value, that value): recent values, and those near the same phase of
    earlier seasons, none later than the origin; what lies before the first row is taken to be the origin's value."""
    origin = rows - lead
    here = y[np.maximum(origin, 0)]
    lags = min(LAGS, len(y) // 10)
    columns = [origin - lag for lag in range(1, lags)]
    for period in periods:
        seasons = -(-lead // period)
        for turn in (seasons, seasons + 1):
            columns += [rows - turn * period + near for near in (-1, 0, 1) if turn * period - near >= lead]
    features = [np.where(row >= 0, y[np.maximum(row, 0)], here) - here for row in columns]
    sums = np.concatenate([[0.0], np.cumsum(y)])
    for window in [lags] + list(periods):
        begin = np.maximum(origin + 1 - window, 0)
        end = np.maximum(origin + 1, 1)
        features.append((sums[end] - sums[begin]) / (end - begin) - here)
    return np.stack(features, axis=1), here


def waves(rows, periods, pairs=6):
    """sin and cos of the phase in every period, up to so many times its frequency."""
    columns = []
    for period in periods:
        for times in range(1, min(pairs, (period - 1) // 2) + 1):
            angle = 2 * np.pi * times * rows / period
            columns += [np.sin(angle), np.cos(angle)]
    return np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0))


def calendar(rows, periods, times):
    """The phase in every period; hour with minutes, weekday, day of the year, where times are known."""
    columns = [rows % period for period in periods]
    if times:
        columns.append(np.array([t.hour + t.minute / 60 for t in times])[rows])
        columns.append(np.array([t.weekday() for t in times])[rows])
        columns.append(np.array([t.timetuple().tm_yday for t in times])[rows])
    return np.stack(columns, axis=1).astype(float) if columns else np.zeros((len(rows), 0))


def blocks(rows, lead, refit, first_origin):
    """(first row, end) of the stretches that one model forecasts: made at origin first row − lead."""
    for begin in range(first_origin + lead, rows, refit):
        yield begin, min(begin + refit, rows)


def ridge(y, periods, lead, refit, first_origin):
    """Changes from the origin's value by ridge regression. Strength and forgetting are those of a small grid that have
    done best so far; a forecast may leave the range of the past by half of it at most."""
    rows = np.arange(len(y))
    features, here = past(y, rows, lead, periods)
    centre = y[: max(first_origin, 1)].mean()
    x = np.concatenate(
        [np.ones((len(y), 1)), (here - centre)[:, None], features, waves(rows, periods)], axis=1
    )
    target = y - here
    strengths, forgettings = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1), (1.0, 0.97, 0.85)
    size = x.shape[1]
    grams = [np.zeros((size, size)) for _ in forgettings]
    products = [np.zeros(size) for _ in forgettings]
    losses = np.zeros((len(forgettings), len(strengths)))
    predicted, seen = np.full(len(y), np.nan), lead
    for begin, end in blocks(len(y), lead, refit, first_origin):
        known = begin - lead + 1  # values of rows before this one are known at the first origin of the block
        made = np.empty((len(forgettings), len(strengths), end - begin))
        for i, keep in enumerate(forgettings):
            new = slice(seen, known)
            grams[i] = keep * grams[i] + x[new].T @ x[new]
            products[i] = keep * products[i] + x[new].T @ target[new]
            diagonal = np.diag(grams[i]).copy()
            diagonal[0] = 0  # the constant is free
            for j, strength in enumerate(strengths):
                penalty = np.diag(strength * diagonal + 1e-10 * np.trace(grams[i]) / size + 1e-12)
                made[i, j] = x[begin:end] @ np.linalg.solve(grams[i] + penalty, products[i])
        seen = max(seen, known)
        best = np.unravel_index(np.argmin(losses), losses.shape)
        seen_low, seen_high = y[:known].min(), y[:known].max()
        room = (seen_high - seen_low) / 2
        predicted[begin:end] = np.clip(here[begin:end] + made[best], seen_low - room, seen_high + room)
        settled = end - lead + 1  # no error counts before its value is known
        losses += ((made - target[begin:end]) ** 2)[:, :, : max(settled - begin, 0)].sum(axis=2)
    return predicted


def lightgbm(y, periods, times, lead, refit, first_origin, differences):
    """Boosted trees on levels, or on the change from the origin's value (at longer leads: from the last season's)."""
    import lightgbm as package

    rows = np.arange(len(y))
    features, here = past(y, rows, lead, periods)
    base = np.zeros(len(y))
    if differences:
        base = here
        if lead > 1 and periods:
            back = periods[0] * -(-lead // periods[0])
            base = np.where(rows >= back, y[np.maximum(rows - back, 0)], here)
        x = np.concatenate([features, here[:, None], calendar(rows, periods, times)], axis=1)
    else:
        x = np.concatenate([features + here[:, None], here[:, None], calendar(rows, periods, times)], axis=1)
    target, predicted = y - base, np.full(len(y), np.nan)
    settings = {
        "objective": "regression", "learning_rate": 0.05, "num_leaves": 31, "bagging_fraction": 0.8, "bagging_freq": 1,
        "feature_fraction": 0.8, "min_data_in_leaf": 20 if len(y) >= 1200 else 5, "num_threads": 1, "seed": 1,
        "max_bin": 63, "verbose": -1,
    }  # fmt: skip
    for begin, end in blocks(len(y), lead, refit, first_origin):
        train = slice(min(lead, begin - lead), begin - lead + 1)
        data = package.Dataset(x[train], target[train], free_raw_data=False)
        model = package.train(settings, data, num_boost_round=150)
        predicted[begin:end] = base[begin:end] + model.predict(x[begin:end], num_threads=1)
    return predicted
