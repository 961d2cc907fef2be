"""kalstream's side, through its command line."""

import json
import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np


def numbers(line):
    """A line of CSV whose empty fields say nan."""
    return line.rstrip("\n").replace(",,", ",nan,").replace(",,", ",nan,") + (
        "nan" if line.endswith(",\n") else ""
    )


class Output:
    """What `kalstream run --csv` wrote: a column of numbers for each name; empty fields are nan."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            names = file.readline().rstrip("\n").split(",")
            # the learner's name and times are text: only what is asked for is read as numbers
            numeric = ("target", "prediction", "forecast")
            kept = [i for i, n in enumerate(names) if n.split("_")[0] in numeric and not n.endswith("_time")]
            values = np.loadtxt((numbers(line) for line in file), delimiter=",", usecols=kept, ndmin=2)
        self.timed = "forecast_1_time" in names
        self.columns = {names[i]: values[:, j] for j, i in enumerate(kept)}

    def get(self, name, target=None):
        """A column by name; with several targets names end with the target's."""
        for candidate in (name, f"{name}_{target}"):
            if candidate in self.columns:
                return self.columns[candidate]
        return None


def version(binary):
    said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    return (said.stdout or said.stderr).strip().splitlines()[0] if said.stdout or said.stderr else "unknown"


def run(binary, path, targets, rows, learner="auto", seed=1, horizon=0, interval=None, extra=()):
    """One learner over one series; returns its Output and the report, with wall-clock seconds added."""
    with tempfile.TemporaryDirectory() as folder:
        table, report = os.path.join(folder, "out.csv"), os.path.join(folder, "out.json")
        command = [
            binary,
            "run",
            path,
            "--target",
            ",".join(targets),
            "--inputs",
            "none",
            "--learner",
            learner,
        ]
        command += ["--seeds", f"{seed}..{seed}", "--steps", str(rows), "--jobs", "1", "--quiet"]
        command += ["--csv", table, "--json", report]
        command += ["--horizon", str(horizon)] if horizon else []
        command += ["--interval", str(interval)] if interval else []
        begin = time.monotonic()
        done = subprocess.run(command + list(extra), capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)}\n{done.stderr.strip() or done.stdout.strip()}")
        with open(report, encoding="utf-8") as file:
            summary = json.load(file)["summary"][0]
        summary["wall_s"] = time.monotonic() - begin
        return Output(table), summary


def in_parallel(tasks, jobs):
    """Calls the tasks (functions without arguments), so many at a time; yields (index, result) as they were given."""
    with ThreadPoolExecutor(max_workers=jobs) as pool:
        for index, future in enumerate([pool.submit(task) for task in tasks]):
            yield index, future.result()
