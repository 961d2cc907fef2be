"""Strangeness, alarms and what people say of them."""

import numpy as np
import pytest

import kalstream


def series(rows: int = 1000) -> np.ndarray:
    y = np.random.default_rng(4).normal(size=rows)
    y[700:760] += 15
    return y


def test_a_run_tells_its_alarms() -> None:
    plain = kalstream.run(None, series(), "mean")
    assert plain.strangeness is None and plain.alarms == []
    run = kalstream.run(None, series(), "mean", strangeness=True)
    assert np.array_equal(run.predictions, plain.predictions)
    assert run.strangeness.shape == run.surprise.shape == (1000,)
    assert run.strangeness[700] >= 1
    found = [alarm for alarm in run.alarms if alarm.start == 700]
    assert len(found) == 1
    assert found[0].kind == "level" and 760 <= found[0].end <= 800 and found[0].severity >= 1
    assert found[0].value > 12
    assert "strangeness" in run.to_frame().columns[-1] and "alarms" in repr(run)


def test_limits() -> None:
    run = kalstream.run(None, np.array([1.0, 2, 91, 92, *[3] * 20, -4]), "mean", alarm_above=90, alarm_below=-3)
    assert run.strangeness is None
    assert [(a.kind, a.start, a.end) for a in run.alarms] == [("above", 2, 4), ("below", 24, None)]
    with pytest.raises(ValueError):
        kalstream.run(None, np.arange(20.0), "naive", alarm_above=float("nan"))


def test_alarms_of_a_stream_can_be_judged() -> None:
    stream = kalstream.Stream(target="y", key="pump", learner="mean", strangeness=True)
    for y in series(690):
        stream.take({"pump": "a", "y": float(y)})
    assert stream.take({"pump": "a", "y": 30.0})["alarm"]["event"] == "start"
    stream.judge_alarm(False, key="a")
    with pytest.raises(ValueError):
        stream.judge_alarm(True, key="b")
    with pytest.raises(ValueError):
        kalstream.Stream(target="y", learner="mean").judge_alarm(True)
