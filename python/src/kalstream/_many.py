"""Many series in one call: run_many."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from . import _data
from ._evaluation import ByName, Run, check, prepare, run_learners
from ._learner import _size
from ._data import unmasked
from ._numpy import np


@dataclasses.dataclass(frozen=True, repr=False)
class Runs(ByName[Hashable, Run]):
    """Runs of many series: {name: its Run}, in the order of the series."""

    def to_frame(self) -> Any:
        """A row of scores for every series, as a pandas DataFrame."""
        import pandas

        scores = ("nse", "rmse", "mae", "coverage", "scored", "missing_targets", "skipped_rows", "rejected_updates")
        rows = [{"rows": len(run.y), **{name: getattr(run, name) for name in scores}} for run in self.runs.values()]
        return pandas.DataFrame(rows, index=pandas.Index(list(self.runs), name="series"))

    def __repr__(self) -> str:
        rows = sum(len(run.y) for run in self.runs.values())
        scores = [run.nse for run in self.runs.values() if not np.isnan(run.nse)]
        median = f", median NSE {np.median(scores):.4g}" if scores else ""
        return f"Runs of {len(self):,} series, {rows:,} rows{median}"


def run_many(
    series: Any,
    y: Any = None,
    learner: str = "auto",
    *,
    key: str | None = None,
    jobs: int = 0,
    keep_learners: bool = True,
    **arguments: Any,
) -> Runs:
    """`run` for many series, each with a learner of its own, on all cores and without the interpreter lock.

    What comes of each series is what `run` gives for it alone, to the bit.

    Parameters
    ----------
    series
        The series: a list, or a dict by name. Each is what `run` takes as X: an array, a data frame, the name
        of a file, or None where there are targets alone. Or, with `key`, one long table.
    y
        Their targets: a list or dict of the same length. Not needed where the series have names. If `series`
        is None, these are all there is.
    learner
        Its name, for all of them.
    key
        The column of a data frame or a dict of columns that tells which series a row belongs to. The
        rows of a series have to be in order, but need not be together.
    jobs
        Series at a time; 0: one per core. Results do not depend on it.
    keep_learners
        Whether `Run.learner` is kept, which may take much memory.
    **arguments
        What `run` takes besides, for all of them.

    >>> X, y = kalstream.generate("sine", 300)
    >>> runs = kalstream.run_many({"day": X, "night": X[::-1]}, {"day": y, "night": y[::-1]}, "rls")
    >>> bool(runs["day"].nse == kalstream.run(X, y, "rls").nse)
    True
    """
    named = _by_key(series, y, key) if key is not None else _by_name(series, y)
    jobs = _size("jobs", jobs, 0) or os.cpu_count() or 1
    at_once = max(256 if keep_learners else 0, 8 * jobs)  # learners that are there, unless they are kept
    runs: dict[Hashable, Run] = {}
    for first in range(0, len(named), at_once):
        part = named[first : first + at_once]
        prepared = [_prepare(name, X, target, learner, arguments) for name, X, target in part]
        for (name, _, _), run in zip(part, run_learners(prepared, jobs)):
            runs[name] = run if keep_learners else dataclasses.replace(run, learner=None)
    return Runs(runs)


def _prepare(name: Hashable, X: Any, y: Any, learner: str, arguments: dict[str, Any]) -> Any:
    try:
        made, source = prepare(X, y, learner, **arguments)
        check(made, source)
    except (TypeError, ValueError) as error:
        raise type(error)(f"series {name!r}: {error}") from None
    return made, source


Series = tuple[Hashable, Any, Any]  # name, X, y


def _by_name(series: Any, y: Any) -> list[Series]:
    given = {what: values for what, values in (("series", series), ("y", y)) if values is not None}
    if not given:
        raise TypeError("series: a list of series, or a dict of them by name")
    for what, values in given.items():
        if isinstance(values, str) or not isinstance(values, (Mapping, Sequence, np.ndarray)):
            raise TypeError(f"{what}: a list of series, or a dict of them by name; a long table needs key=")
    first = next(iter(given.values()))
    names: list[Hashable] = list(first) if isinstance(first, Mapping) else list(range(len(first)))
    for what, values in given.items():
        if isinstance(values, Mapping) != isinstance(first, Mapping):
            raise TypeError("series and y: either both a dict, or both a list")
        if len(values) != len(names) or (isinstance(values, Mapping) and set(values) != set(names)):
            raise ValueError(f"{what}: one for each of the {len(names)} series expected")
    return [(name, None if series is None else series[name], None if y is None else y[name]) for name in names]


def _by_key(table: Any, y: Any, key: str) -> list[Series]:
    if y is not None:
        raise TypeError("y: a table with a key has its targets among its columns; name them with target=")
    if not _data.is_table(table):
        raise TypeError("key: names a column; an array has none")
    if hasattr(table, "to_pydict"):  # pyarrow
        table = table.to_pydict()
    if key not in table:
        raise ValueError(f"key: there is no column {key!r}")
    keys = table[key]
    keys = keys.tolist() if hasattr(keys, "tolist") else list(keys)
    rows: dict[Hashable, list[int]] = {}
    for row, name in enumerate(keys):
        rows.setdefault(name, []).append(row)
    if hasattr(table, "drop"):
        is_pandas = hasattr(table, "iloc")  # else polars
        rest = table.drop(columns=key) if is_pandas else table.drop(key)
        return [(name, (rest.iloc if is_pandas else rest)[those], None) for name, those in rows.items()]
    columns = {
        name: np.asarray(unmasked(values), dtype=None if hasattr(values, "dtype") else object)
        for name, values in table.items()
        if name != key
    }
    return [(name, {c: values[those] for c, values in columns.items()}, None) for name, those in rows.items()]
