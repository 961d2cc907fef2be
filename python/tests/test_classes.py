"""Classes by the program: its scores are those of the probabilities it wrote, by scikit-learn and plain sums."""

import csv
import io
import json
import math
import random
import subprocess

import numpy as np
import pytest

import kalstream

metrics = pytest.importorskip("sklearn.metrics")

SCORES = ("log_loss", "accuracy", "kappa", "auc", "f1", "calibration_error")


def states(rows):
    """Three states, noisy, and a fourth that comes late and is rare; some labels are missing."""
    chance = random.Random(5)
    for t in range(rows):
        speed, heat = 3000 * chance.random(), 20 + 60 * chance.random()
        state = "fault" if heat > 65 else "run" if speed > 900 else "idle"
        if chance.random() < 0.1:
            state = "run"
        if t > rows / 2 and chance.random() < 0.1:
            speed, state = -50 * chance.random(), "reverse"
        yield f"{speed:.1f},{heat:.1f},{'' if t % 17 == 3 else state}"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("classes") / "states.csv"
    path.write_text("\n".join(["speed,heat,state", *states(240)]) + "\n")
    return path


@pytest.fixture(scope="module")
def streamed(program, file):
    """(answers, scores of the summary, what was said at the end)."""
    summary = file.with_name("summary.json")
    command = [program.path, "stream", "--target", "state", "--answers", "jsonl", "--json", summary]
    with open(file) as lines:
        done = subprocess.run(command, stdin=lines, capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    return answers, json.loads(summary.read_text())["classes"], done.stderr


def area_under_curve(scored):
    """Mean over classes, one against the rest, of samples for which a class had a probability, in hundredths."""
    areas = []
    for name in {name for answer in scored for name in answer["given"]}:
        those = [answer for answer in scored if name in answer["given"]]
        came = [answer["target"] == name for answer in those]
        given = [math.floor(99 * answer["given"][name] + 0.5) for answer in those]
        if any(came) and not all(came):
            areas.append(metrics.roc_auc_score(came, given))
    return np.mean(areas)


def log_loss(scored):
    """A class that comes for the first time has 1/(n + 2)."""
    return np.mean([-math.log(answer["given"].get(answer["target"], 1 / (n + 2))) for n, answer in enumerate(scored)])


def calibration_error(scored):
    sure = np.array([answer["probabilities"][answer["prediction"]] for answer in scored])
    right = np.array([answer["prediction"] == answer["target"] for answer in scored])
    bins = np.minimum((sure * 10).astype(int), 9)
    return sum(abs((sure - right)[bins == k].sum()) for k in range(10)) / len(scored)


def transcribed(answers):
    """While one class alone is known, what it leaves is the second one's, whichever that will be."""
    second = list(dict.fromkeys(answer["target"] for answer in answers if "target" in answer))[1]
    scored = [answer for answer in answers if "target" in answer and answer["prediction"] is not None]
    for answer in scored:
        given = dict(answer["probabilities"])
        answer["given"] = given if len(given) > 1 else {**given, second: 1 - sum(given.values())}
    target, said = ([answer[field] for answer in scored] for field in ("target", "prediction"))
    return {
        "log_loss": log_loss(scored),
        "accuracy": metrics.accuracy_score(target, said),
        "kappa": metrics.cohen_kappa_score(target, said),
        "auc": area_under_curve(scored),
        "f1": metrics.f1_score(target, said, average="macro"),
        "calibration_error": calibration_error(scored),
    }


def test_scores_are_what_their_names_say(streamed):
    answers, scores, said = streamed
    expected = transcribed(answers)
    assert {name: scores[name] for name in SCORES} == pytest.approx(expected, abs=1e-9)
    assert 0.5 < expected["accuracy"] < 1 and len(answers[-1]["probabilities"]) == 4
    for name, score in (("log loss", "log_loss"), ("accuracy", "accuracy"), ("AUC", "auc"), ("F1", "f1")):
        assert float(said.split(name + " ")[1].split(",")[0]) == pytest.approx(expected[score], rel=1e-3)


def test_run_says_the_same(program, file, streamed):
    answers, scores, _ = streamed
    results, predictions = file.with_name("results.json"), file.with_name("predictions.csv")
    table = program("run", file, "--target", "state", "--json", results, "--csv", predictions)
    written = json.loads(results.read_text())["runs"][0]
    assert written["scores"] == scores
    shown = next(line.split() for line in table.splitlines() if line.startswith("auto"))
    assert [float(cell) for cell in shown[1:7]] == pytest.approx([scores[name] for name in SCORES], rel=1e-3)
    rows = list(csv.DictReader(io.StringIO(predictions.read_text())))
    assert [row["target"] for row in rows] == [answer.get("target", "") for answer in answers]
    assert [row["prediction"] for row in rows] == [answer["prediction"] or "" for answer in answers]
    top = [answer["probabilities"].get(answer["prediction"]) for answer in answers]
    assert [float(row["probability"]) if row["probability"] else None for row in rows] == top
    scored = sum(p is not None and "target" in answer for p, answer in zip(top, answers))
    assert sum(one["count"] for one in written["reliability"]) == scored


def test_anomalies_are_the_improbable_classes(program, file):
    results, predictions = file.with_name("alarms.json"), file.with_name("alarms.csv")
    program("run", file, "--target", "state", "--alarm-rate", "0.05", "--json", results, "--csv", predictions)
    rows = list(csv.DictReader(io.StringIO(predictions.read_text())))
    told = [k for k, row in enumerate(rows) if row["anomaly"] == "1"]
    assert len(told) == json.loads(results.read_text())["runs"][0]["anomalies"] > 0
    given = [float(row[f"probability_{row['target']}"] or 0) if row["target"] else 1 for row in rows]
    assert told == [k for k, row in enumerate(rows) if row["surprise"] and math.exp(-float(row["surprise"])) <= 0.05]
    assert all(given[k] <= 0.05 for k in told)
    run = kalstream.run(file, target="state", alarm_rate=0.05)
    assert run.anomalies.tolist() == told
