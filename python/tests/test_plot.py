"""Pictures: that they are drawn, from what, and what they refuse."""

import numpy as np
import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")

import kalstream
from kalstream import plot


@pytest.fixture(scope="module")
def run():
    X, y = kalstream.generate("narma10", 300)
    return kalstream.run(X, y)


@pytest.fixture(autouse=True)
def close():
    yield
    matplotlib.pyplot.close("all")


def test_learning_curve(run):
    axes = plot.learning_curve({"one": run, "two": [run, run]}, window=50)
    assert axes.get_yscale() == "log" and axes.get_legend_handles_labels()[1] == ["one", "two"]
    assert np.nanmax(axes.get_lines()[0].get_ydata()) == np.nanmax(run.learning_curve(50))
    assert plot.learning_curve(run, axes=axes) is axes


def test_intervals(run):
    axes = plot.intervals(run, rows=slice(100, 300))
    assert "within" in axes.get_title() and len(axes.get_lines()[0].get_xdata()) == 200
    X, y = kalstream.generate("sine", 50)
    with pytest.raises(ValueError, match="no intervals"):
        plot.intervals(kalstream.run(X, y, "rls", coverage=None))
    with pytest.raises(ValueError, match="several targets"):
        plot.intervals(kalstream.run(X, np.column_stack([y, y]), "rls"))


def test_experts(run):
    axes = plot.experts(run, most=3)
    assert len(axes.get_legend_handles_labels()[1]) == 3
    X, y = kalstream.generate("sine", 50)
    with pytest.raises(ValueError, match="mixes no experts"):
        plot.experts(kalstream.run(X, y, "rls"))


def test_forecast():
    pandas = pytest.importorskip("pandas")
    index = pandas.date_range("2024-01-01", periods=100, freq="h", name="when")
    past = pandas.Series(np.arange(100.0) % 24, index=index, name="load")
    axes = plot.forecast(past, kalstream.forecast(past, 5, learner="ar"))
    assert axes.get_ylabel() == "load" and axes.get_xlabel() == "when"
    assert len(axes.lines[0].get_xdata()) == 15 and len(axes.lines[1].get_xdata()) == 5
    with pytest.raises(ValueError, match="'forecast'"):
        plot.forecast(past, past.to_frame())
