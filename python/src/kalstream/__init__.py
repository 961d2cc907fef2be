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

from typing import TYPE_CHECKING, Any

from ._core import DataError, Field, Report, RlsBatch, Schema, SnapshotError, Surprise, __version__
from ._data import read_schema
from ._evaluation import Alarm, Comparison, Run, TargetScore, compare, run
from ._forecast import backtest, forecast
from ._learner import Forecaster, Learner, learners, options
from ._many import Runs, run_many
from ._stream import Stream
from ._streams import generate, generators

if TYPE_CHECKING:
    from ._async_client import AsyncClient
    from ._calls import Event, ServerError
    from ._client import Client

__all__ = [
    "Alarm",
    "AsyncClient",
    "Client",
    "Comparison",
    "DataError",
    "Event",
    "Field",
    "Forecaster",
    "Learner",
    "Report",
    "RlsBatch",
    "Run",
    "Runs",
    "Schema",
    "ServerError",
    "SnapshotError",
    "Stream",
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
    "run_many",
]

_OF_SERVERS = {"AsyncClient": "_async_client", "Client": "_client", "Event": "_calls", "ServerError": "_calls"}


def __getattr__(name: str) -> Any:
    """What speaks to servers is imported when it is asked for: it needs much of the standard library."""
    if name not in _OF_SERVERS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_OF_SERVERS[name]}"), name)
