"""The models by name. Each has rows(X), which makes of a matrix what it takes row by row, predict(x), learn(x, y)."""

import numpy as np


class Kalstream:
    """A learner of the package, with its default settings but for those named."""

    def __init__(self, inputs, name, **options):
        import kalstream

        self.learner = kalstream.Learner(name, inputs=inputs, coverage=None, **options)
        self.learn = self.learner.learn

    def rows(self, X):
        return X

    def predict(self, x):
        return self.learner.predict(x)[0]


class River:
    """A model of river, which takes dicts."""

    def __init__(self, model):
        self.predict = model.predict_one
        self.learn = model.learn_one

    def rows(self, X):
        names = [f"x{k}" for k in range(X.shape[1])]
        return [dict(zip(names, row)) for row in X.tolist()]


class Retrained:
    """fit(X, y) gives a function of one row; it is called again when the samples have doubled, from 25 on, and at the
    latest every so many samples, with the last ones up to the window. Before the first time the mean is the answer."""

    def __init__(self, inputs, fit, every, window):
        self.X, self.y = np.empty((window, inputs)), np.empty(window)
        self.fit, self.every = fit, every
        self.seen, self.due = 0, 25
        self.answer = None

    def rows(self, X):
        return X

    def predict(self, x):
        if self.answer is None:
            return self.y[: self.seen].mean() if self.seen else 0.0
        return self.answer(x)

    def learn(self, x, y):
        place = self.seen % len(self.y)
        self.X[place], self.y[place] = x, y
        self.seen += 1
        if self.seen == self.due:
            known = min(self.seen, len(self.y))
            self.answer = self.fit(self.X[:known], self.y[:known])
            self.due += min(self.due, self.every)


def lightgbm(X, y):
    """Boosted trees, all settings as the package has them."""
    import lightgbm as package

    settings = {"objective": "regression", "num_threads": 1, "seed": 1, "verbose": -1}
    trees = package.train(settings, package.Dataset(X, y))
    return lambda x: trees.predict(x[None], num_threads=1)[0]


def gaussian_process(X, y):
    """Squared exponential kernel with a length for each input, and noise; the likelihood's maximum from one start."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

    centre, scale = X.mean(axis=0), X.std(axis=0) + 1e-12
    lengths = np.full(X.shape[1], np.sqrt(X.shape[1]))
    kernel = ConstantKernel() * RBF(lengths, (1e-2, 1e4)) + WhiteKernel(0.1, (1e-8, 1e2))
    model = GaussianProcessRegressor(kernel, normalize_y=True, optimizer=short_search)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit((X - centre) / scale, y)
    return lambda x: model.predict(((x - centre) / scale)[None])[0]


def short_search(objective, start, bounds):
    """L-BFGS-B as scikit-learn has it, ended after 20 iterations: more took minutes for each stream."""
    from scipy.optimize import minimize

    found = minimize(objective, start, method="L-BFGS-B", jac=True, bounds=bounds, options={"maxiter": 20})
    return found.x, found.fun


def river(kind, **settings):
    """By the name within river; what is not a tree sees scaled inputs."""

    def make(inputs):
        import importlib

        from river import preprocessing

        module, name = kind.split(".")
        model = getattr(importlib.import_module("river." + module), name)(**settings)
        alone = module in ("tree", "forest")
        return River(model if alone else preprocessing.StandardScaler() | model)

    return make


def own(name, **options):
    return lambda inputs: Kalstream(inputs, name, **options)


def retrained(fit, every, window):
    return lambda inputs: Retrained(inputs, fit, every, window)


RULES = "sgd rmsprop adam ekf dekf iekf alg1 alg2 pekf rls ar naive mean".split()

# By family, which is its colour in the picture: name → maker, given the number of inputs.
FAMILIES = {
    "kalstream: auto": {
        "auto": own("auto"),
        **{f"auto, {n} network{'s' * (n > 1)}": own("auto", experts=n) for n in (1, 2, 4, 8)},
        "auto-max": own("auto-max"),
    },
    "kalstream: other learners": {name: own(name) for name in RULES},
    "river": {
        "linear regression": river("linear_model.LinearRegression"),
        "Hoeffding adaptive tree": river("tree.HoeffdingAdaptiveTreeRegressor", seed=1),
        "nearest neighbours": river("neighbors.KNNRegressor"),
        "adaptive random forest": river("forest.ARFRegressor", seed=1),
        "Mondrian forest": river("forest.AMFRegressor", seed=1),
        "random patches": river("ensemble.SRPRegressor", seed=1),
    },
    "retrained now and then": {
        "LightGBM, every 500": retrained(lightgbm, 500, 2000),
        "LightGBM, every 50": retrained(lightgbm, 50, 2000),
        "Gaussian process, every 500": retrained(gaussian_process, 500, 500),
    },
}
MODELS = {name: make for family in FAMILIES.values() for name, make in family.items()}
FAMILY = {name: family for family, names in FAMILIES.items() for name in names}


def sees_past_targets(name):
    """Whether it looks at past targets by itself; others get them as inputs where the stream has a memory."""
    return name.startswith("auto") or name in ("ar", "naive", "mean")
