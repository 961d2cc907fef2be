"""What comes next, with times and bounds: forecast and backtest."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from . import _core, _data
from ._data import Path
from ._evaluation import Source, future_of, horizon_of, split
from ._learner import Learner, Table
from ._numpy import np


def _joined(X: Any, future: Any) -> tuple[Any, list[str]]:
    """A table with the rows of the future behind it, whose targets are missing; and what is known there."""
    if not hasattr(X, "index") or not hasattr(future, "index"):
        raise TypeError("future: a pandas DataFrame goes with a pandas DataFrame; else names of columns")
    import pandas

    known = [str(name) for name in future.columns if name in X.columns]
    if not known:
        raise ValueError(f"future: none of its columns {list(map(str, future.columns))} is one of the data's")
    together = pandas.concat([X, future[[name for name in future.columns if name in X.columns]]])
    time = next((str(n) for n in known if getattr(future[n].dtype, "kind", "") == "M"), None)
    return together, [name for name in known if name != time]


def coverages_of(interval: float | Sequence[float] | None) -> list[float]:
    """In ascending order, the widest last; 0: no bounds."""
    if interval is None or isinstance(interval, (int, float)):
        return [float(interval or 0)]
    coverages = sorted({float(coverage) for coverage in interval})
    if not coverages or not all(0 < coverage < 1 for coverage in coverages):
        raise ValueError("interval: must be between 0 and 1, or several such numbers")
    return coverages


class _Outlook:
    """A learner has learnt a table or file and looked ahead."""

    def __init__(
        self,
        X: Any,
        horizon: int,
        *,
        interval: float | Sequence[float] | None,
        floor: float | None,
        ceiling: float | None,
        future: Any,
        learner: str | Learner,
        elapsed: bool | None,
        backtest: bool,
        **arguments: Any,
    ) -> None:
        horizon = horizon_of(horizon, 1)
        if future is not None and _data.is_table(future):
            X, future = _joined(X, future)
        if getattr(X, "ndim", 0) == 1 and hasattr(X, "to_frame"):  # a series
            X = X.to_frame(name=X.name if X.name is not None else "y")
        if not _data.is_path(X) and not _data.is_table(X):
            raise TypeError("X: a data frame, a series, a dict of columns or a file expected")
        of_source, options = split(arguments)
        like = learner.schema if isinstance(learner, Learner) else None
        source = Source(X, None, like=like, weight_points=0, **of_source)
        data = source.data
        if source.makes_models:
            raise ValueError("X: a series of numbers is forecast; `kalstream forecast --key` forecasts many")
        self.notes = list(data.remarks)
        if elapsed or (elapsed is None and like is None and data.is_irregular):
            data.add_elapsed()
            self.notes.append("rows come at no regular times: the time since the row before is an input")
        if isinstance(learner, str):
            learner = Learner(learner, inputs=data.inputs, outputs=data.outputs, coverage=None, **options)
        elif options:
            raise TypeError(f"{next(iter(options))}: the learner has its options already")
        learner._set_schema(data.schema)
        self.data = data
        self.X = X
        source.options.future = future_of(data, future)
        source.options.horizon = horizon
        *inner, coverage = coverages_of(interval)
        source.options.coverage = coverage
        source.options.inner = inner
        self.inner = inner
        if floor is not None:
            source.options.floor = float(floor)
        if ceiling is not None:
            source.options.ceiling = float(ceiling)
        if not source.options.floor < source.options.ceiling:
            raise ValueError("floor: must be less than ceiling")
        outlooks, remarks = _core.look_ahead(learner, data, source.options, backtest)
        if not outlooks or not outlooks[0]["found"]:
            raise ValueError("X: no row has a target and all its inputs")
        self.raw = outlooks[0]
        self.notes += remarks

    def index(self, rows: int) -> Any:
        """The times that follow those of the data."""
        import pandas

        name = self.data.time_name or None
        if self.raw["moments"]:
            index = pandas.DatetimeIndex(np.array(self.raw["moments"], dtype="datetime64[ns]"), name=name)
            zone = getattr(getattr(self.X, "index", None), "tz", None)
            return index if zone is None else index.tz_localize("UTC").tz_convert(zone)
        if self.raw["times"]:
            texts = self.raw["times"]
            try:
                return pandas.Index([float(text) for text in texts], name=name)
            except ValueError:
                return pandas.Index(texts, name=name)
        first = int(self.raw["history"])
        return pandas.RangeIndex(first, first + rows)

    def say(self) -> None:
        for note in self.notes:
            if "forecasts hold" in note or "known ahead" in note or "regular" in note:
                warnings.warn(note, stacklevel=3)


def forecast(
    X: Table | Path,
    horizon: int = 24,
    *,
    interval: float | Sequence[float] | None = 0.9,
    floor: float | None = None,
    ceiling: float | None = None,
    future: Any = None,
    learner: str | Learner = "auto",
    missing: str = "hold",
    elapsed: bool | None = None,
    **arguments: Any,
) -> Any:
    """Learns a table and tells what comes next, as a pandas DataFrame whose index goes on from that of the data.

    Its columns are `forecast`, `low` and `high` (with several targets "NAME forecast", ...); its `attrs` have
    what was found: `step`, `periods`, `notes`. Inputs that are not known ahead are held at their last values,
    and a warning says which.

    Parameters
    ----------
    X
        A data frame, a series, a dict of columns or a file. Times are its index, or a column.
    horizon
        Steps after the last row that has a target, 1 to 1000.
    interval
        The part of the values that the bounds are to hold; None: no bounds. Several, as (0.8, 0.95), are told
        together: `low` and `high` are those of the widest, `low_0.8` and `high_0.8` narrower ones.
    floor, ceiling
        Forecasts and bounds are never below, or above.
    **arguments
        target, inputs, category, time, columns and so on as for `run`; options of the learner.
    future
        What is known ahead: a data frame with the inputs of the steps to come, by their times; or names of
        inputs, which are then taken from rows without a target at the end of X.
    periods
        The data repeat themselves after so many rows, e.g. [24, 168]; "none"; None: found.
    learner
        Its name; or a learner, which goes on from what it knows.
    missing
        Rows that lack inputs: "hold" the last values, or "refuse" the rows.
    elapsed
        Whether the time since the row before is an input; None: where rows come at no regular times.

    >>> series = {"load": [float(t % 7) for t in range(200)]}
    >>> kalstream.forecast(series, 3, learner="ar", interval=None)["forecast"].round(2).tolist()
    [4.0, 5.0, 6.0]
    """
    arguments = {**arguments, **{name: value for name, value in locals().items() if name != "arguments"}}
    import pandas

    outlook = _Outlook(backtest=False, **arguments)
    raw = outlook.raw
    parts = {"forecast": raw["values"], "low": raw.get("low"), "high": raw.get("high")}
    for j, coverage in enumerate(outlook.inner):
        parts[f"low_{coverage:g}"] = raw["inner"][:, j, :, 0]
        parts[f"high_{coverage:g}"] = raw["inner"][:, j, :, 1]
    names = outlook.data.target_names
    frame = {}
    for k, name in enumerate(names):
        for part, values in parts.items():
            if values is not None:
                frame[part if len(names) == 1 else f"{name} {part}"] = values[:, k]
    result = pandas.DataFrame(frame, index=outlook.index(len(raw["values"])))
    result.attrs = {"step": raw["step"], "periods": raw["periods"], "notes": outlook.notes}
    outlook.say()
    return result


def backtest(X: Table | Path, horizon: int = 24, **arguments: Any) -> Any:
    """How good forecasts of X would have been, by lead, as a pandas DataFrame.

    After every row the steps that follow are forecast and scored when they come: the root of the mean squared
    error beside that of the last value ("naive") and of the value one period before ("seasonal naive"), how
    many values were within the bounds, and the bounds' median width. Lead 0 is all of them together.

    Parameters are those of `forecast`.

    >>> series = {"load": [float(t % 7) for t in range(200)]}
    >>> kalstream.backtest(series, 2, learner="ar", periods=7).columns.tolist()[:3]
    ['forecasts', 'rmse', 'seasonal naive (7)']
    """
    import pandas

    outlook = _Outlook(X, horizon, backtest=True, **{**(forecast.__kwdefaults__ or {}), **arguments})
    outlook.say()
    return pandas.DataFrame(outlook.raw["scores"]).set_index("lead")
