"""CPU time of one evaluation of each of the ten problems: exact, simulated, and by the shortcut.

At the posterior mode (for ricker and gandk, and without QUELL_DATA, at the posterior mean) and the
median over five points drawn uniformly from the plausible box. One thread; every figure is the
median of ``--repeats`` evaluations, or of fewer where they take long. Writes nothing.
"""

import argparse
import time
from collections.abc import Callable

import numpy as np

from quell.arrays import FloatArray
from quell.bench import data, load
from quell.bench.data import read_json
from quell.bench.problems.base import Benchmark
from quell.bench.problems.real import REAL
from quell.text import table
from quell.threads import single_threaded

BOX_POINTS, SEED = 5, 1
#: No figure takes longer than this (s), after its first evaluation.
PATIENCE = 5.0


def mode_of(problem: Benchmark) -> FloatArray:
    """The stored posterior mode, or the posterior mean where none is stored."""
    stored = read_json("truth.json")[problem.name]["mode"] if data.kind() == "real" else None
    return problem.truth.mean if stored is None else np.array(stored)


def cpu_seconds(function: Callable[..., object], arguments: tuple[object, ...], n: int) -> float:
    """Median CPU seconds of up to ``n`` calls."""
    times: list[float] = []
    while not times or (len(times) < n and sum(times) < PATIENCE):
        started = time.process_time()
        function(*arguments)
        times.append(time.process_time() - started)
    return float(np.median(times))


def figures(problem: Benchmark, points: list[FloatArray], repeats: int) -> list[float]:
    """CPU seconds of exact, simulator and fast: medians over points; nan where there is none."""
    rng = np.random.default_rng(SEED)
    functions = ((problem.exact, ()), (problem.simulator, (rng,)), (problem.fast, (rng,)))
    return [
        np.nan
        if function is None
        else float(np.median([cpu_seconds(function, (point, *more), repeats) for point in points]))
        for function, more in functions
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problem", nargs="+", default=list(REAL), choices=list(REAL))
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    print(f"CPU ms per evaluation, {data.kind()} data\n")
    rows = [("", "at the mode", "", "", "in the plausible box", "", "")]
    rows.append(("problem", *(2 * ("exact", "simulator", "fast"))))
    with single_threaded():
        for key in options.problem:
            problem = load(key)
            width = problem.plausible_upper - problem.plausible_lower
            u = np.random.default_rng(SEED).random((BOX_POINTS, problem.dimension))
            at_mode = figures(problem, [mode_of(problem)], options.repeats)
            in_box = figures(problem, list(problem.plausible_lower + u * width), options.repeats)
            cells = ("-" if np.isnan(t) else f"{1e3 * t:.3g}" for t in (*at_mode, *in_box))
            rows.append((key, *cells))
    print(table(rows, indent=""))


if __name__ == "__main__":
    main()
