#!/usr/bin/env python3
"""Many models by key on several cores: samples per second of `kalstream stream --jobs N` beside --jobs 1.

10,000 models of alg1 with 8 units, used in turn, so that none stays in the cache; and with uneven keys, where a few
have most of the samples. Both are measured in pairs, in turned order every other time, since the machine may be
slower in one minute than in the next; what is told is the median of the pairs' ratios and their quartiles. Answers
of all runs are compared.

Rates are those of a running stream: each run is made twice, with a shorter and a longer part of the same file, and what
is told is the difference of samples over the difference of seconds. So the start, when all models are made, is left out.
The last column is the same by processor time: that of one job over that of the busiest thread of several, which other
work on the machine disturbs less.

    bench/jobs.py [build/release/kalstream] [--jobs 2] [--pairs 5] [--keys 10000] [--each 40]

With --memory: how many models of auto stay in so much memory, living or packed, how many are on disk, and samples per
second, all of them used in turn (make bench-cold). For each number of keys, with a folder for those that do not fit and
without one (then lines of keys too many are refused). Of rates the first turn is left out, and with more than 130 turns
the first 65: until then auto starts over each time it takes its scale.

    bench/jobs.py --memory 4GiB [--keys 2500,4000,6000] [--each 6] [--jobs 2] [--folder DIR]
"""
import argparse
import glob
import hashlib
import itertools
import json
import os
import random
import statistics
import subprocess
import tempfile
import time

from stream import cpu_name, rows, write_keyed


def write_uneven(folder, keys, count):
    """Half of the samples are those of a hundredth of the keys."""
    names = [f"x{k}" for k in range(8)]
    path = os.path.join(folder, "uneven.jsonl")
    order = random.Random(3)
    with open(path, "w") as out:
        for x, d in rows(count):
            key = order.randrange(max(1, keys // 100)) if order.random() < 0.5 else order.randrange(keys)
            numbers = ",".join(f'"{n}":{v:.6f}' for n, v in zip(names, x))
            out.write(f'{{"key":"k{key}",{numbers},"target":{d:.6f}}}\n')
    return path


def first_part(path, samples):
    """The first so many lines of a file, as another."""
    with open(path) as whole, open(path + ".first", "w") as part:
        part.writelines(itertools.islice(whole, samples))
    return path + ".first"


def processor_seconds(pid):
    """Of the thread that has used the most."""
    most = 0
    for file in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        try:
            with open(file) as text:
                most = max(most, int(text.read().split()[0]) / 1e9)
        except OSError:
            pass  # it has just ended
    return most


def once(program, path, options, jobs, folder):
    """Samples, seconds, processor seconds of the busiest thread, and a checksum of the answers."""
    summary = os.path.join(folder, "summary.json")
    answers = os.path.join(folder, "answers")
    with open(path) as data, open(answers, "wb") as out:
        start = time.perf_counter()
        process = subprocess.Popen([program, "stream", "--quiet", "--jobs", str(jobs), "--json", summary, *options],
                                   stdin=data, stdout=out)
        busiest = 0
        while process.poll() is None:
            busiest = max(busiest, processor_seconds(process.pid))
            time.sleep(0.05)
        seconds = time.perf_counter() - start
        assert process.returncode == 0
    with open(answers, "rb") as file:
        checksum = hashlib.sha256(file.read()).hexdigest()
    with open(summary) as file:
        result = json.load(file)
    return result["samples"], seconds, busiest, checksum, result


def rate(program, path, options, jobs, folder):
    """Samples per second once it runs, per processor second of the busiest thread, and a checksum of all answers."""
    few, start, start_busy, *_ = once(program, path + ".first", options, jobs, folder)
    samples, seconds, busy, checksum, _ = once(program, path, options, jobs, folder)
    return ((samples - few) / (seconds - start), (samples - few) / (busy - start_busy)), checksum


def quartiles(values):
    if len(values) < 2:
        return values * 3
    return statistics.quantiles(values, n=4, method="inclusive")


def in_memory(a, keys, folder):
    """A row: so many models of auto in a.memory, in turn."""
    path = write_keyed(folder, keys, a.each, True)
    first_part(path, keys * (65 if a.each > 2 * 65 else 1))
    for with_folder in (False, True):
        def run(data):
            with tempfile.TemporaryDirectory(dir=a.folder) as state:
                # Nothing is written but models that have to leave, and all of them once in the end.
                kept = ["--checkpoint", os.path.join(state, "models"), "--every", "10h"] if with_folder else []
                options = ["--key", "key", "--max-models", str(keys), "--memory", a.memory, *kept]
                return once(a.program, data, options, a.jobs, folder)
        few, start, *_ = run(path + ".first")
        samples, seconds, _, _, result = run(path)
        packed, on_disk = result["models_packed"], result["models_on_disk"]
        print(f"| {keys:,} | {'yes' if with_folder else 'no'} | {result['models'] - packed - on_disk:,} | {packed:,} | {on_disk:,} "
              f"| {keys - result['models']:,} | {result['resident_bytes'] / 2**20:,.0f} MiB "
              f"| {(samples - few) / (seconds - start):,.0f} |", flush=True)
        if on_disk == packed == 0 and result["models"] == keys:
            return  # there is room for all as they are, folder or not


def many_in_memory(a):
    print(f"{cpu_name()}, {time.strftime('%Y-%m-%d', time.gmtime())}; auto, 8 inputs, --memory {a.memory}, {a.jobs} jobs, "
          f"{a.each} samples of each key\n")
    print("| keys | folder | live | packed | on disk | refused | resident | samples/s in turn |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir=a.folder) as folder:
        for keys in a.keys.split(","):
            in_memory(a, int(keys), folder)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", nargs="?", default="build/release/kalstream")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--keys", help="10,000; with --memory one or more numbers, 2500,4000,6000")
    parser.add_argument("--each", type=int, help="samples of each model: 40, with --memory 6")
    parser.add_argument("--kinds", default="in turn,uneven", help="of: in turn, uneven")
    parser.add_argument("--memory", help="how many models of auto stay in so much")
    parser.add_argument("--folder", help="where models go that do not fit, and the data")
    a = parser.parse_args()
    a.each = a.each or (6 if a.memory else 40)
    if a.memory:
        a.keys = a.keys or "2500,4000,6000"
        return many_in_memory(a)
    a.keys = int(a.keys or 10_000)
    alg1 = ["--learner", "alg1", "--hidden", "8", "--key", "key", "--max-models", str(a.keys)]
    print(f"{cpu_name()}, {time.strftime('%Y-%m-%d', time.gmtime())}; {a.pairs} pairs, medians (and quartiles)\n")
    print(f"| alg1, 8 units, 8 inputs | samples | samples/s, 1 job | {a.jobs} jobs | times | … by processor time |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as folder:
        files = {
            "in turn": lambda: write_keyed(folder, a.keys, a.each, True),
            "uneven": lambda: write_uneven(folder, a.keys, a.keys * a.each),
        }
        for kind in a.kinds.split(","):
            path = files[kind]()
            first_part(path, a.keys * max(1, a.each // 4))
            one, many = [], []
            for pair in range(a.pairs):
                order = [(1, one), (a.jobs, many)]
                sums = set()
                for jobs, rates in order if pair % 2 == 0 else reversed(order):
                    measured, checksum = rate(a.program, path, alg1, jobs, folder)
                    rates.append(measured)
                    sums.add(checksum)
                assert len(sums) == 1, "the answers differ"
            ratios = quartiles([m[0] / o[0] for m, o in zip(many, one)])
            by_processor = quartiles([m[1] / o[1] for m, o in zip(many, one)])
            low, mid, high = quartiles([o[0] for o in one])
            low_many, mid_many, high_many = quartiles([m[0] for m in many])
            print(f"| {a.keys:,} models, {kind} | {a.keys * a.each:,} | {mid:,.0f} ({low:,.0f} to {high:,.0f}) "
                  f"| {mid_many:,.0f} ({low_many:,.0f} to {high_many:,.0f}) "
                  f"| {ratios[1]:.2f} ({ratios[0]:.2f} to {ratios[2]:.2f}) "
                  f"| {by_processor[1]:.2f} ({by_processor[0]:.2f} to {by_processor[2]:.2f}) |", flush=True)


if __name__ == "__main__":
    main()
