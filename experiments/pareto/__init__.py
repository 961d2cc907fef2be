"""Error against time and memory: the parts of experiments/pareto_bench.py."""
