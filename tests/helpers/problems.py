"""Small problems, quick runs of them, and their comparison."""

import numpy as np

from quell import Problem, Settings, infer
from quell.records.choices import verdict_record
from quell.text import jsonable

QUICK = Settings(final_components=0)
INF = np.inf


def box(dimension=1):
    return {
        "lower": np.full(dimension, -10.0), "upper": np.full(dimension, 10.0),
        "plausible_lower": np.full(dimension, -3.0), "plausible_upper": np.full(dimension, 3.0),
    }  # fmt: skip


def normal(theta):
    """Log density of a standard normal without its constant."""
    return -0.5 * float(np.sum(np.square(theta)))


def noisy(theta, rng):
    return normal(theta) + 0.5 * rng.standard_normal(), 0.5


def make(target, dimension=1, **changes):
    return Problem(target, **(box(dimension) | changes))


def run(problem, **changes):
    arguments = {"budget": 15, "seed": 1, "progress": False, "settings": QUICK}
    return infer(problem, **(arguments | changes))


def true_log_evidence(dimension):
    return dimension * (0.5 * np.log(2 * np.pi) - np.log(20.0))


def same(a, b):
    np.testing.assert_array_equal(a.evaluations.theta, b.evaluations.theta)
    np.testing.assert_array_equal(a.evaluations.value, b.evaluations.value)
    assert (a.elbo, a.elbo_sd) == (b.elbo, b.elbo_sd)
    np.testing.assert_array_equal(a.posterior.mixture.to_vector(), b.posterior.mixture.to_vector())
    # As text: equal figures, nan among them.
    assert jsonable(verdict_record(a.verdict)) == jsonable(verdict_record(b.verdict))
    figures = ("elbo", "elbo_sd", "gskl", "reliability", "n_components", "noise_sd")
    for one, other in zip(a.history, b.history, strict=True):
        assert [one[f] for f in figures] == [other[f] for f in figures]


class Flaky:
    """A target that raises, or returns, something else at these evaluations (from 1)."""

    def __init__(self, target, special):
        self.target, self.special, self.n = target, special, 0

    def __call__(self, theta, rng):
        self.n += 1
        other = self.special.get(self.n)
        if isinstance(other, BaseException):
            raise other
        if other is not None:
            return other
        return self.target(theta, rng) if self.target is noisy else self.target(theta)
