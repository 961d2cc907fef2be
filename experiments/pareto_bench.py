#!/usr/bin/env python3
"""Error against time and against memory, kalstream and others, on the streams of docs/auto.md: `make pareto`.

    PYTHONPATH=build/release/python build/pareto-venv/bin/python experiments/pareto_bench.py [--rows 2000]
        [--models NAME;...] [--streams NAME,...] [--data DIR] [--cache build/pareto] [--fresh]
        [--picture docs/figures/pareto.svg] [--page docs/performance.md]

Each sample is predicted, then learnt; every model has a process of its own, and on each stream one is measured
after the other. What has been measured is kept in --cache while the code and the package stay what they were, so
that a run that was interrupted goes on; --fresh measures all anew. The picture is drawn, and the table goes to its
place in the page.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import statistics
import subprocess
import sys

import kalstream
from forecast import cache
from forecast.machine import machine
from forecast.scores import geometric_mean
from pareto import chart, models, streams, worker

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)
BEGIN, END = "<!-- pareto: written by make pareto -->", "<!-- pareto: end -->"


class Worker:
    """The process of one model, started when it is first asked."""

    def __init__(self, name, options):
        self.command = [sys.executable, "-W", "ignore", "-m", "pareto.worker", name, options.data, str(options.rows)]
        self.process = None

    def ask(self, stream):
        if self.process is None:
            one_thread = {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")}
            package = os.path.dirname(os.path.dirname(os.path.abspath(kalstream.__file__)))
            self.process = subprocess.Popen(
                self.command, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, **one_thread, "PYTHONPATH": package})  # fmt: skip
        print(json.dumps(stream), file=self.process.stdin, flush=True)
        answer = self.process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self.command[5]} failed on {stream}; what it said is above")
        return json.loads(answer)

    def end(self):
        if self.process is not None:
            self.process.stdin.close()
            self.process.wait()


def key_of(options):
    """What results depend on, beside the stream and the model."""
    with open(kalstream._core.__file__, "rb") as file:
        package = file.read().hex()
    return cache.digest(models, streams, worker, options.rows, options.data, package, versions())


def versions():
    packages = ("river", "lightgbm", "scikit-learn", "numpy")
    return f"kalstream {kalstream.__version__}, " + ", ".join(
        f"{name} {importlib.metadata.version(name)}" for name in packages
    )


def tell(text, end="\n"):
    """On standard error; on a terminal in the place of the line before, elsewhere whole lines only."""
    terminal = sys.stderr.isatty()
    if terminal or end:
        print(("\r\033[K" if terminal else "") + text, end=end, file=sys.stderr, flush=True)


def measure(options, names, chosen):
    """stream → model → what was measured, and when."""
    key, workers = key_of(options), {name: Worker(name, options) for name in names}
    results = {stream: {} for stream in chosen}

    def one(stream, name):
        label = f"{stream} {name}"
        if options.fresh and cache.there(options.cache, label, key):
            os.remove(cache.path_of(options.cache, label))
        return cache.kept(
            options.cache, label, key,
            lambda: {**workers[name].ask(stream), "date": str(datetime.date.today())})  # fmt: skip

    try:
        for count, stream in enumerate(chosen, 1):
            place = f"{count} of {len(chosen)} streams: {stream}"
            for name in names:
                tell(f"{place}: {name}", end="")
                results[stream][name] = one(stream, name)
            tell(place)
    finally:
        for process in workers.values():
            process.end()
    return results


def summary(results, names):
    """model → the geometric mean of its error, medians of its costs."""
    each = {name: [of[name] for of in results.values()] for name in names}
    return {
        name: {
            "nse": geometric_mean([r["nse"] for r in found]),
            "us": statistics.median(r["us"] for r in found),
            "bytes": max(statistics.median(r["bytes"] for r in found), 1),
        }
        for name, found in each.items()
    }


def three_digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def table(found, remark):
    """Best first; a dot where no other model is better in error and in that cost."""
    fronts = [
        set(chart.front({name: (r[key], r["nse"]) for name, r in found.items()})) for key in ("us", "bytes")
    ]
    lines = ["| model | NSE, geometric mean | µs per sample | memory |", "|---|---:|---:|---:|"]
    for name, r in sorted(found.items(), key=lambda item: item[1]["nse"]):
        family = models.FAMILY[name]
        shown = f"`{name}`" if family.startswith("kalstream") else f"{family}: {name}" if family == "river" else name
        cells = [three_digits(r["us"]), chart.size(r["bytes"])]
        cells = [f"**{cell}**" if name in best else cell for cell, best in zip(cells, fronts)]
        lines.append(f"| {shown} | {r['nse']:.4f} | {cells[0]} | {cells[1]} |")
    return "\n".join([*lines, "", remark])


def write_into(page, words):
    """Replaces what is between the marks."""
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(BEGIN)
    after = rest.split(END)[1]
    with open(page, "w", encoding="utf-8") as file:
        file.write(f"{before}{BEGIN}\n{words}\n{END}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--rows", type=int, default=2000, help="of each stream")
    parser.add_argument("--models", help="only these, with ';' between them")
    parser.add_argument("--streams", help="only those whose names contain one of these")
    parser.add_argument("--data", default=os.path.join(ROOT, "..", "shared", "data"), help="folder of the real streams")
    parser.add_argument("--cache", default=os.path.join(ROOT, "build", "pareto"), help="folder of what was measured")
    parser.add_argument("--fresh", action="store_true", help="measure all anew")
    parser.add_argument("--remark", default="", help="said below the table, e.g. what ran beside")
    parser.add_argument("--picture", default=os.path.join(ROOT, "docs", "figures", "pareto.svg"))
    parser.add_argument("--page", default=os.path.join(ROOT, "docs", "performance.md"), help="none: print the table")
    options = parser.parse_args()
    options.data = os.path.abspath(options.data)

    chosen, absent = streams.available(options.data)
    for name in absent:
        print(f"{name} is left out: there is no {streams.path_of(options.data, name)}", file=sys.stderr)
    if options.streams:
        chosen = [s for s in chosen if any(word in s for word in options.streams.split(","))]
    names = options.models.split(";") if options.models else list(models.MODELS)
    if unknown := [name for name in names if name not in models.MODELS]:
        parser.error(f"no model {unknown[0]!r}; there are " + "; ".join(models.MODELS))
    if not chosen:
        parser.error("no stream has such a name")

    results = measure(options, names, chosen)
    found = summary(results, names)
    dates = sorted({r["date"] for of in results.values() for r in of.values()})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    told = f"First {options.rows:,} samples of {len(chosen)} streams, one core of {machine()}, {when}"
    with open(options.picture, "w", encoding="utf-8") as file:
        file.write(chart.draw(found, models.FAMILY, told))
    words = table(found, f"{told}{'; ' + options.remark if options.remark else ''}; {versions()}.")
    if options.page == "none":
        print(words)
    else:
        write_into(options.page, words)


if __name__ == "__main__":
    main()
