"""Surprise: how strange values are."""

import pickle

import numpy as np
import pytest

import kalstream


def test_is_calibrated_and_finds_a_spike() -> None:
    rng = np.random.default_rng(1)
    surprise = kalstream.Surprise()
    p = np.array([surprise.take(0.0, y)[0] for y in rng.normal(size=5000)])
    assert np.isnan(p[:10]).all() and not np.isnan(p[10:]).any()
    assert 0.05 < np.mean(p[10:] <= 0.1) < 0.15
    assert surprise.take(0.0, 12.0)[0] < 1e-4


def test_targets_may_come_later_or_never() -> None:
    rng = np.random.default_rng(2)
    surprise = kalstream.Surprise(outputs=2)
    assert surprise.outputs == 2
    for _ in range(50):
        expected = surprise.expect([0.0, 1.0], spread=[1.0, 2.0])
        surprise.expect([5.0, 5.0])  # whose target is lost
        y = rng.normal(size=2)
        before = surprise.of(expected, y)
        assert np.array_equal(before, surprise.of(expected, y), equal_nan=True)
        surprise.learn(expected, y)
    assert np.isnan(surprise.of(expected, [np.nan, np.inf])).all()
    surprise.reset()
    assert np.isnan(surprise.take([0.0, 0.0], [0.0, 0.0])).all()


def test_a_pickle_goes_on() -> None:
    rng = np.random.default_rng(3)
    surprise = kalstream.Surprise()
    for y in rng.normal(size=100):
        surprise.take(0.0, y)
    again = pickle.loads(pickle.dumps(surprise))
    for y in rng.normal(size=100):
        assert np.array_equal(again.take(0.0, y), surprise.take(0.0, y))


def test_refuses_what_makes_no_sense() -> None:
    with pytest.raises(ValueError):
        kalstream.Surprise(outputs=0)
    with pytest.raises(ValueError):
        kalstream.Surprise(outputs=2).take([0.0], [0.0])
    with pytest.raises(ValueError):
        kalstream.run(None, np.arange(20.0), "naive", alarm_rate=2.0)


def test_in_a_run() -> None:
    y = np.random.default_rng(4).normal(size=2000)
    y[1500] += 15
    plain = kalstream.run(None, y, "mean")
    assert plain.surprise is None and len(plain.anomalies) == 0
    run = kalstream.run(None, y, "mean", alarm_rate=1e-4)
    assert run.surprise is not None and run.surprise.shape == y.shape
    assert 1500 in run.anomalies and len(run.anomalies) <= 2
    assert "anomalies" in repr(run)
    assert np.array_equal(run.predictions, plain.predictions, equal_nan=True)
    again = kalstream.Learner("mean", inputs=0).run(None, y, alarm_rate=1e-4)
    assert np.array_equal(again.surprise, run.surprise, equal_nan=True)
