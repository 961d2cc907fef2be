"""The same lines through `run`, `stream`, the library for C and Python: the same numbers, to the bit."""

import csv
import ctypes
import datetime
import io
import json
import math
import pathlib
import subprocess

import numpy as np
import pytest

import kalstream

CORPUS = pathlib.Path(__file__).resolve().parents[2] / "tests/corpus"
SETTINGS = {"learner": "rls", "lags": 2, "interval": 0.8, "surprise": True, "horizon": 2, "missing": "hold"}
OF_CLASSES = {"learner": "auto", "missing": "hold"}


def hourly(rows, key=None):
    """Loads of hours, some of which are missing, late or come twice; now and then the temperature is."""
    skipped = {40, 41, 42, 90}
    lines = [",".join(["time", *(["site"] if key else []), "temp", "load"])]
    hours = [h for h in range(rows) if h not in skipped]
    hours.insert(60, hours[59])
    hours.insert(80, hours[70])
    for h in hours:
        for site in key or [None]:
            phase = len(site) if site else 0
            temp = "" if h % 11 == 5 else f"{10 + 5 * math.sin(0.26 * h + phase):.3f}"
            load = "" if h % 13 == 7 else f"{100 + 20 * math.sin(0.26 * h + phase) + 3 * math.sin(1.3 * h):.3f}"
            lines.append(",".join([f"2024-03-{1 + h // 24:02d}T{h % 24:02d}:00:00", *([site] if site else []), temp, load]))
    return "\n".join(lines) + "\n"


def late_labels(rows, keys):
    """Targets that come two samples late, by id."""
    lines = []
    for t in range(rows):
        for key in keys:
            x = math.sin(0.3 * t + len(key))
            lines.append(json.dumps({"site": key, "id": t, "x": round(x, 4)}))
            if t >= 2:
                past = math.sin(0.3 * (t - 2) + len(key))
                lines.append(json.dumps({"site": key, "id": t - 2, "target": round(3 * past + 1, 4)}))
    return "\n".join(lines) + "\n"


def colours(rows):
    """Classes of two models that come in another order to each."""
    lines = ["site,a,colour"]
    for t in range(rows):
        for site, names in (("north", ("red", "green", "blue")), ("south", ("blue", "red", "green"))):
            lines.append(f"{site},{math.sin(0.7 * t):.3f},{names[t % 3] if t % 9 != 5 else ''}")
    return "\n".join(lines) + "\n"


def made_up():
    return {
        "hourly.csv": (hourly(140), {**SETTINGS, "target": ["load"]}),
        "keyed.csv": (hourly(110, ["a", "bb"]), {**SETTINGS, "target": ["load"], "key": "site"}),
        "late.jsonl": (late_labels(60, ["a"]), {**SETTINGS, "inputs": ["x"]}),
        "late_keyed.jsonl": (late_labels(60, ["a", "bb"]), {**SETTINGS, "inputs": ["x"], "key": "site"}),
        "classes.csv": (colours(60), {**OF_CLASSES, "target": ["colour"], "key": "site"}),
    }


def awkward():
    """Files of the corpus that lines of a stream can be."""
    for expected in sorted(CORPUS.glob("*.expected.json")):
        described = json.loads(expected.read_text())
        choice = described.get("choice", {})
        file = expected.with_name(expected.name.removesuffix(".expected.json"))
        is_lines = described["format"] in ("delimited", "json") and file.suffix != ".gz"
        if is_lines and file.name != "lines_in_quotes.csv" and "columns" not in choice:
            names = {"targets": "target", "categories": "category", "key": "key"}
            yield file, {**SETTINGS, **{names[name]: value for name, value in choice.items() if name in names}}


def options(settings):
    for name, value in settings.items():
        yield f"--{name}"
        if value is not True:
            yield ",".join(value) if isinstance(value, list) else str(value)


class Library:
    """Streams of the library for C."""

    def __init__(self, path):
        self.c = ctypes.CDLL(str(path))
        self.c.kalstream_error.restype = ctypes.c_char_p

    def answers(self, settings, lines):
        stream, text, length = ctypes.c_void_p(), ctypes.c_char_p(), ctypes.c_size_t()
        # KALSTREAM_JSON
        assert self.c.kalstream_stream_new(json.dumps(settings).encode(), 1, ctypes.byref(stream)) == 0, self.c.kalstream_error()
        for line in lines:
            code = self.c.kalstream_stream_take(
                stream, line, ctypes.c_size_t(len(line)), ctypes.byref(text), ctypes.byref(length)
            )
            assert code == 0, self.c.kalstream_error()
            if text.value is not None:
                yield text.value.decode()
        self.c.kalstream_stream_free(stream)


@pytest.fixture(scope="module")
def library(program):
    path = pathlib.Path(program.path).with_name("libkalstream.so")
    if not path.exists():
        pytest.skip(f"{path} is not built")
    return Library(path)


def number(text):
    return None if text == "" else float(text)


def same_as_answers(rows, answers, horizon):
    """What `run` wrote of the rows that were taken, beside what a stream answered to them."""
    taken = [a for a in answers if a["status"] in ("predicted", "learnt") and a["prediction"] is not None]
    said = [row for row in rows if any(row[name] for name in row if name.startswith("prediction"))]
    assert len(said) == len(taken) > 0
    for row, answer in zip(said, taken):
        if "probabilities" in answer:
            assert (row["prediction"] or None) == answer["prediction"]
            given = {name[len("probability_") :]: number(row[name]) for name in row if name.startswith("probability_")}
            assert {name: p for name, p in given.items() if p is not None} == answer["probabilities"]
            continue
        if isinstance(answer["prediction"], list):
            continue  # several targets: the columns have names, which another test reads
        assert number(row["prediction"]) == answer["prediction"]
        assert [number(row["prediction_low"]), number(row["prediction_high"])] == answer["interval"]
        if answer["status"] == "learnt":
            assert number(row["surprise"]) == answer["surprise"]
        for lead in range(1, horizon + 1):
            assert number(row[f"forecast_{lead}"]) == answer["forecast"][lead - 1]
            bounds = [number(row[f"forecast_{lead}_low"]), number(row[f"forecast_{lead}_high"])]
            assert bounds == answer["forecast_interval"][lead - 1]


def check(program, library, file, settings):
    with open(file, "rb") as lines:
        streamed = subprocess.run(
            [program.path, "stream", "--answers", "jsonl", "--quiet", *options(settings)],
            stdin=lines, capture_output=True, text=True,
        )  # fmt: skip
    ran = subprocess.run(
        [program.path, "run", str(file), "--quiet", "--csv", "-", *options(settings)], capture_output=True, text=True
    )
    if streamed.returncode != 0 or ran.returncode != 0:
        return False  # a line that cannot be read ends a file; too few rows to learn from
    answers = [json.loads(line) for line in streamed.stdout.splitlines()]
    rows = list(csv.DictReader(io.StringIO(ran.stdout)))
    same_as_answers(rows, answers, settings.get("horizon", 0))
    by_c = [json.loads(line) for line in library.answers(settings, file.read_bytes().splitlines(keepends=True))]
    refused = [k for k, answer in enumerate(answers) if answer["status"] == "refused"]
    for k in refused:  # a place is told by who knows it
        answers[k].pop("error"), by_c[k].pop("error")
    assert by_c == answers
    return True


@pytest.mark.parametrize("name", made_up())
def test_made_up_streams(program, library, tmp_path, name):
    text, settings = made_up()[name]
    file = tmp_path / name
    file.write_text(text)
    assert check(program, library, file, settings)
    chosen = {name: settings[name] for name in ("target", "inputs", "key", "learner", "missing") if name in settings}
    numbers = {"lags": 2, "interval": 0.8, "surprise": True, "horizon": 2, "keep_forecasts": True}
    run = kalstream.run(file, **chosen, **({} if name == "classes.csv" else numbers))
    rows = list(csv.DictReader(io.StringIO(program("run", file, "--quiet", "--csv", "-", *options(settings)))))
    if "key" in settings:
        assert run.keys.tolist() == [row["key"] for row in rows]
    if name == "classes.csv":
        assert run.y.tolist() == [row["target"] for row in rows]
        assert run.predictions.tolist() == [row["prediction"] for row in rows]
        columns = [f"probability_{one}" for one in run.classes]
        held = run.probabilities
        scores = json.loads(program("run", file, "--quiet", "--json", "-", *options(settings)))["runs"][0]["scores"]
        assert run.class_scores == scores
    else:
        columns = ["prediction", "prediction_low", "prediction_high", "surprise", "forecast_2", "forecast_2_high"]
        ahead = run.forecasts[:, 1], run.forecast_high[:, 1]
        held = np.column_stack([run.predictions, run.low, run.high, run.surprise, *ahead])
    numbers = [[math.nan if row[c] == "" else float(row[c]) for c in columns] for row in rows]
    assert np.array_equal(held, numbers, equal_nan=True)


@pytest.mark.parametrize("name", made_up())
def test_a_stream_in_python(program, name):
    text, settings = made_up()[name]
    lines = text.splitlines(keepends=True)
    streamed = subprocess.run(
        [program.path, "stream", "--quiet", *options(settings)], input=text, capture_output=True, text=True, check=True
    ).stdout
    first = kalstream.Stream(**settings)
    answers = [first.take(line) for line in lines[:60]]
    second = kalstream.Stream(**settings)
    second.resume(first.checkpoint())
    answers += [second.take(line) for line in lines[60:]]
    assert "".join(answer + "\n" for answer in answers if answer is not None) == streamed
    assert second.status()["records"] > 60


def test_records_of_python():
    stream = kalstream.Stream(target="y", learner="rls")
    answer = stream.take({"x": np.float32(0.5), "y": None, "when": datetime.date(2024, 1, 31)})
    assert answer["status"] == "predicted" and answer["time"] == "2024-01-31"
    assert stream.take({"x": "warm", "y": 1, "when": "2024-02-01"})["status"] == "refused"
    assert [field["role"] for field in stream.schema()["fields"]] == ["input", "target", "time"]
    assert stream.state_of() and not stream.take_remarks()
    with pytest.raises(ValueError, match="did you mean 'learner'"):
        kalstream.Stream(lerner="rls")


def test_awkward_files(program, library):
    done = [file.name for file, settings in awkward() if check(program, library, file, settings)]
    assert len(done) >= 30, done
