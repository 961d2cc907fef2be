"""Whole streams in one call: run and compare."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, TypeVar, Union

from . import _core, _data, _html
from ._data import Fields, Path
from ._learner import Learner, Numbers, Table, _size
from ._numpy import Array, ArrayLike, np, npt


GENERATED_ROWS = 5000  # of a generator, which has no end
LONGEST_HORIZON = 1000
LONGEST_DELAY = 1_000_000
FIELDS = ("target", "inputs", "category", "time", "key", "id", "task", "classes")  # what the user says of them

K = TypeVar("K")
V = TypeVar("V")
Future = Union[Fields, bool]
Periods = Union[str, float, Sequence[float], None]


class Source:
    """What is run: rows of inputs and targets, what they are called, and how to go through them.

    Takes the arguments of `run` that are not those of a learner.
    """

    def __init__(self, X: Any, y: Any, *, like: _core.Schema | None = None, **arguments: Any) -> None:
        for name in arguments:
            if name not in _defaults():
                raise TypeError(f"unexpected keyword argument {name!r}")
        a = SimpleNamespace(**{**_defaults(), **arguments})
        if not 0 <= a.alarm_rate < 1:
            raise ValueError(f"alarm_rate: a part of the rows, e.g. 1e-4, not {a.alarm_rate}")
        self.options = options = _core.EvaluationOptions()
        options.horizon = horizon_of(a.horizon, 0)
        for name in ("steps", "warm_up", "weight_points", "delay", "max_delay"):
            setattr(options, name, _size(name, getattr(a, name), 0))
        if max(options.delay, options.max_delay) > LONGEST_DELAY:
            raise ValueError(f"delay, max_delay: at most {LONGEST_DELAY} rows")
        options.keep_forecasts = bool(a.keep_forecasts)
        options.surprise = bool(a.surprise)
        options.alarm_rate = float(a.alarm_rate)
        options.strangeness = bool(a.strangeness)
        for name in ("alarm_above", "alarm_below"):
            limit = getattr(a, name)
            if limit is not None and not np.isfinite(limit):
                raise ValueError(f"{name}: a number or None, not {limit}")
            if limit is not None:
                setattr(options, name, float(limit))
        options.missing = a.missing
        options.periods = periods_of(a.periods)
        self.interval = a.interval
        self.data = self._read(X, y, {name: getattr(a, name) for name in FIELDS}, a.columns, like)
        options.future = future_of(self.data, a.future)
        if self.data.has_classes and options.horizon > 0:
            raise _core.DataError(
                f'horizon is for targets that are numbers, and "{self.data.target_names[0]}" is a class; leave it away'
            )
        is_named = _data.is_path(X) or _data.is_table(X) or (X is None and _data.is_table(y))
        self.single = self.data.outputs == 1 if is_named else np.ndim(y) == 1

    def _read(
        self, X: Any, y: Any, fields: dict[str, Any], columns: Sequence[str] | None, like: _core.Schema | None
    ) -> _core.Dataset:
        options = self.options
        if _data.is_path(X):
            if y is not None:
                raise TypeError("y: a file has its targets among its columns; name them with target=")
            if str(X).startswith("gen:") and options.steps == 0:
                options.steps = GENERATED_ROWS
            rows = options.steps + options.horizon if options.steps else 0
            return _data.read(X, rows, _data.choice(**fields), columns, like)
        if columns is not None:
            raise TypeError("columns: names of the columns of a file")
        if _data.is_table(X) or (X is None and _data.is_table(y)):
            if X is None and fields["inputs"] is None:
                fields["inputs"] = []
            return _data.named(X, y, fields, like)
        if any(field is not None for field in fields.values()):
            raise TypeError(f"{', '.join(FIELDS[:-1])} and {FIELDS[-1]} name columns; an array has none")
        return _data.arrays(X, y)

    @property
    def makes_models(self) -> bool:
        """A model for each key, or one of classes: made anew, so that the learner tells only its settings."""
        return bool(self.data.keys) or self.data.has_classes


def _defaults() -> dict[str, Any]:
    """Of the arguments of `run` that are not those of a learner: what all that takes them does without them."""
    return run.__kwdefaults__ or {}


def split(arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arguments of a source, and those that are left for a learner."""
    of_source = {name: value for name, value in arguments.items() if name in _defaults()}
    return of_source, {name: value for name, value in arguments.items() if name not in of_source}


def horizon_of(horizon: Any, least: int) -> int:
    number = _size("horizon", horizon, least)
    if number > LONGEST_HORIZON:
        raise ValueError(f"horizon: at most {LONGEST_HORIZON} rows ahead, not {number}")
    return number


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


@dataclasses.dataclass(frozen=True)
class TargetScore:
    """How far the predictions of one target were from it."""

    nse: float
    rmse: float
    mae: float
    coverage: float  #: NaN without intervals
    width: float  #: mean of high - low


@dataclasses.dataclass(frozen=True)
class Alarm:
    """Something strange that lasted for a while; rows are counted from 0."""

    kind: str  #: spike, level, drift, stuck, spread, silence, above or below
    start: int  #: row
    end: int | None  #: the first row that is ordinary again; None: it lasts
    value: float  #: the worst one; NaN: there is none
    severity: float  #: the largest strangeness
    target: str  #: the strangest one
    key: str  #: of the model; empty: there is but one


@dataclasses.dataclass(frozen=True, repr=False)
class Run:
    """What a learner did on a stream.

    A row without target (NaN) is passed through and not scored; a row with a missing input is learnt from by
    `auto`, and skipped by other learners. The first target is learnt, not scored: before it nothing can be known.

    Where the target is a class, `y` and `predictions` are names ("" where there is none), and `nse`, `mae` and
    `rmse` tell nothing: `log_loss`, `class_scores` and `reliability` do.
    """

    learner: Learner | None  #: with all it has learnt; None in a comparison, with keys and of classes
    y: npt.NDArray[Any]  #: the targets
    predictions: npt.NDArray[Any]  #: one per row, made before its target was used; NaN where there is none
    probabilities: Array | None  #: rows × classes; NaN where a class was not known yet; None without classes
    classes: list[str]  #: those that came, in the order in which they did
    keys: npt.NDArray[Any] | None  #: of each row, the key of its model; None: there is but one
    key_name: str  #: of the field; empty: there are no keys
    low: Array | None  #: bounds of the predictions, NaN before there are any; None without intervals
    high: Array | None
    coverage: float  #: the part of the targets within their bounds; NaN without intervals
    width: float  #: mean of high - low
    median_width: float
    surprise: Array | None  #: probability of a target at least so far off, NaN where there is none; if asked
    anomalies: npt.NDArray[np.int64]  #: rows so surprising that alarm_rate lets them be told, from 0
    strangeness: Array | None  #: how far and how long beyond the usual, 1 and more is worth an alarm; if asked
    alarms: list[Alarm]  #: in the order in which they began
    squared_errors: Array  #: per row, summed over outputs; NaN where not scored
    nse: float  #: mean squared error over the variance of the target: 1 is the mean, 0 is perfect
    mae: float  #: mean absolute error
    rmse: float  #: root of the mean squared error
    log_loss: float  #: mean -ln p of the class that came; NaN without classes
    class_scores: dict[str, float]  #: log_loss, accuracy, kappa, auc, f1, calibration_error, recent_...
    reliability: list[dict[str, float]]  #: by how sure it was: count, mean confidence, accuracy
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
        if self.classes:
            raise ValueError("a learning curve is of targets that are numbers; these are classes")
        scored = ~np.isnan(self.squared_errors)
        total = np.concatenate([[0.0], np.cumsum(np.where(scored, self.squared_errors, 0.0))])
        count = np.concatenate([[0], np.cumsum(scored)])
        last = np.arange(1, len(scored) + 1)
        first = np.maximum(last - _size("window", window, 1), 0)
        with np.errstate(invalid="ignore"):
            mean = (total[last] - total[first]) / (count[last] - count[first])
        return np.asarray(mean / (_variance(self.y[scored]) or np.nan))

    @property
    def by_key(self) -> dict[str, dict[str, float]]:
        """What came of each key: rows, scored and the nse, rmse and mae of numbers, or the accuracy of classes."""
        if self.keys is None:
            return {}
        keys, first, place = np.unique(self.keys, return_index=True, return_inverse=True)
        rows_of = np.split(np.argsort(place, kind="stable"), np.cumsum(np.bincount(place))[:-1])
        scores = {}
        for k in np.argsort(first):
            rows = rows_of[k][~np.isnan(self.squared_errors[rows_of[k]])]
            one: dict[str, float] = {"rows": len(rows_of[k]), "scored": len(rows)}
            y, said = self.y[rows], self.predictions[rows]
            if self.classes and len(rows):
                one["accuracy"] = float(np.mean(y == said))
            elif len(rows):
                one["nse"] = float(self.squared_errors[rows].mean() / (_variance(y) or np.nan))
                one["rmse"] = float(np.sqrt(np.mean((y - said) ** 2)))
                one["mae"] = float(np.mean(np.abs(y - said)))
            scores[str(keys[k])] = one
        return scores

    def to_frame(self) -> Any:
        """Targets, predictions and their bounds or probabilities as a pandas DataFrame, by time where there is one."""
        import pandas

        index = None if self.time is None else pandas.Index(self.time, name=self.time_name)
        columns = {} if self.keys is None else {self.key_name: self.keys}
        bounds = {"low": self.low, "high": self.high, "surprise": self.surprise, "strangeness": self.strangeness}
        parts = {"": self.y, "prediction": self.predictions, **bounds}
        for k, target in enumerate(self.target_names):
            for part, values in parts.items():
                if values is not None:
                    columns[f"{target} {part}".rstrip()] = values if values.ndim == 1 else values[:, k]
        if self.probabilities is not None:
            for name, values in zip(self.classes, self.probabilities.T):
                columns[f"{self.target_names[0]} probability {name}"] = values
        return pandas.DataFrame(columns, index=index)

    def __repr__(self) -> str:
        text = f"Run of {len(self.y):,} rows"
        if self.keys is not None:
            text += f" of {len(set(self.keys.tolist())):,} keys"
        if self.classes:
            text += f": log loss {self.log_loss:.4g}, accuracy {100 * self.class_scores['accuracy']:.4g} %"
        else:
            text += f": NSE {self.nse:.4g}, MAE {self.mae:.4g}"
        if not np.isnan(self.knse):
            text += f", forecasts NSE {self.knse:.4g}"
        if not np.isnan(self.coverage):
            text += f", {100 * self.coverage:.1f} % within bounds"
        if len(self.anomalies):
            text += f", {len(self.anomalies):,} anomalies"
        if self.alarms:
            text += f", {len(self.alarms):,} alarms"
        text += f", {self.us_per_step:.3g} µs per row"
        counts = {
            "without target": self.missing_targets,
            "late, repeated or ahead": self.untimely_rows,
            "missing in between": self.passed_steps,
            "skipped": self.skipped_rows,
        }
        text += "".join(f", {count:,} {what}" for what, count in counts.items() if count)
        if not self.classes and not self.nse < 1:
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


def _variance(y: Array) -> float:
    return float(np.sum(np.var(y, axis=0))) if len(y) else float("nan")


def run_of(raw: dict[str, Any], learner: Learner | None, source: Source) -> Run:
    data = source.data
    rows = len(raw["y"])

    def shaped(values: Array | None) -> Array | None:
        return values[..., 0] if source.single and values is not None else values

    if data.has_classes:
        raw["y"] = np.array(raw["y"])
        raw["predictions"] = _most_probable(np.array(["", *raw["classes"]]), raw["probabilities"])
    else:
        raw.update(classes=[], probabilities=None, class_scores={}, reliability=[])
        for name in ("y", "predictions"):
            raw[name] = shaped(raw[name])
    for name in ("low", "high", "surprise", "strangeness", "forecasts", "forecast_low", "forecast_high"):
        raw[name] = shaped(raw[name])
    for name in ("weight_rows", "anomalies"):
        raw[name] = np.asarray(raw[name], dtype=np.int64)
    weights = zip(raw["expert_names"], raw.pop("final_weights"))
    raw["alarms"] = [Alarm(**alarm) for alarm in raw["alarms"]]
    scores = [TargetScore(**score) for score in raw.pop("targets")]
    return Run(
        learner=None if source.makes_models else learner,
        keys=np.array(data.keys[:rows]) if data.keys else None,
        key_name=next((field.name for field in data.schema.fields if field.role == "key"), ""),
        targets=dict(zip(data.target_names, scores)),
        weights=dict(sorted(weights, key=lambda pair: -pair[1])),
        time=_times(data, rows),
        time_name=data.time_name,
        rows=data.lines[:rows],
        input_names=data.input_names,
        target_names=data.target_names,
        labels=data.labels,
        remarks=[*data.remarks, *raw.pop("remarks")],
        **raw,
    )


def _most_probable(names: npt.NDArray[Any], p: Array) -> npt.NDArray[Any]:
    """The first of the names where no class has a probability."""
    top: npt.NDArray[Any] = names[np.argmax(np.column_stack([np.zeros(len(p)), np.nan_to_num(p)]), axis=1)]
    return top


def check(learner: Learner, source: Source) -> None:
    """Whether it is one for this stream; then it knows its fields by name."""
    data = source.data
    if data.inputs != learner.inputs:
        raise ValueError(f"X has {data.inputs} columns, the learner {learner.inputs} inputs")
    if data.outputs != learner.outputs:
        raise ValueError(f"y has {data.outputs} columns, the learner {learner.outputs} outputs")
    if data.schema.fields and not source.makes_models:
        learner._set_schema(data.schema)


def run_learners(prepared: Sequence[tuple[Learner, Source]], jobs: int = 1) -> list[Run]:
    for learner, source in prepared:
        check(learner, source)
    learners = [learner for learner, _ in prepared]
    raw = _core.run(learners, [source.data for _, source in prepared], [source.options for _, source in prepared], jobs)
    return [run_of(one, learner, source) for one, (learner, source) in zip(raw, prepared)]


def prepare(X: Any, y: Any, learner: str, **arguments: Any) -> tuple[Learner, Source]:
    """What `run` needs, of its arguments."""
    of_source, options = split(arguments)
    source = Source(X, y, **of_source)
    data = source.data
    coverage = options.pop("coverage", source.interval)
    if data.has_classes:
        coverage = None
    return Learner(learner, inputs=data.inputs, outputs=data.outputs, coverage=coverage, **options), source


def run(
    X: Numbers | Table | Path,
    y: ArrayLike | Table | None = None,
    learner: str = "auto",
    *,
    target: Fields = None,
    inputs: Fields = None,
    category: Fields = None,
    time: str | None = None,
    key: str | int | None = None,
    id: str | int | None = None,
    task: str | None = None,
    classes: int | None = None,
    columns: Sequence[str] | None = None,
    interval: float | None = 0.9,
    missing: str = "learn",
    steps: int = 0,
    horizon: int = 0,
    warm_up: int = 0,
    weight_points: int = 200,
    keep_forecasts: bool = False,
    surprise: bool = False,
    alarm_rate: float = 0.0,
    strangeness: bool = False,
    alarm_above: float | None = None,
    alarm_below: float | None = None,
    delay: int = 0,
    max_delay: int = 1000,
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
        Columns to predict, by name or number from 1; None: "target", else the last with numbers. One of text
        is a class: every class that comes is learnt, and predicted with a probability.
    inputs
        Columns to learn from, [] for none; None: all others with numbers. What is left out is in
        `Run.remarks`.
    category
        Columns of a few values that are inputs: one for each of the first 15 values, and one for all others.
    time
        The column that tells the time, or "none"; None: the first that does. In a data frame it may be the
        index.
    key
        The column that tells which model a row is for: each key has one of its own, all begin alike.
    id
        The column that names a row, "id" if there is one. A row without target then waits for it: it may come
        in a later row with the same id, and nothing else but its key.
    task
        "classify": the target is a class, also where it is written in numbers; "regress": it is a number.
    classes
        How many classes a model may have to tell apart; None: 32.
    columns
        Names of the columns, for a file without a header.
    interval
        The part of the targets that bounds around predictions are to hold; None: no bounds.
    missing
        Rows that lack inputs: "learn" from them, as `auto` can (others skip them), "refuse" them (they are
        skipped), or "hold" the last values.
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
    strangeness
        How far and how long each target is beyond the usual, in `Run.strangeness`; what is worth an
        alarm is in `Run.alarms`, with its rows, kind and severity. Implies surprise.
    alarm_above, alarm_below
        Targets beyond these limits are in `Run.alarms`, too.
    delay
        Targets come so many rows late: predictions and forecasts do without the last ones.
    max_delay
        Rows that may come between one with an id and its target.
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
    >>> state = kalstream.run({**table, "state": ["dry", "wet", "dry"]}, target="state", learner="ekf")
    >>> state.classes, state.probabilities.shape
    (['dry', 'wet'], (3, 2))
    """
    arguments = dict(locals())
    return run_learners([prepare(**{**arguments.pop("options"), **arguments})])[0]


@dataclasses.dataclass(frozen=True, repr=False)
class ByName(Mapping[K, V]):
    """Runs, each under its name."""

    runs: dict[K, V]

    def __getitem__(self, name: K) -> V:
        return self.runs[name]

    def __iter__(self) -> Iterator[K]:
        return iter(self.runs)

    def __len__(self) -> int:
        return len(self.runs)


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison(ByName[str, list[Run]]):
    """Runs of several learners on one stream: {name: [a Run per seed]}."""

    summary: list[dict[str, Any]]  #: a row per learner, as the command line's JSON has it

    @property
    def best(self) -> str:
        """The learner with the smallest mean NSE, or log loss where targets are classes."""
        errors = {row["learner"]: row[self._measures[0][1]] for row in self.summary}
        return str(min(errors, key=lambda name: (np.isnan(errors[name]), errors[name])))

    @property
    def _measures(self) -> list[tuple[str, str]]:
        """What a table shows: heading, and column of the summary."""
        if any(run.classes for runs in self.runs.values() for run in runs):
            return [("log loss", "log_loss_mean"), ("accuracy", "accuracy_mean"), ("µs/row", "us_per_step")]
        return [("NSE", "nse_mean"), ("5 %", "nse_p05"), ("95 %", "nse_p95"), ("µs/row", "us_per_step")]

    def to_frame(self) -> Any:
        """The summary as a pandas DataFrame."""
        import pandas

        return pandas.DataFrame(self.summary).set_index("learner")

    def __repr__(self) -> str:
        lines = [f"{'learner':<12}" + "".join(f" {heading:>9}" for heading, _ in self._measures)]
        for row in self.summary:
            cells = [f"{row[name]:>9.{3 if name == 'us_per_step' else 4}g}" for _, name in self._measures]
            lines.append(" ".join([f"{row['learner']:<12}", *cells]))
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
    jobs: int = 0,
    scale: bool = True,
    interval: float | None = None,
    **arguments: Any,
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
    X, y, interval, **arguments
        As for `run`: target, inputs, category, time, key, missing, steps, horizon, warm_up, future, ...
    scale, **arguments
        For those given by name; an option of learners goes to those that have it.

    >>> X, y = kalstream.generate("mackey-glass", 400)
    >>> table = kalstream.compare(["naive", "ar", "mean"], X, y)
    >>> table.best
    'ar'
    """
    of_source, options = split(arguments)
    source = Source(X, y, **of_source)
    data = source.data
    source.options.coverage = 0.0 if data.has_classes else float(interval or 0)
    if isinstance(learners, Mapping):
        named = list(learners.items())
    else:
        named = [(one if isinstance(one, str) else one.name, one) for one in learners]
    names = [name for name, _ in named]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"learners: {name!r} is there twice; give names of your own as a dict")
    known = {one: {name for name, _, _ in _core.options(one)} for _, one in named if isinstance(one, str)}
    for key in options:
        if known and not any(key in its for its in known.values()):
            raise ValueError(f"none of the learners has an option {key!r}")
    made = []
    for name, one in named:
        if isinstance(one, str):
            its: dict[str, Any] = {key: value for key, value in options.items() if key in known[one]}
            one = Learner(one, inputs=data.inputs, outputs=data.outputs, scale=scale, **its)
        made.append((name, one))
    chosen = range(1, _size("seeds", seeds, 1) + 1) if isinstance(seeds, int) else seeds
    outcomes = _core.compare(
        made, data, [_size("seeds", seed, 0) for seed in chosen], source.options, _size("jobs", jobs, 0)
    )
    runs = {name: [run_of(one, None, source) for one in of_seeds] for name, (_, of_seeds) in zip(names, outcomes)}
    return Comparison(runs=runs, summary=[summary for summary, _ in outcomes])
