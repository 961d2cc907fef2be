"""Samples as dicts, whose features may come and go, for a learner that wants a fixed number of inputs."""

from __future__ import annotations

import collections
import datetime
import warnings
from collections.abc import Callable, Hashable, Mapping
from typing import Any

from ._learner import Learner
from ._numpy import Array, np

LARGEST = 1e100  # a learner refuses inputs beyond


class FeatureLearner:
    """A learner for dicts.

    A feature that is missing, or not finite, is replaced by the mean of its values so far. A date says when,
    not what, and is ignored. When a feature appears for the first time, a learner with more inputs takes the place of the old one and learns the
    last `memory` samples again. From the second time on it gets a quarter more inputs than needed, so that
    this does not happen for each of many features.
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

    def vector(self, x: Mapping[Hashable, Any]) -> Array:
        """The features as inputs; those never learnt from are left out."""
        v = self._means.copy()
        for feature, value in x.items():
            place = self._places.get(feature)
            if place is not None:
                number = _number(feature, value)
                if number is not None:
                    v[place] = number
        return v

    def learn(self, x: Mapping[Hashable, Any], y: Array | None) -> None:
        """Moves on to x and learns y, or only moves on without one."""
        self._meet(x)
        assert self.learner is not None
        v = self.vector(x)
        if y is None:
            self.learner.advance(v)
        else:
            self.learner.learn(v, y)
        known = np.full(len(v), np.nan)
        for feature, value in x.items():
            place = self._places.get(feature)
            number = None if place is None else _number(feature, value)
            if number is not None:
                known[place] = number
                self._sums[place] += number
                self._counts[place] += 1
                self._means[place] = self._sums[place] / self._counts[place]
        self._recent.append((known, y))

    def _meet(self, x: Mapping[Hashable, Any]) -> None:
        new = [
            feature
            for feature, value in x.items()
            if feature not in self._places and not isinstance(value, datetime.date)
        ]
        room = self._max_features - len(self._places)
        if len(new) > room and not self._full:
            self._full = True
            warnings.warn(
                f"more than max_features={self._max_features} features; new ones are ignored", stacklevel=4
            )
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
            if y is None:
                self.learner.advance(v)
            else:
                more = self.learner.outputs - len(y)  # classes that came later
                self.learner.learn(v, np.concatenate([y, np.zeros(more)]) if more > 0 else y)


def _number(feature: Hashable, value: Any) -> float | None:
    """The value as a number; None if it is missing."""
    if value is None or isinstance(value, datetime.date):
        return None
    if isinstance(value, str):
        raise ValueError(f"feature {feature!r} is text, {value!r}; encode it first, e.g. with OneHotEncoder")
    number = float(value)
    return number if abs(number) <= LARGEST else None  # NaN compares false
