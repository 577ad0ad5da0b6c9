"""States and histories made by hand for the tests of the algorithm's rules."""

from dataclasses import replace

import numpy as np

from quell import Evaluations, Problem, Settings
from quell.gp import GaussianProcess, TrainedGP
from quell.mixture import Mixture, normal_base_sample
from quell.problem.outcome import Outcome
from quell.quadrature import Quadrature
from quell.variational import evaluate_elbo
from quell.vbmc import Iteration, Solution, initial_state

SETTINGS = Settings()


def make_problem(dimension=2, **changes):
    """A problem with bounds ±10 and a plausible box of ±2: x = θ/4 up to the logit's bend."""
    box = {"lower": -10.0, "upper": 10.0, "plausible_lower": -2.0, "plausible_upper": 2.0}
    box = {key: np.full(dimension, value) for key, value in box.items()}
    return Problem(lambda _: 0.0, **(box | {"noise": "reported"} | changes))


def unbounded_problem(dimension=2, **changes):
    """θ = 4 x exactly, the log joint without prior."""
    infinite = np.full(dimension, np.inf)
    return make_problem(dimension, lower=-infinite, upper=infinite, prior="included", **changes)


def make_table(problem, theta, values, sds=0.5, origin="search"):
    """A table of counted evaluations; −inf is zero density, nan a failure."""
    table = Evaluations.empty(problem.names)
    values, sds = np.asarray(values, float), np.broadcast_to(sds, len(values))
    for i, (point, value, sd) in enumerate(zip(theta, values, sds, strict=True)):
        if value == -np.inf:
            outcome = Outcome.failure("zero density", kind="zero density", value=-np.inf)
        elif np.isnan(value):
            outcome = Outcome.failure("ValueError: boom", kind="exception")
        else:
            outcome = Outcome(value, sd)
        table = table.append(
            point, outcome, log_prior=problem.log_prior(point), origin=origin, index=i
        )
    return table


def make_state(problem, theta, values, sds=0.5, **changes):
    table = make_table(problem, theta, values, sds)
    none = np.empty((0, problem.dimension))
    state = initial_state(np.random.default_rng(0), problem, none, table, noisy=True)
    return state.with_data(**changes)


def quadratic(theta):
    """A correlated normal log density, off centre."""
    theta = np.atleast_2d(theta)
    d = theta.shape[1]
    precision = np.linalg.inv(0.6 * np.eye(d) + 0.4 * np.outer(np.ones(d), np.ones(d)))
    shifted = theta - 0.5
    return -0.5 * np.einsum("ni,ij,nj->n", shifted, precision, shifted)


def hand_theta(dimension, n_samples=2):
    """Plausible hyperparameters of a normal log density in a space with x = θ/4."""
    d = dimension
    one = np.concatenate([np.full(d, -0.7), [1.0, -4.0, 0.0], np.full(d, 0.12), np.full(d, -1.4)])
    return one + 0.1 * np.arange(n_samples)[:, None]


def hand_fit(data, n_samples=2):
    theta = hand_theta(data.dimension, n_samples)
    gp = GaussianProcess.condition(data, theta)
    size = theta.shape[1]
    return TrainedGP(gp, theta[0], np.eye(size), 0.1, 0.8, 0)


def fitted_state(problem=None, dimension=2, n=40, **changes):
    """A state after warm-up with a surrogate made by hand and a mixture of five components."""
    problem = unbounded_problem(dimension) if problem is None else problem
    rng = np.random.default_rng(5)
    theta = rng.normal(0.5, 1.2, (n, dimension))
    state = make_state(problem, theta, quadratic(theta), 0.1)
    fit = hand_fit(state.training.data)
    mixture = Mixture(
        np.full(5, 0.2), rng.normal(0.12, 0.15, (5, dimension)), np.full(5, 0.2),
        np.linspace(0.8, 1.2, dimension),
    )  # fmt: skip
    made = {
        "fit": fit, "memory": fit.memory, "mixture": mixture, "before": mixture, "warmup": False,
        "last_warmup": 1, "last_whitening": 1, "full_refit": False,
    }  # fmt: skip
    return state.with_data(**(made | changes))


def elbo_of(gp, mixture, size=4096):
    base = normal_base_sample(size, gp.dimension, np.random.default_rng(0))
    return evaluate_elbo(Quadrature(gp), mixture, base)


def solution_of(state):
    gp = state.fit.gp
    elbo = elbo_of(gp, state.mixture)
    return Solution(state.space, state.mixture, elbo, gp.data, gp.theta, gp.weights)


def make_iteration(index=1, **changes):
    figures = {
        "index": index, "action": "", "n_evaluations": 5 + 5 * index, "n_training": 5 + 5 * index,
        "elbo": 0.0, "elbo_sd": 0.0, "gskl": 0.0, "reliability": 0.5, "stable": False,
        "n_components": 2, "n_pruned": 0, "n_samples": 2, "noise_sd": 1.0,
        "warmup": False, "cpu_seconds": 0.0, "solution": None,
    }  # fmt: skip
    return Iteration(**(figures | changes))


def make_history(n, **columns):
    """``n`` iterations; each column is a value for all or a sequence."""
    rows = [
        {key: value if np.ndim(value) == 0 else value[i] for key, value in columns.items()}
        for i in range(n)
    ]
    return tuple(make_iteration(i + 1, **row) for i, row in enumerate(rows))


def line_fit(data, length=0.1, output=15.0, mean=(-20.0, 0.0, 1.6)):
    """Hyperparameters for a line; the mean function has this height, place and width."""
    theta = [[np.log(length), np.log(output), -5.0, mean[0], mean[1], np.log(mean[2])]]
    gp = GaussianProcess.condition(data, theta)
    return TrainedGP(gp, gp.theta[0], np.eye(6), 0.1, 0.8, 0)


def found_on_a_line(problem, place, theta, **changes):
    """After warm-up, with a posterior of SD 0.15 around a place; ``theta`` (n,) are known."""
    theta = np.asarray(theta, float)[:, None]
    values = -0.5 * ((theta[:, 0] - place) / 0.15) ** 2
    state = make_state(problem, theta, values, evaluations=make_table(problem, theta, values))
    mixture = Mixture([1.0], state.space.to_inference([[place]]), [0.0375], [1.0])
    mean = (0.0, float(mixture.means[0, 0]), 0.0375)
    fit = line_fit(state.training.data, 0.5, 1.0, mean)
    usual = {"warmup": False, "history": (make_iteration(reliability=1.0),)}
    return replace(state, fit=fit, mixture=mixture, **(usual | changes))
