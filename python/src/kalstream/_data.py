"""Arrays, data frames, dicts of columns and files as streams: one way in for all of them.

Which field is what is not decided here but by the rules of docs/data.md, which are those of the program.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, Union

from . import _core
from ._numpy import Array, ArrayLike, np

Path = Union[str, "os.PathLike[str]"]
Fields = Union[str, int, Sequence[Union[str, int]], None]
Column = tuple[str, Any, bool]  # name, values, whether the column is one of text


def unmasked(values: Any) -> Any:
    """Masked values are missing ones: NaN, NaT for times, None for all else."""
    if not hasattr(values, "filled") or not hasattr(values, "mask"):
        return values
    if not np.ma.is_masked(values):
        return values.data
    if values.dtype.kind in "fiub":
        return values.astype(np.float64).filled(np.nan)
    if values.dtype.kind == "M":
        return values.filled(np.datetime64("NaT"))
    kept = values.data.astype(object)
    kept[values.mask] = None
    return kept


def matrix(name: str, values: ArrayLike, columns: int | None = None) -> Array:
    """Rows of doubles one after the other; not copied if they already are."""
    try:
        rows = np.ascontiguousarray(unmasked(values), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{name}: a table of numbers expected ({error})") from None
    if rows.ndim == 1 and columns in (None, 1):
        rows = rows.reshape(-1, 1)
    if rows.ndim != 2:
        raise ValueError(f"{name}: rows and columns expected, not {rows.ndim} dimensions")
    if columns is not None and rows.shape[1] != columns:
        raise ValueError(f"{name} has {rows.shape[1]} columns, {columns} expected")
    return rows


def is_table(values: Any) -> bool:
    """Whether it has named columns: a data frame of pandas, polars or pyarrow, or a dict."""
    return isinstance(values, Mapping) or (hasattr(values, "columns") and hasattr(values, "__getitem__"))


def is_path(values: Any) -> bool:
    return isinstance(values, (str, os.PathLike))


def times_of(table: Any) -> list[Column]:
    """The index of a data frame, where it is one of times."""
    index = getattr(table, "index", None)
    if getattr(getattr(index, "dtype", None), "kind", "") != "M":
        return []
    name = str(index.name or "time")  # type: ignore[union-attr]
    return [] if name in table.columns else [_column(name, index)]


def columns_of(table: Any) -> list[Column]:
    """The columns of a table as the extension takes them."""
    if hasattr(table, "to_pydict"):  # pyarrow
        table = table.to_pydict()
    pairs = list(table.items()) if hasattr(table, "items") else [(name, table[name]) for name in table.columns]
    seen = set()
    for name in (str(name) for name, _ in pairs):
        if name in seen:
            raise ValueError(f"two columns are named {name!r}; rename one")
        seen.add(name)
    return [_column(str(name), values) for name, values in pairs]


def _column(name: str, values: Any) -> Column:
    dtype = getattr(values, "dtype", None)
    values = unmasked(values)
    if getattr(dtype, "kind", "") == "M":  # also with a zone: in UTC
        values = np.asarray(values, dtype="datetime64[ns]")
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    elif not isinstance(values, np.ndarray):
        values = list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
        if not all(type(value) in (int, float) for value in values):
            return name, values, False
        values = np.array(values)
    if values.ndim != 1:
        raise ValueError(f"the column {name!r} has {values.ndim} dimensions")
    kind = values.dtype.kind
    if kind == "M":
        return name, np.ascontiguousarray(values, dtype="datetime64[ns]").view(np.int64), False
    if kind == "f" or (kind in "iu" and (not len(values) or abs(values).max() <= 2**53)):
        return name, np.ascontiguousarray(values, dtype=np.float64), False
    return name, values.tolist(), _is_text(dtype)


def _is_text(dtype: Any) -> bool:
    """Whether the type says so, whatever the values are."""
    categories = getattr(dtype, "categories", None)
    if categories is not None and hasattr(categories, "dtype"):
        dtype = categories.dtype
    return str(dtype).lower().startswith(("str", "<u", "utf8", "large_string", "categorical"))


def _names(fields: Fields) -> list[str]:
    if fields is None:
        return []
    return [str(name) for name in ([fields] if isinstance(fields, (str, int)) else fields)]


def choice(
    target: Fields = None,
    inputs: Fields = None,
    category: Fields = None,
    time: Fields = None,
    key: Fields = None,
    id: Fields = None,
    task: str | None = None,
    classes: int | None = None,
) -> _core.FieldChoice:
    """What the user says about fields; None: the rules decide."""
    if task not in (None, "classify", "regress"):
        raise ValueError(f"task: 'classify' or 'regress' expected, not {task!r}")
    if classes is not None and not 2 <= classes <= 1000:
        raise ValueError(f"classes: 2 to 1000, not {classes}")
    made = _core.FieldChoice()
    made.targets = _names(target)
    made.inputs = _names(inputs) or ([] if inputs is None else ["none"])
    made.categories = _names(category)
    made.time = "".join(_names(time)[:1])
    made.key = "".join(_names(key)[:1])
    made.id = "".join(_names(id)[:1]) or made.id
    made.task = task or ""
    made.classes = made.classes if classes is None else classes
    return made


def read(
    source: Path,
    rows: int,
    fields: _core.FieldChoice,
    columns: Sequence[str] | None = None,
    like: _core.Schema | None = None,
) -> _core.Dataset:
    """A file, or a generated stream named gen:NAME?key=value."""
    name = os.fspath(source)
    if not name.startswith("gen:"):
        os.stat(name)  # complains in the way of Python
    return _core.Dataset.from_source(name, rows, fields, list(columns or []), like or _core.Schema())


def _targets_of(y: Any) -> list[Column]:
    if is_table(y):
        return columns_of(y)
    values = matrix("y", y)
    name = getattr(y, "name", None)
    if values.shape[1] == 1:
        return [_column(str(name or "target"), values[:, 0])]
    return [_column(f"target.{k + 1}", values[:, k]) for k in range(values.shape[1])]


def named(X: Any, y: Any, fields: dict[str, Any], like: _core.Schema | None) -> _core.Dataset:
    """A table; its targets are among its columns, or another one."""
    columns = times_of(y) if X is None else times_of(X) + columns_of(X)
    if y is not None:
        if fields["target"] is not None:
            raise TypeError("target: these are the columns of y already")
        targets = _targets_of(y)
        for name, values, _ in targets:
            if columns and len(values) != len(columns[0][1]):
                raise ValueError(f"X has {len(columns[0][1])} rows, y has {len(values)}")
            if any(name == other for other, _, _ in columns):
                raise ValueError(f"both X and y have a column {name!r}; rename one")
        columns += targets
        fields["target"] = [name for name, _, _ in targets]
    return _core.Dataset.from_columns(columns, choice(**fields), like or _core.Schema())


def arrays(X: Any, y: Any) -> _core.Dataset:
    if y is None:
        raise TypeError("y: the targets are missing; only tables and files have theirs among their columns")
    targets = matrix("y", y)
    inputs = np.empty((len(targets), 0)) if X is None else matrix("X", X)
    if len(inputs) != len(targets):
        raise ValueError(f"X has {len(inputs)} rows, y has {len(targets)}")
    if len(targets) == 0:
        raise ValueError("y has no rows")
    for name, values in (("X", inputs), ("y", targets)):
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0]
            raise ValueError(f"{name}[{row}, {column}] is infinite; a missing value is NaN")
    return _core.Dataset.from_arrays(inputs, targets)


def read_schema(path: Path, *, columns: Sequence[str] | None = None, **fields: Any) -> dict[str, Any]:
    """How a file would be read: what `kalstream inspect FILE --json` prints.

    CSV, TSV, JSON lines, ARFF and MAT, any of them perhaps with .gz. docs/data.md has the rules.

    Parameters
    ----------
    columns
        Names of the columns, for text without a header.
    **fields
        target, inputs, category, time, key, id, task and classes, as for `kalstream.run`; the rules decide what
        is left open.
    """
    described: dict[str, Any] = json.loads(read(path, 0, choice(**fields), columns).describe())
    return described
