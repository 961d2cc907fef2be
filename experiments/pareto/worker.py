"""One model in a process of its own: a line of JSON names a stream, a line of JSON says how the model did on it.

Time is that of the processor, in predict and learn, called from Python one sample at a time; models that are fast go
through the stream several times, each time anew, and the median counts. Memory is what a model holds after the last
sample: bytes in use, of malloc and of Python's own allocator, less those before it was made.
"""

import ctypes
import gc
import json
import math
import os
import re
import statistics
import sys
import tempfile
import time

import numpy as np

from pareto import models, streams

WORST = 10  # NSE of a model that diverges, as in auto_table.py
WARM_UP = 60  # rows for a model that does not count: modules that are loaded late are no part of any


class Heap(ctypes.Structure):
    """struct mallinfo2"""

    _fields_ = [(name, ctypes.c_size_t) for name in
                "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]  # fmt: skip


libc = ctypes.CDLL(None)
libc.mallinfo2.restype = Heap


def bytes_in_use():
    gc.collect()
    heap = libc.mallinfo2()
    return heap.uordblks + heap.hblkhd + bytes_of_small_objects()


def bytes_of_small_objects():
    """Python's own allocator tells them on standard error only."""
    with tempfile.TemporaryFile() as file:
        before = os.dup(2)
        os.dup2(file.fileno(), 2)
        sys._debugmallocstats()
        os.dup2(before, 2)
        os.close(before)
        file.seek(0)
        text = file.read().decode()
    return int(re.search(r"# bytes in allocated blocks *= *([\d,]+)", text)[1].replace(",", ""))


def go_through(model, rows, targets, predictions):
    """Seconds; sees a target after its prediction only. A model that fails leaves the rest unpredicted."""
    begin = time.process_time()
    try:
        for k, (x, y) in enumerate(zip(rows, targets)):
            predictions[k] = model.predict(x)
            model.learn(x, y)
    except (ArithmeticError, ValueError):  # weights that are no numbers any more
        pass
    return time.process_time() - begin


def nse(targets, predictions):
    """The first sample has nothing before it and does not count."""
    with np.errstate(all="ignore"):
        error = np.mean((targets - predictions)[1:] ** 2) / np.var(targets[1:])
    return min(float(error), WORST) if math.isfinite(error) else WORST


def measure(name, X, y):
    make = models.MODELS[name]
    inputs = X.shape[1]
    rows, targets = make(inputs).rows(X), y.tolist()
    predictions = np.full(len(y), np.nan)
    first = make(inputs)  # and is kept: malloc counts what was given back, and may be taken again, as in use
    go_through(first, rows[:WARM_UP], targets, predictions)
    predictions[:] = np.nan
    before = bytes_in_use()
    model = make(inputs)
    seconds = [go_through(model, rows, targets, predictions)]
    held = bytes_in_use() - before
    done = np.count_nonzero(~np.isnan(predictions))
    del first, model
    again = np.empty(len(y))
    while sum(seconds) < 0.5 and len(seconds) < 7:
        seconds.append(go_through(make(inputs), rows, targets, again))
    return {"nse": nse(y, predictions), "us": statistics.median(seconds) * 1e6 / max(done, 1), "bytes": held}


def main():
    name, folder, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what packages print is no answer
    for line in sys.stdin:
        X, y = streams.load(folder, json.loads(line), rows, not models.sees_past_targets(name))
        print(json.dumps(measure(name, X, y)), file=answers, flush=True)


if __name__ == "__main__":
    main()
