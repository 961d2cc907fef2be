"""Whole streams in one call: run and compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Union

from . import _core, _data, _html
from ._data import Fields, Path
from ._learner import Array, Learner, Numbers, Option, Table, _size
from ._numpy import ArrayLike, np, npt


GENERATED_ROWS = 5000  # of a generator, which has no end
LONGEST_HORIZON = 1000

Future = Union[Fields, bool]
Periods = Union[str, float, Sequence[float], None]


class Stream:
    """What is run: rows of inputs and targets, and what they are called."""

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        target: Fields,
        inputs: Fields,
        category: Fields,
        time: str | None,
        columns: Sequence[str] | None,
        missing: str,
        steps: int,
        horizon: int,
        like: _core.Schema | None = None,
        future: Future = None,
    ) -> None:
        if missing not in ("refuse", "hold"):
            raise ValueError(f"missing: 'refuse' or 'hold' expected, not {missing!r}")
        self.steps = _size("steps", steps, 0)
        beyond = _size("horizon", horizon, 0)
        chosen = any(field is not None for field in (target, inputs, category, time))
        if _data.is_path(X):
            if y is not None:
                raise TypeError("y: a file has its targets among its columns; name them with target=")
            if str(X).startswith("gen:") and self.steps == 0:
                self.steps = GENERATED_ROWS
            rows = self.steps + beyond if self.steps else 0
            self.data = _data.read(X, rows, _data.choice(target, inputs, category, time), columns, like)
        elif columns is not None:
            raise TypeError("columns: names of the columns of a file")
        elif _data.is_table(X) or (X is None and _data.is_table(y)):
            if X is None and inputs is None:
                inputs = []
            self.data = _data.named(X, y, target, inputs, category, time, like)
        elif chosen:
            raise TypeError("target, inputs, category and time name columns; an array has none")
        else:
            self.data = _data.arrays(X, y)
        if self.data.has_classes:
            raise _core.DataError(
                f'the target "{self.data.target_names[0]}" is a class, which kalstream.sklearn.OnlineClassifier '
                "learns; where a number is wanted, choose another with target="
            )
        self.hold = missing == "hold"
        self.future = future_of(self.data, future)
        self.single = self.data.outputs == 1 if _named(X, y) else np.ndim(y) == 1


def _named(X: Any, y: Any) -> bool:
    return _data.is_path(X) or _data.is_table(X) or (X is None and _data.is_table(y))


def future_of(data: _core.Dataset, future: Future) -> list[str]:
    """The inputs that are known ahead of their time, by name or number from 1."""
    if future is None or future is False:
        return []
    if future is True:
        return list(data.schema.inputs if data.schema.fields else data.input_names)
    names = _data._names(future)
    if data.schema.fields:
        data.check_future(names)
        return names
    unknown = [name for name in names if not (name.isdecimal() and 1 <= int(name) <= data.inputs)]
    if unknown:
        raise ValueError(f"future: an array has no column {unknown[0]!r}; they are numbered from 1 to {data.inputs}")
    return names


def periods_of(periods: Periods) -> list[float] | None:
    """In samples, the shortest first; None: not said."""
    if periods is None:
        return None
    if isinstance(periods, str):
        if periods != "none":
            raise ValueError(f"periods: numbers of samples, or 'none', expected, not {periods!r}")
        return []
    several = [periods] if isinstance(periods, (int, float)) else list(periods)
    numbers = sorted(float(period) for period in several)
    if len(numbers) > 3 or len(set(numbers)) < len(numbers) or any(not 2 <= n <= 100_000 for n in numbers):
        raise ValueError("periods: at most three different numbers of samples, from 2 to 100000")
    return numbers


def evaluation(
    stream: Stream,
    horizon: int,
    warm_up: int,
    weight_points: int,
    coverage: float,
    keep_forecasts: bool,
    periods: Periods,
    surprise: bool = False,
    alarm_rate: float = 0.0,
    delay: int = 0,
) -> _core.EvaluationOptions:
    if horizon > LONGEST_HORIZON:
        raise ValueError(f"horizon: at most {LONGEST_HORIZON} rows ahead, not {horizon}")
    if not 0 <= alarm_rate < 1:
        raise ValueError(f"alarm_rate: a part of the rows, e.g. 1e-4, not {alarm_rate}")
    return _core.EvaluationOptions(
        stream.steps,
        _size("warm_up", warm_up, 0),
        _size("horizon", horizon, 0),
        _size("weight_points", weight_points, 0),
        coverage,
        bool(keep_forecasts),
        stream.future,
        periods_of(periods),
        bool(surprise),
        float(alarm_rate),
        stream.hold,
        _size("delay", delay, 0),
    )


@dataclasses.dataclass(frozen=True)
class TargetScore:
    """How far the predictions of one target were from it."""

    nse: float
    rmse: float
    mae: float
    coverage: float  #: NaN without intervals
    width: float  #: mean of high - low


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
    median_width: float
    surprise: Array | None  #: probability of a target at least so far off, NaN where there is none; if asked
    anomalies: npt.NDArray[np.int64]  #: rows so surprising that alarm_rate lets them be told, from 0
    squared_errors: Array  #: per row, summed over outputs; NaN where not scored
    nse: float  #: mean squared error over the variance of the target: 1 is the mean, 0 is perfect
    mae: float  #: mean absolute error
    rmse: float  #: root of the mean squared error
    targets: dict[str, TargetScore]  #: each by itself
    knse: float  #: NSE of forecasts `horizon` rows ahead; NaN without a horizon
    forecast_squared_errors: Array  #: of the forecast made after each row; empty without a horizon
    forecasts: Array | None  #: made after each row: rows × horizon × outputs; with keep_forecasts
    forecast_low: Array | None
    forecast_high: Array | None
    scored: int  #: rows with a prediction and a target
    missing_targets: int
    skipped_rows: int
    untimely_rows: int  #: late or repeated, as times tell, or ahead of their time: not learnt
    passed_steps: int  #: rows that are missing, as times tell
    step: str  #: from row to row, as times tell: "1 hour"; empty: there are no times
    periods: list[float]  #: in rows, that the learner reckons with
    rejected_updates: int
    update_fraction: float  #: updates applied, of those that were possible
    seconds: float  #: from the first row to the last
    expert_names: list[str]  #: of a mixture
    weights: dict[str, float]  #: how much each expert counts in the end, the heaviest first
    weight_rows: Array  #: where weight_path was taken
    weight_path: Array  #: how much each expert counted on the way: points × experts
    time: npt.NDArray[Any] | None  #: of each row: datetime64 in UTC, numbers of another clock, or text
    time_name: str  #: of the field; empty: there are no times
    rows: npt.NDArray[np.int64]  #: where each row stood in its table or file, from 1; empty for arrays
    input_names: list[str]
    target_names: list[str]
    held: int  #: missing inputs that the last value stood in for
    labels: int  #: rows of a file with but the target of an earlier one
    late_labels: int  #: of them, those for which no row waited
    remarks: list[str]  #: what was left out and why, and what was guessed about fields

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

    def to_frame(self) -> Any:
        """Targets, predictions and their bounds as a pandas DataFrame, by time where there is one."""
        import pandas

        index = None if self.time is None else pandas.Index(self.time, name=self.time_name)
        columns = {}
        parts = {
            "": self.y,
            "prediction": self.predictions,
            "low": self.low,
            "high": self.high,
            "surprise": self.surprise,
        }
        for k, target in enumerate(self.target_names):
            for part, values in parts.items():
                if values is not None:
                    columns[f"{target} {part}".rstrip()] = values if values.ndim == 1 else values[:, k]
        return pandas.DataFrame(columns, index=index)

    def __repr__(self) -> str:
        text = f"Run of {len(self.y):,} rows: NSE {self.nse:.4g}, MAE {self.mae:.4g}"
        if not np.isnan(self.knse):
            text += f", forecasts NSE {self.knse:.4g}"
        if not np.isnan(self.coverage):
            text += f", {100 * self.coverage:.1f} % within bounds"
        if len(self.anomalies):
            text += f", {len(self.anomalies):,} anomalies"
        text += f", {self.us_per_step:.3g} µs per row"
        if self.missing_targets:
            text += f", {self.missing_targets:,} without target"
        if self.untimely_rows:
            text += f", {self.untimely_rows:,} late, repeated or ahead"
        if self.passed_steps:
            text += f", {self.passed_steps:,} missing in between"
        if self.skipped_rows:
            text += f", {self.skipped_rows:,} skipped"
        if not self.nse < 1:
            text += "; no better than the mean"
        return text

    def _repr_html_(self) -> str:
        return _html.run(self)


def _times(data: _core.Dataset, rows: int) -> npt.NDArray[Any] | None:
    if not data.time_name:
        return None
    moments = data.moments[:rows].view("datetime64[ns]")
    if not np.isnat(moments).all():
        return moments
    texts = np.array(data.times[:rows])
    try:
        return np.where(texts == "", "nan", texts).astype(np.float64)
    except ValueError:
        return texts


def run_of(raw: dict[str, Any], learner: Learner | None, names: list[str], stream: Stream) -> Run:
    data = stream.data
    rows = len(raw["predictions"])
    final = raw.pop("final_weights").tolist()

    def shaped(values: Array | None) -> Array | None:
        return values[..., 0] if stream.single and values is not None else values

    arrays = {
        name: shaped(raw.pop(name, None))
        for name in ("y", "predictions", "low", "high", "surprise", "forecasts", "forecast_low", "forecast_high")
    }
    scores = [TargetScore(**score) for score in raw.pop("targets")]
    remarks = [remark.replace("--future", "future=") for remark in raw.pop("remarks")]
    return Run(
        learner=learner,
        targets=dict(zip(data.target_names, scores)),
        expert_names=names,
        weights=dict(sorted(zip(names, final), key=lambda pair: -pair[1])),
        weight_rows=np.asarray(raw.pop("weight_rows"), dtype=np.int64),
        anomalies=np.asarray(raw.pop("anomalies"), dtype=np.int64),
        time=_times(data, rows),
        time_name=data.time_name,
        rows=data.lines[:rows],
        input_names=data.input_names,
        target_names=data.target_names,
        labels=data.labels,
        remarks=[*data.remarks, *(remark for remark in remarks if "the step between samples is" not in remark)],
        **arrays,  # type: ignore[arg-type]
        **raw,
    )


def check(learner: Learner, stream: Stream) -> None:
    """Whether it is one for this stream; then it knows its fields by name."""
    data = stream.data
    if data.inputs != learner.inputs:
        raise ValueError(f"X has {data.inputs} columns, the learner {learner.inputs} inputs")
    if data.outputs != learner.outputs:
        raise ValueError(f"y has {data.outputs} columns, the learner {learner.outputs} outputs")
    if data.schema.fields:
        learner._set_schema(data.schema)


def run_learner(learner: Learner, stream: Stream, options: _core.EvaluationOptions) -> Run:
    check(learner, stream)
    raw = _core.run(learner, stream.data, options)
    return run_of(raw, learner, learner.expert_names, stream)


def prepare(
    X: Any,
    y: Any,
    learner: str,
    *,
    target: Fields = None,
    inputs: Fields = None,
    category: Fields = None,
    time: str | None = None,
    columns: Sequence[str] | None = None,
    interval: float | None = 0.9,
    missing: str = "refuse",
    steps: int = 0,
    horizon: int = 0,
    warm_up: int = 0,
    weight_points: int = 200,
    keep_forecasts: bool = False,
    surprise: bool = False,
    alarm_rate: float = 0.0,
    future: Future = None,
    periods: Periods = None,
    **options: Any,
) -> tuple[Learner, Stream, _core.EvaluationOptions]:
    """What `run` needs, of its arguments."""
    stream = Stream(
        X,
        y,
        target=target,
        inputs=inputs,
        category=category,
        time=time,
        columns=columns,
        missing=missing,
        steps=steps,
        horizon=horizon,
        future=future,
    )
    coverage = options.pop("coverage", interval)
    data = stream.data
    made = Learner(learner, inputs=data.inputs, outputs=data.outputs, coverage=coverage, **options)
    return (
        made,
        stream,
        evaluation(stream, horizon, warm_up, weight_points, 0.0, keep_forecasts, periods, surprise, alarm_rate),
    )


def run(
    X: Numbers | Table | Path,
    y: ArrayLike | Table | None = None,
    learner: str = "auto",
    *,
    target: Fields = None,
    inputs: Fields = None,
    category: Fields = None,
    time: str | None = None,
    columns: Sequence[str] | None = None,
    interval: float | None = 0.9,
    missing: str = "refuse",
    steps: int = 0,
    horizon: int = 0,
    warm_up: int = 0,
    weight_points: int = 200,
    keep_forecasts: bool = False,
    surprise: bool = False,
    alarm_rate: float = 0.0,
    future: Future = None,
    periods: Periods = None,
    **options: Any,
) -> Run:
    """Goes through a stream once with a new learner: predicts each row, scores it, then learns it.

    Without the interpreter lock, so other threads go on meanwhile; Ctrl-C ends it.

    Parameters
    ----------
    X
        Rows of inputs; None for a series that is predicted from its past alone. NaN: missing. Or a data
        frame, a dict of columns, or the name of a file: these have names, and the rules of docs/data.md say
        which column is what.
    y
        Targets, (rows,) or (rows, outputs). NaN: missing. Not needed where X has names.
    learner
        Its name; `**options` are those of `Learner`.
    target
        Columns to predict, by name or number from 1; None: "target", else the last with numbers.
    inputs
        Columns to learn from, [] for none; None: all others with numbers. What is left out is in
        `Run.remarks`.
    category
        Columns of a few values that are inputs: one for each of the first 15 values, and one for all others.
    time
        The column that tells the time, or "none"; None: the first that does. In a data frame it may be the
        index.
    columns
        Names of the columns, for a file without a header.
    interval
        The part of the targets that bounds around predictions are to hold; None: no bounds.
    missing
        Rows that lack inputs: "refuse" them (they are skipped), or "hold" the last values.
    steps
        Rows to use; 0: all (of a generator, "gen:NAME", 5000).
    horizon
        Also score forecasts so many rows ahead, at most 1000. Inputs are held at their last values there, but
        for those of `future`.
    warm_up
        First rows to pass through, neither scored nor learnt.
    weight_points
        Points of `Run.weight_path`, at most.
    keep_forecasts
        All forecasts are in `Run.forecasts`.
    surprise
        How strange each target is, in `Run.surprise`.
    alarm_rate
        About this part of ordinary rows at most is in `Run.anomalies`, e.g. 1e-4; implies surprise.
    future
        Inputs that are known ahead of their time, by name or number from 1; True: all. Forecasts may see them.
    periods
        The stream repeats itself after so many rows, e.g. [24, 168]; "none": it does not; None: what the times
        tell, or "auto" finds.

    >>> X, y = kalstream.generate("sine", 300)
    >>> kalstream.run(X, y, "rls").nse < 1
    True
    >>> table = {"temp": [21.5, 22.5, 23.5], "note": ["a", "b", "c"], "load": [1.0, 2.0, 3.0]}
    >>> kalstream.run(table, target="load", learner="rls").remarks
    ['left out: "note" (text)']
    """
    return run_learner(
        *prepare(
            X,
            y,
            learner,
            target=target,
            inputs=inputs,
            category=category,
            time=time,
            columns=columns,
            interval=interval,
            missing=missing,
            steps=steps,
            horizon=horizon,
            warm_up=warm_up,
            weight_points=weight_points,
            keep_forecasts=keep_forecasts,
            surprise=surprise,
            alarm_rate=alarm_rate,
            future=future,
            periods=periods,
            **options,
        )
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
    X: Numbers | Table | Path,
    y: ArrayLike | Table | None = None,
    *,
    seeds: int | Sequence[int] = 1,
    target: Fields = None,
    inputs: Fields = None,
    category: Fields = None,
    time: str | None = None,
    columns: Sequence[str] | None = None,
    interval: float | None = None,
    missing: str = "refuse",
    steps: int = 0,
    horizon: int = 0,
    warm_up: int = 0,
    weight_points: int = 200,
    jobs: int = 0,
    scale: bool = True,
    future: Future = None,
    periods: Periods = None,
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
    X, y, target, inputs, category, time, columns, interval, missing, steps, horizon, warm_up, future, periods
        As for `run`.
    scale, **options
        For those given by name; an option goes to those that have it.

    >>> X, y = kalstream.generate("mackey-glass", 400)
    >>> table = kalstream.compare(["naive", "ar", "mean"], X, y)
    >>> table.best
    'ar'
    """
    stream = Stream(
        X,
        y,
        target=target,
        inputs=inputs,
        category=category,
        time=time,
        columns=columns,
        missing=missing,
        steps=steps,
        horizon=horizon,
        future=future,
    )
    data = stream.data
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
            one = Learner(one, inputs=data.inputs, outputs=data.outputs, scale=scale, **its)
        made.append((name, one))
    chosen = range(1, _size("seeds", seeds, 1) + 1) if isinstance(seeds, int) else seeds
    raw = _core.compare(
        made,
        data,
        [_size("seeds", seed, 0) for seed in chosen],
        evaluation(stream, horizon, warm_up, weight_points, float(interval or 0), False, periods),
        _size("jobs", jobs, 0),
    )
    runs = {
        name: [run_of(one, None, learner.expert_names, stream) for one in outcome["runs"]]
        for (name, learner), outcome in zip(made, raw)
    }
    return Comparison(runs=runs, summary=[outcome["summary"] for outcome in raw])
