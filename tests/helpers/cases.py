"""Answers made by hand, for the tests of what is said against them."""

import numpy as np

from helpers.vbmc import elbo_of, make_iteration, make_table, unbounded_problem
from quell.diagnostics import Case
from quell.gp import GaussianProcess
from quell.mixture import Mixture
from quell.vbmc import Solution, TrainingSet

#: A standard normal in θ = 4 x: SDs of ¼ in x, and log Z = log 2π.
SD_IN_X = 0.25
LOG_Z = float(np.log(2 * np.pi))


def normal(theta):
    """The log joint of most cases."""
    return -0.5 * np.sum(np.atleast_2d(theta) ** 2, axis=1)


def hyperparameters(dimension=2, *, length=-0.7, output=0.0, noise=-4.0):
    """Two vectors for a surrogate whose mean is the normal of these cases; logs of its scales."""
    d = dimension
    top = -d * np.log(SD_IN_X)  # of the log joint in x
    one = [*[length] * d, output, noise, top, *[0.0] * d, *[np.log(SD_IN_X)] * d]
    return np.array([one, one])


def rounded(centre=(0.0, 0.0), scale=1.0):
    """A mixture of one component: a normal around θ = ``centre``, with ``scale`` for its SD."""
    return one_normal(np.array(centre) / 4, scale * SD_IN_X)


def one_normal(mean, sds):
    """A mixture of one component around x = ``mean`` (D,)."""
    mean = np.asarray(mean, float)
    return Mixture(np.ones(1), mean[None], np.ones(1), np.broadcast_to(sds, mean.shape).copy())


def points(n=60, spread=1.5, seed=3):
    return spread * np.random.default_rng(seed).standard_normal((n, 2))


def make_case(
    theta=None, values=None, sds=0.1, *, mixture=None, log_evidence=LOG_Z, problem=None,
    trained=None, hyper=None, history=None,
):  # fmt: skip
    """The case for an answer: by default a right one, with 60 evaluations of a normal.

    ``trained`` is a mask of the evaluations that the surrogate knows.
    """
    problem = unbounded_problem(2) if problem is None else problem
    theta = points() if theta is None else np.atleast_2d(theta)
    values = normal(theta) if values is None else np.asarray(values)
    table = make_table(problem, theta, values, sds)
    trimmed = np.zeros(len(table), bool) if trained is None else ~np.asarray(trained)
    data = TrainingSet.of(table, trimmed, problem.space, noisy=True).data
    hyper = hyperparameters(problem.dimension) if hyper is None else hyper
    gp = GaussianProcess.condition(data, hyper)
    mixture = rounded() if mixture is None else mixture
    solution = Solution(
        problem.space, mixture, elbo_of(gp, mixture, 512), data, gp.theta, gp.weights
    )  # fmt: skip
    if history is None:
        history = [make_iteration(i, solution=solution) for i in range(1, 21)]
    return Case.of(
        np.random.default_rng(0), solution, history[-1], history, log_evidence, table, problem.space
    )
