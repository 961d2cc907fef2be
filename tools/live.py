#!/usr/bin/env python3
"""live.py KALSTREAM [--port 8080] [--data DIR] [--speed 10]: `kalstream serve` with something to look at.

Starts the server on this machine only, with a folder that is gone afterwards, and feeds it: generated
streams with several learners, an hourly series with a forecast, more than a hundred sensors by key, an
anomaly now and then; with --data also the CSV files of a folder, row by row. Ends with Ctrl-C.
"""

import argparse
import datetime
import http.client
import itertools
import json
import math
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

WATCHED = {"interval": 0.9, "alarm_rate": 0.004}

# name -> (generator, options of the stream)
GENERATED = {
    "mackey-glass": (["mackey-glass", "--set", "noise=0.05"], {"learner": "auto"}),
    "lorenz": (["lorenz"], {"learner": "ekf"}),
    "narma": (["narma10"], {"learner": "alg2"}),
    "robot-arm": (["kin-like"], {"learner": "rls"}),
    "friedman-drift": (["friedman", "--set", "drift=abrupt", "--set", "period=600"], {"learner": "auto"}),
    "switching-sine": (["sine"], {"learner": "adam"}),
}


def electricity(dice):
    """Load by the hour: days, weeks, the weather."""
    hour = datetime.datetime(2026, 1, 5)
    weather, busy = 0.0, 1.0
    while True:
        weather = 0.98 * weather + dice.gauss(0, 0.4)
        busy += 0.25 * ((1.0 if hour.weekday() < 5 else 0.75) - busy)
        temperature = 9 - 6 * math.cos(2 * math.pi * (hour.hour - 4) / 24) + weather
        shape = (
            1 + 0.3 * math.sin(math.pi * (hour.hour - 8) / 12) + 0.1 * math.sin(math.pi * (hour.hour - 4) / 6)
        )
        load = 55 * busy * shape - 0.6 * temperature + dice.gauss(0, 0.8)
        yield {
            "time": hour.strftime("%Y-%m-%d %H:%M:%S"),
            "temperature": round(temperature, 2),
            "load": round(load, 2),
        }
        hour += datetime.timedelta(hours=1)


def sensors(dice):
    """A hundred and twenty of them, each with its own rhythm; a few speak more often."""
    steps = [0] * 120
    while True:
        device = min(int(dice.expovariate(1 / 30)), 119)
        steps[device] += 1
        phase = steps[device] / (2 + device % 3) + device
        yield {
            "device": f"sensor-{device:03d}",
            "pressure": round(3 + math.sin(phase / 3) + dice.gauss(0, 0.05), 4),
            "flow": round(
                20 + device / 10 + 5 * math.sin(phase) + 2 * math.sin(phase / 3) + dice.gauss(0, 0.3), 4
            ),
        }


def generated(program, arguments):
    """What `kalstream generate` writes, over and over."""
    text = subprocess.run(
        [program, "generate", *arguments, "--rows", "20000"], capture_output=True, text=True, check=True
    ).stdout
    names, *rows = (line.split(",") for line in text.splitlines())
    for row in itertools.cycle(rows):
        yield {name: float(value) for name, value in zip(names, row)}


def disturbed(samples, field, dice, every=800, first=930):
    """A value that is far off, now and then: so rarely that it is news."""
    for number, sample in enumerate(samples):
        if number == first or (number > first and dice.random() < 1 / every):
            sample[field] += dice.choice([-1, 1]) * (5 + abs(sample[field]) * 0.3)
        yield sample


class Feeder(threading.Thread):
    """One stream's samples, so many a second; at first some at once, so that there is something to see."""

    def __init__(self, port, name, samples, rate, first):
        super().__init__(daemon=True)
        self.port, self.name, self.samples, self.rate, self.first = port, name, samples, rate, first
        self.ready = threading.Event()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            while batch := list(itertools.islice(self.samples, min(50, self.first))):
                self.post(connection, batch)
                self.first -= len(batch)
                if self.first <= 0:
                    break
            self.ready.set()
            due = time.monotonic()
            for sample in self.samples:
                self.post(connection, [sample])
                due = max(due + 1 / self.rate, time.monotonic() - 1)
                time.sleep(max(0.0, due - time.monotonic()))
        except (OSError, http.client.HTTPException):  # the server has ended
            self.ready.set()

    def post(self, connection, batch):
        if isinstance(batch[0], str):
            body, kind = "".join(batch), "text/csv"
        else:
            body, kind = json.dumps(batch), "application/json"
        connection.request("POST", f"/api/v1/streams/{self.name}/samples", body, {"Content-Type": kind})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{self.name}: {text.decode()}")


def put(port, name, options):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(
        "PUT", f"/api/v1/streams/{name}", json.dumps(options), {"Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        sys.exit(f"{name}: {text.decode()}")


def replayed(path):
    """A file's rows, each with the header before it, as the server reads CSV."""
    header, *rows = path.read_text(encoding="utf-8-sig").splitlines(keepends=True)
    for row in itertools.cycle(rows):
        yield header + row


def wait_until_ready(server, port):
    while server.poll() is None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            time.sleep(0.05)
    sys.exit("kalstream serve ended; is the port taken? Another one: --port 8081")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kalstream")
    parser.add_argument("--port", type=int, default=8080)
    parser.add_argument("--data", type=pathlib.Path, help="a folder of CSV files to replay")
    parser.add_argument("--speed", type=float, default=10, help="samples a second of each stream")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))

    with tempfile.TemporaryDirectory(prefix="kalstream-live-") as folder:
        server = subprocess.Popen(
            [options.kalstream, "serve", "--port", str(options.port), "--store", folder + "/store", "--quiet"]
        )
        try:
            wait_until_ready(server, options.port)
            dice = random.Random(20261116)
            feeders = []

            def feed(name, samples, wanted, rate=options.speed, first=400):
                put(options.port, name, {**WATCHED, **wanted})
                feeders.append(Feeder(options.port, name, samples, rate, first))
                feeders[-1].start()

            load = disturbed(electricity(dice), "load", random.Random(7))
            feed("electricity", load, {"learner": "auto", "target": "load", "horizon": 48}, first=900)
            everything = disturbed(sensors(random.Random(3)), "flow", random.Random(4), every=1500)
            feed(
                "sensors",
                everything,
                {"learner": "ar", "inputs": "none", "target": "flow", "key": "device"},
                4 * options.speed,
                8000,
            )
            for name, (arguments, wanted) in GENERATED.items():
                feed(name, generated(options.kalstream, arguments), wanted)
            for path in sorted(options.data.glob("*.csv"))[:20] if options.data else []:
                feed(
                    "".join(c if c.isalnum() or c in "-_" else "-" for c in path.stem),
                    replayed(path),
                    {"learner": "auto"},
                )
            for feeder in feeders:
                feeder.ready.wait()
            print(f"Look at http://127.0.0.1:{options.port}/ ; Ctrl-C ends it.", flush=True)
            server.wait()
        except KeyboardInterrupt:
            pass
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
