"""The learner: predict, learn, advance, forecast."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from . import _core, _html
from ._data import Path, columns_of, is_table, matrix
from ._numpy import Array, ArrayLike, np

if TYPE_CHECKING:
    from ._evaluation import Run

Numbers = Union[ArrayLike, None]
Option = Union[float, str, bool, None, Sequence[float]]
Table = Any  # a data frame of pandas, polars or pyarrow, or a dict of columns


def _text(key: str, value: Option) -> str:
    """A value as the command line's --set has it."""
    if isinstance(value, str):
        return value
    if value is None:
        return "none"
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, np.integer)):
        return str(int(value))
    if isinstance(value, (float, np.floating)):
        return repr(float(value))
    if isinstance(value, (list, tuple, np.ndarray)):
        return ",".join(repr(float(v)) for v in value)
    raise TypeError(f"{key}: a number, text, True, False, None or a list of numbers expected")


def _size(name: str, value: Any, least: int) -> int:
    if isinstance(value, (bool, float)) or not hasattr(value, "__index__"):
        raise TypeError(f"{name}: a whole number expected, not {value!r}")
    number = int(value.__index__())
    if number < least:
        raise ValueError(f"{name} must be {least} or more, not {number}")
    return number


def _names(what: str, value: Any) -> list[str] | None:
    """Names, where these are given and not a number."""
    if isinstance(value, str):
        value = [value]
    if not isinstance(value, (list, tuple)):
        return None
    if not value or not all(isinstance(name, str) for name in value):
        raise TypeError(f"{what}: a whole number or names expected, not {value!r}")
    return list(value)


class Learner(_core.Learner):
    """An online regressor.

    For each sample of a stream::

        prediction = learner.predict(x)      # uses targets before this sample only
        report = learner.learn(x, y)         # or advance(x) when the target is missing

    Samples may have names: `predict({"temp": 21.5, "load": 0.3})`, a row of a pandas data frame. The first
    that has some settles them; from then on fields may come in any order, and others raise ValueError.

    A sample that cannot be used (a number that is not finite, an input beyond 1e100) leaves the learner
    as it was, and the report says so. A wrong number of inputs or outputs raises ValueError.

    Parameters
    ----------
    name
        Which learner; `kalstream.learners()` lists them. "auto" needs no settings.
    inputs
        Numbers per sample; 0 for a series that is predicted from its past alone. Or their names.
    outputs
        Targets per sample, or their names.
    seed
        Of the random start.
    scale
        Standardise inputs and map targets into range with running moments. "auto" and the baselines take
        raw data anyway. (The command line's default is False, and it then refuses targets outside ±1.)
    preset
        "paper:STREAM" or "authors:STREAM": the published settings for that stream.
    coverage
        The part of the targets that `interval` is to hold; None: no intervals, which saves a microsecond.
    budget_us
        For "auto": as many networks as keep a sample within this many microseconds on this machine.
    **options
        What the command line's `--set` takes; `kalstream.options(name)` lists them. A schedule is
        written as text: "10..3@500" (linear over 500 samples), "1e-3~1e-6@500" (exponential).

    Examples
    --------
    >>> learner = Learner("ekf", inputs=2, hidden=8, process_noise="1e-3~1e-6@500")
    >>> learner
    Learner('ekf', inputs=2, process_noise='0.001~1e-6@500', hidden=8) after 0 samples
    >>> learner.learn([0.1, 0.2], 0.3)
    Report(status='applied')
    >>> learner.predict([0.1, 0.2]).shape
    (1,)
    """

    def __init__(
        self,
        name: str = "auto",
        *,
        inputs: int | Sequence[str],
        outputs: int | str | Sequence[str] = 1,
        seed: int = 1,
        scale: bool = True,
        preset: str | None = None,
        coverage: float | None = 0.9,
        budget_us: float | None = None,
        **options: Option,
    ) -> None:
        input_names = _names("inputs", inputs)
        output_names = _names("outputs", outputs)
        super().__init__(
            name,
            _size("inputs", inputs, 0) if input_names is None else len(input_names),
            _size("outputs", outputs, 1) if output_names is None else len(output_names),
            _size("seed", seed, 0),
            bool(scale),
            preset or "",
            None if coverage is None else float(coverage),
            None if budget_us is None else float(budget_us),
            [(key, _text(key, value)) for key, value in options.items()],
        )
        if input_names is None and output_names is not None and self.inputs > 0:
            raise TypeError("inputs: names expected, since outputs have some")
        if input_names is not None or output_names is not None:
            self._set_names(input_names or [], output_names or [])

    # predict, interval, learn and advance are the extension's own: nothing comes between.

    def predict_many(self, X: ArrayLike | Table) -> Array:
        """Predictions for the rows of X, each as if it were the next sample; (rows, outputs)."""
        return super().predict_many(self._rows(X))

    def _rows(self, X: Any) -> Array:
        return self._table(columns_of(X)) if is_table(X) else matrix("X", X, self.inputs)

    def forecast(self, horizon: int, X: Numbers | Table = None) -> Array:
        """Predictions for the next `horizon` samples, whose inputs are the rows of X, or of its columns.

        What the learner knows stays as it is. Returns an array of (horizon, outputs).
        """
        horizon = _size("horizon", horizon, 1)
        return super().forecast(horizon, self._ahead(horizon, X))

    def _ahead(self, horizon: int, X: Any) -> Array | None:
        """The inputs of the next samples."""
        if X is None and self.inputs > 0:
            raise ValueError(f"X: the {self.inputs} inputs of the next {horizon} samples are needed")
        rows = None if X is None else self._rows(X)
        if rows is not None and len(rows) != horizon:
            raise ValueError(f"X has {len(rows)} rows, horizon is {horizon}")
        return rows

    def run(
        self, X: Numbers | Table | Path, y: ArrayLike | Table | None = None, **arguments: Any
    ) -> "Run":
        """Goes on with a whole stream: predicts each row, scores, learns; takes what `kalstream.run` takes.

        Once it knows names, columns of a data frame or file are found by them, whatever their order.
        """
        from ._evaluation import Source, run_learners

        if "interval" in arguments:
            raise TypeError("interval: the learner has its coverage already")
        source = Source(X, y, like=self.schema, **{"weight_points": 0, **arguments})
        if source.makes_models:
            raise ValueError("a learner goes on with numbers of one model; for keys and classes use kalstream.run")
        return run_learners([(self, source)])[0]

    def copy(self) -> "Learner":
        """An independent copy, with all it has learnt."""
        other = type(self).__new__(type(self))
        _core.Learner.__init__(other, self)
        return other

    def save(self, path: str | os.PathLike[str] | None = None) -> bytes | None:
        """All that has been learnt: into a file, whole or not at all, or as bytes without a path.

        Names that it knows are part of it (`schema`). The file that was there is kept as
        `path + ".previous"`. `kalstream run --start` reads it, too. Like
        the command line's it holds the learner alone: intervals start over. A pickle keeps them.
        """
        if path is None:
            return self.to_bytes()
        self.write(os.fspath(path))
        return None

    @classmethod
    def load(cls, source: str | os.PathLike[str] | bytes, *, coverage: float | None = 0.9) -> "Learner":
        """The learner in a file that `save` or `kalstream run --save` wrote, in the checkpoint of a stream
        (`kalstream stream --checkpoint`), or in bytes of any of them.

        Raises SnapshotError for all but a sound one; bytes from anywhere are safe.
        """
        if isinstance(source, (bytes, bytearray, memoryview)):
            return _loaded(cls, bytes(source), coverage)
        with open(source, "rb") as file:
            snapshot = file.read()
        try:
            return _loaded(cls, snapshot, coverage)
        except _core.SnapshotError as error:
            raise _core.SnapshotError(f"{os.fspath(source)}: {error}") from None

    __copy__ = copy

    def __deepcopy__(self, memo: dict[int, Any]) -> "Learner":
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return _loaded, (type(self), self.to_bytes(), self.coverage, self.intervals_to_bytes())

    @property
    def options(self) -> dict[str, str]:
        """All options with their values, as the command line shows them."""
        return dict(self.settings)

    @property
    def weights(self) -> dict[str, float]:
        """How much each expert counts after the last step, the heaviest first; empty if it mixes none."""
        if self.report is None:
            return {}
        pairs = zip(self.expert_names, self.report.weights.tolist())
        return dict(sorted(pairs, key=lambda pair: -pair[1]))

    def __repr__(self) -> str:
        usual = dict((key, value) for key, value, _ in _core.options(self.name))
        parts = [repr(self.name), f"inputs={self.inputs}"]
        if self.outputs != 1:
            parts.append(f"outputs={self.outputs}")
        if self.seed != 1:
            parts.append(f"seed={self.seed}")
        if not self.scaled and not self.raw:
            parts.append("scale=False")
        if self.coverage != 0.9:
            parts.append(f"coverage={self.coverage}")
        for key, value in self.settings:
            if usual.get(key) != value:
                parts.append(f"{key}={_shown(value)}")
        count = f"{self.samples:,} sample{'' if self.samples == 1 else 's'}"
        return f"{type(self).__name__}({', '.join(parts)}) after {count}"

    def _repr_html_(self) -> str:
        return _html.learner(self)


class Forecaster(_core.Forecaster):
    """What comes next, 1 to `horizon` samples ahead, of a learner that goes along with its stream.

    Every lead is learnt in its own right, from its targets as they come, and has its own bounds::

        forecaster = Forecaster(learner, horizon=24, interval=0.9)
        ...
        learner.learn(x, y)                  # or advance(x) where the target is missing
        forecaster.learn(y)                  # or learn() then
        values = forecaster.forecast(X)      # and forecaster.low, forecaster.high

    Parameters
    ----------
    learner
        Goes its own way; the forecaster must hear of every sample that it takes.
    horizon
        Samples ahead, 1 to 1000.
    interval
        The part of the targets that the bounds are to hold; None: no bounds.

    >>> learner = Learner("ar", inputs=0)
    >>> forecaster = Forecaster(learner, horizon=3, interval=None)
    >>> for t in range(500):
    ...     report = learner.learn(None, float(t % 5))
    ...     forecaster.learn(float(t % 5))
    >>> (forecaster.forecast() + 0.5).astype(int).ravel().tolist()
    [0, 1, 2]
    """

    def __init__(self, learner: Learner, horizon: int, interval: float | None = 0.9) -> None:
        super().__init__(learner, _size("horizon", horizon, 1), None if interval is None else float(interval))
        self._learner = learner

    def forecast(self, X: Numbers | Table = None) -> Array:
        """Of the next samples, whose inputs are the rows of X, or of its columns; (horizon, outputs)."""
        return super().forecast(self._learner._ahead(self.horizon, X))


def _loaded(cls: type[Learner], snapshot: bytes, coverage: float | None, intervals: bytes = b"") -> Learner:
    learner = cls.__new__(cls)
    _core.Learner.__init__(learner, snapshot, coverage, intervals)
    return learner


def _shown(value: str) -> str:
    try:
        float(value)
        return value
    except ValueError:
        return {"true": "True", "false": "False", "none": "None"}.get(value, repr(value))


def learners() -> dict[str, str]:
    """Every learner by name, with what it is.

    >>> kalstream.learners()["naive"]
    'the last target'
    """
    return dict(_core.learners())


def options(name: str = "auto") -> dict[str, tuple[str, str]]:
    """The options of a learner: {name: (default, meaning)}.

    >>> kalstream.options("auto")["lags"]
    ('24', 'past targets the experts may look at')
    """
    return {key: (value, meaning) for key, value, meaning in _core.options(name)}
