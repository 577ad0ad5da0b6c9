"""The algorithm's own cost: CPU ms per evaluation, beside PyVBMC, and how it grows.

1. Whole runs of Quell and PyVBMC on the same noisy target (banana, SD 1) with the same budget
   50 (D + 2), D = 2, 6, 9, in one run of this script, one at a time, one BLAS thread. The target's
   own time is not counted. Finished runs are kept in a file, so an interrupted benchmark goes on.
2. Quell alone: along runs of 1000 evaluations in 6 dimensions and of 2000 in 20, with the peak
   memory of each above that of the imported library; and by dimension.

With ``--beside SRC`` (the ``src`` of another checkout, its kernels compiled) PyVBMC is left out and
Quell is compared with that: every run is made here and there, one after the other. On a machine
that does other things as well, only such pairs can be compared.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

import quell
from quell.bench import load
from quell.bench.records import read_records
from quell.bench.runner import run
from quell.bench.single import Spec
from quell.progress import Update

NOISE = 1.0
#: Dimensions of the long runs, and their evaluations.
LONG_RUNS = ((6, 1000), (20, 2000))
#: Evaluations between which the cost of a long run is averaged.
EDGES = (50, 100, 200, 300, 400, 600, 800, 1000, 1500, 2000)
#: Dimensions of the short runs, and their evaluations.
SHORT_DIMS, SHORT_BUDGET = (2, 5, 10, 15), 150


def compare(dims: list[int], seeds: range, out: str, *, with_peer: bool) -> None:
    """Print CPU seconds per evaluation of both, and their ratio."""
    algorithms = ["quell", "pyvbmc"] if with_peer else ["quell"]
    for dim in dims:
        run(["banana"], algorithms, seeds, mode="exact", noise=NOISE, dim=dim, out=out)
    runs = list(read_records([out]).runs.values())
    for record in runs:
        if "error" in record:
            raise SystemExit(f"{Spec.of_record(record)}: {record['error']}")
    print(
        f"{'D':>3}{'budget':>8}" + "".join(f"{a + ' ms':>12}" for a in algorithms) + f"{'ratio':>8}"
    )
    for dim in dims:
        ms = {
            algorithm: 1e3
            * np.median(
                [
                    record["overhead_cpu_seconds_per_evaluation"]
                    for record in runs
                    if record["algorithm"] == algorithm
                    and record["dim"] == dim
                    and record["seed"] in seeds
                ]
            )
            for algorithm in algorithms
        }
        ratio = f"{ms['pyvbmc'] / ms['quell']:8.1f}" if with_peer else ""
        print(f"{dim:3}{50 * (dim + 2):8}" + "".join(f"{v:12.0f}" for v in ms.values()) + ratio)


@dataclass(frozen=True)
class Cost:
    """What one run has cost.

    ``n`` evaluations and ``cpu`` seconds so far after each iteration; ``ms`` per evaluation in all,
    the ending included; memory (MB) ``before`` the run and at its ``peak``; whether ``compiled``
    kernels made it.
    """

    n: list[int]
    cpu: list[float]
    ms: float
    before: float
    peak: float
    compiled: bool

    def between(self, low: int, high: int) -> float:
        """CPU ms per evaluation from evaluation ``low`` to ``high``."""
        used = np.interp(high, self.n, self.cpu) - np.interp(low, self.n, self.cpu, left=0.0)
        return 1e3 * float(used) / (high - low)


def one_run(dim: int, budget: int, seed: int) -> Cost:
    """A run in this process."""
    before = _peak_memory()
    trace: list[tuple[int, float]] = []

    def note(update: Update) -> None:
        trace.append((update.n_evaluations, update.cpu_seconds))

    problem = load("banana", dim=dim)
    result = quell.infer(
        problem.as_problem(mode="exact", noise=NOISE, rng=problem.noise_stream(seed)),
        budget=budget,
        seed=seed,
        start=problem.start(seed),
        settings=quell.Settings(stop_early=False),
        progress=False,
        callback=note,
    )
    n, cpu = map(list, zip(*trace, strict=True))
    ms = 1e3 * result.cpu_seconds / result.evaluations.n_counted
    return Cost(n, cpu, ms, before, _peak_memory(), quell.native.kernels is not None)


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(dim: int, budget: int, seed: int = 0, source: str | None = None) -> Cost:
    """A process of its own, so that its peak memory is its own; of another ``source`` if given."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if source is not None:
        environment["PYTHONPATH"] = source
    command = [sys.executable, __file__, "--one-run", str(dim), str(budget), str(seed)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    cost = Cost(**json.loads(done.stdout))
    if not cost.compiled:
        print(f"(no compiled kernels in {source or 'this checkout'})")
    return cost


def growth(sources: list[str | None], long_runs: list[tuple[int, int]], seed: int) -> None:
    """Print CPU ms per evaluation along long runs, and their memory; one column per source."""
    for dim, budget in long_runs:
        costs = [in_own_process(dim, budget, seed, source) for source in sources]
        print(f"\nD = {dim}, CPU ms per evaluation along a run of {budget}")
        edges = [edge for edge in EDGES if edge <= budget]
        for low, high in zip([0, *edges], edges, strict=False):
            figures = "".join(f"{cost.between(low, high):8.0f}" for cost in costs)
            print(f"  {low:5} to {high:<5}{figures}")
        memory = "".join(f"{cost.peak - cost.before:8.0f}" for cost in costs)
        print(f"  peak memory, MB above {costs[0].before:.0f}:{memory}", flush=True)


def by_dimension(seed: int) -> None:
    """Print CPU ms per evaluation of short runs, by dimension."""
    print(f"\nCPU ms per evaluation over the first {SHORT_BUDGET}, by dimension")
    for dim in SHORT_DIMS:
        cost = in_own_process(dim, SHORT_BUDGET, seed)
        print(f"  D = {dim:<3}{cost.between(0, SHORT_BUDGET):8.0f}")


def beside(source: str, dims: list[int], seeds: range) -> None:
    """Print CPU ms per evaluation of whole runs here and with another source, in pairs."""
    print(f"{'D':>3}{'budget':>8}{'seed':>6}{'here ms':>12}{'there ms':>12}{'ratio':>8}")
    for dim in dims:
        for seed in seeds:
            budget = 50 * (dim + 2)
            here, there = (in_own_process(dim, budget, seed, s).ms for s in (None, source))
            print(
                f"{dim:3}{budget:8}{seed:6}{here:12.1f}{there:12.1f}{there / here:8.2f}", flush=True
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 6, 9])
    parser.add_argument("--seeds", type=int, default=1, help="runs per dimension and algorithm")
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--out", default="bench-overhead.jsonl", help="file with finished runs")
    parser.add_argument("--longest", type=int, default=2000, help="evaluations of a run at most")
    parser.add_argument("--largest", type=int, default=20, help="dimension of a long run at most")
    parser.add_argument("--no-peer", action="store_true", help="leave PyVBMC out")
    parser.add_argument("--only-compare", action="store_true", help="only part 1")
    parser.add_argument("--beside", metavar="SRC", help="compare with another checkout's src")
    parser.add_argument("--one-run", type=int, nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one_run:
        print(json.dumps(asdict(one_run(*options.one_run))))
        return
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    sources: list[str | None] = [None]
    if options.beside is None:
        compare(options.dims, seeds, options.out, with_peer=not options.no_peer)
    else:
        sources.append(str(Path(options.beside).resolve(strict=True)))
        beside(str(sources[1]), options.dims, seeds)
    if not options.only_compare:
        long_runs = [(d, min(n, options.longest)) for d, n in LONG_RUNS if d <= options.largest]
        growth(sources, long_runs, seeds[0])
        if options.beside is None:
            by_dimension(seeds[0])


if __name__ == "__main__":
    main()
