"""A session with a big archive: CPU time of `ask`, and memory, after ten thousand told points.

    python benchmarks/bench_archive.py [--points 10000] [--asks 12]

Three kinds of archive: scattered points with and without noise, and a Markov chain, whose
neighbours nearly repeat each other.
"""

import argparse
import resource
import time

import numpy as np

from quell import Problem, Sampler


def scattered(rng: np.random.Generator, n: int, dim: int) -> np.ndarray:
    width = rng.choice([1.0, 2.0, 3.0], size=(n, 1))
    return np.clip(width * rng.standard_normal((n, dim)), -9, 9)


def chain(rng: np.random.Generator, n: int, dim: int) -> np.ndarray:
    points = np.zeros((n, dim))
    for i in range(1, n):
        points[i] = 0.95 * points[i - 1] + 0.3 * rng.standard_normal(dim)
    return np.clip(points, -9, 9)


def session(kind, noise: str, dim: int, n: int, asks: int) -> str:
    rng = np.random.default_rng(0)
    sd = 0.0 if noise == "exact" else 1.0

    def values(points):
        return -0.5 * (points**2).sum(axis=1) + sd * rng.standard_normal(len(points))

    sds = None if noise == "exact" else sd
    problem = Problem(
        lambda _: 0.0, lower=np.full(dim, -10.0), upper=np.full(dim, 10.0), noise=noise,
        plausible_lower=np.full(dim, -3.0), plausible_upper=np.full(dim, 3.0),
    )  # fmt: skip
    sampler = Sampler(problem, seed=1)
    archive = kind(rng, n, dim)
    started = time.process_time()
    sampler.tell(archive, values(archive), sds)
    tell = time.process_time() - started
    times = []
    for _ in range(asks):
        started = time.process_time()
        points = sampler.ask()
        times.append(time.process_time() - started)
        sampler.tell(points, values(points), sds)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return (
        f"{kind.__name__:<10}{noise:<10}{dim:>2}{tell:>8.2f}{times[0]:>8.2f}"
        f"{np.median(times[1:]):>8.2f}{max(times[1:]):>8.2f}{memory:>9.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=10_000)
    parser.add_argument("--asks", type=int, default=12)
    given = parser.parse_args()
    print(f"{given.points} points told at once; CPU seconds (the bar: 2 per ask, 2048 MB)")
    print(f"{'archive':<10}{'noise':<10}{'D':>2}{'tell':>8}{'first':>8}{'median':>8}{'worst':>8}"
          f"{'MB':>9}")  # fmt: skip
    for kind, noise, dim in (
        (scattered, "reported", 3), (scattered, "reported", 6), (scattered, "exact", 6),
        (chain, "exact", 3), (chain, "reported", 9),
    ):  # fmt: skip
        print(session(kind, noise, dim, given.points, given.asks), flush=True)


if __name__ == "__main__":
    main()
