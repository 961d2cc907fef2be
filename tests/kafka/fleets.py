"""A fleet with topics, a name and workers of its own."""

import itertools
import subprocess

import topics
from processes import wait_for
from workers import TIMES, Worker
from workload import FIELDS, LEARNING


class Fleet:
    """Topics and names of a fleet, its commands, and its workers."""

    numbers = itertools.count(1)

    def __init__(self, program, broker, folder, learning=LEARNING):
        self.program, self.broker, self.folder = program, broker, folder
        number = next(Fleet.numbers)
        self.name, self.input, self.output = f"case{number}", f"in{number}", f"out{number}"
        self.learning = [*FIELDS, *learning]
        self.workers = []

    def names(self, brokers=None):
        return ["--brokers", brokers or self.broker.address, "--input", self.input, "--output", self.output,
                "--name", self.name]

    def command(self, *verbs, seconds=60, **options):
        """Runs `kalstream fleet …` to its end."""
        return subprocess.run([self.program, "fleet", *map(str, verbs)], capture_output=True, text=True, timeout=seconds,
                              **options)

    def init(self, *more, partitions=2):
        return self.command("init", *self.names(), *self.learning, "--partitions", partitions, *more)

    def once(self, *more, brokers=None, **options):
        """A worker that is not expected to run: how it ended."""
        return self.command(*self.names(brokers), *self.learning, *TIMES, *more, **options)

    def work(self, *more, name=None, environment=None):
        """Starts a worker."""
        command = [self.program, "fleet", *self.names(), *self.learning, *TIMES, *more]
        worker = Worker(command, name or f"{self.name}-{len(self.workers) + 1}", self.folder, environment)
        self.workers.append(worker.start())
        return worker

    def write(self, *records, topic=None):
        topics.write(topics.producer(self.broker.address), topic or self.input, records)

    def answers(self, count, seconds=60):
        """Waits for so many of them, and gives all that are there."""
        reader = topics.Reader(self.broker.address, self.output)

        def there():
            for worker in self.workers:
                assert worker.runs() or worker.killed, worker.log()
            return reader.poll() >= count

        try:
            wait_for(there, f"{count} answers", seconds, every=0)
        except Exception as error:
            said = "\n".join(worker.log() for worker in self.workers)
            raise AssertionError(f"{error}; there are {len(reader.messages)}\n{said}") from None
        reader.close()
        return reader.messages
