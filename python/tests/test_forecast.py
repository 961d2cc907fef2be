"""Forecasts: times that go on, bounds, inputs known ahead, and no look-ahead."""

import csv
import io

import numpy as np
import pytest

import kalstream

pandas = pytest.importorskip("pandas")


def hourly(rows=600, start="2024-01-01"):
    """A load with a day, that a temperature drives."""
    rng = np.random.default_rng(3)
    index = pandas.date_range(start, periods=rows, freq="h", name="time")
    hours = np.arange(rows)
    temp = np.sin(0.7 * hours) + 0.3 * np.sin(0.11 * hours**2)
    load = 10 + np.sin(2 * np.pi * hours / 24) + 2 * temp + 0.05 * rng.normal(size=rows)
    return pandas.DataFrame({"temp": temp, "load": load}, index=index)


def test_the_index_goes_on():
    data = hourly()
    with pytest.warns(UserWarning, match='forecasts hold "temp"'):
        result = kalstream.forecast(data, 6, target="load", learner="ar")
    assert list(result.columns) == ["forecast", "low", "high"]
    assert result.index.name == "time" and result.index[0] == data.index[-1] + pandas.Timedelta("1h")
    assert (result["low"] < result["forecast"]).all() and (result["forecast"] < result["high"]).all()
    assert result.attrs["step"] == "1 hour" and result.attrs["periods"] == [24, 168]


def test_months_and_zones():
    months = pandas.Series(np.arange(60.0), index=pandas.date_range("2020-01-31", periods=60, freq="ME"))
    assert list(kalstream.forecast(months, 2, learner="ar").index.astype(str)) == ["2025-01-31", "2025-02-28"]
    zoned = hourly()["load"].tz_localize("UTC").tz_convert("America/New_York")
    result = kalstream.forecast(zoned, 2, learner="ar")
    assert result.index[0] == zoned.index[-1] + pandas.Timedelta("1h") and str(result.index.tz) == "America/New_York"


def test_a_future_frame_is_used():
    data = hourly()
    past, ahead = data[:-12], data[-12:]
    known = kalstream.forecast(past, 12, target="load", learner="rls", lags=24, future=ahead[["temp"]])
    assert known.attrs["notes"] == []
    error = np.abs(known["forecast"] - ahead["load"]).mean()
    with pytest.warns(UserWarning):
        held = kalstream.forecast(past, 12, target="load", learner="rls", lags=24)
    assert error < 0.3 < np.abs(held["forecast"] - ahead["load"]).mean()
    with pytest.warns(UserWarning, match="not known for all"):
        kalstream.forecast(past, 24, target="load", learner="rls", future=ahead[["temp"]])
    # The same with rows at the end that have no target.
    together = data.copy()
    together.loc[together.index[-12:], "load"] = np.nan
    named = kalstream.forecast(together, 12, target="load", learner="rls", lags=24, future="temp")
    assert named["forecast"].tolist() == known["forecast"].tolist()


def test_several_coverages_and_limits():
    series = {"y": [10.0 + t % 7 + float(np.sin(t * t)) for t in range(300)]}
    frame = kalstream.forecast(series, 5, learner="ar", interval=(0.95, 0.5))
    assert list(frame.columns) == ["forecast", "low", "high", "low_0.5", "high_0.5"]
    assert (frame["low"] <= frame["low_0.5"]).all() and (frame["high_0.5"] <= frame["high"]).all()
    wide = kalstream.forecast(series, 5, learner="ar", interval=0.95)
    assert wide["low"].tolist() == frame["low"].tolist()
    held = kalstream.forecast(series, 5, learner="ar", interval=(0.5, 0.95), floor=11, ceiling=14)
    for name in frame.columns:
        assert held[name].tolist() == frame[name].clip(11, 14).tolist()
    with pytest.raises(ValueError, match="floor"):
        kalstream.forecast(series, 5, learner="ar", floor=3, ceiling=2)
    with pytest.raises(ValueError, match="interval"):
        kalstream.forecast(series, 5, learner="ar", interval=(0.5, 1.5))


def test_nothing_looks_ahead():
    data = hourly()
    changed = data.copy()
    changed.iloc[400:] = 3.0
    options = dict(target="load", learner="ar", horizon=4, keep_forecasts=True)
    one, other = kalstream.run(data, **options), kalstream.run(changed, **options)
    assert np.array_equal(one.forecasts[:400], other.forecasts[:400])
    assert not np.array_equal(one.forecasts[400:], other.forecasts[400:])


def test_backtest():
    scores = kalstream.backtest(hourly(2000)["load"], 3, learner="ar")
    assert scores.index.tolist() == [1, 2, 3, 0]
    assert {"rmse", "naive", "seasonal naive (24)", "coverage"} <= set(scores.columns)
    assert scores["coverage"].between(0.85, 0.95).all()


def test_gaps_late_and_repeated_rows():
    data = hourly()
    gap = kalstream.run(data.drop(data.index[300:303]), target="load", learner="ar")
    assert gap.passed_steps == 3 and gap.step == "1 hour"
    twice = kalstream.run(pandas.concat([data[:300], data[298:]]), target="load", learner="ar")
    assert twice.untimely_rows == 2 and twice.nse == kalstream.run(data, target="load", learner="ar").nse


def test_forecaster():
    learner = kalstream.Learner("ar", inputs=0)
    forecaster = kalstream.Forecaster(learner, 4, interval=0.8)
    assert forecaster.low is None and forecaster.horizon == 4
    y = hourly()["load"].to_numpy()
    for value in y:
        learner.learn(None, value)
        forecaster.learn(value)
        forecaster.forecast()
    result = kalstream.forecast({"load": y}, 4, learner="ar", interval=0.8)
    assert result["forecast"].tolist() == forecaster.forecast().ravel().tolist()
    assert result.index.tolist() == [600, 601, 602, 603]
    with pytest.raises(ValueError, match="horizon"):
        kalstream.Forecaster(learner, 0)
    with pytest.raises(ValueError, match="inputs of the next"):
        kalstream.Forecaster(kalstream.Learner("rls", inputs=2), 2).forecast()


def test_mistakes():
    with pytest.raises(ValueError, match="future=.*did you mean 'temp'"):
        kalstream.forecast(hourly(50), 2, target="load", learner="ar", future="temps")
    with pytest.raises(ValueError, match="periods"):
        kalstream.run(hourly(50), target="load", learner="ar", periods=[1])
    with pytest.raises(TypeError, match="data frame"):
        kalstream.forecast([1, 2, 3], 2)


def test_the_program_says_the_same(program, tmp_path):
    data = hourly(200)
    data.to_csv(tmp_path / "load.csv")
    text = program("forecast", tmp_path / "load.csv", "--target", "load", "--horizon", "3", "--learner", "ar", "--csv", "-")
    lines = list(csv.reader(io.StringIO(text)))
    assert lines[0] == ["lead", "time", "forecast", "forecast_low", "forecast_high"]
    with pytest.warns(UserWarning):
        result = kalstream.forecast(data, 3, target="load", learner="ar")
    assert [float(line[2]) for line in lines[1:]] == result["forecast"].tolist()
    assert lines[1][1] == str(result.index[0])
