"""Samples by name: dicts and rows of data frames, one at a time."""

import pickle
import subprocess

import numpy as np
import pytest

import kalstream
from kalstream import Learner

ROWS = [({"temp": 20 + 0.1 * t, "load": 0.3 + 0.01 * (t % 7)}, 2.0 * t) for t in range(30)]


def taught(name="rls", rows=ROWS, **options):
    learner = Learner(name, inputs=2, **options)
    for x, y in rows:
        learner.learn(x, y)
    return learner


def test_names_stand_for_the_order_of_the_first_sample():
    by_name, by_place = taught(), Learner("rls", inputs=2)
    for x, y in ROWS:
        by_place.learn(list(x.values()), y)
    swapped = {"load": 0.35, "temp": 21.5}
    assert by_name.predict(swapped) == by_place.predict([21.5, 0.35])
    assert by_name.predict([21.5, 0.35]) == by_place.predict([21.5, 0.35])
    assert by_name.interval(swapped) == by_place.interval([21.5, 0.35])
    assert by_name.learn(swapped, 3).status == by_place.learn([21.5, 0.35], 3).status
    by_name.advance(swapped)
    by_place.advance([21.5, 0.35])
    ahead = by_name.forecast(2, {"load": [0.3, 0.4], "temp": [20, 21]})
    assert (ahead == by_place.forecast(2, [[20, 0.3], [21, 0.4]])).all()
    assert (by_name.forecast(1, swapped) == by_place.forecast(1, [[21.5, 0.35]])).all()
    assert (by_name.predict_many({"load": [0.3], "temp": [20]}) == by_place.predict([20, 0.3])).all()


def test_schema():
    learner = Learner("rls", inputs=2)
    assert learner.schema is None
    learner.predict({"temp": 1, "load": 2})
    assert [(f.name, f.role) for f in learner.schema.fields] == [
        ("temp", "input"),
        ("load", "input"),
        ("target", "target"),
    ]
    learner.learn({"load": 2, "temp": 1}, {"power": 3.0})
    assert learner.schema.inputs == ["temp", "load"] and learner.schema.targets == ["power"]
    assert repr(learner.schema) == "Schema(temp: input, load: input, power: target)"


@pytest.mark.parametrize(
    "x, says",
    [
        ({"temp": 1}, '"load" is missing; the learner has "temp", "load", given: "temp"'),
        ({"temp": 1, "laod": 2}, "did you mean 'load'?"),
        ({"temp": 1, "load": 2, "wind": 3}, '"wind" is not known; the learner has "temp", "load"'),
        ({"temp": "warm", "load": 2}, "'warm' in \"temp\" is not a number"),
        ({}, '"temp", "load" are missing'),
    ],
)
def test_other_names_are_refused(x, says):
    learner = taught()
    before = learner.save()
    for call in (learner.predict, learner.interval, learner.advance, lambda x: learner.learn(x, 1.0)):
        with pytest.raises(ValueError) as raised:
            call(x)
        assert says in str(raised.value)
    assert learner.save() == before


def test_names_of_targets():
    learner = Learner("rls", inputs=["a"], outputs=["north", "south"])
    for t in range(20):
        learner.learn({"a": t}, {"south": 10.0 * t, "north": 1.0 * t})
    north, south = learner.predict({"a": 20})
    assert south > 5 * north
    with pytest.raises(ValueError, match='"south" is missing; the learner has "north", "south"'):
        learner.learn({"a": 1}, {"north": 1, "soth": 2})
    with pytest.raises(TypeError, match="inputs: names expected"):
        Learner("rls", inputs=1, outputs=["a"])
    with pytest.raises(ValueError, match="is there twice"):
        Learner("rls", inputs=["a", "a"])
    with pytest.raises(ValueError, match="x has none"):
        Learner("rls", inputs=1).learn([1], {"a": 1})


def test_a_row_may_have_its_target():
    learner = Learner("rls", inputs=2)
    for x, y in ROWS:
        learner.learn({**x, "power": y})
    assert learner.schema.targets == ["power"]
    assert learner.predict(ROWS[3][0]) == taught().predict(ROWS[3][0])
    with pytest.raises(ValueError, match="the target is missing"):
        learner.learn({**ROWS[0][0], "power": None})


def test_a_series_by_name():
    learner = Learner("naive", inputs=0)
    learner.learn(None, {"load": 3})
    assert learner.predict() == 3 and learner.schema.targets == ["load"]


def test_values_of_any_kind():
    learner = taught()
    expected = learner.predict({"temp": 21.0, "load": 1.0})
    for one in (1, True, np.float32(1), np.int64(1), np.True_, "1"):
        assert learner.predict({"temp": 21, "load": one}) == expected
    for nothing in (None, float("nan"), np.inf, "", "NA"):
        assert np.isnan(learner.predict({"temp": 21, "load": nothing}))
        assert learner.advance({"temp": 21, "load": nothing}).rejected_input


def test_rows_of_pandas():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([x for x, _ in ROWS])
    learner = Learner("rls", inputs=2)
    for (_, row), (_, y) in zip(frame.iterrows(), ROWS):
        learner.learn(row, y)
    assert learner.schema.inputs == ["temp", "load"]
    assert learner.predict(frame.iloc[0][["load", "temp"]]) == taught().predict(ROWS[0][0])
    assert (learner.predict_many(frame[["load", "temp"]]) == learner.predict_many(frame.to_numpy())).all()
    assert np.isnan(learner.predict({"temp": pandas.NA, "load": pandas.NaT}))
    plain = Learner("rls", inputs=2)  # no names, but places
    plain.learn(pandas.Series([1.0, 2.0]), 1)
    assert plain.schema is None


def test_categories():
    table = {"weather": ["rain", "fine"] * 30, "temp": np.arange(60.0), "load": [5.0, 1.0] * 30}
    learner = kalstream.run(table, learner="rls", category="weather").learner
    assert learner.schema.fields[0].values == ["rain", "fine"]
    before = learner.save()
    rain, fine, snow = (learner.predict({"temp": 60, "weather": w})[0] for w in ("rain", "fine", "snow"))
    assert rain > fine and snow == snow
    assert learner.save() == before  # a prediction leaves no trace, nor does its category
    learner.learn({"weather": "snow", "temp": 60}, 3.0)
    assert learner.schema.fields[0].values == ["rain", "fine", "snow"]


def test_names_are_kept(tmp_path):
    learner = taught()
    path = tmp_path / "learnt.kal"
    learner.save(path)
    copies = [learner.copy(), pickle.loads(pickle.dumps(learner)), Learner.load(path), Learner.load(learner.save())]
    for other in copies:
        assert other.schema.inputs == ["temp", "load"]
        assert other.predict({"load": 0.3, "temp": 20}) == learner.predict([20, 0.3])
        with pytest.raises(ValueError, match="did you mean 'temp'"):
            other.predict({"load": 0.3, "tmep": 20})


def test_the_program_goes_on_by_name(program, tmp_path):
    learner = Learner("rls", inputs=["temp", "load"], outputs="power")
    for x, y in ROWS:
        learner.learn(x, y)
    learner.save(tmp_path / "learnt.kal")
    data = tmp_path / "more.csv"
    data.write_text("power,load,temp\n5,0.3,20\n6,0.4,21\n")
    predictions = program.predictions(data, "--start", tmp_path / "learnt.kal")
    assert predictions[0] == learner.predict([20, 0.3])


def test_checkpoints_of_streams(program, tmp_path):
    lines = [f'{{"temp": {x["temp"]}, "load": {x["load"]}, "target": {y}}}\n' for x, y in ROWS]
    state = tmp_path / "state.kal"
    subprocess.run(
        [program.path, "stream", "--learner", "rls", "--checkpoint", state, "--quiet"],
        input="".join(lines), text=True, check=True, capture_output=True,
    )
    for source in (state, state.read_bytes()):
        learner = Learner.load(source)
        assert learner.samples == len(ROWS) and learner.schema.inputs == ["temp", "load"]
        assert learner.predict({"load": 0.3, "temp": 20}) == taught().predict([20, 0.3])
    spoilt = bytearray(state.read_bytes())
    spoilt[len(spoilt) // 2] ^= 1
    with pytest.raises(kalstream.SnapshotError):
        Learner.load(bytes(spoilt))
