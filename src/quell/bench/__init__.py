"""The benchmark: problems with known answers, metrics, and campaigns of many runs.

>>> from quell.bench import load
>>> round(load("rosenbrock").truth.log_evidence, 6)
-2.259847
"""

from quell.bench.problems import PROBLEMS, BenchError, Benchmark, Truth, load

__all__ = ["PROBLEMS", "BenchError", "Benchmark", "Truth", "load"]
