"""Client and AsyncClient, on a real server."""

import asyncio
import datetime
import json
import math
import shutil
import subprocess

import kalstream
import numpy as np
import pytest
from conftest import ROOT
from kalstream import _calls
from server import Server, free_port
from test_docs import python_blocks


@pytest.fixture(scope="module")
def server(program, tmp_path_factory):
    one = Server(program.path, tmp_path_factory.mktemp("serve") / "store")
    yield one
    one.stop()


@pytest.fixture
def client(server):
    with kalstream.Client(server.address) as one:
        yield one


def samples(count, phase=0.0):
    return [{"x": math.sin(i / 7 + phase), "y": math.sin((i + 1) / 7 + phase)} for i in range(count)]


def answers_of_stream(program, given, *options):
    lines = "".join(json.dumps(sample) + "\n" for sample in given)
    command = [program.path, "stream", "--quiet", *options]
    said = subprocess.run(command, input=lines, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in said.splitlines()]


def test_answers_are_those_of_the_command_line(client, program):
    given = samples(60)
    client.create("like-stream", learner="rls", target="y", interval=0.9)
    answers = [client.send("like-stream", sample) for sample in given[:20]]
    answers += client.send_batch("like-stream", given[20:40])
    answers += client.send_all("like-stream", iter(given[40:]), batch=7)
    options = ("--learner", "rls", "--target", "y", "--interval", "0.9")
    assert answers == answers_of_stream(program, given, *options)


def test_classes_too(client, program):
    given = [{"x": sample["x"], "state": "up" if sample["y"] > sample["x"] else "down"} for sample in samples(40)]
    given[30]["state"] = "stuck"  # new, late
    given[20] = {"id": "a", "x": 0.1}
    given.insert(25, {"id": "a", "state": "up"})
    client.create("states", target="state")
    answers = client.send_batch("states", given[:15]) + [client.send("states", one) for one in given[15:]]
    assert answers == answers_of_stream(program, given, "--target", "state")
    assert (answers[20]["status"], answers[25]["status"]) == ("predicted", "labelled")
    assert list(answers[-1]["probabilities"]) == ["up", "down", "stuck"]


def test_streams_are_listed_page_by_page(client, monkeypatch):
    names = [f"page-{k}" for k in range(5)]
    for name in names:
        client.create(name, learner="ar")
    monkeypatch.setattr("kalstream._calls.PAGE", 2)
    assert [s["name"] for s in client.streams() if s["name"] in names] == names
    for name in names:
        client.delete(name)


def test_streams_are_made_described_reset_and_deleted(client):
    made = client.create("life", learner="rls", target="y")
    assert (made["name"], made["learner"]) == ("life", "rls")
    client.send_batch("life", samples(30))
    assert "life" in [stream["name"] for stream in client.streams()]
    assert client.describe("life")["samples"] == 30
    client.reset("life")
    assert client.describe("life")["samples"] == 0
    client.delete("life")
    with pytest.raises(kalstream.ServerError) as error:
        client.describe("life")
    assert error.value.status == 404
    assert "404" in str(error.value)


def test_other_options_for_a_stream_that_is_there_are_refused(client):
    client.create("fixed", learner="rls", target="y")
    client.create("fixed", learner="rls", target="y")
    with pytest.raises(kalstream.ServerError) as error:
        client.create("fixed", learner="ar", target="y")
    assert error.value.status == 409


def test_a_target_may_come_later(client):
    client.create("late", learner="rls", target="y")
    client.send_batch("late", samples(10))
    assert client.send("late", {"id": "a", "x": 0.5})["status"] == "predicted"
    assert client.label("late", "a", {"y": 0.7})["status"] == "labelled"


def test_a_sample_may_hold_numpy_times_and_nan(client):
    client.create("values", learner="rls", target="y")
    answer = client.send(
        "values",
        {"time": datetime.datetime(2026, 1, 1), "x": np.float32(1.5), "k": np.int64(3), "y": float("nan")},
    )
    assert answer["status"] == "predicted"
    with pytest.raises(TypeError, match="cannot hold"):
        client.send("values", {"x": object()})


def test_forecasts(client):
    client.create("ahead", learner="ar", inputs="none", target="y", horizon=5, interval=0.9)
    client.send_batch("ahead", [{"y": math.sin(i / 5)} for i in range(200)])
    forecast = client.forecast("ahead", 3)
    assert [step["lead"] for step in forecast] == [1, 2, 3]
    assert forecast[0]["value"] == pytest.approx(math.sin(200 / 5), abs=0.1)


def test_a_learner_comes_and_goes(client):
    client.create("source", learner="rls", target="y")
    client.send_batch("source", samples(100))
    learner = client.learner("source")
    x = [0.3]
    assert learner.predict(x)[0] == client.send("source", {"x": 0.3})["prediction"]
    client.create("copy", learner="rls", target="y")
    client.send("copy", {"x": 0.0, "y": 0.0})
    client.restore("copy", learner)
    assert client.send("copy", {"x": 0.3, "y": None})["prediction"] == learner.predict(x)[0]


def test_keys(client):
    client.create("keyed", learner="rls", target="y", key="device")
    given = [{"device": f"d{k:03d}", **sample} for sample in samples(3) for k in range(150)]
    assert len(list(client.send_all("keyed", given))) == 450
    assert [model["key"] for model in client.models("keyed")] == [f"d{k:03d}" for k in range(150)]
    assert [model["key"] for model in client.models("keyed", search="14")] == ["d014", "d114"] + [
        f"d{k}" for k in range(140, 150)
    ]
    client.forget("keyed", key="d014")
    assert "d014" not in [model["key"] for model in client.models("keyed", search="14")]
    assert client.history("keyed", key="d007")["points"]["target"] == [sample["y"] for sample in samples(3)]


def test_alarms(client):
    client.create("watched-over", learner="mean", target="y", alarm_above=90)
    answers = client.send_batch("watched-over", [{"y": 1.0}, {"y": 95.0}, *[{"y": 2.0}] * 10])
    assert answers[1]["alarm"]["event"] == "start" and answers[-1]["alarm"]["event"] == "end"
    (alarm,) = client.alarms("watched-over")
    assert (alarm["kind"], alarm["start"], alarm["end"], alarm["value"]) == ("above", 2, 3, 95.0)
    assert client.judge_alarm("watched-over", False)["status"] == "judged"


def test_events(client, server):
    client.create("watched", learner="rls", target="y")
    client.send_batch("watched", samples(5))
    with kalstream.Client(server.address) as other:
        events = other.events("watched")
        seen = []
        for event in events:  # each event asks for the next: nobody waits for what does not come
            if event.name == "point":
                seen.append(event.data["sample"])
            if len(seen) == 3:
                break
            client.send("watched", {"x": 0.1, "y": 0.2})
        assert seen == sorted(seen)
        events.close()


def test_metrics(client):
    client.create("counted", learner="rls", target="y")
    client.send_batch("counted", samples(4))
    assert "kalstream_" in client.metrics()


def test_no_server_is_said_so():
    address = f"http://127.0.0.1:{free_port()}"
    with kalstream.Client(address) as client, pytest.raises(ConnectionError, match="kalstream serve"):
        client.streams()

    async def ask():
        async with kalstream.AsyncClient(address) as other:
            await other.streams()

    with pytest.raises(ConnectionError, match="kalstream serve"):
        asyncio.run(ask())


def test_events_come_in_pieces():
    text = b'event: point\r\nid: 7\r\ndata: {"a":\ndata: 1}\r\n\r\n: alive\n\ndata: {"b": 2}\n\n'
    for size in (1, 5, len(text)):
        reader = _calls.EventReader()
        events = [event for k in range(0, len(text), size) for event in reader.read(text[k : k + size])]
        assert events == [kalstream.Event("point", {"a": 1}, "7"), kalstream.Event("message", {"b": 2}, "7")]


def test_a_wrong_address_is_refused():
    with pytest.raises(ValueError, match="no address"):
        kalstream.Client("ftp://somewhere")
    with pytest.raises(ValueError, match="not both"):
        kalstream.Client(token="a", token_file="b")


def test_a_client_outlives_its_server(program, tmp_path):
    server = Server(program.path, tmp_path / "store")
    try:
        with kalstream.Client(server.address) as client:
            client.create("kept", learner="rls", target="y")
            client.send_batch("kept", samples(20))
            server.kill()
            with pytest.raises(ConnectionError):
                client.describe("kept")
            server.start()
            assert client.describe("kept")["samples"] == 20
    finally:
        server.stop()


def test_a_token(program, tmp_path):
    token = tmp_path / "token"
    token.write_text("0123456789abcdef0123456789abcdef\n")
    token.chmod(0o600)
    server = Server(program.path, tmp_path / "store", "--token-file", token)
    try:
        with kalstream.Client(server.address, token_file=token) as client:
            assert client.streams() == []
            assert "0123" not in repr(client)
        with kalstream.Client(server.address, token="wrong") as client:
            with pytest.raises(kalstream.ServerError) as error:
                client.streams()
            assert error.value.status == 401
    finally:
        server.stop()


@pytest.mark.skipif(not shutil.which("openssl"), reason="no openssl to make a certificate with")
def test_tls(program, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-keyout",
            key,
            "-out",
            certificate,
            "-days",
            "2",
        ]
        + ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"],
        capture_output=True,
    )
    if made.returncode != 0:
        pytest.skip("openssl cannot make a certificate here")
    server = Server(program.path, tmp_path / "store", "--tls-cert", certificate, "--tls-key", key)
    address = server.address.replace("http:", "https:")
    try:
        with kalstream.Client(address, trust=certificate) as client:
            client.create("secret", learner="rls", target="y")
            assert len(client.send_batch("secret", samples(50))) == 50
        with kalstream.Client(address) as client, pytest.raises(ConnectionError, match="certificate"):
            client.streams()

        async def ask():
            async with kalstream.AsyncClient(address, trust=str(certificate)) as other:
                return await other.describe("secret")

        assert asyncio.run(ask())["samples"] == 50
    finally:
        server.stop()


def test_everything_awaited(server):
    async def run():
        async with kalstream.AsyncClient(server.address) as client:
            await client.create("awaited", learner="rls", target="y", horizon=2)
            answers = await client.send_batch("awaited", samples(50))
            assert [answer["sample"] for answer in answers] == list(range(1, 51))
            assert (await client.send("awaited", {"id": 1, "x": 0.1}))["status"] == "predicted"
            assert (await client.label("awaited", 1, {"y": 0.1}))["status"] == "labelled"
            assert len(await client.forecast("awaited", 2)) == 2
            assert (await client.learner("awaited")).predict([0.1]).shape == (1,)
            described, listed = await asyncio.gather(client.describe("awaited"), client.streams())
            assert described["name"] in [stream["name"] for stream in listed]

            async def slowly():
                for sample in samples(9):
                    yield sample

            assert len([answer async for answer in client.send_all("awaited", slowly(), batch=4)]) == 9
            assert len([answer async for answer in client.send_all("awaited", samples(9), batch=4)]) == 9

            # Many at a time, on a few connections, each stream by itself.
            await asyncio.gather(*(client.send("many", sample) for sample in samples(100)))
            assert (await client.describe("many"))["samples"] == 100

            await client.create("awaited-keys", learner="rls", target="y", key="device")
            await client.send_batch("awaited-keys", [{"device": f"d{k:03d}", "x": 0.1, "y": 0.2} for k in range(120)])
            assert [model["key"] async for model in client.models("awaited-keys")] == [f"d{k:03d}" for k in range(120)]

            seen = []
            async for event in client.events("awaited"):
                seen.append(event.name)
                if event.name == "point":
                    break
                await client.send("awaited", {"x": 0.1, "y": 0.2})
            with pytest.raises(kalstream.ServerError):
                await client.describe("nothing-of-that-name")
            await client.delete("awaited")

    asyncio.run(asyncio.wait_for(run(), 60))


def test_the_examples_of_the_documentation_run(server):
    names = {"__name__": "__main__", "kalstream": kalstream}
    blocks = [block for block in python_blocks(ROOT / "docs/python.md") if "Client(" in block]
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block.replace("http://127.0.0.1:8080", server.address), "docs/python.md", "exec"), names)
    names["client"].close()
