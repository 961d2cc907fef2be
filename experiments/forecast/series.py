"""The series of a folder, and what its README tells of them: periods, and what others reached."""

import csv
import datetime
import os
import re
from dataclasses import dataclass, field

import numpy as np

ETT_ROWS = 8000  # of a file with several channels, one-step and fixed-lead scores use the first rows only


@dataclass
class Series:
    name: str
    path: str
    target: str
    y: np.ndarray
    periods: list = field(default_factory=list)
    times: list = None  # datetimes, where the file has a time column

    @property
    def has_horizons(self):
        """Fixed leads are scored on long series that have a season."""
        return len(self.y) >= 1500 and bool(self.periods)

    def ahead(self, lead, clock):
        """The row that lies so many steps after each: of the clock, past absent rows (−1 where that time has none),
        or so many rows."""
        rows = np.arange(len(self.y)) + lead
        if clock and self.times:
            seconds = np.array([t.timestamp() for t in self.times])
            wanted = seconds + lead * self.step()
            rows = np.searchsorted(seconds, wanted - 1)
            found = np.minimum(rows, len(rows) - 1)
            return np.where(np.abs(seconds[found] - wanted) < 1, found, -1)
        return np.where(rows < len(rows), rows, -1)

    def step(self):
        """The usual distance of two rows, or None."""
        if not self.times:
            return None
        seconds = np.array([t.timestamp() for t in self.times])
        return float(np.median(np.diff(seconds)))


def tables(text):
    """Every Markdown table of a text as (header cells, rows of cells)."""
    found, rows = [], []
    for line in text.splitlines() + [""]:
        if line.startswith("|"):
            rows.append([cell.strip() for cell in line.strip().strip("|").split("|")])
        elif rows:
            found.append((rows[0], rows[2:]))
            rows = []
    return found


def parts(cell):
    return [part.strip() for part in cell.split(",")]


def read_periods(readme, names):
    """{series: periods} from the table of files. A row may name several files, with a value for each or one for all."""
    periods = {}
    for header, rows in readme:
        if header[0] != "file":
            continue
        column = next(i for i, title in enumerate(header) if title.startswith("periods"))
        step = header.index("step")
        for row in rows:
            files = [part.removesuffix(".csv") for part in parts(row[0])]
            values = parts(row[column])
            each = len(files) > 1 and len(values) == len(files) == len(parts(row[step]))
            for i, file in enumerate(files):
                mine = values[i : i + 1] if each else values
                name = next((n for n in names if n == file or n.endswith("-" + file)), file)
                periods[name] = [int(v) for v in mine if v.isdigit()]
    return periods


def read_figures(readme):
    """What the README says others reached: ({series: (value, rival)}, {(series, lead): value}, {series: auto's})."""
    one_step, leads, auto = {}, {}, {}
    number = re.compile(r"[0-9.]+")
    for header, rows in readme:
        if header[0] != "series" or "best rival" not in header:
            continue
        best, first = header.index("best rival"), 2 if header[1] == "k" else 1
        for row in rows:
            match = number.match(row[best])
            if not match:
                continue
            value = float(match.group())
            if header[1] == "k":
                leads[row[0], int(row[1])] = value
                auto[row[0], int(row[1])] = float(row[first])
            else:
                one_step[row[0]] = (value, row[best][match.end() :].strip())
                auto[row[0]] = float(row[first])
    return one_step, leads, auto


def usual_periods(seconds):
    """Day and week, or week, or year, for a step of so many seconds: for folders whose README does not say."""
    if not seconds:
        return []
    day, periods = 86400 / seconds, []
    if 4 <= day <= 1440 and abs(day - round(day)) < 1e-6:
        periods.append(round(day))
        if 7 * day <= 400:
            periods.append(round(7 * day))
    elif seconds == 86400:
        periods.append(7)
    elif seconds == 7 * 86400:
        periods.append(52)
    return periods


def parse_times(texts):
    try:
        return [datetime.datetime.fromisoformat(text) for text in texts]
    except ValueError:
        return None


def load(folder):
    """All series of a folder: target y, or every column of a file that has none (ETT), by name."""
    files = sorted(f for f in os.listdir(folder) if f.endswith(".csv"))
    names = [f.removesuffix(".csv") for f in files]
    try:
        with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
            readme = tables(file.read())
    except FileNotFoundError:
        readme = []
    periods, found = read_periods(readme, names), []
    for name in names:
        path = os.path.join(folder, name + ".csv")
        with open(path, newline="", encoding="utf-8") as file:
            header, *rows = list(csv.reader(file))
        timed = header[0] in ("time", "date")
        channels = ["y"] if "y" in header else header[int(timed) :]
        rows = rows if "y" in header else rows[:ETT_ROWS]
        times = parse_times([row[0] for row in rows]) if timed else None
        for channel in channels:
            column = header.index(channel)
            y = np.array([float(row[column]) for row in rows])
            series = Series(name if channel == "y" else f"{name}-{channel}", path, channel, y, [], times)
            series.periods = periods[name] if name in periods else usual_periods(series.step())
            found.append(series)
    return found, read_figures(readme)
