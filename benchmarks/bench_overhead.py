"""The algorithm's own cost: CPU seconds per evaluation, beside PyVBMC, and how it grows.

1. Whole runs of Quell and PyVBMC on the same noisy target (banana, SD 1) with the same budget
   50 (D + 2), D = 2, 6, 9, in one run of this script, one at a time, one BLAS thread. The target's
   own time is not counted. Finished runs are kept in a file, so an interrupted benchmark goes on.
2. Quell alone: CPU ms per evaluation against the number of evaluations, up to 1000, and against D.
3. Peak memory of a run of 600 evaluations in 9 dimensions, above that of the imported library.
"""

import argparse
import multiprocessing
import resource

import numpy as np

import quell
from quell.bench import load
from quell.bench.records import read_records
from quell.bench.runner import run
from quell.bench.single import Spec
from quell.progress import Update

NOISE = 1.0


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


def one_run(dim: int, budget: int) -> tuple[list[tuple[int, float]], float, float]:
    """Evaluations and CPU seconds so far after each iteration; memory (MB) before and at peak."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    trace: list[tuple[int, float]] = []

    def note(update: Update) -> None:
        trace.append((update.n_evaluations, update.cpu_seconds))

    quell.infer(
        load("banana", dim=dim).as_problem(mode="exact", noise=NOISE),
        budget=budget,
        seed=0,
        settings=quell.Settings(stop_early=False),
        progress=False,
        callback=note,
    )
    return trace, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def in_own_process(dim: int, budget: int) -> tuple[list[tuple[int, float]], float, float]:
    """A process of its own, so that its peak memory is its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(one_run, (dim, budget))


def growth(budget: int, dims: list[int]) -> None:
    """Print CPU ms per evaluation along a long run, and by dimension."""
    trace, _, _ = in_own_process(6, budget)
    n, cpu = np.array(trace).T
    print(f"\nD = 6, CPU ms per evaluation along a run of {budget}")
    edges = [edge for edge in (50, 100, 200, 300, 400, 600, 800, 1000) if edge <= budget]
    for low, high in zip([0, *edges], edges, strict=False):
        used = np.interp(high, n, cpu) - np.interp(low, n, cpu, left=0.0)
        print(f"  {low:5} to {high:<5}{1e3 * used / (high - low):8.0f}")
    print("\nCPU ms per evaluation over the first 150, by dimension")
    for dim in dims:
        trace, _, _ = in_own_process(dim, 150)
        print(f"  D = {dim:<3}{1e3 * trace[-1][1] / trace[-1][0]:8.0f}")


def memory() -> None:
    """Print the peak memory of a long run."""
    _, before, peak = in_own_process(9, 600)
    print(f"\npeak memory, D = 9, 600 evaluations: {peak - before:.0f} MB above {before:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dims", type=int, nargs="+", default=[2, 6, 9])
    parser.add_argument("--seeds", type=int, default=1, help="runs per dimension and algorithm")
    parser.add_argument("--out", default="bench-overhead.jsonl", help="file with finished runs")
    parser.add_argument("--longest", type=int, default=1000, help="evaluations of the long run")
    parser.add_argument("--no-peer", action="store_true", help="leave PyVBMC out")
    parser.add_argument("--only-compare", action="store_true", help="only part 1")
    options = parser.parse_args()
    compare(options.dims, range(options.seeds), options.out, with_peer=not options.no_peer)
    if not options.only_compare:
        growth(options.longest, [2, 5, 10, 15])
        memory()


if __name__ == "__main__":
    main()
