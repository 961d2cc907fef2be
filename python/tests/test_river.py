"""river's conventions, by its own checks and a few more."""

import copy
import pickle

import numpy as np
import pytest

pytest.importorskip("river")
pytest.importorskip("pandas")

import pandas as pd
from river import checks, compose, datasets, evaluate, metrics, preprocessing

from kalstream.river import Classifier, Forecaster, MultiTargetRegressor, Regressor


def named_checks(model):
    """A check runs for several data sets under the same name."""
    return [
        pytest.param(model, check, id=f"{type(model).__name__}-{check.__name__}-{k}")
        for k, check in enumerate(checks.yield_checks(model))
    ]


@pytest.mark.parametrize(
    "model, check",
    named_checks(Regressor())
    + named_checks(Forecaster())
    + named_checks(MultiTargetRegressor("rls"))
    + named_checks(Classifier()),
)
def test_checks(model, check):
    assert not model._unit_test_skips()
    check(model.clone())


@pytest.mark.slow
@pytest.mark.parametrize(
    "model", [MultiTargetRegressor(), Regressor("alg2"), Forecaster("ekf", lags=4)], ids=str
)
def test_more_checks(model):
    checks.check_estimator(model)


@pytest.mark.parametrize("model", [Regressor("rls"), Forecaster("ar"), MultiTargetRegressor("rls")], ids=str)
def test_wrong_options_are_told_at_once(model):
    with pytest.raises(ValueError, match="no option 'nothing'"):
        type(model)("rls", nothing=1)


def test_clone_keeps_options():
    model = Regressor("ekf", seed=4, hidden=3)
    assert (
        model.clone()._get_params()
        == model._get_params()
        == {
            "learner": "ekf",
            "seed": 4,
            "scale": True,
            "coverage": 0.9,
            "memory": 1000,
            "max_features": 256,
            "hidden": 3,
        }
    )


def test_before_the_first_sample():
    assert Regressor().predict_one({"a": 1}) == 0.0
    assert MultiTargetRegressor().predict_one({"a": 1}) == {}
    assert Forecaster().forecast(2) == [0.0, 0.0]
    assert Regressor().underlying is None


def test_in_a_pipeline_with_delay():
    model = compose.Select("gallup", "rasmussen") | preprocessing.StandardScaler() | Regressor("rls")
    metric = evaluate.progressive_val_score(
        datasets.TrumpApproval().take(200), model, metrics.MAE(), delay=3, moment="ordinal_date"
    )
    assert metric.get() < 10


def test_tracks():
    from river.evaluate import RegressionTrack

    track = RegressionTrack()
    for dataset in track:
        *_, last = track.run(Regressor("rls"), dataset, n_checkpoints=1)
        assert last["MAE"].get() < 50


@pytest.mark.slow
def test_forecasting_track():
    from river.evaluate.tracks import ForecastingTrack

    track = ForecastingTrack()
    for dataset in track:
        *_, last = track.run(Forecaster(), dataset, n_checkpoints=1)
        assert np.isfinite(last["HorizonAggMetric"].get())


def samples(rows=60):
    rng = np.random.default_rng(3)
    for _ in range(rows):
        x = {"a": rng.normal(), "b": rng.normal()}
        yield x, 3 * x["a"] - x["b"]


def test_a_missing_feature_counts_as_its_mean():
    model = Regressor("rls")
    values = []
    for x, y in samples():
        model.learn_one(x, y)
        values.append(x["b"])
    usual = model.predict_one({"a": 1.0, "b": float(np.mean(values))})
    for missing in ({"a": 1.0}, {"a": 1.0, "b": None}, {"a": 1.0, "b": float("nan")}, {"a": 1.0, "b": 1e300}):
        assert model.predict_one(missing) == pytest.approx(usual)


def test_a_new_feature_is_learnt_and_the_past_is_not_forgotten():
    rows = list(samples(200))
    model = Regressor("rls")
    for x, y in rows[:100]:
        model.learn_one({"a": x["a"]}, y)
    for x, y in rows[100:]:
        model.learn_one(x, y)
    assert model.underlying.inputs == 2 and model.underlying.samples == 200
    assert model.predict_one({"a": 1.0, "b": 0.0}) == pytest.approx(3, abs=0.6)


def test_an_unknown_feature_changes_no_prediction():
    model = Regressor("rls")
    for x, y in samples():
        model.learn_one(x, y)
    assert model.predict_one({"a": 1.0, "b": 1.0, "c": 5.0}) == model.predict_one({"a": 1.0, "b": 1.0})


def test_many_features_do_not_mean_many_restarts():
    made = []
    model = Regressor("rls", max_features=60)
    make = model._make
    model._make = lambda inputs: made.append(inputs) or make(inputs)
    with pytest.warns(UserWarning, match="max_features=60"):
        for k in range(80):
            model.learn_one({f"x{k}": 1.0}, float(k))
    assert model.underlying.inputs == 60 and len(made) < 20


def test_text_is_refused_with_advice():
    with pytest.raises(ValueError, match="feature 'colour' is text"):
        Regressor().learn_one({"colour": "red"}, 1.0)


def test_dates_are_no_features():
    model = Forecaster("ar")
    for x, y in datasets.AirlinePassengers().take(30):
        model.learn_one(y, x)
    assert model.underlying.inputs == 0


def test_missing_targets_move_on():
    model = Regressor("rls")
    for k, (x, y) in enumerate(samples()):
        model.learn_one(x, None if k % 3 == 0 else float("nan") if k % 3 == 1 else y)
    assert model.underlying.samples == 60
    assert model.underlying.report.status == "applied"


def test_prediction_has_no_side_effect():
    model = Regressor()
    for x, y in samples(40):
        model.learn_one(x, y)
    before = pickle.dumps(model)
    first = model.predict_one({"a": 1.0, "c": 2.0})
    assert model.predict_one({"a": 1.0, "c": 2.0}) == first and pickle.dumps(model) == before


def test_pickles_and_copies_go_on():
    rows = list(samples(80))
    model = Regressor()
    for x, y in rows[:40]:
        model.learn_one(x, y)
    others = [copy.deepcopy(model), pickle.loads(pickle.dumps(model))]
    for x, y in rows[40:]:
        expected = model.predict_one(x)
        model.learn_one(x, y)
        for other in others:
            assert other.predict_one(x) == expected
            other.learn_one(x, y)


def test_mini_batches_keep_the_index():
    rows = list(samples(30))
    X = pd.DataFrame([x for x, _ in rows], index=range(100, 130))
    y = pd.Series([y for _, y in rows])
    one, many = Regressor("rls"), Regressor("rls")
    many.learn_many(X, y)
    for x, target in rows:
        one.learn_one(x, target)
    predictions = many.predict_many(X)
    assert list(predictions.index) == list(X.index)
    assert predictions.tolist() == [one.predict_one(x) for x, _ in rows]


def test_several_targets():
    model = MultiTargetRegressor("rls")
    for x, y in samples():
        model.learn_one(x, {"plus": y, "minus": -y})
    prediction = model.predict_one({"a": 1.0, "b": 0.0})
    assert list(prediction) == ["minus", "plus"]
    assert prediction["plus"] == pytest.approx(-prediction["minus"])
    with pytest.raises(ValueError, match="target 'other' was not there"):
        model.learn_one({"a": 1.0}, {"other": 1.0})
    model.learn_one({"a": 1.0}, {"plus": 1.0})
    assert model.underlying.report.status == "missing target"


def test_intervals():
    model = Regressor("rls", coverage=0.8)
    assert model.predict_one({"a": 1.0}, with_interval=True).width == float("inf")
    rng = np.random.default_rng(2)
    within = []
    for x, y in samples(1500):
        y += rng.normal()
        interval = model.predict_one(x, with_interval=True)
        within.append(y in interval)
        assert model.predict_one(x) in interval or len(within) < 20
        model.learn_one(x, y)
    assert np.mean(within[100:]) == pytest.approx(0.8, abs=0.03)
    several = MultiTargetRegressor("rls")
    for x, y in samples(30):
        several.learn_one(x, {"p": y, "m": -y})
    assert set(several.predict_one({"a": 1.0}, with_interval=True)) == {"p", "m"}


def test_forecast_with_features():
    model = Forecaster("rls")
    for k in range(60):
        model.learn_one(2.0 * (k % 5), {"k": float(k % 5)})
    ahead = model.forecast(3, [{"k": 0.0}, {"k": 1.0}, {"k": 4.0}])
    assert ahead == pytest.approx([0, 2, 8], abs=0.5)
    assert model.forecast(2) == pytest.approx([8, 8], abs=0.5)  # the last features again
    with pytest.raises(ValueError, match="xs has 1 entries, horizon is 2"):
        model.forecast(2, [{"k": 0.0}])


def test_classes_come_as_they_come():
    model = Classifier()
    assert model.predict_proba_one({"x": 1.0}) == {}
    assert model.predict_one({"x": 1.0}) is None
    rng = np.random.default_rng(1)
    for n in range(300):
        x = rng.uniform()
        label = "low" if x < 0.3 else "high" if x > 0.6 or n < 100 else "mid"
        before = model.predict_proba_one({"x": x})
        assert n < 1 or abs(sum(before.values()) - 1) < 1e-9
        model.learn_one({"x": x}, label)
    assert model.predict_one({"x": 0.1}) == "low"
    assert model.predict_one({"x": 0.45}) == "mid"
    assert set(model.predict_proba_one({"x": 0.5})) == {"low", "mid", "high"}
    model.learn_one({"x": 0.5}, None)  # moves on
    copied = pickle.loads(pickle.dumps(model))
    assert copied.predict_proba_one({"x": 0.5}) == model.predict_proba_one({"x": 0.5})


def test_a_class_too_many_is_told():
    model = Classifier("alg1", max_classes=2)
    for label in (True, False):
        model.learn_one({"x": 1.0}, label)
    with pytest.raises(ValueError, match="one more than the max_classes=2"):
        model.learn_one({"x": 1.0}, "third")
