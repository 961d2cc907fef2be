"""kalstream in scikit-learn: fit, partial_fit, predict, predict_proba, score.

>>> import kalstream
>>> from kalstream.sklearn import OnlineRegressor
>>> X, y = kalstream.generate("friedman", 600)
>>> model = OnlineRegressor().fit(X[:500], y[:500])
>>> model.score(X[500:], y[500:]) > 0.8
True
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from ._learner import Learner
from ._numpy import Array

__all__ = ["OnlineClassifier", "OnlineRegressor"]


_PARAMETERS = """
    Parameters
    ----------
    learner : str
        Which one; `kalstream.learners()` lists them. "ekf", "alg2" and others are a single kind of LSTM network.
    passes : int
        How often `fit` goes through the rows. "auto" learns rows again by itself, and goes through them once.
    scale : bool
        Standardise for learners other than "auto", which takes raw data.
    options : dict or None
        Further options; `kalstream.options(learner)` lists them.
    random_state : int, RandomState instance or None
        Of the random start. None is 1, the same start every time.

    Attributes
    ----------
    learner_ : kalstream.Learner
        The learner at work.
    n_features_in_ : int
    feature_names_in_ : array of str
        If X was a dataframe.
"""


def _is_sorted(y: Any) -> bool:
    """Whether the rows are sorted by their target; fewer than 50 may be so by chance."""
    if len(y) < 50 or np.ndim(y) != 1 or y[0] == y[-1]:
        return False
    return bool(np.all(y[1:] >= y[:-1]) or np.all(y[1:] <= y[:-1]))


class _Online(BaseEstimator):
    """What both have in common."""

    _validated: Any  # (X, y, reset) as arrays
    _start: Any  # makes the learner for X and y
    _targets: Any  # those of the learner, (rows, outputs), for y

    def __init__(
        self,
        learner: str = "auto",
        *,
        passes: int = 1,
        scale: bool = True,
        options: dict[str, Any] | None = None,
        random_state: Any = None,
    ) -> None:
        self.learner = learner
        self.passes = passes
        self.scale = scale
        self.options = options
        self.random_state = random_state

    def fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> Any:
        """Learns the rows from the beginning."""
        if self.passes < 1:
            raise ValueError(f"passes must be 1 or more, not {self.passes}")
        X, y = self._validated(X, y, reset=True)
        self._start(X, y)
        passes = self.passes
        if self.learner in ("auto", "auto-max") and passes > 1:
            warnings.warn(f'passes={passes} is 1 for "{self.learner}", which learns rows again by itself', stacklevel=2)
            passes = 1
        if _is_sorted(y):
            warnings.warn("the rows are sorted by y: no row tells of those that follow; shuffle them", stacklevel=2)
        for _ in range(passes):
            self._learn(X, y)
        return self

    def _learn(self, X: Any, y: Any) -> None:
        self.learner_.run(X, self._targets(y))

    def _make(self, X: Array, outputs: int, **more: Any) -> None:
        state = self.random_state
        seed = 1 if state is None else int(check_random_state(state).randint(1, np.iinfo(np.int32).max))
        options = {**more, **(self.options or {})}
        self.learner_ = Learner(
            self.learner, inputs=X.shape[1], outputs=outputs, seed=seed, scale=self.scale, **options
        )

    def _said(self, X: npt.ArrayLike) -> Array:
        check_is_fitted(self)
        return self.learner_.predict_many(validate_data(self, X, dtype=np.float64, order="C", reset=False))


class OnlineRegressor(RegressorMixin, _Online):
    __doc__ = f"""A regressor that learns row by row, in the order of the rows.

    `fit` starts anew and goes through the rows `passes` times; `partial_fit` goes on. `predict` takes every
    row as the one that comes right after the last row learnt, and does not move on. For predictions made
    before each target is known, which is what an online learner is for, use `kalstream.run`. The learner
    "auto" blends recurrent (LSTM and simple), feed-forward and linear experts.
{_PARAMETERS}"""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def partial_fit(self, X: npt.ArrayLike, y: npt.ArrayLike) -> "OnlineRegressor":
        """Goes on with more rows."""
        first = not hasattr(self, "learner_")
        X, y = self._validated(X, y, reset=first)
        columns = self._targets(y).shape[1]
        if first:
            self._start(X, y)
        elif columns != self.learner_.outputs:
            raise ValueError(f"y has {columns} columns, {self.learner_.outputs} before")
        self._learn(X, y)
        return self

    def predict(self, X: npt.ArrayLike) -> Array:
        """A prediction for each row, as if it came right after the last row learnt."""
        predictions = self._said(X)
        return predictions[:, 0] if self._single else predictions

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Array, Array]:
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", multi_output=True, y_numeric=True, reset=reset
        )
        return X, np.asarray(y, dtype=np.float64)

    def _start(self, X: Array, y: Array) -> None:
        self._single = y.ndim == 1
        self._make(X, 1 if y.ndim == 1 else y.shape[1])

    def _targets(self, y: Array) -> Array:
        return y.reshape(len(y), -1)


class OnlineClassifier(ClassifierMixin, _Online):
    __doc__ = f"""A classifier that learns row by row, in the order of the rows, with calibrated probabilities.

    `fit` starts anew and goes through the rows `passes` times; `partial_fit` goes on, and may bring new classes.
    `predict` and `predict_proba` take every row as the one that comes right after the last row learnt, and do
    not move on. The learner "auto" blends networks, logistic regressions, boosted trees, neighbours and counts.
{_PARAMETERS}    classes_ : array
        The classes, sorted.

    Examples
    --------
    >>> import numpy as np
    >>> X, _ = kalstream.generate("friedman", 600)
    >>> y = np.where(X[:, 0] > X[:, 1], "more", "less")
    >>> model = OnlineClassifier().fit(X[:500], y[:500])
    >>> model.score(X[500:], y[500:]) > 0.9
    True
    >>> model.predict_proba(X[:2]).shape
    (2, 2)
    """

    def partial_fit(
        self, X: npt.ArrayLike, y: npt.ArrayLike, classes: npt.ArrayLike | None = None
    ) -> "OnlineClassifier":
        """Goes on with more rows. `classes` are those that will come, if known; others are met as they come."""
        first = not hasattr(self, "learner_")
        X, y = self._validated(X, y, reset=first)
        known = np.unique(y) if classes is None else np.union1d(np.asarray(classes), np.unique(y))
        if first:
            self._start(X, known)
        else:
            self._meet(known)
        self._learn(X, y)
        return self

    def predict_proba(self, X: npt.ArrayLike) -> Array:
        """The probability of each class, in the order of `classes_`, for each row as if it came next."""
        said = self._said(X)
        p = said[:, self._places(self.classes_)]
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict(self, X: npt.ArrayLike) -> Any:
        """The most probable class of each row."""
        p = self.predict_proba(X)
        return self.classes_[np.argmax(p, axis=1)]

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Array, Any]:
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", reset=reset)
        check_classification_targets(y)
        return X, y

    def _start(self, X: Array, y: Any) -> None:
        self.classes_ = np.unique(y)
        self._labels = list(self.classes_)  # in the order of the learner's outputs
        self._make(X, max(2, len(self._labels)), coverage=None, loss="cross_entropy")

    def _meet(self, classes: Any) -> None:
        new = [c for c in classes if c not in self._labels]
        if not new:
            return
        self._labels += new
        self.classes_ = np.unique(np.concatenate([self.classes_, np.asarray(new)]))
        if len(self._labels) > self.learner_.outputs:
            self.learner_._widen(len(self._labels))

    def _places(self, y: Any) -> list[int]:
        places = {label: k for k, label in enumerate(self._labels)}
        return [places[label] for label in y]

    def _targets(self, y: Any) -> Array:
        targets = np.zeros((len(y), self.learner_.outputs))
        targets[np.arange(len(y)), self._places(y)] = 1
        return targets
