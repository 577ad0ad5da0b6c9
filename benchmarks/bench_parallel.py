"""Evaluations per second with many workers, for a target that only sleeps.

    python benchmarks/bench_parallel.py [--seconds 5 0.5] [--workers 8 32] [--rounds 3] [--dim 2]

Every run has the same head start, so that the algorithm is at work from the first point on. The
first evaluation of each worker is not counted, then come so many rounds of evaluations; with one
worker there are four. Printed beside the rate: its ratio to that of one worker, the ratio of
workers without any algorithm, the CPU time the algorithm takes per evaluation, and the time it
waited for a core on top of that, which others had (Linux only). The sum bounds the rate, whatever
the number of workers; on a machine of one's own the second part is about 0.
"""

import argparse
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quell import Problem, Settings, infer

HEAD_START = 20


@dataclass(frozen=True)
class Figures:
    """What a run showed: evaluations counted and per second; seconds of CPU and of waiting."""

    counted: int
    rate: float
    cpu: float
    waited: float


class Sleeping:
    """A noisy normal target that sleeps, and notes when it is done."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.done: list[float] = []
        self._lock = threading.Lock()

    def __call__(self, theta: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
        time.sleep(self.seconds)
        with self._lock:
            self.done.append(time.perf_counter())
        return value_at(theta, rng)


def value_at(theta: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    return -0.5 * float(np.sum(np.square(theta))) + rng.standard_normal(), 1.0


def seconds_waited() -> float:
    """How long this thread has been ready to run while others had the cores; nan if unknown."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return np.nan


def measure(seconds: float, workers: int, rounds: int, dim: int) -> Figures:
    """Run with so many workers."""
    target = Sleeping(seconds)
    problem = Problem(
        target, lower=np.full(dim, -10.0), upper=np.full(dim, 10.0),
        plausible_lower=np.full(dim, -3.0), plausible_upper=np.full(dim, 3.0), noise="reported",
    )  # fmt: skip
    rng = np.random.default_rng(0)
    points = rng.uniform(-3, 3, (HEAD_START, dim))
    given = zip(*(value_at(point, rng) for point in points), strict=True)
    budget = 4 if workers == 1 else (1 + rounds) * workers
    waited = seconds_waited()
    with ThreadPoolExecutor(workers) as executor:
        result = infer(
            problem, budget=budget, seed=1, evaluations=(points, *given), executor=executor,
            settings=Settings(stop_early=False, final_components=0), progress=False,
        )  # fmt: skip
    done = sorted(target.done)
    assert len(done) == budget
    counted = budget - workers
    rate = counted / (done[-1] - done[workers - 1])
    waited = seconds_waited() - waited
    return Figures(counted, rate, result.cpu_seconds / budget, waited / budget)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, nargs="+", default=[5.0, 0.5])
    parser.add_argument("--workers", type=int, nargs="+", default=[8, 32])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dim", type=int, default=2)
    given = parser.parse_args()
    print(f"D = {given.dim}, noisy target, threads, head start of {HEAD_START} points")
    print("                                                     algorithm, ms per evaluation")
    print("sleep s  workers  counted  per second  ratio  bound     CPU  waiting for a core")
    for seconds in given.seconds:
        one = measure(seconds, 1, given.rounds, given.dim)
        for workers in (1, *given.workers):
            at = one if workers == 1 else measure(seconds, workers, given.rounds, given.dim)
            print(
                f"{seconds:7g}  {workers:7}  {at.counted:7}  {at.rate:10.3f}  "
                f"{at.rate / one.rate:5.1f}  {workers:5}  "
                f"{1e3 * at.cpu:6.0f}  {1e3 * at.waited:18.0f}",
                flush=True,
            )
    print("asked for: 6.5 with 8 workers and 20 with 32 where the target takes 5 s")


if __name__ == "__main__":
    main()
