#!/usr/bin/env python3
"""What a fleet costs and how long it is silent, on a real broker on this machine: the tables of docs/fleet.md.

    bench/fleet.py PROGRAM [--only silence,latency,rate,keys] [--seconds 30]          (make bench-fleet)

Silence: the longest time in which a partition had no new committed answer, around a kill -9 and restart, and around a
SIGTERM and restart, of one of two workers; 300 models of `alg1`, 500 records a second. Latency: from the moment a record
is sent until its committed answer is read, beside the state written and what a snapshot of each model in every
transaction would have been. Rate: a backlog, answered by one worker, beside `kalstream stream` on the same records, in
turn. Keys: 100,000 models of `rls` over four workers of 256 MiB each, and the memory they really take. Broker, workers and this
script share the machine."""

import argparse
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "kafka"))

import topics  # noqa: E402
import verify  # noqa: E402
from broker import HOME, Broker  # noqa: E402
from fleets import Fleet  # noqa: E402
from processes import exit_on_signals, new_folder, wait_for  # noqa: E402

PARTITIONS, KEYS, RATE = 12, 300, 500
ALG1 = ["--learner", "alg1", "--hidden", "8", "--interval", "0.9"]


def line(source, key):
    a, b, c = (source.gauss(0, 1) for _ in range(3))
    return (f'{{"device": "{key}", "a":{a:.6f},"b":{b:.6f},"c":{c:.6f},"target":{a * b + c:.6f}}}').encode()


def in_turn(keys, source):
    """Every key, in another order each time."""
    order = [f"k{k}" for k in range(keys)]
    while True:
        source.shuffle(order)
        yield from order


def backlog(count, keys):
    source = random.Random(1)
    names = in_turn(keys, source)
    return [(name.encode(), line(source, name)) for name in (next(names) for _ in range(count))]


class Load:
    """Sends records at a fixed rate, and reads committed answers as they come."""

    def __init__(self, fleet):
        self.fleet, self.source = fleet, random.Random(2)
        self.names = in_turn(KEYS, self.source)
        self.sender = topics.producer(fleet.broker.address, **{"linger.ms": 0})
        self.reader = topics.Reader(fleet.broker.address, fleet.output)
        self.sent_at, self.seen_at, self.sent, self.read = {}, {}, 0, 0
        self.begin = time.perf_counter()

    def step(self, sending=True):
        now = time.perf_counter()
        while sending and self.sent < (now - self.begin) * RATE:
            name = next(self.names)
            at = time.perf_counter()

            def delivered(_, message, at=at):
                self.sent_at[message.partition(), message.offset()] = at

            self.sender.produce(self.fleet.input, line(self.source, name), name.encode(), on_delivery=delivered)
            self.sent += 1
        self.sender.poll(0)
        self.reader.poll(0.005)
        now = time.perf_counter()
        for message in self.reader.messages[self.read:]:
            partition, offset = map(int, message.headers["kalstream-input"].split(":"))
            self.seen_at[partition, offset] = now
        self.read = len(self.reader.messages)

    def run(self, seconds):
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            self.step()

    def drain(self):
        self.sender.flush()
        wait_for(lambda: self.step(sending=False) or self.read >= self.sent, "the last answers", 60, every=0)

    def silence(self, since, until):
        """The longest time between two committed answers of a partition."""
        longest = 0
        for partition in range(PARTITIONS):
            seen = sorted(at for (p, _), at in self.seen_at.items() if p == partition and since <= at <= until)
            longest = max([longest, *(b - a for a, b in zip(seen, seen[1:]))])
        return longest


def start(program, broker, folder, workers, learning=ALG1, more=()):
    fleet = Fleet(program, broker, folder, learning)
    made = fleet.init(partitions=PARTITIONS)
    if made.returncode != 0:
        sys.exit(made.stderr)
    for _ in range(workers):
        fleet.work(*more)
    return fleet


def end(fleet):
    for worker in fleet.workers:
        worker.end()


def silence(program, broker, folder, options):
    fleet = start(program, broker, folder, 2)
    load = Load(fleet)
    load.run(10)
    found = {"kill -9": [], "SIGTERM": []}
    for _ in range(5):
        for name, number in (("kill -9", signal.SIGKILL), ("SIGTERM", signal.SIGTERM)):
            load.run(2)
            since = time.perf_counter() - 1
            worker = fleet.workers[0]
            worker.send(number)
            wait_for(lambda: load.step() or not worker.runs(), "the worker to end", 60, every=0)
            worker.start()
            load.run(6)
            found[name].append(load.silence(since, time.perf_counter()))
    load.drain()
    end(fleet)
    print("| 300 models of alg1, 2 workers, 500 records/s | longest silence, median of 5 | longest of all |\n|---|---|---|")
    for name, times in found.items():
        print(f"| {name} and restart | {statistics.median(times):.2f} s | {max(times):.2f} s |", flush=True)


def workers_say(fleet):
    told = fleet.command("status", "--brokers", fleet.broker.address, "--name", fleet.name, "--json").stdout
    return json.loads(told)["workers"]


def latency(program, broker, folder, options):
    # Often enough that snapshots are due while it is measured; workers by themselves write fewer
    fleet = start(program, broker, folder, 2, more=["--snapshot-every", "1000"])
    load = Load(fleet)
    load.run(10)
    since = time.perf_counter()
    before = sum(worker["state_bytes"] for worker in workers_say(fleet))
    load.run(options.seconds)
    after = sum(worker["state_bytes"] for worker in workers_say(fleet))
    load.drain()
    end(fleet)
    times = sorted(1000 * (seen - load.sent_at[place]) for place, seen in load.seen_at.items()
                   if load.sent_at[place] >= since)
    at = [times[int(part * (len(times) - 1))] for part in (0.5, 0.99)]
    # A snapshot of every model that a transaction changed: keys in each tenth of a second
    sizes = [len(m.value) for m in topics.read(broker.address, f"{fleet.name}-state") if m.value]
    touched = {(m.key, int(10 * m.time)) for m in load.reader.messages}
    every = len(touched) / (len(load.reader.messages) / RATE) * options.seconds * statistics.mean(sizes)
    print("| 300 models of alg1, 2 workers, 500 records/s, transactions of 100 ms, --snapshot-every 1000 | |\n|---|---|")
    print(f"| record sent until its committed answer is read | p50 {at[0]:.0f} ms, p99 {at[1]:.0f} ms, longest {times[-1]:.0f} ms |")
    print(f"| state written, {options.seconds} s | {(after - before) / 1e6:.1f} MB |")
    print(f"| a snapshot of each model in every transaction | {every / 1e6:.0f} MB, {every / max(1, after - before):.0f} times as much |",
          flush=True)


def rate(program, broker, folder, options):
    records = backlog(options.records, KEYS)
    lines = folder / "lines"
    lines.write_bytes(b"".join(value + b"\n" for _, value in records))
    found = {"kalstream stream": [], "one worker": []}
    for _ in range(3):
        begin = time.perf_counter()
        with open(lines, "rb") as file:
            command = [program, "stream", "--quiet", "--key", "device", "--inputs", "a,b,c", "--target", "target", *ALG1]
            subprocess.run(command, stdin=file, stdout=subprocess.DEVNULL, check=True)
        found["kalstream stream"].append(len(records) / (time.perf_counter() - begin))
        fleet = start(program, broker, folder, 0)
        fleet.write(*records)
        fleet.work()
        answers = fleet.answers(len(records), 300)
        end(fleet)
        times = [message.time for message in answers]
        found["one worker"].append(len(records) / (max(times) - min(times)))
    print(f"| a backlog of {len(records):,} records, 300 models of alg1 | records a second, median of 3 |\n|---|---|")
    for name, rates in found.items():
        print(f"| {name} | {statistics.median(rates):,.0f} |")
    print(f"| ratio | {statistics.median(found['one worker']) / statistics.median(found['kalstream stream']):.2f} |", flush=True)


def keys(program, broker, folder, options):
    records = backlog(3 * options.keys, options.keys)
    learning = ["--learner", "rls"]
    fleet = start(program, broker, folder, 4, learning, ["--memory", "256MiB"])
    begin = time.perf_counter()
    fleet.write(*records)
    fleet.answers(len(records), 550)
    taken = time.perf_counter() - begin
    resident = [peak(worker.process.pid) for worker in fleet.workers]
    end(fleet)
    inputs = topics.read(broker.address, fleet.input, seconds=200)
    outputs = topics.read(broker.address, fleet.output, seconds=200)
    verify.check_answers(inputs, outputs, verify.expected(program, fleet.learning, inputs))
    print(f"| {options.keys:,} models of rls, 4 workers with --memory 256MiB | |\n|---|---|")
    print(f"| {len(records):,} records, each model used 3 times in turn | {taken:.0f} s; all answered once, as by one stream |")
    print(f"| resident memory at most | {', '.join(f'{size / 2**20:.0f}' for size in resident)} MiB |", flush=True)


def peak(process):
    with open(f"/proc/{process}/status") as file:
        return 1024 * int(next(text for text in file if text.startswith("VmHWM")).split()[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--only", default="silence,latency,rate,keys")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--records", type=int, default=200000)
    parser.add_argument("--keys", type=int, default=100000)
    options = parser.parse_args()
    exit_on_signals()
    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n", flush=True)
    with Broker() as broker:
        for name in options.only.split(","):
            {"silence": silence, "latency": latency, "rate": rate, "keys": keys}[name](
                options.program, broker, new_folder("bench-", HOME), options)
            print()


if __name__ == "__main__":
    main()
