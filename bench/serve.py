#!/usr/bin/env python3
"""What `kalstream serve` costs: single samples, batches, and those who only listen (docs/serve.md).

    bench/serve.py [PROGRAM] [--rounds 3] [--seconds 5]         (make bench-serve)

Single samples go over 8 keep-alive connections, by wrk; batches of 1,000 over one, beside `kalstream stream` on
the same rows; and both with 500 event streams open that hear nothing and 50 that listen to the busy stream and never
read, beside without; and single samples beside 64 connections that announce 16 MiB and send a byte ten times a second.
What is compared is measured in pairs, in turned order every other time. Needs wrk and Python's
standard library."""

import argparse
import http.client
import json
import math
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

LUA = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
request = function()
  local a, b = math.random(), math.random()
  return wrk.format(nil, nil, nil, string.format(
    '{"x0":%.6f,"x1":%.6f,"x2":%.6f,"x3":%.6f,"target":%.6f}', a, b, a * b, a - b, a + 2 * b))
end
"""


def rows(count):
    source = random.Random(1)
    for _ in range(count):
        x = [source.gauss(0, 1) for _ in range(8)]
        target = math.sin(x[0] + x[1]) + 0.5 * x[2] * x[3] + 0.1 * source.gauss(0, 1)
        yield json.dumps({**{f"x{k}": v for k, v in enumerate(x)}, "target": target})


class Hostile:
    """Connections that announce a large body and send it byte by byte; they come back when they are let go."""

    def __init__(self, port, count):
        self.port = port
        self.clients = [None] * count
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.ends.wait(0.1):
            for k, client in enumerate(self.clients):
                try:
                    if client is None:
                        self.clients[k] = client = socket.create_connection(("127.0.0.1", self.port))
                        client.sendall(b"POST /api/v1/streams/single/samples HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                                       b"Content-Type: application/json\r\nContent-Length: 16777216\r\n\r\n")
                    client.send(b"x")
                except OSError:
                    self.clients[k] = None

    def stop(self):
        self.ends.set()
        self.thread.join()
        for client in self.clients:
            if client is not None:
                client.close()


class Server:
    def __init__(self, program, folder):
        self.process = subprocess.Popen([program, "serve", "--store", os.path.join(folder, "store"), "--port", "0",
                                         "--learner", "rls", "--max-connections", "2000", "--max-rate", "1000000", "--quiet"],
                                        stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/$", self.process.stderr.readline().strip())[1])
        self.listeners = []

    def memory(self):
        """In MiB."""
        with open(f"/proc/{self.process.pid}/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def work(self):
        """Seconds of a processor that it has had."""
        with open(f"/proc/{self.process.pid}/stat") as line:
            fields = line.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def listen(self, count, query):
        for _ in range(count):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", self.port))
            client.sendall(f"GET /api/v1/events{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
            self.listeners.append(client)

    def deaf(self):
        """Nobody listens any more."""
        for client in self.listeners:
            client.close()
        self.listeners = []

    def stop(self):
        self.deaf()
        self.process.terminate()
        self.process.communicate()
        assert self.process.returncode == 0


def post(port, stream, body, kind):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", f"/api/v1/streams/{stream}/samples", body, {"Content-Type": kind})
    response = connection.getresponse()
    text = response.read()
    assert response.status == 200, text
    connection.close()
    return text


def single(port, seconds, script):
    """Requests a second, and the 99th percentile of their time in ms."""
    said = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}s", "--latency", "-s", script,
                           f"http://127.0.0.1:{port}/api/v1/streams/single/samples"],
                          check=True, capture_output=True, text=True).stdout
    assert "Non-2xx" not in said, said
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", said).groups()
    return float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1]), float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def batches(port, all_rows):
    """Samples a second, in batches of 1,000 over one connection."""
    bodies = ["\n".join(all_rows[k:k + 1000]) + "\n" for k in range(0, len(all_rows), 1000)]
    connection = http.client.HTTPConnection("127.0.0.1", port)
    begin = time.perf_counter()
    for body in bodies:
        connection.request("POST", "/api/v1/streams/batch/samples", body, {"Content-Type": "application/x-ndjson"})
        response = connection.getresponse()
        text = response.read()
        assert response.status == 200 and text.count(b"\n") == 1000
    return len(all_rows) / (time.perf_counter() - begin)


def piped(program, path, count):
    """The same rows through a pipe."""
    with open(path) as data:
        begin = time.perf_counter()
        subprocess.run([program, "stream", "--learner", "rls", "--quiet"], stdin=data, stdout=subprocess.DEVNULL,
                       check=True)
        return count / (time.perf_counter() - begin)


def ticks():
    """Of all processors since the start: all, and those that the host gave to others."""
    with open("/proc/stat") as lines:
        numbers = [int(text) for text in lines.readline().split()[1:9]]
    return sum(numbers), numbers[7]


def stolen(begin):
    """In percent, since then. Rates swing with it; the server's own time hardly does."""
    end = ticks()
    return 100 * (end[1] - begin[1]) / max(1, end[0] - begin[0])


def middle(values):
    """Median and quartiles of ratios, as differences in percent."""
    low, mid, high = statistics.quantiles(values, n=4) if len(values) > 1 else 3 * values
    return f"{100 * (mid - 1):+.0f} % ({100 * (low - 1):+.0f} to {100 * (high - 1):+.0f})"


def listened_to(server):
    server.listen(500, "?stream=quiet")
    server.listen(50, "?stream=single")


def in_a_round(program, place, script, seconds, path, all_rows, turned):
    """What one server did: everything in pairs, in turned order every other time, since what comes first is colder."""
    server = Server(program, place)
    single(server.port, 1, script)  # warm
    post(server.port, "quiet", '{"a":1,"target":1}', "application/json")
    batches(server.port, all_rows)
    found = {"share": [], "pipe": [], "batch": []}
    for k in range(4):
        both = {}
        for name in ("pipe", "batch") if (k % 2 == 0) != turned else ("batch", "pipe"):
            both[name] = piped(program, path, len(all_rows)) if name == "pipe" else batches(server.port, all_rows)
            found[name].append(both[name])
        found["share"].append(both["batch"] / both["pipe"])
    found["hostile"] = []
    for k in range(4):
        rates = {}
        for attacked in (turned, not turned) if k % 2 == 0 else (not turned, turned):
            hostile = Hostile(server.port, 64) if attacked else None
            rates[attacked] = single(server.port, seconds, script)[0]
            if hostile:
                hostile.stop()
        found["hostile"].append(rates[True] / rates[False])
    for listening in (turned, not turned):
        before = server.memory()
        if listening:
            listened_to(server)
        begin = server.work()
        rate, p99 = single(server.port, seconds, script)
        work = (server.work() - begin) / (rate * seconds)
        found[listening] = (rate, p99, batches(server.port, all_rows), work)
        if listening:
            found["memory"] = server.memory() - before
            server.deaf()
    server.stop()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/release/kalstream")
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200_000)
    a = parser.parse_args()
    begin = ticks()
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "post.lua")
        with open(script, "w") as out:
            out.write(LUA)
        all_rows = list(rows(a.rows))
        path = os.path.join(folder, "rows.jsonl")
        with open(path, "w") as out:
            out.write("\n".join(all_rows) + "\n")
        measured = []
        for k in range(a.rounds):
            place = os.path.join(folder, str(k))
            os.mkdir(place)
            measured.append(in_a_round(a.program, place, script, a.seconds, path, all_rows, k % 2 == 1))

    def median(value):
        return statistics.median(value(m) for m in measured)

    def all_of(name):
        return [value for m in measured for value in m[name]]

    print(f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, of which other machines had {stolen(begin):.0f} %\n")
    print(f"| rls | measured: medians; of ratios with quartiles | wanted |\n|---|---|---|\n"
          f"| single samples, 8 connections | {median(lambda m: m[False][0]):,.0f} requests/s | 8,000 |\n"
          f"| 99 % of them within | {median(lambda m: m[False][1]):.2f} ms | 5 ms |\n"
          f"| `kalstream stream`, the same rows | {statistics.median(all_of('pipe')):,.0f} samples/s | |\n"
          f"| batches of 1,000 | {statistics.median(all_of('batch')):,.0f} samples/s, {middle(all_of('share'))} | −15 % |\n"
          f"| single samples beside 500 idle and 50 slow listeners | {median(lambda m: m[True][0]):,.0f} requests/s, "
          f"{middle([m[True][0] / m[False][0] for m in measured])}, 99 % within {median(lambda m: m[True][1]):.2f} ms | −10 % |\n"
          f"| the server's own time for one of them | {1e6 * median(lambda m: m[True][3]):.1f} µs, "
          f"{middle([m[True][3] / m[False][3] for m in measured])} | |\n"
          f"| batches beside them | {middle([m[True][2] / m[False][2] for m in measured])} | −10 % |\n"
          f"| memory for them | {median(lambda m: m['memory']):.0f} MiB | 100 MiB |\n"
          f"| single samples beside 64 hostile connections | {middle(all_of('hostile'))} | −10 % |")


if __name__ == "__main__":
    sys.exit(main())
