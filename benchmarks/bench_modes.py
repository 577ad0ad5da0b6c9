"""Posteriors of several modes: how many runs know all of them.

    python benchmarks/bench_modes.py --targets two_modes-1 unequal-2 --noise 1 --first-seed 5000

Runs are those of a user: :func:`quell.infer` with its default budget, which may stop early. One
line per run: error of the log evidence with its SD, MMTV, evaluations, how many of them were looks,
CPU milliseconds per evaluation, the share of the plausible box that was not seen, and whether the
run is right (error below 0.3 and MMTV below 0.2).
"""

import argparse
from collections.abc import Callable

import numpy as np

import quell
from quell.bench.metrics import gskl, mmtv
from quell.bench.problems import Benchmark, load
from quell.bench.problems.modes import separate_normals

DRAWS = 20_000
LARGEST_LOSS, LARGEST_MMTV = 0.3, 0.2


def along_the_first_axis(
    dimension: int, places: list[float], sds: list[float], weights: list[float] | None = None
) -> Benchmark:
    """Normals whose means lie on the first axis."""
    means = np.zeros((len(places), dimension))
    means[:, 0] = places
    wide = np.array(sds)[:, None] * np.ones(dimension)
    share = None if weights is None else np.array(weights)
    return separate_normals("modes", means, wide, share)


def three_modes(dimension: int) -> Benchmark:
    """Unequal in mass and width, at no symmetric places."""
    means = np.array([[-7.0, 3.0, 0.0], [1.0, -6.0, 4.0], [6.0, 7.0, -5.0]])[:, :dimension]
    sds = np.array([[0.5], [0.8], [0.6]]) * np.ones(dimension)
    return separate_normals("modes", means, sds, np.array([0.3, 0.5, 0.2]))


def tilted(dimension: int) -> Benchmark:
    """Two modes on the diagonal."""
    means = np.array([[-4.0], [5.0]]) * np.ones(dimension)
    return separate_normals("modes", means, np.full(means.shape, 0.7))


#: Made for this laboratory, by name; the others are the benchmark's own.
TARGETS: dict[str, Callable[[int], Benchmark]] = {
    "unequal": lambda d: along_the_first_axis(d, [-6.0, 6.0], [0.5, 0.5], [0.2, 0.8]),
    "widths": lambda d: along_the_first_axis(d, [-6.0, 5.0], [0.4, 1.2]),
    "close": lambda d: along_the_first_axis(d, [-2.0, 2.0], [0.5, 0.5]),
    "aside": lambda d: along_the_first_axis(d, [1.0, 8.0], [0.5, 0.5]),
    "three": three_modes,
    "tilted": tilted,
    "apart": lambda d: along_the_first_axis(d, [-6.0, 6.0], [0.5, 0.5]),
}


def target(name: str) -> Benchmark:
    """The target of a name such as two_modes-2: the number is its dimension."""
    family, _, dimension = name.partition("-")
    make = TARGETS.get(family)
    return load(family, int(dimension)) if make is None else make(int(dimension))


def run(name: str, noise: float, seed: int) -> tuple[float, float, float, str]:
    """One run: error of the log evidence, MMTV, gsKL, and the line to print."""
    benchmark = target(name)
    problem = benchmark.as_problem(mode="exact", noise=noise or None)
    result = quell.infer(problem, seed=seed, progress=False)
    draws = result.posterior.sample(DRAWS, np.random.default_rng(seed))
    truth = benchmark.truth
    distance = mmtv(draws, truth.marginals, estimator=truth.estimator)
    error = result.log_evidence - truth.log_evidence
    moments = gskl(result.posterior.mean(), result.posterior.covariance(), truth)
    diagnostics = result.diagnostics
    cpu = 1e3 * diagnostics["overhead_cpu_seconds_per_evaluation"]
    looks = result.evaluations.origin.count("look")
    unseen = diagnostics.get("unseen_share", np.nan)
    right = abs(error) < LARGEST_LOSS and distance < LARGEST_MMTV
    line = (
        f"{name:20} SD {noise:g} seed {seed} error {error:+6.2f} ± {result.log_evidence_sd:4.2f} "
        f"MMTV {distance:5.3f} gsKL {moments:8.3g} n {diagnostics['evaluations']:4} "
        f"looks {looks:3} "
        f"{cpu:4.0f} ms unseen {unseen:5.3f} {'right' if right else 'WRONG'}"
        f"{'' if result.converged else ' (not converged)'}"
    )
    return error, distance, moments, line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", default=["two_modes-1", "two_modes-2"])
    parser.add_argument("--noise", type=float, nargs="+", default=[1.0, 0.0])
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=5000)
    parser.add_argument("--quiet", action="store_true", help="only the count and the medians")
    arguments = parser.parse_args()
    for name in arguments.targets:
        for noise in arguments.noise:
            rows = []
            for seed in range(arguments.first_seed, arguments.first_seed + arguments.runs):
                *figures, line = run(name, noise, seed)
                rows.append(figures)
                if not arguments.quiet:
                    print(line, flush=True)
            error, distance, moments = np.array(rows).T
            right = (np.abs(error) < LARGEST_LOSS) & (distance < LARGEST_MMTV)
            print(
                f"{name:20} SD {noise:g}: {right.sum()} of {len(right)} right; medians LML "
                f"{np.median(np.abs(error)):.3f} MMTV {np.median(distance):.3f} "
                f"gsKL {np.median(moments):.3g}",
                flush=True,
            )


if __name__ == "__main__":
    main()
