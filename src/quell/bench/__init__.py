"""The benchmark: problems with known answers, metrics, and campaigns of many runs.

``PROBLEMS`` lists the problems by name, `load` gets one of them: a `Benchmark`, whose ``truth`` is
a `Truth`. :mod:`quell.bench.algorithms` has the algorithms, :func:`quell.bench.runner.run` runs
many of them on many problems, and ``quell bench`` does the same from the command line.

>>> from quell.bench import PROBLEMS, load
>>> PROBLEMS["rosenbrock"].text
"Rosenbrock's valley with a normal prior"
>>> problem = load("rosenbrock")
>>> round(problem.truth.log_evidence, 6)
-2.259847

Any algorithm can be tried on it:

>>> import quell
>>> noisy = problem.as_problem("exact", noise=1.0)
>>> result = quell.infer(noisy, budget=50, seed=1, progress=False)
>>> abs(result.log_evidence - problem.truth.log_evidence) < 1
True
"""

from quell.bench.problems import PROBLEMS, BenchError, Benchmark, Truth, load

__all__ = ["PROBLEMS", "BenchError", "Benchmark", "Truth", "load"]
