"""Predict a live stream and learn from every sample: no training set, no second pass, no tuning.

>>> import kalstream
>>> X, y = kalstream.generate("narma10", rows=500)
>>> learner = kalstream.Learner("auto", inputs=X.shape[1])
>>> for x, target in zip(X, y):
...     prediction = learner.predict(x)     # uses targets before this sample only
...     report = learner.learn(x, target)   # or advance(x) when the target is missing

The same for a whole stream in one call:

>>> result = kalstream.run(X, y)
>>> bool(result.predictions[-1] == prediction[0])
True
"""

from ._async_client import AsyncClient
from ._calls import Event, ServerError
from ._client import Client
from ._core import DataError, Field, Report, Schema, SnapshotError, Surprise, __version__
from ._data import read_schema
from ._evaluation import Comparison, Run, TargetScore, compare, run
from ._forecast import backtest, forecast
from ._learner import Forecaster, Learner, learners, options
from ._streams import generate, generators

__all__ = [
    "AsyncClient",
    "Client",
    "Comparison",
    "DataError",
    "Event",
    "Field",
    "Forecaster",
    "Learner",
    "Report",
    "Run",
    "Schema",
    "ServerError",
    "SnapshotError",
    "Surprise",
    "TargetScore",
    "__version__",
    "backtest",
    "compare",
    "forecast",
    "generate",
    "generators",
    "learners",
    "options",
    "read_schema",
    "run",
]
