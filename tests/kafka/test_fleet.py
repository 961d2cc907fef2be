"""A fleet in all the situations that need no chaos: each quick, each on a real broker."""

import json
import os
import random
import signal
import subprocess

import pytest

import topics
import verify
from broker import PASSWORD, USER, free_ports
from old_broker import OldBroker
from processes import wait_for
from workers import Worker
from workload import LEARNING, Device, records


def readings(name, count, seed=1, late=False):
    """Samples of one device, with their targets or with labels of their own."""
    device = Device(name, random.Random(seed))
    device.comes_late = late
    return [(name.encode(), json.dumps(device.reading()).encode()) for _ in range(count)]


def statuses(messages):
    return [json.loads(message.value)["status"] for message in messages]


def equals_stream(fleet):
    """All that the fleet has answered is what an unbroken stream answers."""
    inputs = topics.read(fleet.broker.address, fleet.input)
    outputs = topics.read(fleet.broker.address, fleet.output)
    given = verify.check_answers(inputs, outputs, verify.expected(fleet.program, fleet.learning, inputs))
    verify.check_dead_letters(inputs, given, topics.read(fleet.broker.address, f"{fleet.name}-dead"))
    return inputs


FAILURE, USAGE, DATA = 1, 2, 3


def refused(result, code, *words):
    """It ended with an error that says these words, in a few lines and without a secret."""
    assert result.returncode == code, result
    assert result.stderr.startswith("kalstream: "), result.stderr
    for word in words:
        assert word in result.stderr.splitlines()[-1], result.stderr
    assert len(result.stderr.splitlines()) <= 6, result.stderr
    assert PASSWORD not in result.stdout + result.stderr


def remove(broker, topic):
    broker.delete(topic)
    wait_for(lambda: topic not in broker.admin().list_topics(timeout=5).topics, "the topic to go")


# Starting, and what stands in its way


def test_init_creates_what_is_needed_and_can_be_repeated(fleet, broker):
    assert fleet.init().returncode == 0
    known = broker.admin().list_topics(timeout=10).topics
    for topic, partitions in [(fleet.input, 2), (fleet.output, 2), (f"{fleet.name}-state", 2), (f"{fleet.name}-fleet", 1)]:
        assert len(known[topic].partitions) == partitions, topic
    again = fleet.init()
    assert again.returncode == 0, again.stderr


def test_a_fleet_keeps_its_options(fleet):
    fleet.init()
    fleet.learning = [*fleet.learning[:-2], "--max-delay", "17"]
    refused(fleet.init(), USAGE, "max-delay")
    refused(fleet.once(), USAGE, "max-delay")


def test_a_fleet_that_was_never_begun(fleet):
    refused(fleet.once(), DATA, fleet.name, "fleet init")


def test_missing_topic(fleet, broker):
    fleet.init()
    remove(broker, fleet.output)
    refused(fleet.once(), DATA, fleet.output, "fleet init")


def test_as_many_partitions_everywhere(fleet, broker):
    broker.create(fleet.input, 3)
    broker.create(fleet.output, 2)
    refused(fleet.init(partitions=3), DATA, fleet.output, "partitions")


def test_a_state_that_would_be_deleted(fleet, broker):
    fleet.init()
    state = f"{fleet.name}-state"
    remove(broker, state)
    broker.create(state, 2, cleanup_policy="delete")
    refused(fleet.once(), DATA, state, "compact")


def test_no_broker(fleet):
    refused(fleet.once(brokers=f"127.0.0.1:{free_ports(1)[0]}"), FAILURE, "127.0.0.1")


def test_old_broker(fleet):
    with OldBroker() as address:
        refused(fleet.once(brokers=address), FAILURE, "too old")


def secure(broker, password):
    return {"security.protocol": "SASL_SSL", "ssl.ca.location": broker.authority, "sasl.mechanism": "PLAIN",
            "sasl.username": USER, "sasl.password": password}


def as_file(folder, settings):
    file = folder / "kafka.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return ["--kafka-file", str(file)]


def test_wrong_password(fleet, broker, tmp_path):
    fleet.init()
    wrong = as_file(tmp_path, secure(broker, "guess"))
    result = fleet.once(*wrong, brokers=broker.secure_address)
    refused(result, FAILURE, "uthentication")
    assert "guess" not in result.stderr


def test_a_certificate_nobody_knows(fleet, broker, tmp_path):
    settings = secure(broker, PASSWORD)
    del settings["ssl.ca.location"]
    refused(fleet.once(*as_file(tmp_path, settings), brokers=broker.secure_address), FAILURE, "certificate")


def test_tls_and_password_without_a_trace(fleet, broker, tmp_path):
    fleet.init()
    names = fleet.names
    fleet.names = lambda: names(broker.secure_address)
    worker = fleet.work(*as_file(tmp_path, secure(broker, PASSWORD)))
    fleet.write(*readings("d1", 5))
    assert statuses(fleet.answers(5)) == ["learnt"] * 5
    with open(f"/proc/{worker.process.pid}/cmdline") as command:
        assert PASSWORD not in command.read()
    assert PASSWORD not in worker.log()


# Records


def test_answers_are_those_of_a_stream(fleet):
    fleet.init()
    fleet.work()
    fleet.write(*records(2000, 20, 5))
    fleet.answers(2000)
    equals_stream(fleet)


def test_a_label_before_all_samples_settles_nothing(fleet):
    fleet.init()
    fleet.work()
    fleet.write((b"d1", b'{"device": "d1", "id": 1, "target": 3}'), *readings("d2", 5), *readings("d1", 5))
    assert statuses(fleet.answers(11)).count("learnt") >= 9
    equals_stream(fleet)


def test_bad_records_stop_nothing(fleet, broker):
    fleet.init(partitions=1)
    fleet.work()
    good = readings("d1", 3)
    fleet.write(good[0], (b"d1", b"rubbish"), good[1], (b"d1", b""), (b"d1", b"\xff\xff"), good[2])
    found = statuses(fleet.answers(6))
    assert found.count("refused") == 3 and found[-1] != "refused"
    letters = topics.read(broker.address, f"{fleet.name}-dead")
    assert [letter.value for letter in letters] == [b"rubbish", b"", b"\xff\xff"]
    assert [letter.headers["kalstream-offset"] for letter in letters] == ["1", "3", "4"]
    assert all(letter.headers["kalstream-topic"] == fleet.input for letter in letters)


def test_a_tombstone_forgets(fleet, broker):
    fleet.init()
    fleet.work()
    first = readings("d1", 3)
    fleet.write(*first, (b"d1", None), (b"d9", None), *first)
    answers = fleet.answers(8)
    by_key = [json.loads(m.value) for m in answers if m.key == b"d1"]
    assert by_key[3] == {"key": "d1", "status": "forgotten"}
    assert by_key[4:] == by_key[:3]


def test_labels_on_their_own_topic(fleet, broker):
    """Merged in one order for good: a stream over the merged topic tells the same."""
    readings_topic, labels_topic = f"{fleet.name}-readings", f"{fleet.name}-labels"
    broker.create(readings_topic, 2)
    broker.create(labels_topic, 2)
    fleet.init()
    merge = [fleet.program, "fleet", "merge", "--brokers", broker.address, "--input", readings_topic, "--labels",
             labels_topic, "--output", fleet.input, "--name", f"{fleet.name}-merge"]
    merger = Worker(merge, "merger", fleet.folder)
    merger.command = merge
    fleet.workers.append(merger.start())
    fleet.work()
    both = [record for name in ("d1", "d2", "d3") for record in readings(name, 200, late=True)]
    samples = [record for record in both if b'"a"' in record[1]]
    labels = [record for record in both if b'"a"' not in record[1]]
    fleet.write(*samples[:100], topic=readings_topic)
    fleet.write(*labels, topic=labels_topic)
    merger.end(signal.SIGKILL)
    fleet.write(*samples[100:], topic=readings_topic)
    merger.start()
    fleet.answers(600)
    assert sorted(m.value for m in equals_stream(fleet)) == sorted(value for _, value in both)


# Models


def test_export_and_import(fleet, make_fleet, broker, tmp_path):
    """A model moves to another fleet, and goes on there as it would have at home."""
    fleet.init()
    worker = fleet.work()
    all_of_it = readings("d1", 60)
    fleet.write(*all_of_it[:40])
    fleet.answers(40)
    assert worker.end() == 0  # which writes snapshots of all models
    worker.start()
    kept = tmp_path / "d1.kal"
    name = ["--brokers", broker.address, "--name"]
    exported = fleet.command("export", "d1", *name, fleet.name, "--out", kept)
    assert exported.returncode == 0, exported.stderr
    inputs = topics.read(broker.address, fleet.input)
    assert "; 0 of its inputs" in exported.stderr
    verify.check_model(fleet.program, LEARNING, "d1", kept, exported.stderr, inputs)
    other = make_fleet()
    other.init()
    other.work()
    imported = other.command("import", "d1", kept, *name, other.name)
    assert imported.returncode == 0, imported.stderr
    fleet.write(*all_of_it[40:])
    other.write(*all_of_it[40:])
    home = [json.loads(m.value) for m in fleet.answers(60)][40:]
    abroad = [json.loads(m.value) for m in other.answers(20)][-20:]
    assert [a["prediction"] for a in abroad] == [a["prediction"] for a in home]


def test_export_of_a_key_that_is_not_there(fleet, broker, tmp_path):
    fleet.init()
    refused(fleet.command("export", "nobody", "--brokers", broker.address, "--name", fleet.name, "--out", tmp_path / "x"),
            DATA, "nobody")


def test_status(fleet, broker):
    fleet.init()
    fleet.work()
    fleet.write(*records(500, 10, 2))
    fleet.answers(500)

    def status():
        result = fleet.command("status", "--brokers", broker.address, "--name", fleet.name, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    assert wait_for(status, "a status")
    plain = fleet.command("status", "--brokers", broker.address, "--name", fleet.name)
    assert fleet.workers[0].name in plain.stdout


# Workers that come and go


def test_hand_over_at_sigterm(fleet):
    fleet.init()
    first = fleet.work()
    wanted = list(records(3000, 20, 7))
    fleet.write(*wanted[:1000])
    fleet.answers(1000)
    fleet.work()
    fleet.write(*wanted[1000:2000])
    fleet.answers(1500)
    assert first.end(signal.SIGTERM) == 0, first.log()
    fleet.write(*wanted[2000:])
    fleet.answers(3000)
    equals_stream(fleet)


def test_two_of_one_name_on_one_machine(fleet):
    """They would have one folder: the second is told so."""
    fleet.init()
    first = fleet.work(name="twin")
    fleet.write(*readings("d1", 5))
    fleet.answers(5)
    refused(fleet.once("--instance", "twin", "--cache", first.cache), FAILURE, "twin")


def test_two_of_one_name(fleet):
    """The second takes over; the first stops writing and says why."""
    fleet.init()
    first = fleet.work(name="twin")
    wanted = list(records(1000, 20, 8))
    fleet.write(*wanted[:500])
    fleet.answers(500)
    first.killed = True
    fleet.folder /= "elsewhere"
    second = fleet.work(name="twin")
    wait_for(lambda: not first.runs(), f"the first to end\n{first.log()}\n{second.log()}")
    assert first.process.returncode != 0
    wait_for(lambda: "ended" in first.log(), "its last words")
    assert "twin" in first.log()
    fleet.write(*wanted[500:])
    fleet.answers(1000)
    equals_stream(fleet)


@pytest.fixture(scope="session")
def other_engine(tmp_path_factory):
    """An environment in which a worker takes itself for one with another mathematical library."""
    folder = tmp_path_factory.mktemp("engine")
    (folder / "libc.c").write_text('const char *gnu_get_libc_version(void) { return "9.99"; }')
    subprocess.run(["g++", "-x", "c", "-shared", "-fPIC", "-o", folder / "libc.so", folder / "libc.c"], check=True)
    return {**os.environ, "LD_PRELOAD": str(folder / "libc.so")}


def test_another_engine_after_an_orderly_end(fleet, other_engine):
    """A rolling upgrade: what is handed over in order is not computed again, so any engine goes on."""
    fleet.init()
    old = fleet.work()
    wanted = list(records(1000, 20, 9))
    fleet.write(*wanted[:500])
    fleet.answers(500)
    assert old.end(signal.SIGTERM) == 0, old.log()
    fleet.work(environment=other_engine)
    fleet.write(*wanted[500:])
    assert len(fleet.answers(1000)) == 1000


def test_another_engine_after_a_crash(fleet, other_engine):
    """It would have to compute again what others have answered: only if told to."""
    fleet.init()
    old = fleet.work()
    wanted = list(records(1000, 20, 10))
    fleet.write(*wanted[:500])
    fleet.answers(500)
    old.end(signal.SIGKILL)
    refused(fleet.once("--instance", "other", env=other_engine), DATA, "--accept-replay")
    fleet.work("--accept-replay", environment=other_engine)
    fleet.write(*wanted[500:])
    assert len(fleet.answers(1000)) == 1000


