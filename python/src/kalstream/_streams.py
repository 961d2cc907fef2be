"""Endless streams to try a learner on, without any file."""

from __future__ import annotations

from . import _core
from ._learner import _size
from ._numpy import Array


def generate(name: str, rows: int, **parameters: float | str) -> tuple[Array, Array]:
    """The first rows of a generated stream as (X, y); `generators()` lists them.

    The same as the command line's `gen:NAME?key=value`, to the last bit.

    >>> X, y = generate("friedman", 100, drift="abrupt", seed=2)
    >>> X.shape, y.shape
    ((100, 10), (100,))
    """
    values = "&".join(f"{key}={value}" for key, value in parameters.items())
    X, y, _, _ = _core.generate(name + ("?" + values if values else ""), _size("rows", rows, 1))
    return X, y[:, 0] if y.shape[1] == 1 else y


def generators() -> dict[str, dict[str, str]]:
    """Every generated stream: what it is, and its parameters.

    >>> generators()["friedman"]["drift"]
    'none: none|abrupt|gradual; ...'
    """
    return {
        name: {"": summary}
        | {key: f"{default}: {permitted}; {meaning}" for key, default, permitted, meaning in parameters}
        for name, summary, parameters in _core.generators()
    }
