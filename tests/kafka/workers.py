"""Workers of a fleet as processes, looked after as a service manager would."""

import collections
import pathlib
import resource
import signal
import subprocess
import threading
import time

from processes import spawn

# A session of three seconds, so that a worker that is silent is given up soon
TIMES = ["--kafka", "session.timeout.ms=3000", "--kafka", "heartbeat.interval.ms=500"]


class Worker:
    """One instance of the fleet; started again and again under the same name."""

    def __init__(self, command, name, folder, environment=None):
        self.name = name
        self.cache = pathlib.Path(folder, name)
        self.command = [*command, "--instance", name, "--cache", self.cache]
        self.environment = environment
        self.said = collections.deque(maxlen=400)
        self.process = None
        self.starts = 0
        self.killed = False

    def start(self):
        self.starts += 1
        self.killed = False
        self.process = spawn(self.command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env=self.environment)
        threading.Thread(target=self._listen, args=(self.process,), daemon=True).start()
        return self

    def _listen(self, process):
        # Through a pipe, so that what it says is not lost when its disk is full
        for line in process.stdout:
            self.said.append(f"{time.strftime('%H:%M:%S')} {line.decode(errors='replace').rstrip()}")
        self.said.append(f"{time.strftime('%H:%M:%S')} ended with {process.wait()}")

    def send(self, number):
        self.killed = self.killed or number in (signal.SIGKILL, signal.SIGTERM)
        self.process.send_signal(number)

    def runs(self):
        return self.process is not None and self.process.poll() is None

    def end(self, number=signal.SIGTERM, seconds=60):
        """Ends it and returns its exit code."""
        if self.runs():
            self.send(number)
        return self.process.wait(seconds)

    def limit_files(self, size):
        """From now on no file grows beyond this: its disk is full, as far as it can tell. None: as big as it likes."""
        wanted = resource.RLIM_INFINITY if size is None else size
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (wanted, resource.RLIM_INFINITY))

    def log(self, lines=30):
        return "\n".join(f"  {self.name}: {line}" for line in list(self.said)[-lines:])
