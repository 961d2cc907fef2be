"""Quix's answers on a real broker, across a kill -9 and a restart with an empty disk, are those of a plain loop."""

import json
import pathlib
import random
import sys

import pytest

pytest.importorskip("quixstreams", reason="Quix Streams is not installed; make test-engines installs it")
pytest.importorskip("confluent_kafka", reason="confluent-kafka is not installed; make test-engines installs it")
kalstream = pytest.importorskip("kalstream", reason="the Python package is not built; make python builds it")

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "kafka"))
import topics  # noqa: E402
from broker import Broker  # noqa: E402
from processes import spawn, wait_for  # noqa: E402

INPUTS = ["temp", "load"]
DEVICES, READINGS = 5, 400


def readings():
    source = random.Random(1)
    for number in range(READINGS):
        temp, load = source.gauss(0, 1), source.gauss(0, 1)
        target = None if source.random() < 0.1 else temp * load
        yield {"device": f"d{source.randrange(DEVICES)}", "id": number, "temp": temp, "load": load, "target": target}


def plain_loop():
    learners = {}
    for reading in readings():
        model = learners.setdefault(
            reading["device"], kalstream.Learner("alg1", inputs=INPUTS, hidden=8, coverage=None))
        x = [reading[name] for name in INPUTS]
        yield {"device": reading["device"], "id": reading["id"], "prediction": float(model.predict(x)[0])}
        model.advance(x) if reading["target"] is None else model.learn(x, reading["target"])


def test_the_same_as_a_plain_loop(tmp_path):
    with Broker() as broker:
        broker.create("readings", 2)
        broker.create("answers", 2)
        records = [(reading["device"].encode(), json.dumps(reading).encode()) for reading in readings()]
        sender = topics.producer(broker.address)
        answers = topics.Reader(broker.address, "answers")

        def start(life):
            folder = tmp_path / life  # each life on an empty disk: the state comes from the changelog
            folder.mkdir()
            return spawn([sys.executable, HERE / "models.py", broker.address, "readings", "answers"], cwd=folder)

        first = start("first")
        topics.write(sender, "readings", records[:READINGS // 2])
        wait_for(lambda: answers.poll() >= READINGS // 4, "the first answers", 90, every=0)
        first.kill()
        first.wait()
        topics.write(sender, "readings", records[READINGS // 2:])
        second = start("second")
        # A killed worker's transaction and place in the group last until they time out
        wait_for(lambda: answers.poll() >= READINGS, "all answers", 150, every=0)
        second.terminate()
        second.wait()
        found = [json.loads(message.value) for message in topics.read(broker.address, "answers")]
    assert sorted(found, key=lambda a: a["id"]) == list(plain_loop())
