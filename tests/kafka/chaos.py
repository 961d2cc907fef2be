#!/usr/bin/env python3
"""A fleet under random events on a broker of three nodes, then compared to an unbroken stream.

    chaos.py PROGRAM [--seeds 1,2] [--records 50000] [--events 20] [--keys 300]

Records come in portions; within each, as soon as a random part of its answers is committed, something happens:
kill -9, SIGTERM, SIGSTOP until the group has given the worker up, one more worker, a node of the broker killed, the
disk of a worker's cache full. Workers that end are started again. In the end every input must have exactly one committed
answer, equal to the bit to that of `kalstream stream` over the same records, and the models likewise."""

import argparse
import collections
import pathlib
import random
import signal
import subprocess
import sys
import time

from confluent_kafka import KafkaException

import topics
import verify
from broker import HOME, Broker
from processes import Late, exit_on_signals, new_folder, wait_for
from workers import Worker
from workload import FIELDS, LEARNING, records

PARTITIONS = 6
MOST_WORKERS = 4
ORDERLY = {0, -signal.SIGTERM}  # the latter of a worker that was about to start, and had nothing to hand over
KINDS = {"kill": 6, "terminate": 4, "stop": 3, "add": 2, "node": 3, "disk": 2}  # how often, of 20


class Chaos:
    def __init__(self, program, broker, seed, options, folder):
        self.program, self.broker, self.options = program, broker, options
        self.source = random.Random(seed)
        self.name = f"fleet{seed}"
        self.input, self.output = f"readings{seed}", f"answers{seed}"
        self.seed, self.folder = seed, folder
        names = ["--brokers", broker.address, "--input", self.input, "--output", self.output, "--name", self.name]
        self.command = [program, "fleet", *names, *FIELDS, *LEARNING, "--snapshot-every", "500"]
        self.workers = []
        self.happened = collections.Counter()
        self.ended = collections.Counter()  # exits that nobody asked for, by code
        self.full = None  # the worker whose disk is full
        self.down = None  # the node that is down

    def prepare(self):
        names = ["--brokers", self.broker.address, "--input", self.input, "--output", self.output, "--name", self.name]
        self.fleet("init", *names, *FIELDS, *LEARNING, "--partitions", PARTITIONS, "--replication", 3)
        self.sender = topics.producer(self.broker.address)
        self.answers = topics.Reader(self.broker.address, self.output)
        for _ in range(2):
            self.add()

    def fleet(self, *words):
        done = subprocess.run([self.program, "fleet", *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise verify.Wrong(f"fleet {words[0]} ended with {done.returncode}: {done.stderr}")
        return done.stderr

    def run(self):
        """All portions with their events, then what is left."""
        wanted = list(records(self.options.records, self.options.keys, self.seed))
        events = self.plan()
        size = len(wanted) // (len(events) + 1)
        for number, event in enumerate(events):
            portion = wanted[number * size:(number + 1) * size]
            topics.write(self.sender, self.input, portion)
            self.wait(number * size + self.source.randrange(1, size), f"answers before event {number + 1} ({event})")
            self.mend()
            self.happened[event] += 1
            self.tell(f"{event}")
            getattr(self, event)()
        self.mend()
        topics.write(self.sender, self.input, wanted[len(events) * size:])
        self.wait(len(wanted), "all answers")

    def plan(self):
        """Every kind about as often as KINDS says, in random order; but nodes that are killed far from each other, since the
        next may only fall when the last has caught up."""
        total = sum(KINDS.values())
        often = {kind: max(1, round(share * self.options.events / total)) for kind, share in KINDS.items()}
        nodes = often.pop("node")
        events = [kind for kind, count in often.items() for _ in range(count)]
        self.source.shuffle(events)
        for number in range(nodes):
            stretch = len(events) / nodes
            events.insert(int(number * stretch + self.source.uniform(0, 0.5 * stretch)) + number, "node")
        return events

    def wait(self, count, what):
        def answered():
            self.look_after()
            return self.answers.poll() >= count

        try:
            wait_for(answered, what, 240, every=0)
        except Late as late:
            known = f"{len(self.answers.messages)} of {count} answers"
            raise verify.Wrong(f"{late}: {known}\n" + "\n".join(worker.log() for worker in self.workers)) from None

    def look_after(self):
        """Starts again what has ended, as a service manager would, and notes what nobody asked for."""
        for worker in self.workers:
            if not worker.runs():
                if not worker.killed:
                    self.ended[worker.process.returncode] += 1
                    self.tell(f"{worker.name} ended by itself with {worker.process.returncode}")
                    if sum(self.ended.values()) > 3 * self.options.events:
                        raise verify.Wrong("workers end again and again:\n" + worker.log())
                worker.start()

    def mend(self):
        """Takes back what would stand in the way of the next event."""
        if self.full is not None and self.full.runs():
            self.full.limit_files(None)
        self.full = None
        if self.down is not None:
            self.broker.start_node(self.down)
            self.down = None

    # The events

    def kill(self):
        self.source.choice(self.workers).end(signal.SIGKILL)

    def terminate(self):
        worker = self.source.choice(self.workers)
        worker.send(signal.SIGTERM)
        try:
            wait_for(lambda: self.answers.poll() and not worker.runs(), "a worker to end after SIGTERM", 60, every=0)
        except Late as late:
            raise verify.Wrong(f"{late}: {worker.name}\n" + "\n".join(w.log() for w in self.workers)) from None
        if worker.process.returncode not in ORDERLY:
            raise verify.Wrong(f"SIGTERM ended with {worker.process.returncode}:\n{worker.log()}")

    def stop(self):
        """Longer than the session: the group gives its partitions to others, and it learns of that when it wakes up."""
        worker = self.source.choice(self.workers)
        worker.send(signal.SIGSTOP)
        try:
            wait_for(lambda: self.answers.poll() and worker.name not in self.members(), "the group to give a worker up", 60)
        except Late as late:
            raise verify.Wrong(f"{late}; it has {self.members()}\n" + "\n".join(w.log() for w in self.workers)) from None
        finally:
            worker.send(signal.SIGCONT)

    def add(self):
        if len(self.workers) < MOST_WORKERS:
            name = f"{self.name}-{len(self.workers) + 1}"
            self.workers.append(Worker(self.command, name, self.folder).start())

    def node(self):
        """One of three is killed; it comes back with the next event."""
        wait_for(lambda: self.answers.poll() and self.broker.caught_up(), "the broker to be whole", 120)
        self.down = self.source.choice(list(self.broker.nodes))
        self.broker.kill(self.down)
        self.tell(f"node {self.down} of the broker killed")
        wait_for(lambda: self.answers.poll() and self.broker.known_nodes() < self.broker.count, "the node to be missed")
        self.tell("the others know")

    def disk(self):
        """No file of a worker may grow, until the next event."""
        self.full = self.source.choice(self.workers)
        self.full.limit_files(4096)

    def members(self):
        """Instances in the group, as the broker has them."""
        try:
            group = self.broker.admin().describe_consumer_groups([self.name], request_timeout=5)[self.name].result(5)
        except (KafkaException, TimeoutError):
            self.broker.forget_admin()
            return [worker.name for worker in self.workers]
        return [member.group_instance_id for member in group.members]

    def tell(self, text):
        if self.options.verbose:
            print(f"  {time.strftime('%H:%M:%S')} seed {self.seed}, {len(self.answers.messages)} answers: {text}", flush=True)

    # The judgement

    def finish(self):
        """Ends the workers and compares everything."""
        codes = [worker.end() for worker in self.workers]
        if not set(codes) <= ORDERLY:
            raise verify.Wrong(f"in the end workers ended with {codes}:\n" + "\n".join(w.log() for w in self.workers))
        address = self.broker.address
        inputs, outputs = topics.read(address, self.input), topics.read(address, self.output)
        if len(inputs) != self.options.records:
            raise verify.Wrong(f"{len(inputs)} inputs instead of {self.options.records}")
        wanted = verify.expected(self.program, [*FIELDS, *LEARNING], inputs)
        given = verify.check_answers(inputs, outputs, wanted)
        some = {f"d{k:03d}".encode() for k in range(0, self.options.keys, 10)}
        verify.check_chains([message for message in outputs if message.key in some])
        verify.check_dead_letters(inputs, given, topics.read(address, f"{self.name}-dead"))
        for key in self.source.sample(sorted({f"d{k:03d}" for k in range(self.options.keys // 3)}), 3):
            out = pathlib.Path(self.folder, f"{self.name}-{key}.kal")
            said = self.fleet("export", key, "--brokers", address, "--name", self.name, "--out", out)
            verify.check_model(self.program, LEARNING, key, out, said, inputs)
        return len(given)


def run_seed(program, broker, seed, options):
    begin = time.monotonic()
    chaos = Chaos(program, broker, seed, options, new_folder("workers-", HOME))
    chaos.prepare()
    chaos.run()
    answers = chaos.finish()
    events = ", ".join(f"{count} {kind}" for kind, count in sorted(chaos.happened.items()))
    ended = sum(chaos.ended.values())
    print(f"seed {seed}: {answers} inputs, each answered once, equal to the bit; {len(chaos.workers)} workers; events: {events}"
          f"{f'; {ended} ended by themselves' if ended else ''}; {time.monotonic() - begin:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--seeds", default="1,2")
    parser.add_argument("--records", type=int, default=50000)
    parser.add_argument("--events", type=int, default=20)
    parser.add_argument("--keys", type=int, default=300)
    parser.add_argument("--verbose", action="store_true", help="tell what happens")
    options = parser.parse_args()
    exit_on_signals()
    with Broker(nodes=3) as broker:
        for seed in options.seeds.split(","):
            try:
                run_seed(options.program, broker, int(seed), options)
            except verify.Wrong as wrong:
                sys.exit(f"seed {seed}: {wrong}\nAgain: {' '.join(sys.argv)} --seeds {seed}")


if __name__ == "__main__":
    main()
