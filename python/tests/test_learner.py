"""The plain interface: one learner, sample by sample."""

import copy
import gc
import pickle
import signal
import sys
import threading

import numpy as np
import pytest

import kalstream
from kalstream import Learner


def stream(rows=200, name="narma10", **parameters):
    return kalstream.generate(name, rows, **parameters)


def follow(learner, X, y):
    """Predictions made one by one."""
    predictions = []
    for x, target in zip(X, y):
        predictions.append(learner.predict(x))
        learner.learn(x, target)
    return np.array(predictions)


def test_predictions_are_arrays_of_the_outputs():
    learner = Learner("rls", inputs=2, outputs=3)
    prediction = learner.predict([1, 2])
    assert prediction.shape == (3,) and prediction.dtype == np.float64


def test_predictions_stay_what_they_were():
    X, y = stream(20)
    learner = Learner("rls", inputs=1)
    first = learner.predict(X[0])
    kept = first.copy()
    follow(learner, X, y)
    assert (first == kept).all()


@pytest.mark.parametrize("name", kalstream.learners())
def test_predict_has_no_effect(name):
    X, y = stream(60)
    quiet, asked = Learner(name, inputs=1), Learner(name, inputs=1)
    for x, target in zip(X, y):
        for other in X[:3]:
            asked.predict(other)
        assert asked.predict(x) == quiet.predict(x)
        quiet.learn(x, target)
        asked.learn(x, target)


@pytest.mark.parametrize(
    "x",
    [
        [0.5, 0.25],
        (0.5, 0.25),
        np.array([0.5, 0.25]),
        np.array([0.5, 0.25], dtype=np.float32),
        np.array([[0.5], [0.25]]),
        np.array([0.5, 9, 0.25, 9])[::2],
        np.array([0.5, 0.25], dtype=">f8"),
        memoryview(np.array([0.5, 0.25])),
        [np.float64(0.5), np.float32(0.25)],
    ],
    ids=str,
)
def test_takes_numbers_in_any_form(x):
    learner = Learner("rls", inputs=2)
    follow(learner, np.eye(2), [1.0, 2.0])
    assert learner.predict(x) == learner.predict(np.array([0.5, 0.25]))


def test_whole_numbers_are_numbers():
    learner = Learner("naive", inputs=1)
    learner.learn(np.array([1]), np.int64(3))
    learner.learn(2, True)
    assert learner.predict(np.array(1)) == 1


def test_no_inputs_at_all():
    learner = Learner("auto", inputs=0)
    for target in (1.0, 2.0, 3.0):
        learner.predict()
        learner.learn(None, target)
    learner.advance()
    assert learner.samples == 4
    assert learner.forecast(5).shape == (5, 1)


@pytest.mark.parametrize(
    "wrong, error, says",
    [
        (lambda: Learner("aut", inputs=1), ValueError, "unknown learner 'aut'; known: auto"),
        (lambda: Learner("ekf", inputs=1, hiden=3), ValueError, "ekf has no option 'hiden'; it has"),
        (lambda: Learner("ekf", inputs=1, hidden=2.5), ValueError, "hidden: '2.5' is not a whole number"),
        (lambda: Learner("ekf", inputs=1, hidden={}), TypeError, "hidden: a number, text"),
        (lambda: Learner("ekf", inputs=1, process_noise=-1), ValueError, "process_noise must be"),
        (lambda: Learner("ekf", inputs=1, process_noise="1..0"), ValueError, "process_noise must be given"),
        (lambda: Learner("ekf", inputs=-1), ValueError, "inputs must be 0 or more"),
        (lambda: Learner("ekf", inputs=1.0), TypeError, "inputs: a whole number expected"),
        (lambda: Learner("ekf", inputs=1, outputs=0), ValueError, "outputs must be 1 or more"),
        (lambda: Learner("ekf", inputs=1, seed=-1), ValueError, "seed must be 0 or more"),
        (lambda: Learner("ekf", inputs=1, preset="authors"), ValueError, "preset: name the stream"),
        (lambda: Learner("ekf", inputs=1, preset="x:kin8nm"), ValueError, "unknown preset"),
        (lambda: Learner("ekf", inputs=1, budget_us=50), ValueError, "budget_us is for auto"),
        (lambda: Learner("ekf", inputs=9, hidden=100_000), MemoryError, "the learner needs"),
        (lambda: Learner("ekf"), TypeError, "inputs"),
        (lambda: Learner("rls", inputs=2).predict([1]), ValueError, "x: 2 numbers expected, 1 given"),
        (lambda: Learner("rls", inputs=1).predict(np.ones(2)), ValueError, "x: 1 number expected, 2 given"),
        (lambda: Learner("rls", inputs=1).learn(1, [1, 2]), ValueError, "y: 1 number expected, 2 given"),
        (lambda: Learner("rls", inputs=1).learn(1, None), ValueError, "y: 1 number expected, 0 given"),
        (lambda: Learner("rls", inputs=1).predict("a"), TypeError, "x: numbers expected"),
        (lambda: Learner("rls", inputs=1).predict(["a"]), TypeError, "number"),
        (lambda: Learner("rls", inputs=1).forecast(0), ValueError, "horizon must be 1 or more"),
        (lambda: Learner("rls", inputs=1).forecast(2), ValueError, "X: the 1 inputs of the next 2"),
        (lambda: Learner("rls", inputs=1).forecast(2, [[1]]), ValueError, "X has 1 rows, horizon is 2"),
        (lambda: Learner("rls", inputs=1).forecast(1, [[np.nan]]), ValueError, "X: every number"),
        (lambda: Learner("rls", inputs=2).predict_many([[1]]), ValueError, "X has 1 columns, 2 expected"),
        (lambda: Learner.load(b"nothing"), kalstream.SnapshotError, "not a kalstream snapshot"),
        (lambda: Learner.load("/nowhere/x.kal"), FileNotFoundError, "/nowhere/x.kal"),
        (lambda: Learner("rls", inputs=1).save("/nowhere/x.kal"), OSError, "/nowhere/x.kal"),
        (lambda: kalstream.generate("nothing", 3), ValueError, "unknown generator 'nothing'"),
        (lambda: kalstream.generate("sine", 0), ValueError, "rows must be 1 or more"),
    ],
)
def test_errors_name_the_field(wrong, error, says):
    with pytest.raises(error) as raised:
        wrong()
    assert says in str(raised.value)


@pytest.mark.parametrize("name", kalstream.learners())
def test_bad_samples_leave_no_trace(name):
    X, y = stream(40)
    learner = Learner(name, inputs=1)
    follow(learner, X[:20], y[:20])
    before = learner.save()
    assert learner.learn([-np.inf], 1.0).rejected_input
    assert learner.learn([0.1], np.inf).rejected_input
    assert learner.advance([1e200]).rejected_input
    assert np.isnan(learner.predict([np.inf])).all()
    assert learner.save() == before
    assert np.isfinite(follow(learner, X[20:], y[20:])).all()


def test_auto_learns_from_samples_with_gaps():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(300, 2))
    y = X[:, 0] - 2 * X[:, 1]
    X[rng.random(X.shape) < 0.2] = np.nan
    learner = Learner("auto", inputs=2)
    said = follow(learner, X, y).ravel()
    assert np.isfinite(said).all()
    assert learner.samples == 300
    assert np.mean((said[200:] - y[200:]) ** 2) < 0.6 * np.var(y)
    assert kalstream.run(X, y).skipped_rows == 0
    assert kalstream.run(X, y, missing="refuse").skipped_rows > 80
    assert Learner("ekf", inputs=2).learn(np.array([np.nan, 1]), 1.0).rejected_input


def test_never_predicts_absurdly_from_an_unseen_value():
    X, y = stream(300, "friedman")
    learner = Learner("auto", inputs=10)
    follow(learner, X, y)
    for wild in (1e3, -1e6, 1e90):
        assert abs(learner.predict(np.full(10, wild))[0]) < 3


def test_report():
    X, y = stream(80)
    learner = Learner("auto", inputs=1)
    assert learner.report is None and learner.weights == {}
    follow(learner, X, y)
    report = learner.report
    assert report.status == "applied" and report.applied > 1 and not report.rejected_input
    assert len(report.weights) == len(learner.expert_names) == len(learner.weights)
    assert sum(learner.weights.values()) == pytest.approx(1)
    assert list(learner.weights.values()) == sorted(learner.weights.values(), reverse=True)
    assert learner.advance(X[0]).status == "missing target"
    assert repr(report).startswith("Report(status='applied', applied=")


@pytest.mark.parametrize("name", kalstream.learners())
def test_copies_and_pickles_go_on_alone(name):
    X, y = stream(120)
    learner = Learner(name, inputs=1, seed=3)
    follow(learner, X[:60], y[:60])
    others = [
        learner.copy(),
        copy.copy(learner),
        copy.deepcopy(learner),
        pickle.loads(pickle.dumps(learner)),
        Learner.load(learner.save()),
    ]
    expected = follow(learner, X[60:], y[60:])
    for other in others:
        assert type(other) is Learner and other.samples == 60 and repr(other).startswith("Learner(")
        assert (follow(other, X[60:], y[60:]) == expected).all()
        assert other.save() == learner.save()


def test_a_class_of_ones_own_stays_one():
    class Mine(Learner):
        pass

    learner = Mine("naive", inputs=1)
    assert type(learner.copy()) is Mine and type(Mine.load(learner.save())) is Mine


def test_reset():
    X, y = stream(50)
    learner = Learner("alg2", inputs=1)
    first = follow(learner, X, y)
    learner.reset()
    assert learner.samples == 0 and learner.report is None
    assert (follow(learner, X, y) == first).all()


def test_intervals():
    rng = np.random.default_rng(1)
    x = rng.normal(size=3000)
    y = 2 * x + rng.normal(size=3000)
    learner = Learner("rls", inputs=1, coverage=0.8)
    assert np.isnan(learner.interval(0.0)).all() and np.isnan(learner.observed_coverage)
    within = []
    for t in range(3000):
        low, high = learner.interval(x[t])
        assert low.shape == high.shape == (1,)
        within.append(low[0] <= y[t] <= high[0])
        learner.learn(x[t], y[t])
    assert learner.coverage == 0.8
    assert learner.observed_coverage == pytest.approx(0.8, abs=0.02) == learner.recent_coverage
    assert learner.observed_coverage == pytest.approx(np.mean(within[10:]))
    again = pickle.loads(pickle.dumps(learner))
    assert again.interval(0.5) == learner.interval(0.5) == learner.copy().interval(0.5)
    assert np.isnan(Learner.load(learner.save()).interval(0.5)).all()  # a snapshot has no intervals
    learner.reset()
    assert np.isnan(learner.interval(0.0)).all()


def test_an_interval_of_a_bad_sample_is_unknown():
    X, y = stream(60)
    learner, other = Learner("auto", inputs=1), Learner("auto", inputs=1)
    follow(learner, X, y)
    follow(other, X, y)
    for bad in (-np.inf, np.inf, 1e200):
        assert np.isnan(learner.interval(bad)).all()
    assert learner.interval(X[0]) == other.interval(X[0])
    assert (follow(learner, X, y) == follow(other, X, y)).all()


def test_intervals_do_not_change_what_is_learnt():
    X, y = stream(100)
    with_them, without = Learner("auto", inputs=1), Learner("auto", inputs=1, coverage=None)
    assert (follow(with_them, X, y) == follow(without, X, y)).all()
    assert with_them.save() == without.save()
    with pytest.raises(ValueError, match="made without coverage"):
        without.interval(0.0)
    with pytest.raises(ValueError, match="overage"):
        Learner("rls", inputs=1, coverage=1.5)


def test_forecast_leaves_no_trace():
    X, y = stream(60, "sine")
    learner = Learner("auto", inputs=X.shape[1])
    follow(learner, X[:50], y[:50])
    before = learner.save()
    ahead = learner.forecast(10, X[50:])
    assert ahead.shape == (10, 1) and (learner.forecast(10, X[50:]) == ahead).all()
    assert (learner.forecast(1, X[50:51])[0] == learner.predict(X[50])).all()
    assert learner.save() == before


@pytest.mark.parametrize("horizon", [2**60, 2**64 - 1, 10**15])
def test_a_forecast_larger_than_memory_is_refused(horizon):
    with pytest.raises(MemoryError, match="the forecast needs .* GiB"):
        Learner("ar", inputs=0, outputs=16).forecast(horizon)
    with pytest.raises((OverflowError, TypeError)):
        Learner("ar", inputs=0, outputs=16).forecast(2**64)


def test_predict_many_takes_each_row_as_the_next():
    X, y = stream(60)
    learner = Learner("auto", inputs=1)
    follow(learner, X[:50], y[:50])
    many = learner.predict_many(X[50:])
    assert (many == [learner.predict(x) for x in X[50:]]).all()


def test_repr_has_what_differs_from_the_defaults():
    learner = Learner("alg2", inputs=2, outputs=2, seed=5, hidden=8, scale=False, error_bounds=[0.1, 0.5])
    assert repr(learner) == (
        "Learner('alg2', inputs=2, outputs=2, seed=5, scale=False, error_bounds='0.1,0.5', hidden=8) "
        "after 0 samples"
    )
    assert "<b>kalstream learner alg2</b>" in learner._repr_html_()
    assert learner.options["hidden"] == "8"


def test_values_of_options():
    learner = Learner("dekf", inputs=1, partition="node", direct=True, output_gate_bias=None, window=5)
    options = learner.options
    assert (options["partition"], options["direct"], options["output_gate_bias"], options["window"]) == (
        "node",
        "true",
        "none",
        "5",
    )
    assert Learner("sgd", inputs=1, learning_rate=np.float64(0.1)).options["learning_rate"] == "0.1"


def test_losses():
    rng = np.random.default_rng(1)
    learner = Learner("ekf", inputs=1, hidden=2, loss="cross_entropy", link_scale=4)
    assert learner.options["loss"] == "cross_entropy"
    for _ in range(300):
        x = rng.normal(size=1)
        learner.learn(x, [float(x[0] > 0)])
    assert learner.predict([2.0])[0] > 0.8 > 0.2 > learner.predict([-2.0])[0] > 0


def test_preset():
    assert Learner("alg2", inputs=8, preset="authors:kin8nm").options != Learner("alg2", inputs=8).options


def test_size_in_memory():
    sizes = [sys.getsizeof(Learner("ekf", inputs=1, hidden=n)) for n in (4, 16)]
    assert sizes[1] > 10 * sizes[0]


def test_budget():
    assert int(Learner("auto", inputs=1, budget_us=1).options["experts"]) == 1


def test_a_snapshot_that_was_changed_is_refused(tmp_path):
    learner = Learner("rls", inputs=1)
    path = tmp_path / "learnt.kal"
    learner.save(path)
    spoilt = bytearray(path.read_bytes())
    spoilt[-20] ^= 1
    path.write_bytes(spoilt)
    with pytest.raises(kalstream.SnapshotError) as raised:
        Learner.load(path)
    assert "learnt.kal" in str(raised.value)


def test_save_keeps_the_previous_file(tmp_path):
    learner = Learner("naive", inputs=1)
    path = tmp_path / "learnt.kal"
    learner.save(path)
    learner.learn(0.0, 1.0)
    learner.save(path)
    assert Learner.load(path).samples == 1
    assert Learner.load(tmp_path / "learnt.kal.previous").samples == 0


def resident_kib():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def test_nothing_leaks_over_100_000_steps(tmp_path):
    learner = Learner("rls", inputs=2)
    x, y = np.array([0.1, 0.2]), np.array([0.3])

    def some(steps):
        for _ in range(steps):
            learner.predict(x)
            learner.learn([0.1, 0.2], y)
            learner.report.weights
        for _ in range(steps // 100):
            learner.forecast(3, np.zeros((3, 2)))
            pickle.loads(pickle.dumps(learner)).copy().run(np.zeros((50, 2)), np.arange(50.0))
            with pytest.raises(ValueError):
                learner.predict(np.zeros(5))
            with pytest.raises(TypeError):
                learner.learn("x", y)
        gc.collect()

    some(10_000)
    before = resident_kib()
    some(100_000)
    assert resident_kib() - before < 2_000


def test_a_running_learner_is_not_to_be_touched():
    """That the main thread gets to ask at all proves that run holds no interpreter lock."""
    X, y = stream(20_000)
    learners = [Learner("rls", inputs=1), Learner("ar", inputs=1)]
    expected = [learner.copy().run(X, y).predictions for learner in learners]
    results = [None, None]
    both_at_once = False
    while not both_at_once:

        def work(k):
            results[k] = learners[k].run(X, y).predictions

        learners = [Learner("rls", inputs=1), Learner("ar", inputs=1)]
        threads = [threading.Thread(target=work, args=(k,)) for k in range(2)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            refused = 0
            for learner in learners:
                try:
                    learner.predict(X[0])
                except RuntimeError as error:
                    assert "running in another thread" in str(error)
                    refused += 1
            both_at_once |= refused == 2
        for thread in threads:
            thread.join()
        for k in range(2):
            assert (results[k] == expected[k]).all() or not np.isfinite(expected[k]).all()


def test_a_long_forecast_can_be_interrupted():
    learner = Learner("ekf", inputs=0, lags=8, hidden=32)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            learner.forecast(10**8)  # would take hours
    finally:
        signal.signal(signal.SIGALRM, before)
