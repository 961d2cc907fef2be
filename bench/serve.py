#!/usr/bin/env python3
"""What `kalstream serve` costs: single samples, batches, and those who only listen (docs/serve.md).

    bench/serve.py [PROGRAM] [--rounds 3] [--seconds 5]         (make bench-serve)

Single samples go over 8 keep-alive connections, by wrk; batches of 1,000 over one, beside `kalstream stream` on
the same rows; then both once more with 500 event streams open that hear nothing and 50 that listen to the busy
stream and never read. Medians over the rounds, everything in every round. Needs wrk and Python's standard library."""

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


class Server:
    def __init__(self, program, folder):
        self.process = subprocess.Popen([program, "serve", "--store", os.path.join(folder, "store"), "--port", "0",
                                         "--learner", "rls", "--max-connections", "2000", "--quiet"],
                                        stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/$", self.process.stderr.readline().strip())[1])
        self.listeners = []

    def memory(self):
        """In MiB."""
        with open(f"/proc/{self.process.pid}/status") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024

    def listen(self, count, query):
        for _ in range(count):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            client.connect(("127.0.0.1", self.port))
            client.sendall(f"GET /api/v1/events{query} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            assert client.recv(1000).startswith(b"HTTP/1.1 200")
            self.listeners.append(client)

    def stop(self):
        for client in self.listeners:
            client.close()
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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", nargs="?", default="build/release/kalstream")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=200_000)
    a = parser.parse_args()
    measured = []
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "post.lua")
        with open(script, "w") as out:
            out.write(LUA)
        all_rows = list(rows(a.rows))
        path = os.path.join(folder, "rows.jsonl")
        with open(path, "w") as out:
            out.write("\n".join(all_rows) + "\n")
        for k in range(a.rounds):
            place = os.path.join(folder, str(k))
            os.mkdir(place)
            server = Server(a.program, place)
            rate, p99 = single(server.port, a.seconds, script)
            pipe = piped(a.program, path, a.rows)
            batch = batches(server.port, all_rows)
            alone = server.memory()
            post(server.port, "quiet", '{"a":1,"target":1}', "application/json")
            server.listen(500, "?stream=quiet")
            server.listen(50, "?stream=single")
            beside, beside_p99 = single(server.port, a.seconds, script)
            batch_beside = batches(server.port, all_rows)
            measured.append((rate, p99, pipe, batch, batch / pipe, beside, beside / rate, beside_p99,
                             batch_beside / batch, server.memory() - alone))
            server.stop()
    rate, p99, pipe, batch, share, beside, kept, beside_p99, batch_kept, memory = (
        statistics.median(column) for column in zip(*measured))
    print(f"| rls | measured | wanted |\n|---|---|---|\n"
          f"| single samples, 8 connections | {rate:,.0f} requests/s | 8,000 |\n"
          f"| 99 % of them within | {p99:.2f} ms | 5 ms |\n"
          f"| `kalstream stream`, the same rows | {pipe:,.0f} samples/s | |\n"
          f"| batches of 1,000 | {batch:,.0f} samples/s, {100 * (share - 1):+.0f} % | −15 % |\n"
          f"| single samples beside 500 idle and 50 slow listeners | {beside:,.0f} requests/s, {100 * (kept - 1):+.0f} %, "
          f"99 % within {beside_p99:.2f} ms | −10 % |\n"
          f"| batches beside them | {100 * (batch_kept - 1):+.0f} % | −10 % |\n"
          f"| memory for them | {memory:.0f} MiB | 100 MiB |")


if __name__ == "__main__":
    sys.exit(main())
