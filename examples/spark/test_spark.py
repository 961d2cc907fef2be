"""Spark's answers, across a stop and a restart, are those of a plain loop, to the bit."""

import json
import os
import pathlib
import random
import sys

import pytest

pytest.importorskip("pyspark", reason="PySpark is not installed; make test-engines installs it")
kalstream = pytest.importorskip("kalstream", reason="the Python package is not built; make python builds it")

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import models  # noqa: E402
from pyspark.sql import SparkSession  # noqa: E402

DEVICES, FILES, READINGS = 5, 6, 40


def write_readings(folder):
    """Files as a folder of a data lake has them, rows in any order."""
    source, offset = random.Random(1), 0
    everything = []
    for number in range(FILES):
        rows = []
        for _ in range(READINGS):
            temp, load = source.gauss(0, 1), source.gauss(0, 1)
            target = None if source.random() < 0.1 else temp * load
            rows.append({"device": f"d{source.randrange(DEVICES)}", "offset": offset, "temp": temp, "load": load,
                         "target": target})
            offset += 1
        everything += rows
        source.shuffle(shuffled := list(rows))
        (folder / f"{number}.json").write_text("".join(json.dumps(row) + "\n" for row in shuffled))
    return everything


def plain_loop(readings):
    learners = {}
    for reading in readings:
        model = learners.setdefault(
            reading["device"], kalstream.Learner("alg1", inputs=models.INPUTS, hidden=8, coverage=None))
        x = [reading[name] for name in models.INPUTS]
        yield reading["offset"], float(model.predict(x)[0])
        model.advance(x) if reading["target"] is None else model.learn(x, reading["target"])


@pytest.fixture(scope="module")
def spark():
    os.environ["PYSPARK_PYTHON"] = sys.executable  # not the first python3 there is
    session = (SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
               .config("spark.driver.bindAddress", "127.0.0.1").config("spark.driver.host", "127.0.0.1")
               .config("spark.sql.shuffle.partitions", "2").getOrCreate())
    session.sparkContext.setLogLevel("ERROR")
    session.sparkContext.addPyFile(models.__file__)
    yield session
    session.stop()


def run(spark, folder):
    """A query that starts, takes what is there, and stops; its next life goes on from the checkpoint."""
    stream = spark.readStream.schema(models.READING + ", offset long").option("maxFilesPerTrigger", 1)
    query = models.answers(stream.json(str(folder / "in"))).writeStream.format("json")
    query = query.option("checkpointLocation", str(folder / "checkpoint")).option("path", str(folder / "out"))
    running = query.trigger(availableNow=True).start()
    running.awaitTermination()
    assert running.exception() is None


def test_the_same_as_a_plain_loop(spark, tmp_path):
    later = tmp_path / "later"
    for name in ("in", "out", "later"):
        (tmp_path / name).mkdir()
    readings = write_readings(later)
    for half in (range(FILES // 2), range(FILES // 2, FILES)):
        for number in half:
            (later / f"{number}.json").rename(tmp_path / "in" / f"{number}.json")
        run(spark, tmp_path)
    found = spark.read.schema(models.ANSWER).json(str(tmp_path / "out")).collect()
    assert sorted((row.offset, row.prediction) for row in found) == sorted(plain_loop(readings))
