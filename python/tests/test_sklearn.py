"""scikit-learn's conventions, by its own checks and a few more."""

import pickle

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TimeSeriesSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import kalstream
from kalstream.sklearn import OnlineClassifier, OnlineRegressor


@parametrize_with_checks([OnlineRegressor(), OnlineClassifier()])  # none is expected to fail
def test_checks(estimator, check):
    check(estimator)


def test_fit_is_a_run():
    X, y = kalstream.generate("friedman", 200)
    model = OnlineRegressor("rls").fit(X, y)
    assert model.learner_.save() == kalstream.run(X, y, "rls").learner.save()
    assert model.score(X, y) > 0.5


def test_partial_fit_goes_on():
    X, y = kalstream.generate("friedman", 200)
    whole = OnlineRegressor("alg2").fit(X, y)
    parts = OnlineRegressor("alg2").partial_fit(X[:90], y[:90]).partial_fit(X[90:], y[90:])
    assert (whole.predict(X) == parts.predict(X)).all()
    with pytest.raises(ValueError, match="y has 2 columns, 1 before"):
        parts.partial_fit(X, np.column_stack([y, y]))


def test_passes():
    X, y = kalstream.generate("friedman", 150)
    once, thrice = OnlineRegressor("sgd").fit(X, y), OnlineRegressor("sgd", passes=3).fit(X, y)
    assert thrice.score(X, y) > once.score(X, y)
    with pytest.raises(ValueError, match="passes must be 1 or more"):
        OnlineRegressor(passes=0).fit(X, y)
    with pytest.warns(UserWarning, match="learns rows again by itself"):
        repeated = OnlineRegressor(passes=5).fit(X, y)
    assert repeated.learner_.save() == OnlineRegressor().fit(X, y).learner_.save()


def test_sorted_rows_are_told():
    X, y = kalstream.generate("friedman", 100)
    with pytest.warns(UserWarning, match="sorted by y"):
        OnlineRegressor("rls").fit(X[np.argsort(y)], np.sort(y))
    with pytest.warns(UserWarning, match="sorted by y"):
        OnlineClassifier().fit(X, np.repeat(["a", "b"], 50))


def test_pipeline_and_grid_search():
    X, y = kalstream.generate("friedman", 240)
    pipeline = make_pipeline(StandardScaler(), OnlineRegressor("ekf"))
    search = GridSearchCV(
        pipeline,
        {
            "onlineregressor__options": [{"hidden": 2}, {"hidden": 6}],
            "onlineregressor__passes": [1, 2],
        },
        cv=TimeSeriesSplit(2),
    )
    search.fit(X, y)
    assert search.best_score_ > 0 and len(search.cv_results_["params"]) == 4


def test_rls_has_no_hidden_units():
    with pytest.raises(ValueError, match="no option 'hidden'"):
        OnlineRegressor("rls", options={"hidden": 2}).fit([[1.0], [2.0]], [1.0, 2.0])


def test_several_targets():
    X, y = kalstream.generate("friedman", 100)
    model = OnlineRegressor("rls").fit(X, np.column_stack([y, -y]))
    assert model.predict(X).shape == (100, 2)


def test_random_state_and_pickle():
    X, y = kalstream.generate("friedman", 60)
    models = [OnlineRegressor("ekf", random_state=seed).fit(X, y) for seed in (1, 1, 2)]
    a, b, c = (model.predict(X) for model in models)
    assert (a == b).all() and not (a == c).all()
    assert (pickle.loads(pickle.dumps(models[0])).predict(X) == a).all()
    assert (clone(models[0]).fit(X, y).predict(X) == a).all()


def labelled(rows):
    X, _ = kalstream.generate("friedman", rows)
    return X, np.array(["b", "c", "a"])[(X[:, 0] > 0.5).astype(int) + (X[:, 1] > 0.5)]


def test_classes_and_their_probabilities():
    X, y = labelled(400)
    model = OnlineClassifier().fit(X[:300], y[:300])
    assert model.classes_.tolist() == ["a", "b", "c"]
    p = model.predict_proba(X[300:])
    assert p.shape == (100, 3)
    assert np.allclose(p.sum(axis=1), 1)
    assert (model.classes_[p.argmax(axis=1)] == model.predict(X[300:])).all()
    assert model.score(X[300:], y[300:]) > 0.8
    again = pickle.loads(pickle.dumps(model))
    assert (again.predict_proba(X[300:]) == p).all()


def test_new_classes_may_come():
    X, y = labelled(300)
    early = y != "a"
    model = OnlineClassifier().partial_fit(X[early][:100], y[early][:100])
    assert model.classes_.tolist() == ["b", "c"]
    model.partial_fit(X, y)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.score(X, y) > 0.8
