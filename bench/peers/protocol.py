"""What the Python peers share: the cases, and the line protocol of the driver (see protocol.h)."""

import gc
import json
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

REPORTED_VALUES = 50


@dataclass(frozen=True)
class Case:
    """A rule at a size, with everything that must be the same for all peers."""

    rule: str
    settings: dict[str, Any]
    x: np.ndarray  # rows × n_x, the constant 1 included
    d: np.ndarray

    @property
    def n_x(self) -> int:
        return self.settings["inputs"] + 1

    @property
    def n_s(self) -> int:
        return self.settings["hidden"]

    @property
    def window(self) -> int:
        return self.settings["window"]

    @property
    def n_theta(self) -> int:
        return len(self.settings["theta"])

    @property
    def theta(self) -> np.ndarray:
        return np.array(self.settings["theta"])

    @property
    def W(self) -> np.ndarray:
        """Gate weights, 4 n_s × (n_x + n_s): a row is a node, gates in the order z, i, f, o."""
        return self.theta[: -self.n_s - 1].reshape(4 * self.n_s, self.n_x + self.n_s)

    @property
    def Wd(self) -> np.ndarray:
        """Output weights, n_s + 1: the last one is the constant's."""
        return self.theta[-self.n_s - 1 :]

    def schedule(self, name: str) -> np.ndarray:
        """A noise level, annealed linearly, for every row of the stream."""
        s = self.settings[name]
        t = np.arange(len(self.d))
        return s["from"] + (s["to"] - s["from"]) * np.minimum(t / s["steps"], 1)


class Task(Protocol):
    """A case under one peer."""

    def restart(self) -> None:
        """Back to the initial state."""

    def run(self, rows: int) -> np.ndarray:
        """Predicts and learns the first rows of the stream; returns the predictions."""


def load_cases(folder: pathlib.Path) -> dict[str, Case]:
    described = json.loads((folder / "cases.json").read_text())["cases"]
    tables = {
        size: np.loadtxt(folder / f"{size}.csv", delimiter=",", skiprows=1) for size in ("A", "B")
    }
    cases = {}
    for name, settings in described.items():
        size, rule = name.split("/")
        table = tables[size]
        x = np.column_stack([table[:, :-1], np.ones(len(table))])
        cases[name] = Case(rule, settings, x, np.ascontiguousarray(table[:, -1]))
    return cases


def measure(task: Task, rows: int, repeats: int) -> dict[str, Any]:
    seconds = []
    values = np.empty(0)
    for _ in range(repeats):
        task.restart()
        gc.collect()
        gc.disable()
        start = time.perf_counter()
        values = task.run(rows)
        seconds.append((time.perf_counter() - start) / rows)
        gc.enable()
    return {
        "seconds": statistics.median(seconds),
        "values": np.asarray(values)[:REPORTED_VALUES].tolist(),
    }


def serve(make_task: Callable[[Case], Task], folder: pathlib.Path) -> None:
    """Answers requests until standard input ends."""
    cases = load_cases(folder)
    tasks: dict[str, Task] = {}
    for line in sys.stdin:
        try:
            _, name, rows, repeats = line.split()
            if name not in tasks:
                tasks[name] = make_task(cases[name])
            answer = measure(tasks[name], int(rows), int(repeats))
        except Exception as error:  # the driver stops and shows it
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)
