"""Whole streams in one call."""

import signal
import threading

import numpy as np
import pytest

import kalstream
from kalstream import Learner


def test_run_is_the_loop():
    X, y = kalstream.generate("narma10", 150)
    run = kalstream.run(X, y)
    learner = Learner("auto", inputs=1)
    for t in range(len(y)):
        assert learner.predict(X[t])[0] == run.predictions[t]
        learner.learn(X[t], y[t])
    assert run.learner.save() == learner.save()


def test_metrics():
    X, y = kalstream.generate("friedman", 200)
    run = kalstream.run(X, y, "rls")
    errors = y[1:] - run.predictions[1:]  # the first target is not scored
    assert run.scored == 199
    assert run.mae == pytest.approx(np.abs(errors).mean())
    assert run.rmse == pytest.approx(np.sqrt((errors**2).mean()))
    assert run.nse == pytest.approx((errors**2).mean() / y[1:].var())
    assert run.learning_curve(199)[-1] == pytest.approx(run.nse)
    assert run.update_fraction == 1 and run.seconds > 0 and run.us_per_step > 0


def test_missing_values():
    X, y = kalstream.generate("friedman", 50)
    X, y = X.copy(), y.copy()
    X[5, 2] = np.nan
    y[7] = np.nan
    run = kalstream.run(X, y, "rls")
    assert run.skipped_rows == 1 and run.missing_targets == 1 and run.scored == 47
    assert np.isnan(run.predictions[5]) and not np.isnan(run.predictions[7])
    assert "1 without target, 1 skipped" in repr(run)


def test_several_targets_and_no_inputs():
    y = np.cumsum(np.ones((60, 2)), axis=0)
    run = kalstream.run(None, y, "ar")
    assert run.predictions.shape == (60, 2)
    assert run.predictions[-1] == pytest.approx([60, 60], rel=0.05)


def test_a_series_as_a_list():
    assert kalstream.run(None, [1, 2, 3, 4], "naive").predictions.tolist() == [0, 1, 2, 3]


def test_goes_on_where_it_stood():
    X, y = kalstream.generate("narma10", 100)
    whole = kalstream.run(X, y, "alg2").predictions
    learner = Learner("alg2", inputs=1)
    parts = [learner.run(X[:40], y[:40]).predictions, learner.run(X[40:], y[40:]).predictions]
    assert (np.concatenate(parts) == whole).all()


def test_intervals():
    X, y = kalstream.generate("friedman", 800)
    run = kalstream.run(X, y, "rls")
    learner = Learner("rls", inputs=10)
    for t in range(100):
        low, high = learner.interval(X[t])
        assert np.array_equal([run.low[t], run.high[t]], [low[0], high[0]], equal_nan=True)
        learner.learn(X[t], y[t])
    assert run.coverage == pytest.approx(0.9, abs=0.03) and run.width > 0
    assert run.coverage == pytest.approx(run.learner.observed_coverage, abs=0.002)
    assert "% within bounds" in repr(run)
    without = kalstream.run(X, y, "rls", coverage=None)
    assert without.low is None and np.isnan(without.coverage)
    assert (without.predictions == run.predictions).all()


def test_weights():
    X, y = kalstream.generate("narma10", 300)
    run = kalstream.run(X, y, weight_points=30)
    assert set(run.weights) == set(run.expert_names)
    assert run.weight_path.shape == (len(run.weight_rows), len(run.expert_names))
    assert run.weight_rows[-1] == 300
    assert kalstream.run(X, y, "ekf").weights == {}


@pytest.mark.parametrize(
    "X, y, says",
    [
        (np.zeros((3, 1)), np.zeros(4), "X has 3 rows, y has 4"),
        (np.array([[0], [np.inf]]), np.zeros(2), "X[1, 0] is infinite"),
        (np.zeros((2, 1)), [0, -np.inf], "y[1, 0] is infinite"),
        (np.zeros((0, 1)), [], "y has no rows"),
        (np.zeros((2, 1, 1)), [0, 1], "X: rows and columns expected"),
    ],
)
def test_errors(X, y, says):
    with pytest.raises(ValueError) as raised:
        kalstream.run(X, y)
    assert says in str(raised.value)


def test_a_run_must_fit_the_learner():
    learner = Learner("rls", inputs=2)
    with pytest.raises(ValueError, match="X has 1 columns, the learner 2 inputs"):
        learner.run(np.zeros((3, 1)), np.zeros(3))
    with pytest.raises(ValueError, match="y has 2 columns, the learner 1 outputs"):
        learner.run(np.zeros((3, 2)), np.zeros((3, 2)))


def test_compare():
    X, y = kalstream.generate("friedman", 120)
    table = kalstream.compare(["ekf", "rls", "mean"], X, y, seeds=2, hidden=4)
    assert list(table) == ["ekf", "rls", "mean"] and len(table["ekf"]) == 2
    alone = kalstream.run(X, y, "ekf", hidden=4, seed=2)
    assert (table["ekf"][1].predictions == alone.predictions).all()
    assert table.summary[0]["nse_mean"] == pytest.approx(np.mean([run.nse for run in table["ekf"]]))
    assert table.best in table and "learner" in repr(table) and "<table>" in table._repr_html_()


def test_compare_as_a_frame():
    pytest.importorskip("pandas")
    X, y = kalstream.generate("friedman", 50)
    assert kalstream.compare(["rls"], X, y, seeds=2).to_frame().loc["rls", "seeds"] == 2


def test_compare_with_names_of_ones_own():
    X, y = kalstream.generate("friedman", 60)
    table = kalstream.compare(
        {"small": Learner("ekf", inputs=10, hidden=2), "large": Learner("ekf", inputs=10, hidden=6)},
        X,
        y,
        seeds=[7],
    )
    assert (table["large"][0].predictions == kalstream.run(X, y, "ekf", hidden=6, seed=7).predictions).all()


def test_compare_does_not_depend_on_jobs():
    X, y = kalstream.generate("friedman", 80)
    one, two = (kalstream.compare(["sgd", "alg2"], X, y, seeds=2, jobs=jobs) for jobs in (1, 2))
    for name in one:
        for a, b in zip(one[name], two[name]):
            assert (a.predictions == b.predictions).all()


def test_compare_errors():
    X, y = kalstream.generate("friedman", 20)
    with pytest.raises(ValueError, match="'rls' is there twice"):
        kalstream.compare(["rls", "rls"], X, y)
    with pytest.raises(ValueError, match="none of the learners has an option 'hiden'"):
        kalstream.compare(["ekf"], X, y, hiden=3)
    with pytest.raises(ValueError, match="unknown learner"):
        kalstream.compare(["nothing"], X, y)


def test_reprs():
    X, y = kalstream.generate("narma10", 120)
    run = kalstream.run(X, y, horizon=2)
    assert "NSE" in repr(run) and "forecasts NSE" in repr(run)
    assert "<svg" in run._repr_html_() and "expert" in run._repr_html_()
    noise = np.random.default_rng(1).normal(size=50)
    assert "no better than the mean" in repr(kalstream.run(None, noise, "naive"))


def test_ctrl_c_ends_a_run():
    X, y = kalstream.generate("narma10", 200_000)
    # A process that was started in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            kalstream.run(X, y)
        timer.join()
    finally:
        signal.signal(signal.SIGINT, before)


def test_more_rows_than_there_is_memory_for():
    with pytest.raises(ValueError, match="rows needs .* GiB, this process may use .*choose fewer rows"):
        kalstream.generate("friedman", rows=2**62)


def test_generators_are_listed():
    for name, parameters in kalstream.generators().items():
        X, y = kalstream.generate(name, 3)
        assert len(X) == len(y) == 3 and parameters[""]
