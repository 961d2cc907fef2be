#!/usr/bin/env python3
"""kalstream's `auto` beside other forecasters on real series: the tables of docs/forecasting-results.md.

    experiments/forecast_bench.py --kalstream build/release/kalstream --quick [--jobs N] [--seeds 1..3] [--only REGEX]
        [--learner auto] [--extra "--set key=value"] [--json FILE] [--against FILE]
        [--rivals build/forecast-cache]
    experiments/forecast_bench.py --kalstream build/release/kalstream [--jobs N] [--seeds 3] [--only REGEX] [--out DIR]
        [--cache DIR] [--cached-rivals]

The series are the CSV files of --data (default ../shared/data/series), whose README.md tells their periods and what
others reached on them. --quick runs kalstream alone, needs nothing but numpy, and prints a line per series. Otherwise
rivals are run too, once: their results are kept in --cache (experiments/forecast/README.md). --out gets
forecasting-results.md, forecasting.json and forecasting.svg. --check tries whether any rival looks ahead.
"""

import argparse
import json
import os
import re
import shlex

from forecast import quick
from forecast.series import load

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "shared", "data", "series")


def seeds(text):
    first, _, last = text.rpartition("..")
    return list(range(int(first or 1), int(last) + 1))


def everything(options, series, figures):
    """Measures all, and writes the tables, the chart and the figures behind them."""
    from forecast import chart, full, report

    results = full.measure(options, series, figures)
    os.makedirs(options.out, exist_ok=True)
    drawn = options.chart or os.path.join(options.out, "forecasting.svg")
    chart.draw(results, drawn)
    text = report.markdown(results, os.path.relpath(drawn, options.out))
    with open(os.path.join(options.out, "forecasting-results.md"), "w", encoding="utf-8") as file:
        file.write(text)
    with open(options.json or os.path.join(options.out, "forecasting.json"), "w", encoding="utf-8") as file:
        json.dump(results, file, indent=1)
    print(text)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kalstream", default="build/release/kalstream", help="the program")
    parser.add_argument("--data", default=DATA, help="folder of the series")
    parser.add_argument("--quick", action="store_true", help="kalstream alone")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes at a time")
    parser.add_argument(
        "--seeds", type=seeds, help="how many, or which: 3, 5..7 (default: 1 if quick, else 3)"
    )
    parser.add_argument("--only", default="", help="series whose names match this expression")
    parser.add_argument("--learner", default="auto", help="in auto's place")
    parser.add_argument("--interval", type=float, default=0.9, help="0: no bounds")
    parser.add_argument("--extra", type=shlex.split, default=[], help="more options for `kalstream run`")
    parser.add_argument("--json", help="write all results here")
    parser.add_argument("--against", help="results of an earlier --json: ratios to them are shown as well")
    parser.add_argument(
        "--leads",
        choices=("clock", "rows"),
        default="rows",
        help="where rows are absent: score forecasts so many rows later, as all rivals, or at the rows of their times",
    )
    parser.add_argument(
        "--rivals", help="quick: rivals measured here (--cache's folder) instead of the README's figures"
    )
    parser.add_argument("--check", action="store_true", help="only check that no rival looks ahead")
    parser.add_argument("--remark", default="", help="said in the header, e.g. what ran beside")
    parser.add_argument("--out", default="build/forecast", help="folder of the tables and the chart")
    parser.add_argument("--chart", help="the chart's file (default: in --out)")
    parser.add_argument("--cache", default="build/forecast-cache", help="folder of the rivals' results")
    parser.add_argument(
        "--cached-rivals", action="store_true", help="only rivals whose results are there already"
    )
    options = parser.parse_args()
    if options.check:
        from forecast import look_ahead

        look_ahead.check(options.only)
        return
    if not os.path.isdir(options.data):
        print(f"no series: {options.data} is absent, nothing is measured")
        return
    series, figures = load(options.data)
    series = [one for one in series if re.search(options.only, one.name)]
    options.seeds = options.seeds or list(range(1, 2 if options.quick else 4))
    if options.quick:
        quick.run(options, series, figures)
    else:
        everything(options, series, figures)


if __name__ == "__main__":
    main()
