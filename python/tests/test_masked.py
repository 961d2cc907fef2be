"""Masked arrays: what is masked is missing, as if it were NaN."""

import numpy as np
import pytest

import kalstream
from kalstream import Learner
from kalstream._data import columns_of


def data(rows=200):
    source = np.random.default_rng(1)
    X = source.normal(size=(rows, 2))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.1 * source.normal(size=rows)
    wild = source.random(rows) < 0.2
    return X, y, wild


def test_run():
    X, y, wild = data()
    missing = np.where(wild, np.nan, y)
    expected = kalstream.run(X, missing, "rls").predictions
    assert np.array_equal(kalstream.run(X, np.ma.array(np.where(wild, 1e6, y), mask=wild), "rls").predictions, expected)
    columns = {"a": X[:, 0], "b": X[:, 1], "target": missing}
    masked = {**columns, "target": np.ma.array(np.where(wild, 1e6, y), mask=wild)}
    assert np.array_equal(kalstream.run(masked, learner="rls").predictions, kalstream.run(columns, learner="rls").predictions)
    inputs = np.ma.array(np.where(wild[:, None], 1e6, X), mask=np.column_stack([wild, wild]))
    of_nan = kalstream.run(np.where(wild[:, None], np.nan, X), y, "rls", missing="hold")
    assert np.array_equal(kalstream.run(inputs, y, "rls", missing="hold").predictions, of_nan.predictions)


def test_a_learner():
    X, y, _ = data(50)
    learner = Learner("rls", inputs=2)
    for x, d in zip(X, y):
        learner.learn(x, d)
    before = learner.to_bytes()
    masked = np.ma.array([1.0, 2.0], mask=[False, True])
    of_nan = learner.predict([1.0, np.nan])
    assert np.array_equal(learner.predict(masked), of_nan, equal_nan=True)
    assert learner.learn(masked, 1.0).status == learner.learn([1.0, np.nan], 1.0).status
    assert learner.learn(X[0], np.ma.array([7.0], mask=[True])).status == learner.learn(X[0], [np.nan]).status
    assert learner.to_bytes() == before
    whole = np.ma.array([1, 2], mask=[False, False])
    assert np.array_equal(learner.predict(whole), learner.predict([1.0, 2.0]))
    rows = np.ma.array([[1, 2], [3, 4]], mask=[[False, False], [False, True]])
    with pytest.raises(ValueError, match="finite"):
        learner.forecast(2, rows)
    assert np.array_equal(
        learner.predict_many(rows), learner.predict_many([[1.0, 2.0], [3.0, np.nan]]), equal_nan=True
    )


def test_a_batch():
    batch, same = kalstream.RlsBatch(2, 2), kalstream.RlsBatch(2, 2)
    masked = np.ma.array([[1.0, 2.0], [3.0, 9.0]], mask=[[False, False], [False, True]])
    targets = np.ma.array([5.0, 6.0], mask=[True, False])
    of_nan = np.array([[1.0, 2.0], [3.0, np.nan]])
    assert np.array_equal(batch.learn(masked, targets), same.learn(of_nan, np.array([np.nan, 6.0])), equal_nan=True)
    assert batch.save() == same.save()
    with pytest.raises(TypeError):
        batch.predict("text")


def test_columns_of_any_type():
    masked = [True, False]
    text = np.ma.array(["a", "b"], mask=masked)
    times = np.ma.array(np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]"), mask=masked)
    whole = np.ma.array([1, 2], mask=masked)
    columns = {name: values for name, values, _ in columns_of({"text": text, "times": times, "whole": whole})}
    assert columns["text"] == [None, "b"]
    assert columns["times"][0] == np.datetime64("NaT").view(np.int64)
    assert np.isnan(columns["whole"][0]) and columns["whole"][1] == 2
