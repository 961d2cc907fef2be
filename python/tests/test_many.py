"""Many series in one call, and many small models in one."""

import pickle
import signal
import threading

import numpy as np
import pytest

import kalstream


def some(count, rows=60):
    parts = {}
    for k in range(count):
        X, y = kalstream.generate("narma10", rows + 7 * k, seed=k + 1)
        parts[f"series {k}"] = (X, y)
    return {name: x for name, (x, _) in parts.items()}, {name: y for name, (_, y) in parts.items()}


def same(one, other):
    assert one.learner.save() == other.learner.save()
    assert np.array_equal(one.predictions, other.predictions, equal_nan=True)
    assert np.array_equal(one.low, other.low, equal_nan=True) and np.array_equal(one.high, other.high, equal_nan=True)
    assert np.array_equal([one.nse, one.mae, one.scored], [other.nse, other.mae, other.scored], equal_nan=True)
    assert one.remarks == other.remarks


@pytest.mark.parametrize("learner", ["rls", "alg2"])
def test_each_is_a_run_by_itself(learner):
    X, y = some(5)
    for jobs in (0, 1, 3):
        runs = kalstream.run_many(X, y, learner, jobs=jobs, horizon=2)
        assert list(runs) == list(X)
        for name in X:
            same(runs[name], kalstream.run(X[name], y[name], learner, horizon=2))
    assert "5 series" in repr(runs)


def test_lists_and_series_without_inputs():
    targets = [np.arange(50.0), np.arange(80.0) % 7, np.ones(30)]
    runs = kalstream.run_many(None, targets, "ar")
    assert list(runs) == [0, 1, 2]
    for k, y in enumerate(targets):
        same(runs[k], kalstream.run(None, y, "ar"))


def test_many_without_their_learners():
    targets = [np.arange(20.0) % (k % 7 + 2) for k in range(100)]
    runs = kalstream.run_many(None, targets, "ar", jobs=2, keep_learners=False, interval=None)
    assert len(runs) == 100 and all(run.learner is None for run in runs.values())
    assert runs[50].predictions[-1] == kalstream.run(None, targets[50], "ar", interval=None).predictions[-1]


def test_a_long_table():
    rng = np.random.default_rng(1)
    table = {
        "site": [f"s{k}" for k in rng.integers(0, 4, 200)],
        "temp": rng.normal(size=200),
        "kind": [["dry", "wet"][k] for k in rng.integers(0, 2, 200)],
        "load": rng.normal(size=200),
    }
    options = {"target": "load", "category": "kind", "learner": "rls"}
    runs = kalstream.run_many(table, key="site", **options)
    assert list(runs) == list(dict.fromkeys(table["site"]))
    for site in runs:
        rows = [k for k in range(200) if table["site"][k] == site]
        part = {name: [values[k] for k in rows] for name, values in table.items() if name != "site"}
        same(runs[site], kalstream.run(part, **options))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(table, index=pandas.date_range("2024-01-01", periods=200, freq="h"))
    by_frame = kalstream.run_many(frame, key="site", **options)
    for site in runs:
        same(by_frame[site], kalstream.run(frame[frame["site"] == site].drop(columns="site"), **options))
    scores = by_frame.to_frame()
    assert scores.loc["s1", "rows"] == len(by_frame["s1"].y) and scores.loc["s1", "nse"] == by_frame["s1"].nse


def test_says_what_is_wrong():
    X, y = some(2)
    with pytest.raises(ValueError, match="series 'series 1': y: |series 'series 1': X has"):
        kalstream.run_many(X, {**y, "series 1": y["series 1"][:-1]}, "rls")
    with pytest.raises(ValueError, match="one for each of the 2"):
        kalstream.run_many(X, {"series 0": y["series 0"]}, "rls")
    with pytest.raises(TypeError, match="both a dict"):
        kalstream.run_many(X, list(y.values()), "rls")
    with pytest.raises(ValueError, match="no column 'site'"):
        kalstream.run_many({"a": [1.0, 2.0]}, key="site")
    with pytest.raises(TypeError, match="key="):
        kalstream.run_many("file.csv")
    with pytest.raises(TypeError, match="list of series"):
        kalstream.run_many(None)


def test_can_be_interrupted():
    X, y = kalstream.generate("narma10", 20_000)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            kalstream.run_many([X] * 50, [y] * 50, "auto", jobs=2)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_batch_is_many_rls():
    rng = np.random.default_rng(3)
    batch = kalstream.RlsBatch(models=21, inputs=3)
    learners = [kalstream.Learner("rls", inputs=3) for _ in range(21)]
    for t in range(80):
        X = rng.normal(size=(21, 3))
        y = X @ [1.0, -2.0, 0.5] + 3 + 0.1 * rng.normal(size=21)
        if t % 5 == 0:
            y[4] = np.nan
        expected = np.array([one.predict(x)[0] for one, x in zip(learners, X)])
        assert batch.predict(X) == pytest.approx(expected, rel=1e-8, abs=1e-8)
        before = batch.predict(X)
        assert np.array_equal(batch.learn(X, y), before)
        for one, x, d in zip(learners, X, y):
            one.advance(x) if np.isnan(d) else one.learn(x, d)
    assert batch.weights(2) == pytest.approx([1, -2, 0.5, 3], abs=0.6)
    assert (batch.models, batch.inputs, batch.samples(20)) == (21, 3, 80)


def test_some_models_of_a_batch():
    rng = np.random.default_rng(4)
    batch = kalstream.RlsBatch(models=30, inputs=2, process_noise=1e-4)
    which = np.array([2, 11, 29])
    X = rng.normal(size=(3, 2))
    assert batch.predict(X, which).shape == (3,)
    batch.learn(X, X[:, 0], which)
    assert [batch.samples(k) for k in (1, 2, 11, 12, 29)] == [0, 1, 1, 0, 1]
    for copy in (kalstream.RlsBatch.load(batch.save()), pickle.loads(pickle.dumps(batch))):
        assert copy.save() == batch.save()
    with pytest.raises(ValueError, match="which"):
        batch.predict(X, np.array([2, 2, 3]))
    with pytest.raises(ValueError, match="X has"):
        batch.predict(X)
    with pytest.raises(kalstream.SnapshotError):
        kalstream.RlsBatch.load(b"nothing")
    with pytest.raises(ValueError, match="inputs"):
        kalstream.RlsBatch(3, 0)
    assert "30" in repr(batch)
