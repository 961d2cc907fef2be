#!/usr/bin/env python3
"""A fleet on a real Kafka, on this machine, in a minute: `make fleet`.

    fleet-demo.py PROGRAM [--devices 1000] [--rate 500]

Starts a broker on loopback, two workers, and a generator; kills a worker, starts it again, adds a third, ends one in
order; then reads all answers back and compares them with those of one `kalstream stream`. Leaves nothing behind."""

import argparse
import collections
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "kafka"))

import topics  # noqa: E402
import verify  # noqa: E402
from broker import HOME, VERSION, Broker  # noqa: E402
from confluent_kafka import KafkaException  # noqa: E402
from processes import exit_on_signals, new_folder  # noqa: E402
from workers import Worker  # noqa: E402
from workload import FIELDS, LEARNING, records  # noqa: E402

PARTITIONS = 12
NAMES = ["--input", "readings", "--output", "answers", "--name", "demo"]
TICK = 0.5  # seconds that a bar of the picture stands for
BARS = " ▁▂▃▄▅▆▇█"
# What happens, by seconds since the start of the readings
SCRIPT = [(8, "kill"), (9, "restart"), (18, "add"), (26, "end"), (27, "restart_ended"), (36, "finish")]


class Screen:
    """Draws in place on a terminal; elsewhere a line now and then."""

    def __init__(self):
        self.live = sys.stdout.isatty() and os.environ.get("TERM") != "dumb"
        self.colours = self.live and "NO_COLOR" not in os.environ
        self.height = 0

    def paint(self, text, code):
        return f"\x1b[{code}m{text}\x1b[0m" if self.colours else text

    def say(self, text):
        """A line that stays, above what moves."""
        self.clear()
        print(text, flush=True)

    def clear(self):
        if self.height:
            sys.stdout.write(f"\x1b[{self.height}F\x1b[J")
        self.height = 0

    def draw(self, lines):
        if self.live:
            self.clear()
            width = shutil.get_terminal_size().columns
            print("\n".join(line[:width + 20] for line in lines), flush=True)
            self.height = len(lines)


class Demo:
    def __init__(self, program, broker, options, folder, screen):
        self.program, self.broker, self.options = program, broker, options
        self.folder, self.screen = folder, screen
        self.where = ["--brokers", broker.address]
        self.workers = {}
        self.owners = {}  # of partitions, as the group has them
        self.history = collections.defaultdict(list)  # answers in each tick, by worker
        self.sent = 0

    def fleet(self, *verbs):
        return subprocess.run([self.program, "fleet", *verbs], check=True, capture_output=True, text=True).stdout

    def start(self, name):
        command = [self.program, "fleet", *self.where, *NAMES, *FIELDS, *LEARNING]
        self.workers.setdefault(name, Worker(command, name, self.folder)).start()

    def run(self):
        self.screen.say("kalstream fleet init: topics of 12 partitions; a model (alg1, with intervals) for every device")
        self.fleet("init", *self.where, *NAMES, *FIELDS, *LEARNING, "--partitions", str(PARTITIONS))
        self.start("worker-1")
        self.start("worker-2")
        self.screen.say(f"two workers; {self.options.devices} devices send {self.options.rate} readings a second, "
                        "some labels late, some records broken\n")
        self.sender = topics.producer(self.broker.address)
        self.answers = topics.Reader(self.broker.address, "answers")
        self.source = records(10**9, self.options.devices, 1)
        self.begin, script = time.monotonic(), collections.deque(SCRIPT)
        next_tick, seen = self.begin + TICK, 0
        while script:
            now = time.monotonic()
            self.send(now)  # first: nothing is sent after the end
            while script and now - self.begin >= script[0][0]:
                getattr(self, script.popleft()[1])()
            self.answers.poll(0.02)
            if script and now >= next_tick:
                next_tick += TICK
                seen = self.tick(seen)
        self.judge()

    def send(self, now):
        due = int((now - self.begin) * self.options.rate)
        while self.sent < due:
            key, value = next(self.source)
            self.sender.produce("readings", value, key)
            self.sent += 1
        self.sender.poll(0)

    def tick(self, seen):
        self.look()
        new = self.answers.messages[seen:]
        of = collections.Counter(self.owners.get(message.partition, "?") for message in new)
        for name in self.workers:
            self.history[name].append(of[name])
        self.screen.draw(self.picture())
        return seen + len(new)

    def look(self):
        """Who has which partition."""
        try:
            group = self.broker.admin().describe_consumer_groups(["demo"], request_timeout=2)["demo"].result(2)
        except (KafkaException, TimeoutError):
            return
        for member in group.members:
            for partition in member.assignment.topic_partitions if member.assignment else []:
                self.owners[partition.partition] = member.group_instance_id

    def picture(self):
        paint = self.screen.paint
        answered = len(self.answers.messages)
        seconds = int(time.monotonic() - self.begin)
        lines = [f"  {paint('readings', 1)} {self.sent:>8,}    {paint('answers', 1)} {answered:>8,}    "
                 f"waiting {self.sent - answered:>6,}    {seconds // 60}:{seconds % 60:02d}", ""]
        wide = max(20, min(72, shutil.get_terminal_size().columns - 36))
        most = 0.7 * TICK * self.options.rate  # a backlog that is worked off reaches the top
        for name, worker in self.workers.items():
            mine = sorted(p for p, owner in self.owners.items() if owner == name)
            bars = "".join(BARS[min(8, math.ceil(8 * n / most))] for n in self.history[name][-wide:])
            state = f"{len(mine):>2} partitions" if worker.runs() else paint("not running  ", 31)
            lines.append(f"  {name}  {state:<13}  {paint(bars.rjust(wide), 36)}")
        return [*lines, "", paint("  answers in each half second, by the worker that has the partition", 2)]

    def note(self, text):
        seconds = int(time.monotonic() - self.begin)
        self.screen.say(f"  {seconds // 60}:{seconds % 60:02d}  {self.screen.paint(text, 1)}")

    # What happens

    def kill(self):
        self.note("kill -9 worker-1: no word to anybody, a transaction is open")
        self.workers["worker-1"].end(signal.SIGKILL)

    def restart(self):
        self.note("worker-1 starts again: it reads its snapshots, replays what came after them, goes on")
        self.start("worker-1")

    def add(self):
        self.note("a third worker: the group gives it a share of the partitions, and models move")
        self.start("worker-3")

    def end(self):
        self.note("SIGTERM to worker-2: it saves its models, commits, and leaves")
        self.workers["worker-2"].end(signal.SIGTERM)

    def restart_ended(self):
        self.note("worker-2 starts again")
        self.start("worker-2")

    def finish(self):
        self.note("no more readings; waiting for the last answers")
        self.sender.flush()
        deadline = time.monotonic() + 30
        while len(self.answers.messages) < self.sent and time.monotonic() < deadline:
            self.answers.poll(0.1)
        self.screen.clear()
        print("\n$ kalstream fleet status --name demo")
        print(self.fleet("status", *self.where, "--name", "demo"), flush=True)

    def judge(self):
        """Everything read back, and compared with one stream that nobody troubled."""
        for worker in self.workers.values():
            worker.end(signal.SIGTERM)
        inputs = topics.read(self.broker.address, "readings")
        outputs = topics.read(self.broker.address, "answers")
        print(f"{len(inputs):,} readings, {len(outputs):,} committed answers. One `kalstream stream` over the same readings …",
              flush=True)
        given = verify.check_answers(inputs, outputs, verify.expected(self.program, [*FIELDS, *LEARNING], inputs))
        done = f"Every reading was answered exactly once, and all {len(given):,} answers are the same to the last bit."
        print(self.screen.paint(done, "1;32"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--devices", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=500, help="readings a second")
    options = parser.parse_args()
    exit_on_signals()
    screen = Screen()
    try:
        print(f"Apache Kafka {VERSION} starts on loopback …", flush=True)
        with Broker() as broker:
            Demo(options.program, broker, options, new_folder("demo-", HOME), screen).run()
    except verify.Wrong as wrong:
        sys.exit(f"fleet-demo: {wrong}")
    except subprocess.CalledProcessError as failed:
        sys.exit(f"fleet-demo: {' '.join(map(str, failed.cmd[:3]))} ended with {failed.returncode}: {failed.stderr}")


if __name__ == "__main__":
    main()
