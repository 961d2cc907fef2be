import csv
import io
import os
import pathlib
import subprocess

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Program:
    """The command line, as users run it."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments):
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def predictions(self, *arguments):
        """What `run --csv` wrote, as numbers; the text has every digit that counts."""
        rows = list(csv.reader(io.StringIO(self("run", *arguments, "--quiet", "--csv", "-"))))
        columns = [k for k, name in enumerate(rows[0]) if name.startswith("prediction")]
        return np.array([[float(row[k]) if row[k] else np.nan for k in columns] for row in rows[1:]])


@pytest.fixture(scope="session")
def program():
    path = os.environ.get("KALSTREAM_PROGRAM", ROOT / "build/release/kalstream")
    if not os.path.exists(path):
        pytest.skip(f"{path} is not built")
    return Program(path)
