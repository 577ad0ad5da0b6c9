"""Integer parameters with few likely values, beside sums over them.

    python benchmarks/bench_integers.py [--targets two narrow] [--noise 0 1] [--runs 10]

Runs are those of a user: :func:`quell.infer` with its default budget. One line for each target and
noise, with medians over the runs and in brackets the worst: errors of the log evidence, of the
probabilities of the integers (total variation, of the worst integer; in how many runs it is so
large that a likely value is lost) and of the SDs of the others (in per cent); how often the log
evidence is within two of its SDs; and how many runs say "stable".
"""

import argparse
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import gammaln, logsumexp

import quell

DRAWS = 20_000
#: Total variation of an integer's probabilities beyond which a likely value is lost.
LOST = 0.3
#: Values of the continuous parameter, the last of each target.
X = np.linspace(-12.0, 12.0, 1201)


@dataclass(frozen=True)
class Target:
    """A log density f(k_1, ..., x), on integers from 0 to these ``tops`` and a number x."""

    log_density: Callable[..., np.ndarray]
    tops: tuple[int, ...]
    likely: tuple[int, ...]  # upper ends of the plausible box

    def table(self) -> np.ndarray:
        """The log density at all integers and all values of X."""
        axes = [np.arange(top + 1.0) for top in self.tops]
        return np.asarray(self.log_density(*np.meshgrid(*axes, X, indexing="ij")))

    def problem(self, noise: float) -> quell.Problem:
        """The problem, with a uniform prior."""
        names = [f"k{i + 1}" for i in range(len(self.tops))]

        def exact(theta):
            return float(self.log_density(*map(np.asarray, theta)))

        def noisy(theta, rng):
            return exact(theta) + noise * rng.standard_normal(), noise

        return quell.Problem(
            noisy if noise else exact, lower=[0] * len(names) + [X[0]], upper=[*self.tops, X[-1]],
            plausible_lower=[0] * len(names) + [-3], plausible_upper=[*self.likely, 4],
            names=[*names, "x"], integer=names, noise="reported" if noise else "exact",
        )  # fmt: skip


def normal(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2


TARGETS = {
    # One value has most of the mass.
    "narrow": Target(lambda k, x: normal(k, 3.2, 0.4) + normal(x, 0.5 * k, 0.5), (9,), (7,)),
    "two": Target(lambda k, x: -1.0 * k + normal(x, 1.5 * k, 0.5), (1,), (1,)),
    "three": Target(
        lambda k, x: -2.0 * (k == 0) - 1.0 * (k == 2) + normal(x, k, 0.7), (2,), (2,)
    ),
    "counts": Target(
        lambda k, x: k * np.log(1.5) - gammaln(k + 1) + normal(x, 0.3 * k, 0.5), (30,), (5,)
    ),
    # A smooth line through the values at 2, 3, 4, 5 has its peak, of some 100 nats, between them.
    "cliffs": Target(
        lambda k, x: -1000.0 * (np.abs(k - 3.5) - 0.5) - 0.1 * (k == 4) + normal(x, 0, 1),
        (9,), (7,),
    ),
    "pair": Target(
        lambda j, k, x: normal(j, 2.3, 0.5) + normal(k, 1.5 * j, 0.7) + normal(x, j - k, 0.6),
        (6, 12), (5, 9),
    ),
}  # fmt: skip


def run(target: Target, noise: float, seed: int) -> tuple[float, ...]:
    """Errors of the evidence, of integers and of SDs; whether the evidence is covered; stable."""
    logs = target.table()
    total = logsumexp(logs)
    volume = np.prod([top + 1 for top in target.tops]) * (X[-1] - X[0])
    log_evidence = total + np.log(X[1] - X[0]) - np.log(volume)
    share = np.exp(logs - total)
    result = quell.infer(target.problem(noise), seed=seed, progress=False)
    draws = result.posterior.sample(DRAWS, np.random.default_rng(seed))
    worst = 0.0
    for i, top in enumerate(target.tops):
        true = share.sum(axis=tuple(j for j in range(share.ndim) if j != i))
        found = (draws[:, i, None] == np.arange(top + 1)).mean(axis=0)
        worst = max(worst, 0.5 * float(np.abs(true - found).sum()))
    x = share.sum(axis=tuple(range(share.ndim - 1)))
    sd = np.sqrt(x @ (X - x @ X) ** 2)
    error = result.log_evidence - log_evidence
    ratio = 100 * (result.posterior.sd()[-1] / sd - 1)
    covered = abs(error) < 2 * result.log_evidence_sd + 0.02
    return error, worst, ratio, covered, result.converged


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", choices=TARGETS, default=list(TARGETS))
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 1.0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=5000)
    options = parser.parse_args()
    for name in options.targets:
        for noise in options.noise:
            seeds = range(options.first_seed, options.first_seed + options.runs)
            rows = np.array([run(TARGETS[name], noise, seed) for seed in seeds])
            error, worst, ratio = np.abs(rows[:, :3].T)
            print(
                f"{name:8} SD {noise:g}: LML {np.median(error):.3f} ({error.max():.2f}), "
                f"integers {np.median(worst):.3f} ({worst.max():.2f}), "
                f"lost {(worst > LOST).sum()}, "
                f"SD of x off by {np.median(ratio):.1f} % ({ratio.max():.0f}), "
                f"covered {rows[:, 3].sum():.0f}, stable {rows[:, 4].sum():.0f} of {len(rows)}",
                flush=True,
            )


if __name__ == "__main__":
    main()
