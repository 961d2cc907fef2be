"""kalstream in river: learn_one, predict_one, forecast.

>>> from river import datasets, evaluate, metrics
>>> import kalstream.river
>>> model = kalstream.river.Regressor()
>>> evaluate.progressive_val_score(datasets.TrumpApproval().take(200), model, metrics.MAE())
MAE: 0...
"""

from __future__ import annotations

import collections
import datetime
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Literal, overload

import numpy as np
from river import base
from river.conf import Interval
from river.time_series.base import Forecaster as _Forecaster

from ._learner import Learner, Option
from ._numpy import Array

__all__ = ["Classifier", "Forecaster", "MultiTargetRegressor", "Regressor"]

Features = Mapping[Hashable, Any]


_LARGEST = 1e100  # a learner refuses inputs beyond


class _FeatureLearner:
    """A learner for dicts.

    A feature that is missing, or not finite, is replaced by the mean of its values so far. A date says when,
    not what, and is ignored. When a feature appears for the first time, a learner with more inputs takes the
    place of the old one and learns the last `memory` samples again. From the second time on it gets a quarter
    more inputs than needed, so that this does not happen for each of many features.
    """

    def __init__(self, make: Callable[[int], Learner], memory: int, max_features: int) -> None:
        self._make = make
        self._max_features = max_features
        self._places: dict[Hashable, int] = {}
        self._sums = np.zeros(0)
        self._counts = np.zeros(0)
        self._means = np.zeros(0)
        self._recent: collections.deque[tuple[Array, Array | None]] = collections.deque(maxlen=memory)
        self._full = False
        self.learner: Learner | None = None

    @property
    def features(self) -> list[Hashable]:
        """Those seen so far, in the order of the learner's inputs."""
        return list(self._places)

    def _numbers(self, x: Features) -> Iterator[tuple[int, float]]:
        """Those of the features that have a place, with it."""
        for feature, value in x.items():
            place = self._places.get(feature)
            number = None if place is None else _number(feature, value)
            if place is not None and number is not None:
                yield place, number

    def vector(self, x: Features) -> Array:
        """The features as inputs; those never learnt from are left out."""
        v = self._means.copy()
        for place, number in self._numbers(x):
            v[place] = number
        return v

    def learn(self, x: Features, y: Array | None) -> None:
        """Moves on to x and learns y, or only moves on without one."""
        self._meet(x)
        assert self.learner is not None
        _teach(self.learner, self.vector(x), y)
        known = np.full(len(self._means), np.nan)
        for place, number in self._numbers(x):
            known[place] = number
            self._sums[place] += number
            self._counts[place] += 1
            self._means[place] = self._sums[place] / self._counts[place]
        self._recent.append((known, y))

    def _meet(self, x: Features) -> None:
        new = [f for f, value in x.items() if f not in self._places and not isinstance(value, datetime.date)]
        room = self._max_features - len(self._places)
        if len(new) > room and not self._full:
            self._full = True
            warnings.warn(f"more than max_features={self._max_features} features; new ones are ignored", stacklevel=4)
        for feature in sorted(new, key=str)[: max(room, 0)]:
            _number(feature, x[feature])  # complains about text before anything is changed
            self._places[feature] = len(self._places)
        needed = len(self._places)
        if self.learner is None:
            self._grow(needed)
        elif needed > self.learner.inputs:
            self._grow(min(needed + needed // 4, self._max_features))

    def _grow(self, inputs: int) -> None:
        more = inputs - len(self._means)
        self._sums, self._counts, self._means = (
            np.concatenate([a, np.zeros(more)]) for a in (self._sums, self._counts, self._means)
        )
        self.learner = self._make(inputs)
        for known, y in self._recent:
            v = self._means.copy()
            seen = ~np.isnan(known)
            v[: len(known)][seen] = known[seen]
            _teach(self.learner, v, y)


def _teach(learner: Learner, x: Array, y: Array | None) -> None:
    if y is None:
        learner.advance(x)
    else:
        more = learner.outputs - len(y)  # classes that came later
        learner.learn(x, np.concatenate([y, np.zeros(more)]) if more > 0 else y)


def _number(feature: Hashable, value: Any) -> float | None:
    """The value as a number; None if it is missing."""
    if value is None or isinstance(value, datetime.date):
        return None
    if isinstance(value, str):
        raise ValueError(f"feature {feature!r} is text, {value!r}; encode it first, e.g. with OneHotEncoder")
    number = float(value)
    return number if abs(number) <= _LARGEST else None  # NaN compares false


class _Estimator:
    """What all of them have in common."""

    def __init__(
        self,
        learner: str = "auto",
        seed: int = 1,
        scale: bool = True,
        coverage: float | None = 0.9,
        memory: int = 1000,
        max_features: int = 256,
        **options: Option,
    ) -> None:
        self.learner = learner
        self.seed = seed
        self.scale = scale
        self.coverage = coverage
        self.memory = memory
        self.max_features = max_features
        self.options: dict[str, Any] = dict(options)
        self._stream = _FeatureLearner(self._make, memory, max_features)
        self._make(1)  # complains now

    def _outputs(self) -> int:
        return 1

    def _make(self, inputs: int, **more: Any) -> Learner:
        return Learner(
            self.learner,
            inputs=inputs,
            outputs=self._outputs(),
            seed=self.seed,
            scale=self.scale,
            coverage=self.coverage,
            **more,
            **self.options,
        )

    def _predict(self, x: Features) -> Array:
        learner = self.underlying
        return np.zeros(self._outputs()) if learner is None else learner.predict(self._stream.vector(x))

    def _intervals(self, x: Features) -> list[Interval]:
        learner = self.underlying
        if learner is None:
            return [Interval(-np.inf, np.inf)] * self._outputs()
        low, high = learner.interval(self._stream.vector(x))
        low = np.where(np.isnan(low), -np.inf, low)
        high = np.where(np.isnan(high), np.inf, high)
        return [Interval(*bounds) for bounds in zip(low.tolist(), high.tolist())]

    @property
    def underlying(self) -> Learner | None:
        """The kalstream.Learner at work; None before the first sample."""
        return self._stream.learner


def _target(y: Any) -> Array | None:
    """A missing target is None or NaN."""
    if y is None:
        return None
    value = float(y)
    return None if np.isnan(value) else np.array([value])


_PARAMETERS = """
    Parameters
    ----------
    learner
        Which one; `kalstream.learners()` lists them.
    seed
        Of the random start.
    scale
        Standardise for learners other than "auto", which takes raw data.
    coverage
        The part of the targets that intervals are to hold.
    memory
        Samples kept to learn again when a feature appears for the first time.
    max_features
        Features beyond these are ignored, with a warning.
    **options
        As for `kalstream.Learner`; `kalstream.options(learner)` lists them.
"""


class Regressor(_Estimator, base.MiniBatchRegressor):
    __doc__ = f"""Online regression without tuning.

    Features are numbers in any units and may come and go; a missing one counts as its mean so far. A
    missing target (None or NaN) moves the model on without learning. `predict_one` has no side effect.
{_PARAMETERS}
    Examples
    --------
    >>> from river import datasets
    >>> model = Regressor("rls")
    >>> for x, y in datasets.TrumpApproval().take(100):
    ...     y_pred = model.predict_one(x)
    ...     model.learn_one(x, y)
    >>> abs(y_pred - y) < 1
    True
    """

    def learn_one(self, x: Features, y: float | None) -> None:
        self._stream.learn(x, _target(y))

    @overload
    def predict_one(self, x: Features, with_interval: Literal[False] = False) -> float: ...
    @overload
    def predict_one(self, x: Features, with_interval: Literal[True]) -> Interval: ...
    def predict_one(self, x: Features, with_interval: bool = False) -> float | Interval:
        """The prediction, or with_interval bounds that hold the target as often as `coverage` says.

        Before ten targets there is no telling, and the bounds are infinite.
        """
        if with_interval:
            return self._intervals(x)[0]
        return float(self._predict(x)[0])

    def learn_many(self, X: Any, y: Any) -> None:
        """Learns the rows of a dataframe one after the other."""
        for x, target in zip(_rows(X), y.to_list() if hasattr(y, "to_list") else y):
            self.learn_one(x, target)

    def predict_many(self, X: Any) -> Any:
        """Predictions for the rows of a dataframe, each as if it were the next sample."""
        return _series([self.predict_one(x) for x in _rows(X)], X)


class MultiTargetRegressor(_Estimator, base.MultiTargetRegressor):
    __doc__ = f"""Online regression of several targets at once, without tuning.

    As `Regressor`; y is a dict. The targets are those of the first sample; a sample that lacks one moves
    the model on without learning.
{_PARAMETERS}"""

    _targets: Sequence[Hashable] = ()  # before the first sample

    def _outputs(self) -> int:
        return max(1, len(self._targets))

    def learn_one(self, x: Features, y: Mapping[Hashable, float], **kwargs: Any) -> None:
        if not self._targets:
            self._targets = sorted(y, key=str)
        unknown = [name for name in y if name not in self._targets]
        if unknown:
            raise ValueError(f"target {unknown[0]!r} was not there at the first sample")
        values = [value for name in self._targets if (value := _target(y.get(name))) is not None]
        self._stream.learn(x, np.concatenate(values) if len(values) == len(self._targets) else None)

    @overload
    def predict_one(self, x: Features, with_interval: Literal[False] = False) -> dict[Hashable, float]: ...
    @overload
    def predict_one(self, x: Features, with_interval: Literal[True]) -> dict[Hashable, Interval]: ...
    def predict_one(
        self, x: Features, with_interval: bool = False
    ) -> dict[Hashable, float] | dict[Hashable, Interval]:
        """The predictions, or with_interval bounds for each."""
        if with_interval:
            return dict(zip(self._targets, self._intervals(x)))
        return dict(zip(self._targets, self._predict(x).tolist()))


class Classifier(_Estimator, base.Classifier):
    __doc__ = f"""Online classification without tuning, with calibrated probabilities.

    Classes are whatever can be a label, of any number up to `max_classes`, and new ones may come at any time.
    Features are numbers in any units and may come and go; a missing one counts as its mean so far. A missing
    target (None) moves the model on without learning. `predict_proba_one` has no side effect.
{_PARAMETERS}    max_classes
        A label beyond these raises ValueError.

    Examples
    --------
    >>> from river import datasets, evaluate, metrics
    >>> model = Classifier()
    >>> evaluate.progressive_val_score(datasets.Phishing().take(300), model, metrics.Accuracy())
    Accuracy: ...
    """

    def __init__(
        self,
        learner: str = "auto",
        seed: int = 1,
        scale: bool = True,
        memory: int = 1000,
        max_features: int = 256,
        max_classes: int = 256,
        **options: Option,
    ) -> None:
        self.max_classes = max_classes
        self._labels: list[Any] = []
        super().__init__(learner, seed, scale, None, memory, max_features, **options)

    @property
    def _multiclass(self) -> bool:
        return True

    def _outputs(self) -> int:
        return max(2, len(self._labels))

    def _make(self, inputs: int, **more: Any) -> Learner:
        return super()._make(inputs, loss="cross_entropy", **more)

    def learn_one(self, x: Features, y: Any) -> None:
        if y is None:
            self._stream.learn(x, None)
            return
        if not self._labels and isinstance(y, (bool, np.bool_)):
            self._labels = [False, True]  # the other one is known as well
        if y not in self._labels:
            if len(self._labels) >= self.max_classes:
                raise ValueError(f"{y!r} is one more than the max_classes={self.max_classes} classes")
            self._labels.append(y)
            learner = self.underlying
            if learner is not None and learner.outputs < len(self._labels):
                learner._widen(len(self._labels))
        target = np.zeros(self._outputs())
        target[self._labels.index(y)] = 1
        self._stream.learn(x, target)

    def predict_proba_one(self, x: Features, **kwargs: Any) -> dict[Any, float]:
        """The probability of each class that has come so far; together 1."""
        if self.underlying is None or not self._labels:
            return {}
        p = self._predict(x)[: len(self._labels)]
        return dict(zip(self._labels, (p / p.sum()).tolist()))


class Forecaster(_Estimator, _Forecaster):
    __doc__ = f"""Online forecasting without tuning.

    `learn_one(y)` for a series alone, `learn_one(y, x)` with features of each step. `forecast` goes step by
    step, a prediction taking the place of each target that is not known yet; without `xs` the last features
    are taken for all steps.
{_PARAMETERS}
    Examples
    --------
    >>> from river import datasets
    >>> model = Forecaster("ar", lags=12)
    >>> for x, y in datasets.AirlinePassengers():
    ...     model.learn_one(y)
    >>> len(model.forecast(horizon=12))
    12
    """

    _last: dict[Hashable, Any] = {}  # before the first sample

    def learn_one(self, y: float | None, x: Features | None = None) -> None:
        self._last = dict(x or {})
        self._stream.learn(self._last, _target(y))

    def forecast(self, horizon: int, xs: list[dict[Any, Any]] | None = None) -> list[float]:
        learner = self.underlying
        if learner is None:
            return [0.0] * horizon
        if xs is None:
            xs = [self._last] * horizon
        if len(xs) != horizon:
            raise ValueError(f"xs has {len(xs)} entries, horizon is {horizon}")
        X = np.array([self._stream.vector(x) for x in xs]).reshape(horizon, learner.inputs)
        return [float(value) for value in learner.forecast(horizon, X)[:, 0]]


def _rows(X: Any) -> Iterator[dict[Hashable, Any]]:
    """The rows of a dataframe of pandas, polars, pyarrow or anything narwhals knows, as dicts."""
    if hasattr(X, "iloc"):
        columns = list(X.columns)
        for row in X.itertuples(index=False, name=None):
            yield dict(zip(columns, row))
    else:
        import narwhals

        yield from narwhals.from_native(X, eager_only=True).iter_rows(named=True)


def _series(values: list[float], like: Any) -> Any:
    """Values as a column of the same kind of dataframe."""
    if hasattr(like, "iloc"):
        import pandas

        return pandas.Series(values, index=like.index, dtype=float)
    import narwhals

    frame = narwhals.from_native(like, eager_only=True)
    return narwhals.new_series("y", values, backend=frame.implementation).to_native()
