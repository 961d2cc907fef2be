"""The same numbers as the command line, to the last bit, and the same files."""

import json

import numpy as np
import pytest

import kalstream
from kalstream import Learner

STREAM = "gen:friedman?drift=abrupt&period=100"


def stream(rows):
    return kalstream.generate("friedman", rows, drift="abrupt", period=100)


@pytest.mark.parametrize("name", kalstream.learners())
def test_predictions(program, name):
    X, y = stream(200)
    run = kalstream.run(X, y, name, seed=3)
    cli = program.predictions(
        "--data", STREAM, "--steps", 200, "--learner", name, "--seeds", "3..3"
    )
    assert (cli[:, 0] == run.predictions).all()


def test_settings_and_forecasts(program):
    X, y = stream(150)
    run = kalstream.run(
        X, y, "alg2", scale=False, horizon=3, hidden=6, lags=2, noise_floor=0.3, error_bounds=[0.1, 0.3]
    )
    arguments = ["--data", STREAM, "--steps", 150, "--learner", "alg2", "--horizon", 3, "--lags", 2, "--unscaled"]
    arguments += ["--set", "hidden=6", "noise_floor=0.3", "error_bounds=0.1,0.3"]
    assert (program.predictions(*arguments)[:, 0] == run.predictions).all()
    result = json.loads(program("run", *arguments, "--quiet", "--json", "-"))["runs"][0]
    assert (result["nse"], result["update_fraction"]) == (run.nse, run.update_fraction)
    # forecasts at the end look beyond the rows of an array, not of a generator
    assert result["knse"] == pytest.approx(run.knse, rel=0.1)


@pytest.mark.parametrize("preset", ["paper:kin8nm", "authors:kin8nm"])
def test_presets(program, preset):
    X, y = kalstream.generate("kin-like", 120)
    run = kalstream.run(X, y, "alg2", scale=False, preset=preset, warm_up=9)
    cli = program.predictions(
        "--data", "gen:kin-like", "--steps", 120, "--learner", "alg2", "--preset", preset
    )
    assert (cli[9:, 0] == run.predictions[9:]).all()


def test_streams(program, tmp_path):
    for name in kalstream.generators():
        path = tmp_path / "stream.csv"
        program("generate", name, "--rows", 50, "--out", path)
        X, y = kalstream.generate(name, 50)
        assert (np.loadtxt(path, delimiter=",", skiprows=1) == np.column_stack([X, y])).all()


@pytest.mark.parametrize("name", ["auto", "alg2", "ekf", "adam", "ar", "mean"])
def test_snapshots_cross_both_ways(program, tmp_path, name):
    X, y = stream(120)
    whole = kalstream.run(X, y, name).predictions
    head, tail = tmp_path / "head.csv", tmp_path / "tail.csv"
    for path, rows in ((head, slice(0, 60)), (tail, slice(60, 120))):
        np.savetxt(path, np.column_stack([X, y])[rows], delimiter=",", fmt="%.17g")

    python, shell = tmp_path / "python.kal", tmp_path / "shell.kal"
    learner = Learner(name, inputs=10)
    learner.run(X[:60], y[:60])
    learner.save(python)
    assert (program.predictions("--data", tail, "--resume", python)[:, 0] == whole[60:]).all()

    program("run", "--data", head, "--learner", name, "--save", shell, "--quiet")
    resumed = Learner.load(shell)
    assert resumed.samples == 60
    assert (resumed.run(X[60:], y[60:]).predictions == whole[60:]).all()


def test_inspect_reads_a_snapshot_of_python(program, tmp_path):
    path = tmp_path / "learnt.kal"
    Learner("ekf", inputs=3, hidden=5).save(path)
    assert "hidden" in program("inspect", path)


def test_names_and_options_are_those_of_the_program(program):
    for name in kalstream.learners():
        shown = program("inspect", "--learner", name)
        for key in kalstream.options(name):
            assert key in shown


def test_version(program):
    assert kalstream.__version__ in program("--version")
