#!/usr/bin/env python3
"""Three HTTP libraries of Debian 12 at what `kalstream serve` does most (docs/decisions/0009).

    bench/http/measure.py [--seconds 5] [--rounds 3]         (make bench-http)

Each is a hello server beside this file: small POSTs over 8 keep-alive connections (wrk), alone and with 500
event streams open; what it takes to compile; threads and memory. Medians over the rounds, in turns."""

import argparse
import os
import re
import socket
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SERVERS = {"microhttpd": ["-lmicrohttpd"], "beast": [], "httplib": ["-lcpp-httplib"]}


def compile_server(name, folder):
    program = os.path.join(folder, name)
    begin = time.monotonic()
    subprocess.run(["g++", "-std=c++20", "-O2", "-w", os.path.join(HERE, f"hello_{name}.cc"), "-o", program,
                    "-pthread", *SERVERS[name]], check=True)
    return program, time.monotonic() - begin


def status_of(pid):
    with open(f"/proc/{pid}/status") as lines:
        fields = dict(line.split(":", 1) for line in lines if ":" in line)
    return int(fields["Threads"]), int(fields["VmRSS"].split()[0]) / 1024


def load(port, seconds, script):
    said = subprocess.run(["wrk", "-t1", "-c8", f"-d{seconds}s", "--latency", "-s", script,
                           f"http://127.0.0.1:{port}/"], check=True, capture_output=True, text=True).stdout
    rate = float(re.search(r"Requests/sec:\s+([\d.]+)", said)[1])
    value, unit = re.search(r"99%\s+([\d.]+)(us|ms|s)", said).groups()
    return rate, float(value) * {"us": 1e-3, "ms": 1, "s": 1e3}[unit]


def open_events(port, count):
    clients = []
    for _ in range(count):
        client = socket.create_connection(("127.0.0.1", port))
        client.sendall(b"GET /events HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        clients.append(client)
    for client in clients:
        while b"data: hello" not in client.recv(4096):
            pass
    return clients


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "post.lua")
        with open(script, "w") as out:
            out.write('wrk.method = "POST"\nwrk.body = \'{"x":1.5,"y":2.5,"target":3.5}\'\n')
        figures = {name: [] for name in SERVERS}
        programs = {name: compile_server(name, folder) for name in SERVERS}
        for _ in range(options.rounds):
            for name, (program, _) in programs.items():
                server = subprocess.Popen([program], stdout=subprocess.PIPE, text=True)
                port = int(server.stdout.readline())
                alone, p99 = load(port, options.seconds, script)
                _, before = status_of(server.pid)
                clients = open_events(port, 500)
                beside, _ = load(port, options.seconds, script)
                threads, after = status_of(server.pid)
                figures[name].append((alone, p99, beside, threads, after - before))
                for client in clients:
                    client.close()
                server.kill()
                server.wait()
        print("library     compile s   requests/s   p99 ms   … beside 500 event streams   threads   MiB for them")
        for name, rows in figures.items():
            alone, p99, beside, threads, memory = (statistics.median(column) for column in zip(*rows))
            print(f"{name:11} {programs[name][1]:9.1f} {alone:12.0f} {p99:8.2f} {beside:28.0f} {threads:9.0f} "
                  f"{memory:14.1f}")


main()
