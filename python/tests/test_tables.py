"""Whole streams by column name: data frames, dicts and files."""

import gzip
import json
import pathlib

import numpy as np
import pytest

import kalstream
from kalstream import Learner

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "tests/corpus"


def table(rows=60):
    X, y = kalstream.generate("friedman", rows)
    return {**{f"x{k}": X[:, k] for k in range(X.shape[1])}, "load": y}


def test_columns_are_those_of_arrays():
    X, y = kalstream.generate("friedman", 60)
    by_name, by_place = kalstream.run(table(), learner="rls"), kalstream.run(X, y, "rls")
    assert (by_name.predictions == by_place.predictions).all()
    assert by_name.nse == by_place.nse and by_name.target_names == ["load"] and by_name.time is None
    assert by_name.input_names == [f"x{k}" for k in range(10)]
    assert by_place.learner.schema is None


def test_another_order_goes_on():
    data = table(90)
    learner = Learner("rls", inputs=10)
    learner.run({name: values[:50] for name, values in data.items()})
    rest = {name: data[name][50:] for name in reversed(data)}
    whole = kalstream.run(data, learner="rls")
    assert (learner.run(rest).predictions == whole.predictions[50:]).all()
    del rest["x3"]
    with pytest.raises(kalstream.DataError, match='has "x3", which this stream lacks; it has "load"'):
        learner.run(rest)
    with pytest.raises(ValueError, match="the fields are|X has 1 columns"):
        Learner("rls", inputs=2).run({"a": [1.0, 2.0], "b": [1.0, 2.0]})


def test_targets_and_inputs_are_chosen():
    data = table()
    run = kalstream.run(data, learner="rls", target=["x1", "load"], inputs=["x2", "x0"])
    assert run.target_names == ["x1", "load"] and run.input_names == ["x2", "x0"]
    assert run.predictions.shape == (60, 2)
    assert kalstream.run(data, learner="ar", target="load", inputs=[]).input_names == []
    with pytest.raises(kalstream.DataError, match="did you mean 'load'"):
        kalstream.run(data, target="laod")
    with pytest.raises(TypeError, match="an array has none"):
        kalstream.run(np.zeros((3, 1)), np.zeros(3), target="a")
    with pytest.raises(TypeError, match="y: the targets are missing"):
        kalstream.run(np.zeros((3, 1)))
    with pytest.raises(ValueError, match="the column"):
        kalstream.run({"a": [1.0, 2.0], "b": [1.0]})


def test_text_is_left_out_and_named():
    data = {"note": ["a", "b", None, "d"], "temp": [1, 2, None, 4], "flag": [True, False, True, True], "load": [1.0, 2, 3, 4]}
    run = kalstream.run(data, learner="rls")
    assert run.remarks == ['left out: "note" (text)'] and run.input_names == ["temp", "flag"]
    assert run.skipped_rows == 1 and run.held == 0
    held = kalstream.run(data, learner="rls", missing="hold")
    assert held.skipped_rows == 0 and held.held == 1
    with pytest.raises(kalstream.DataError, match="row:3: 'x' in \"temp\" is not a number"):
        kalstream.run({"temp": [1, 2, "x"], "load": [1, 2, 3]})


def test_scores():
    data = table()
    run = kalstream.run(data, learner="rls", target=["x9", "load"], horizon=3, keep_forecasts=True, future=True)
    errors = run.y[1:] - run.predictions[1:]
    load = run.targets["load"]
    assert load.mae == pytest.approx(np.abs(errors[:, 1]).mean())
    assert load.rmse == pytest.approx(np.sqrt((errors[:, 1] ** 2).mean()))
    assert run.mae == pytest.approx(np.abs(errors).mean()) and 0 <= load.coverage <= 1 and load.width > 0
    assert run.forecasts.shape == (60, 3, 2) and run.forecast_low.shape == (60, 3, 2)
    assert np.isfinite(run.forecasts).all()  # at the end inputs are held
    assert any("not known for all of the horizon" in remark for remark in run.remarks)
    assert kalstream.run(data, learner="rls", interval=None).low is None
    assert kalstream.run(data, learner="rls", interval=0.5).learner.coverage == 0.5
    assert len(kalstream.run(data, learner="rls", steps=20).predictions) == 20
    with pytest.raises(ValueError, match="missing: learn, refuse or hold"):
        kalstream.run(data, missing="drop")


def states(rows=60):
    """Classes by site, which each site meets in another order; some are missing."""
    names = {"north": ("run", "idle", "fault"), "south": ("idle", "run", "fault")}
    rows = [(site, t) for t in range(rows) for site in names]
    return {
        "site": [site for site, _ in rows],
        "heat": [float(t % 3) + 0.1 * (t % 7) for _, t in rows],
        "state": [None if t % 11 == 5 else names[site][t % 3] for site, t in rows],
    }


def test_classes():
    data = states()
    run = kalstream.run(data, target="state", inputs=["heat"], learner="ekf")
    assert run.classes == ["run", "idle", "fault"] and run.probabilities.shape == (120, 3)
    assert np.allclose(np.nansum(run.probabilities[30:], axis=1), 1)
    assert (run.predictions[30:] == np.array(run.classes)[run.probabilities[30:].argmax(axis=1)]).all()
    assert [name or "" for name in data["state"]] == run.y.tolist() and run.missing_targets == 10
    assert run.log_loss == run.class_scores["log_loss"] > 0 and len(run.reliability) == 10
    assert run.learner is None and np.isnan(run.nse) and "log loss" in repr(run) and "log loss" in run._repr_html_()
    with pytest.raises(ValueError, match="learning curve is of targets that are numbers"):
        run.learning_curve()
    with pytest.raises(kalstream.DataError, match='horizon is for targets that are numbers, and "state" is a class'):
        kalstream.run(data, target="state", horizon=2)
    with pytest.raises(ValueError, match="cannot tell classes"):
        kalstream.run(data, target="state", learner="naive")
    numbers = {**data, "state": [t % 2 for t in range(120)]}
    assert kalstream.run(numbers, target="state", task="classify", learner="ekf").classes == ["0", "1"]
    table = kalstream.compare(["ekf", "adam"], data, target="state", seeds=2)
    assert table.best == min(table.summary, key=lambda row: row["log_loss_mean"])["learner"]
    assert "log loss" in repr(table) and "log loss" in table._repr_html_()
    many = kalstream.run_many(data, key="site", target="state", learner="ekf")
    alone = kalstream.run({name: values[::2] for name, values in data.items() if name != "site"}, target="state", learner="ekf")
    assert np.array_equal(many["north"].probabilities, alone.probabilities, equal_nan=True)


def test_keys():
    data = {**table(90), "site": [f"s{t % 3}" for t in range(90)]}
    options = {"target": "load", "learner": "rls", "horizon": 2}
    run, apart = kalstream.run(data, key="site", **options), kalstream.run_many(data, key="site", **options)
    assert run.key_name == "site" and run.keys.tolist() == data["site"] and run.learner is None
    for site, alone in apart.items():
        those = run.keys == site
        assert np.array_equal(run.predictions[those], alone.predictions)
        assert np.array_equal(run.low[those], alone.low, equal_nan=True)
        scores = run.by_key[site]
        assert (scores["rows"], scores["scored"]) == (30, alone.scored)
        assert [scores["nse"], scores["rmse"], scores["mae"]] == pytest.approx([alone.nse, alone.rmse, alone.mae])
    assert list(run.by_key) == ["s0", "s1", "s2"] and "90 rows of 3 keys" in repr(run)
    assert 0 < kalstream.run(states(), key="site", target="state", learner="ekf").by_key["south"]["accuracy"] <= 1
    with pytest.raises(kalstream.DataError, match="stie"):
        kalstream.run(data, key="stie")
    with pytest.raises(TypeError, match="an array has none"):
        kalstream.run(np.zeros((3, 1)), np.zeros(3), key="a")
    with pytest.raises(ValueError, match="use kalstream.run"):
        Learner("rls", inputs=10).run(data, key="site")


def test_late_targets(tmp_path):
    rows = [{"id": t, "x": np.sin(0.3 * t)} for t in range(40)]
    lines = []
    for t, row in enumerate(rows):
        lines += [row] + [{"id": t - 2, "target": 3 * rows[t - 2]["x"]}] * (t >= 2)
    (tmp_path / "late.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    run = kalstream.run(tmp_path / "late.jsonl", learner="rls", inputs="x")
    assert run.labels == 38 and run.late_labels == 0 and np.isnan(run.y).sum() == 2
    data = {"x": [row["x"] for row in rows], "load": [3 * row["x"] for row in rows]}
    assert (kalstream.run(data, learner="rls", delay=2).predictions[:39] == run.predictions[:39]).all()
    assert kalstream.run(tmp_path / "late.jsonl", learner="rls", inputs="x", max_delay=1).late_labels == 38
    renamed = [{("name" if key == "id" else key): value for key, value in line.items()} for line in lines]
    (tmp_path / "late.jsonl").write_text("".join(json.dumps(line) + "\n" for line in renamed))
    named = kalstream.run(tmp_path / "late.jsonl", learner="rls", inputs="x", id="name")
    assert (named.predictions == run.predictions).all()


def test_a_horizon_beyond_all_numbers():
    for horizon in (1001, 2**60, 2**64 - 1):
        with pytest.raises(ValueError, match="horizon: at most 1000"):
            kalstream.run(table(20), learner="rls", horizon=horizon)


def test_compare():
    data = table()
    names = kalstream.compare(["rls", "mean"], data, target="load", interval=0.9)
    assert names.best == "rls" and names.summary[0]["rmse_mean"] == names["rls"][0].rmse
    assert names["rls"][0].target_names == ["load"] and np.isfinite(names.summary[0]["coverage"])


class TestPandas:
    @pytest.fixture(autouse=True)
    def pandas(self):
        self.pd = pytest.importorskip("pandas")

    def frame(self, rows=40):
        return self.pd.DataFrame(
            {
                "site": self.pd.Categorical(["north", "south"] * (rows // 2)),
                "temp": np.arange(rows) * 0.5,
                "count": self.pd.array([1, None] * (rows // 2), dtype="Int64"),
                "note": ["dry"] * rows,
                "load": np.arange(rows) * 2.0,
            },
            index=self.pd.date_range("2024-01-31 12:00", periods=rows, freq="h", name="when"),
        )

    def test_columns(self):
        frame = self.frame()
        run = kalstream.run(frame, learner="rls", category="site", missing="hold")
        assert run.remarks == ['left out: "note" (text)'] and run.target_names == ["load"]
        assert run.time_name == "when" and (run.time == frame.index.to_numpy()).all()
        assert run.learner.schema.inputs == ["site", "temp", "count"]
        table = run.to_frame()
        assert list(table) == ["load", "load prediction", "load low", "load high"]
        assert (table.index == frame.index).all() and table.index.name == "when"
        row = frame.iloc[5].drop("load")
        assert run.learner.predict(row[["count", "temp", "site", "note"]].fillna(1)).shape == (1,)

    def test_keys_and_classes_as_a_frame(self):
        data = kalstream.run(self.pd.DataFrame(states()), key="site", target="state", learner="ekf").to_frame()
        assert list(data)[:3] == ["site", "state", "state prediction"] and "state probability idle" in data

    def test_times_are_no_inputs(self):
        frame = self.frame().reset_index()
        run = kalstream.run(frame, learner="rls", inputs=None)
        assert "when" not in run.input_names and (run.time == frame["when"].to_numpy()).all()
        zoned = self.frame().tz_localize("Europe/Berlin")
        assert kalstream.run(zoned, learner="rls").time[0] == np.datetime64("2024-01-31T11:00")
        plain = kalstream.run(self.pd.DataFrame({"time": [0.0, 0.1, 0.2], "v": [1.0, 2.0, 3.0]}), learner="ar")
        assert plain.time.tolist() == [0.0, 0.1, 0.2] and plain.input_names == []

    def test_inputs_and_targets_in_two_tables(self):
        frame = self.frame()
        both = kalstream.run(frame, learner="rls", inputs=["temp"])
        apart = kalstream.run(frame[["temp"]], frame["load"], "rls")
        assert (both.predictions == apart.predictions).all() and apart.target_names == ["load"]
        values = kalstream.run(frame[["temp"]], frame["load"].to_numpy(), "rls")
        assert (values.predictions == apart.predictions).all() and values.target_names == ["target"]
        series = kalstream.run(None, frame[["temp", "load"]], "ar")
        assert series.target_names == ["temp", "load"]
        with pytest.raises(ValueError, match="X has 3 rows, y has 40"):
            kalstream.run(frame[["temp"]][:3], frame["load"].to_numpy())

    def test_a_frame_is_read_as_its_file(self, tmp_path):
        frame = self.frame()
        frame.to_csv(tmp_path / "frame.csv")
        file = kalstream.run(tmp_path / "frame.csv", learner="rls", category="site")
        run = kalstream.run(frame, learner="rls", category="site")
        assert np.array_equal(file.predictions, run.predictions, equal_nan=True)
        assert (file.time == run.time).all() and file.remarks == run.remarks
        assert file.learner.schema.inputs == run.learner.schema.inputs


def test_polars():
    polars = pytest.importorskip("polars")
    data = table()
    frame = polars.DataFrame(data).with_columns(polars.lit("a").alias("note"))
    run = kalstream.run(frame, target="load", learner="rls")
    assert (run.predictions == kalstream.run(data, learner="rls").predictions).all()
    assert run.remarks == ['left out: "note" (text)']


def test_files_are_run_as_by_the_program(program, tmp_path):
    path = tmp_path / "data.csv"
    data = table()
    rows = zip(*data.values())
    path.write_text(",".join(data) + "\n" + "".join(",".join(map(repr, map(float, row))) + "\n" for row in rows))
    arguments = [path, "--learner", "rls", "--interval", "0.8", "--horizon", "2", "--steps", "50"]
    run = kalstream.run(path, learner="rls", interval=0.8, horizon=2, steps=50)
    assert (program.predictions(*arguments)[:, 0] == run.predictions).all()
    result = json.loads(program("run", *arguments, "--quiet", "--json", "-"))["runs"][0]
    assert (result["nse"], result["knse"]) == (run.nse, run.knse)
    generated = kalstream.run("gen:friedman", learner="rls", steps=60)
    assert generated.learner.schema.targets == generated.target_names and generated.scored == 59
    with pytest.raises(FileNotFoundError):
        kalstream.run(tmp_path / "nothing.csv")
    (tmp_path / "damaged.csv.gz").write_bytes((CORPUS / "compressed.csv.gz").read_bytes()[:-9])
    with pytest.raises(kalstream.DataError, match="compressed and not complete"):
        kalstream.run(tmp_path / "damaged.csv.gz")


def test_compressed_files(tmp_path):
    lines = ["a,load\n", *(f"{t},{t % 7}\n" for t in range(200_000))]
    text = "".join(lines).encode()
    halves = text[: len(text) // 2], text[len(text) // 2 :]
    path = tmp_path / "two parts.csv.gz"
    path.write_bytes(b"".join(map(gzip.compress, halves)))
    assert kalstream.read_schema(path)["rows"] == 200_000
    path.write_bytes(gzip.compress(text)[:1000] + b"and so on")
    with pytest.raises(kalstream.DataError, match="is compressed and"):
        kalstream.read_schema(path)


def test_compressed_matrices(tmp_path):
    scipy_io = pytest.importorskip("scipy.io")
    X, y = kalstream.generate("friedman", 500)
    sets = {"input_set": X.T, "target_set": y[None, :]}
    scipy_io.savemat(tmp_path / "data.mat", sets, do_compression=True)
    run = kalstream.run(tmp_path / "data.mat", learner="rls")
    assert (run.predictions == kalstream.run(X, y, "rls").predictions).all()


def options_of(expected):
    """As the corpus writes them, for Python and for the program."""
    names = {"targets": "target", "categories": "category", "key": "key", "columns": "columns"}
    return {names[name]: value for name, value in expected.get("choice", {}).items()}


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.expected.json")), ids=lambda path: path.name[:-14])
def test_awkward_files(path):
    expected = json.loads(path.read_text())
    found = kalstream.read_schema(str(path)[: -len(".expected.json")], **options_of(expected))
    assert [{"name": f["name"], "role": f["role"]} for f in found["fields"]] == expected["fields"]
    for name in ("time_form", "rows"):
        assert found[name] == expected[name]
    assert found["format"] == (expected["format"] if expected["format"] in ("json", "delimited") else "table")
    if expected["format"] == "delimited":
        for name in ("delimiter", "decimal", "header"):
            assert found[name] == (None if expected[name] == "" else expected[name])
    assert found["labels"] == expected.get("labels", 0)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.expected.json")), ids=lambda path: path.name[:-14])
def test_awkward_files_as_the_program_reads_them(program, path):
    options = options_of(json.loads(path.read_text()))
    if "key" in options:
        pytest.skip("run and inspect know no keys")
    file = str(path)[: -len(".expected.json")]
    arguments = [part for name, value in options.items() for part in (f"--{name}", ",".join(value))]
    assert kalstream.read_schema(file, **options) == json.loads(program("inspect", file, *arguments, "--json"))
