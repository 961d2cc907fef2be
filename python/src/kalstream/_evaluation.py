"""Whole streams in one call: run and compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from . import _core, _html
from ._learner import Array, Learner, Numbers, Option, _matrix, _size


def _stream(X: Numbers, y: npt.ArrayLike) -> tuple[Array, Array, bool]:
    """Inputs and targets as matrices, and whether y was a single row of numbers."""
    single = np.ndim(y) == 1
    targets = _matrix("y", y)
    inputs = np.empty((len(targets), 0)) if X is None else _matrix("X", X)
    if len(inputs) != len(targets):
        raise ValueError(f"X has {len(inputs)} rows, y has {len(targets)}")
    if len(targets) == 0:
        raise ValueError("y has no rows")
    for name, values in (("X", inputs), ("y", targets)):
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0]
            raise ValueError(f"{name}[{row}, {column}] is infinite; a missing value is NaN")
    return inputs, targets, single


@dataclasses.dataclass(frozen=True, repr=False)
class Run:
    """What a learner did on a stream.

    A row without target (NaN) is passed through and not scored; a row with a missing input is skipped. The
    first target is learnt, not scored: before it nothing can be known.
    """

    learner: Learner | None  #: with all it has learnt; None in a comparison
    y: Array  #: the targets
    predictions: Array  #: one per row, made before its target was used; NaN where there is none
    low: Array | None  #: bounds of the predictions, NaN before there are any; None without intervals
    high: Array | None
    coverage: float  #: the part of the targets within their bounds; NaN without intervals
    width: float  #: mean of high - low
    squared_errors: Array  #: per row, summed over outputs; NaN where not scored
    nse: float  #: mean squared error over the variance of the target: 1 is the mean, 0 is perfect
    mae: float  #: mean absolute error
    rmse: float  #: root of the mean squared error
    knse: float  #: NSE of forecasts `horizon` rows ahead; NaN without a horizon
    forecast_squared_errors: Array  #: of the forecast made after each row; empty without a horizon
    scored: int  #: rows with a prediction and a target
    missing_targets: int
    skipped_rows: int
    rejected_updates: int
    update_fraction: float  #: updates applied, of those that were possible
    seconds: float  #: in predict, learn and advance
    expert_names: list[str]  #: of a mixture
    weights: dict[str, float]  #: how much each expert counts in the end, the heaviest first
    weight_rows: Array  #: where weight_path was taken
    weight_path: Array  #: how much each expert counted on the way: points × experts

    @property
    def us_per_step(self) -> float:
        """Microseconds per row."""
        return self.seconds * 1e6 / max(len(self.y), 1)

    def learning_curve(self, window: int = 100) -> Array:
        """Mean of the last `window` squared errors over the variance of the target, at each row."""
        scored = ~np.isnan(self.squared_errors)
        total = np.concatenate([[0.0], np.cumsum(np.where(scored, self.squared_errors, 0.0))])
        count = np.concatenate([[0], np.cumsum(scored)])
        last = np.arange(1, len(scored) + 1)
        first = np.maximum(last - _size("window", window, 1), 0)
        with np.errstate(invalid="ignore"):
            mean = (total[last] - total[first]) / (count[last] - count[first])
        return np.asarray(mean / (self._variance or np.nan))

    @property
    def _variance(self) -> float:
        scored = self.y[~np.isnan(self.squared_errors)]
        return float(np.sum(np.var(scored, axis=0))) if len(scored) else float("nan")

    def __repr__(self) -> str:
        text = f"Run of {len(self.y):,} rows: NSE {self.nse:.4g}, MAE {self.mae:.4g}"
        if not np.isnan(self.knse):
            text += f", forecasts NSE {self.knse:.4g}"
        if not np.isnan(self.coverage):
            text += f", {100 * self.coverage:.1f} % within bounds"
        text += f", {self.us_per_step:.3g} µs per row"
        if self.missing_targets:
            text += f", {self.missing_targets:,} without target"
        if self.skipped_rows:
            text += f", {self.skipped_rows:,} skipped"
        if not self.nse < 1:
            text += "; no better than the mean"
        return text

    def _repr_html_(self) -> str:
        return _html.run(self)


def _run_of(raw: dict[str, Any], learner: Learner | None, names: list[str], y: Array, single: bool) -> Run:
    predictions = raw.pop("predictions")
    scored = ~np.isnan(raw["squared_errors"])
    errors = np.abs(y[scored] - predictions[scored])
    final = raw.pop("final_weights").tolist()
    low, high = raw.pop("low", None), raw.pop("high", None)
    coverage = width = float("nan")
    if low is not None:
        bounded = scored[:, None] & ~np.isnan(low)
        if bounded.any():
            coverage = float(((low <= y) & (y <= high))[bounded].mean())
            width = float((high - low)[bounded].mean())
    for unused in ("steps", "target_variance"):
        del raw[unused]
    return Run(
        learner=learner,
        y=y[:, 0] if single else y,
        predictions=predictions[:, 0] if single else predictions,
        low=low[:, 0] if single and low is not None else low,
        high=high[:, 0] if single and high is not None else high,
        coverage=coverage,
        width=width,
        mae=float(errors.mean()) if errors.size else float("nan"),
        rmse=float(np.sqrt((errors**2).mean())) if errors.size else float("nan"),
        expert_names=names,
        weights=dict(sorted(zip(names, final), key=lambda pair: -pair[1])),
        weight_rows=np.asarray(raw.pop("weight_rows"), dtype=np.int64),
        **raw,
    )


def run_learner(
    learner: Learner, X: Numbers, y: npt.ArrayLike, *, horizon: int, warm_up: int, weight_points: int
) -> Run:
    inputs, targets, single = _stream(X, y)
    if inputs.shape[1] != learner.inputs:
        raise ValueError(f"X has {inputs.shape[1]} columns, the learner {learner.inputs} inputs")
    if targets.shape[1] != learner.outputs:
        raise ValueError(f"y has {targets.shape[1]} columns, the learner {learner.outputs} outputs")
    raw = _core.run(
        learner,
        inputs,
        targets,
        _size("warm_up", warm_up, 0),
        _size("horizon", horizon, 0),
        _size("weight_points", weight_points, 0),
    )
    return _run_of(raw, learner, learner.expert_names, targets, single)


def run(
    X: Numbers,
    y: npt.ArrayLike,
    learner: str = "auto",
    *,
    horizon: int = 0,
    warm_up: int = 0,
    weight_points: int = 200,
    **options: Any,
) -> Run:
    """Goes through a stream once with a new learner: predicts each row, scores it, then learns it.

    Without the interpreter lock, so other threads go on meanwhile; Ctrl-C ends it.

    Parameters
    ----------
    X
        Rows of inputs; None for a series that is predicted from its past alone. NaN: missing.
    y
        Targets, (rows,) or (rows, outputs). NaN: missing.
    learner
        Its name; `**options` are those of `Learner`.
    horizon
        Also score forecasts so many rows ahead, given the inputs until then.
    warm_up
        First rows to pass through, neither scored nor learnt.
    weight_points
        Points of `Run.weight_path`, at most.

    >>> X, y = kalstream.generate("sine", 300)
    >>> kalstream.run(X, y, "rls").nse < 1
    True
    """
    inputs, targets, single = _stream(X, y)
    made = Learner(learner, inputs=inputs.shape[1], outputs=targets.shape[1], **options)
    return run_learner(
        made,
        inputs,
        targets[:, 0] if single else targets,
        horizon=horizon,
        warm_up=warm_up,
        weight_points=weight_points,
    )


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison(Mapping[str, list[Run]]):
    """Runs of several learners on one stream: {name: [a Run per seed]}."""

    runs: dict[str, list[Run]]
    summary: list[dict[str, Any]]  #: a row per learner, as the command line's JSON has it

    def __getitem__(self, name: str) -> list[Run]:
        return self.runs[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)

    @property
    def best(self) -> str:
        """The learner with the smallest mean NSE."""
        order = sorted(self.summary, key=lambda row: (np.isnan(row["nse_mean"]), row["nse_mean"]))
        return str(order[0]["learner"])

    def to_frame(self) -> Any:
        """The summary as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.summary).set_index("learner")

    def __repr__(self) -> str:
        lines = [f"{'learner':<12} {'NSE':>9} {'5 %':>9} {'95 %':>9} {'µs/row':>9}"]
        for row in self.summary:
            lines.append(
                f"{row['learner']:<12} {row['nse_mean']:>9.4g} {row['nse_p05']:>9.4g} "
                f"{row['nse_p95']:>9.4g} {row['us_per_step']:>9.3g}"
            )
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return _html.comparison(self)


Contender = Union[str, Learner]


def compare(
    learners: Sequence[Contender] | Mapping[str, Contender],
    X: Numbers,
    y: npt.ArrayLike,
    *,
    seeds: int | Sequence[int] = 1,
    horizon: int = 0,
    warm_up: int = 0,
    weight_points: int = 200,
    jobs: int = 0,
    scale: bool = True,
    **options: Option,
) -> Comparison:
    """Runs several learners with several seeds on one stream, in parallel, without the interpreter lock.

    Parameters
    ----------
    learners
        Names, or learners, whose settings (not what they have learnt) are taken; as a mapping, with names
        of your own.
    seeds
        How many (1, 2, ...) or which.
    jobs
        Runs at a time; 0: one per core. Results do not depend on it.
    scale, **options
        For those given by name; an option goes to those that have it.

    >>> X, y = kalstream.generate("mackey-glass", 400)
    >>> table = kalstream.compare(["naive", "ar", "mean"], X, y)
    >>> table.best
    'ar'
    """
    inputs, targets, single = _stream(X, y)
    if isinstance(learners, Mapping):
        named = list(learners.items())
    else:
        named = [(one if isinstance(one, str) else one.name, one) for one in learners]
    names = [name for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"learners: {name!r} is there twice; give names of your own as a dict")
    known = {one: _core.options(one) for _, one in named if isinstance(one, str)}
    for key in options:
        if known and not any(key == option for rows in known.values() for option, _, _ in rows):
            raise ValueError(f"none of the learners has an option {key!r}")
    made = []
    for name, one in named:
        if isinstance(one, str):
            its: dict[str, Any] = {
                key: value for key, value in options.items() if key in {o for o, _, _ in known[one]}
            }
            one = Learner(one, inputs=inputs.shape[1], outputs=targets.shape[1], scale=scale, **its)
        made.append((name, one))
    chosen = range(1, _size("seeds", seeds, 1) + 1) if isinstance(seeds, int) else seeds
    raw = _core.compare(
        made,
        inputs,
        targets,
        [_size("seeds", seed, 0) for seed in chosen],
        _size("warm_up", warm_up, 0),
        _size("horizon", horizon, 0),
        _size("weight_points", weight_points, 0),
        _size("jobs", jobs, 0),
    )
    runs = {
        name: [_run_of(one, None, learner.expert_names, targets, single) for one in outcome["runs"]]
        for (name, learner), outcome in zip(made, raw)
    }
    return Comparison(runs=runs, summary=[outcome["summary"] for outcome in raw])
