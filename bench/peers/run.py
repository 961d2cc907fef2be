#!/usr/bin/env python3
"""kalstream beside what people use today, in interleaved rounds on one core.

    make bench-peers            sets everything up and runs this
    bench/peers/run.py --help   options; needs the environment make bench-peers creates

Checks first that all peers give the same predictions, and stops if they do not. Writes peers.md,
peers.json and peers.svg. README.md says what is compared and why it is fair.
"""

import argparse
import datetime
import importlib.metadata
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

import report

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
TOLERANCE = 1e-8  # of the first 50 predictions
STREAM_ROWS = 2500
STREAMS = {
    "A": ["kin-like"],
    "B": ["puma-like", "--set", "inputs=32", "--set", "dynamics=f"],
}
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    "JAX_PLATFORMS": "cpu",
    "CUDA_VISIBLE_DEVICES": "",
}


@dataclass(frozen=True)
class Rule:
    """What is timed. Rows are chosen so that a run takes a fraction of a second."""

    name: str
    title: str
    rows: int
    slow_rows: int  # of peers that interpret Python for every row
    repeats: int = 3
    slow_every: int = 1  # slow peers take part in every so many rounds


RULES = [
    Rule("adam", "Adam, whole step", 2000, 200),
    Rule("ekf", "Full EKF, whole step", 64, 56),
    Rule("alg2-all", "Algorithm 2, 8 of 8 experts learning, whole step", 200, 56),
    Rule(
        "alg2-gated",
        "Algorithm 2 as published, 5 gated experts, whole step",
        STREAM_ROWS,
        STREAM_ROWS,
        repeats=1,
        slow_every=5,
    ),
    Rule("ekf-update", "Full EKF, update alone", 64, 64),
    Rule("block-update", "Block update alone, 8 networks", 200, 200),
]


@dataclass(frozen=True)
class Peer:
    name: str
    label: str
    command: list[str]
    rules: list[str]
    slow: bool = False

    def rows(self, rule: Rule) -> int:
        return rule.slow_rows if self.slow else rule.rows


def all_peers(build: pathlib.Path, work: pathlib.Path) -> list[Peer]:
    steps = ["adam", "ekf", "alg2-all", "alg2-gated"]

    def python(model: str, *form: str) -> list[str]:
        return [sys.executable, str(HERE / f"model_{model}.py"), str(work), *form]

    streams = [str(work / f"{size}.csv") for size in STREAMS]
    blas_eigen = str(build / "blas_eigen_peer")
    return [
        Peer(
            "kalstream",
            "kalstream",
            [str(build / "kalstream_peer"), *streams],
            [rule.name for rule in RULES],
        ),
        Peer("jax", "JAX, tuned", python("jax", "tuned"), steps),
        Peer("jax-natural", "JAX", python("jax", "natural"), steps),
        Peer("torch", "PyTorch, tuned", python("torch", "tuned"), steps, slow=True),
        Peer("torch-natural", "PyTorch", python("torch", "natural"), ["adam"], slow=True),
        Peer("numpy", "NumPy, SciPy's BLAS", python("numpy"), ["adam", "ekf"], slow=True),
        Peer("openblas", "OpenBLAS", [blas_eigen, "openblas"], ["ekf-update"]),
        Peer("eigen", "Eigen", [blas_eigen, "eigen"], ["ekf-update", "block-update"]),
    ]


class Worker:
    """A peer's process, which lives as long as the comparison."""

    def __init__(self, peer: Peer, cpu: int) -> None:
        self.peer = peer
        self.process = subprocess.Popen(
            peer.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD},
            preexec_fn=lambda: os.sched_setaffinity(0, {cpu}),
        )

    def run(self, case: str, rows: int, repeats: int) -> dict[str, Any]:
        assert self.process.stdin and self.process.stdout
        try:
            print("run", case, rows, repeats, file=self.process.stdin, flush=True)
            answer = json.loads(self.process.stdout.readline() or '{"error": "it ended"}')
        except BrokenPipeError:
            answer = {"error": "it ended"}
        if "error" in answer:
            sys.exit(f"{self.peer.label}, {case}: {answer['error']}")
        return answer

    def close(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()
        self.process.wait()


@dataclass
class Result:
    """One peer in one case."""

    case: str
    rule: Rule
    peer: Peer
    difference: float  # largest of the first predictions, from kalstream's
    updates: float  # networks that learnt per row, as far as known
    seconds: dict[int, float] = field(default_factory=dict)  # per row, by round
    ratios: list[float] = field(default_factory=list)  # to kalstream's in the same round

    @property
    def median(self) -> float:
        return statistics.median(self.seconds.values())


def ratios(over: Result, under: Result) -> list[float]:
    return [s / under.seconds[k] for k, s in over.seconds.items() if k in under.seconds]


def prepare(build: pathlib.Path, kalstream: pathlib.Path, work: pathlib.Path) -> dict[str, Any]:
    """Writes the streams and the cases, for all peers the same; returns kalstream's own words."""
    work.mkdir(parents=True, exist_ok=True)
    for size, stream in STREAMS.items():
        command = [kalstream, "generate", *stream, "--rows", str(STREAM_ROWS)]
        subprocess.run([*command, "--out", work / f"{size}.csv"], check=True)
    described = subprocess.run(
        [build / "kalstream_peer", "--describe"], check=True, capture_output=True, text=True
    ).stdout
    (work / "cases.json").write_text(described)
    return json.loads(described)


def warm_up(workers: list[Worker], rules: list[Rule]) -> list[Result]:
    """Compiles and loads everything, and checks that all peers predict the same."""
    results = []
    for rule in rules:
        for case in (f"{size}/{rule.name}" for size in STREAMS):
            expected: list[float] = []
            for worker in workers:
                peer = worker.peer
                if rule.name not in peer.rules:
                    continue
                answer = worker.run(case, peer.rows(rule), 1)
                expected = expected or answer["values"]  # kalstream is the first
                pairs = list(zip(expected, answer["values"], strict=True))
                difference = max(abs(a - b) for a, b in pairs)
                if not all(abs(a - b) <= TOLERANCE for a, b in pairs):  # NaN fails as well
                    sys.exit(f"{peer.label}, {case}: differs from kalstream by {difference:.1e}")
                print(f"  {case:<16}{peer.label:<22}{difference:.1e}", file=sys.stderr)
                results.append(Result(case, rule, peer, difference, answer.get("updates", 0)))
    return results


def measure(workers: list[Worker], results: list[Result], rounds: int, quick: bool) -> None:
    by_peer = {worker.peer.name: worker for worker in workers}
    for k in range(rounds):
        print(f"\rround {k + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for result in results:
            peer, rule = result.peer, result.rule
            if peer.slow and k % rule.slow_every:
                continue
            answer = by_peer[peer.name].run(
                result.case, peer.rows(rule), 1 if quick else rule.repeats
            )
            result.seconds[k] = answer["seconds"]
    print(file=sys.stderr)
    own = {r.case: r for r in results if r.peer.name == "kalstream"}
    for result in results:
        result.ratios = ratios(result, own[result.case])


def processor() -> str:
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.processor()


def environment(build: pathlib.Path, described: dict[str, Any], cpu: int) -> dict[str, Any]:
    libraries = subprocess.run(
        [build / "blas_eigen_peer", "versions"], check=True, capture_output=True, text=True
    ).stdout
    packages = ("jax", "jaxlib", "torch", "numpy", "scipy")
    return {
        "date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
        "processor": processor(),
        "core": cpu,
        "system": platform.platform(),
        "load_average": os.getloadavg()[0],
        "versions": {
            "kalstream": described["version"],
            "kernels": described["kernels"],
            "python": platform.python_version(),
            **{name: importlib.metadata.version(name) for name in packages},
            **json.loads(libraries),
        },
    }


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--quick", action="store_true", help="3 rounds, nothing repeated in them")
    parser.add_argument("--only", default="", help="peers and rules, e.g. jax,adam,ekf")
    parser.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="the core")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "build/peers/result")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/peers")
    parser.add_argument("--kalstream", type=pathlib.Path, default=ROOT / "build/release/kalstream")
    return parser.parse_args()


def chosen(only: str, peers: list[Peer]) -> tuple[list[Peer], list[Rule]]:
    words = {word for word in only.split(",") if word}
    rules = [rule for rule in RULES if rule.name in words] or RULES
    named = [peer for peer in peers if peer.name in words]
    unknown = words - {rule.name for rule in rules} - {peer.name for peer in named}
    if unknown:
        known = ", ".join([peer.name for peer in peers] + [rule.name for rule in RULES])
        sys.exit(f"--only: no {', '.join(sorted(unknown))}; there are {known}")
    if named and named[0] is not peers[0]:
        named.insert(0, peers[0])  # everything is measured against kalstream
    return named or peers, rules


def main() -> None:
    args = arguments()
    rounds = 3 if args.quick else args.rounds
    work = args.out / "cases"
    peers, rules = chosen(args.only, all_peers(args.build, work))
    described = prepare(args.build, args.kalstream, work)
    facts = environment(args.build, described, args.cpu)

    workers = [Worker(peer, args.cpu) for peer in peers]
    try:
        print("Largest difference from kalstream's first 50 predictions:", file=sys.stderr)
        results = warm_up(workers, rules)
        measure(workers, results, rounds, args.quick)
    finally:
        for worker in workers:
            worker.close()

    text = report.markdown(results, facts, rounds)
    (args.out / "peers.md").write_text(text)
    (args.out / "peers.json").write_text(json.dumps(report.as_json(results, facts), indent=1))
    (args.out / "peers.svg").write_text(report.chart(results, facts))
    print(text)
    print(f"In {args.out}: peers.md, peers.json, peers.svg", file=sys.stderr)


if __name__ == "__main__":
    main()
