"""The streams: those of docs/auto.md."""

import os

import numpy as np

from auto_table import GENERATED, REAL

LAGS = 8  # past targets among the inputs of learners that do not look at them by themselves
WITH_MEMORY = ("mackey-glass", "narma10", "lorenz", "sine", "addition")


def available(folder):
    """(names of those that are there, of those that are not)."""
    there = [name for name in REAL if os.path.exists(path_of(folder, name))]
    return there + GENERATED, [name for name in REAL if name not in there]


def path_of(folder, name):
    return os.path.join(folder, name + ".csv")


def load(folder, name, rows, lags):
    """(X, y) of the first rows. With lags past targets are inputs as well, where the stream has a memory."""
    if name.startswith("gen:"):
        import kalstream

        X, y = kalstream.generate(name.removeprefix("gen:"), rows)
    else:
        table = np.loadtxt(path_of(folder, name), delimiter=",", skiprows=1, max_rows=rows)
        X, y = table[:, :-1], table[:, -1]
    if lags and any(word in name for word in WITH_MEMORY):
        past = [np.concatenate([np.zeros(lag), y[:-lag]]) for lag in range(1, LAGS + 1)]
        X = np.column_stack([X, *past])
    return np.ascontiguousarray(X), np.ascontiguousarray(y)
