"""Pictures with matplotlib: how the error falls, intervals, what each expert counts.

>>> import kalstream, kalstream.plot
>>> X, y = kalstream.generate("narma10", 300)
>>> axes = kalstream.plot.learning_curve(kalstream.compare(["auto", "rls"], X, y))
>>> axes.get_legend_handles_labels()[1]
['auto', 'rls']
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from ._evaluation import Comparison, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["experts", "forecast", "intervals", "learning_curve"]

Runs = Union[Run, Comparison, Mapping[str, Any]]


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(8, 3.5), layout="constrained")[1]


def _named(runs: Runs) -> dict[str, list[Run]]:
    if isinstance(runs, Run):
        return {runs.learner.name if runs.learner is not None else "": [runs]}
    return {name: [one] if isinstance(one, Run) else list(one) for name, one in runs.items()}


def learning_curve(runs: Runs, *, window: int = 100, axes: Axes | None = None) -> Axes:
    """The error over the last `window` rows relative to the variance of the target, on a logarithmic scale.

    Takes a Run, a Comparison (the median of its seeds; the band is from the best to the worst) or a dict of
    runs. A dashed line shows the mean, at 1.
    """
    axes = _axes(axes)
    for name, several in _named(runs).items():
        curves = np.array([run.learning_curve(window) for run in several])
        last = curves.shape[1] - 1
        shown = np.unique(np.linspace(0, last, min(last + 1, 600)).astype(int))  # more cannot be told apart
        curves = curves[:, shown]
        (line,) = axes.plot(shown + 1, np.median(curves, axis=0), label=name, linewidth=1.2)
        if len(curves) > 1:
            axes.fill_between(shown + 1, curves.min(0), curves.max(0), color=line.get_color(), alpha=0.2)
    axes.axhline(1, color="0.6", linestyle="--", linewidth=0.8)
    axes.set(xlabel="row", ylabel=f"NSE of the last {window}", yscale="log")
    if len(axes.get_legend_handles_labels()[1]) > 1:
        axes.legend()
    return axes


def intervals(run: Run, *, rows: slice = slice(-200, None), axes: Axes | None = None) -> Axes:
    """Targets, predictions and their bounds, of the last 200 rows or of those chosen."""
    if run.low is None or run.high is None:
        raise ValueError("this run has no intervals: its learner was made with coverage=None")
    if run.y.ndim != 1:
        raise ValueError("this run has several targets; plot one column at a time")
    axes = _axes(axes)
    at = np.arange(1, len(run.y) + 1)[rows]
    outside = ~((run.low <= run.y) & (run.y <= run.high))[rows] & ~np.isnan(run.low[rows])
    axes.fill_between(at, run.low[rows], run.high[rows], alpha=0.25, linewidth=0, label="interval")
    axes.plot(at, run.predictions[rows], linewidth=1, label="prediction")
    axes.plot(at, run.y[rows], ".", color="0.2", markersize=3, label="target")
    axes.plot(at[outside], run.y[rows][outside], "x", color="C3", markersize=5, label="outside")
    axes.set(xlabel="row", title=f"{100 * run.coverage:.1f} % of all targets within", ylabel="target")
    axes.legend(loc="upper left", ncols=4, frameon=False)
    return axes


def forecast(past: Any, ahead: Any, *, rows: int | None = None, axes: Axes | None = None) -> Axes:
    """Past values and what `kalstream.forecast` has told of those to come, with their bounds.

    `past` is a pandas Series; the last `rows` of it are shown, by default three times as many as are forecast.
    """
    if "forecast" not in ahead.columns:
        raise ValueError("ahead: a frame with the column 'forecast' expected; plot several targets one at a time")
    axes = _axes(axes)
    known = past.iloc[-(3 * len(ahead) if rows is None else rows) :]
    axes.plot(known.index, known, color="0.6", linewidth=1, label="past")
    if "low" in ahead.columns:
        axes.fill_between(ahead.index, ahead["low"], ahead["high"], color="C0", alpha=0.25, linewidth=0)
    axes.plot(ahead.index, ahead["forecast"], color="C0", linewidth=1.2, label="forecast")
    axes.set(xlabel=str(past.index.name or ""), ylabel=str(past.name or ""))
    if getattr(past.index.dtype, "kind", "") == "M":
        from matplotlib.dates import AutoDateLocator, ConciseDateFormatter

        locator = AutoDateLocator(minticks=4, maxticks=9)
        axes.xaxis.set_major_locator(locator)
        axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, frameon=False)
    return axes


def experts(run: Run, *, most: int = 8, axes: Axes | None = None) -> Axes:
    """What each expert of a mixture counted on the way; the `most` heaviest have lines of their own."""
    if len(run.weight_path) == 0:
        raise ValueError("this learner mixes no experts, or weight_points was 0")
    axes = _axes(axes)
    order = np.argsort(-np.abs(run.weight_path).mean(axis=0))
    for place in order[most:]:
        axes.plot(run.weight_rows, run.weight_path[:, place], color="0.8", linewidth=0.6)
    for place in order[:most]:
        axes.plot(run.weight_rows, run.weight_path[:, place], label=run.expert_names[place], linewidth=1.2)
    axes.set(xlabel="row", ylabel="weight")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    return axes
