"""Lotka and Volterra's model of prey u and predators v, counted once a year.

    du/dt = (α − β v) u,   dv/dt = (−γ + δ u) v,

and the log of each count is normal around that of its population, with an SD for each species. The
parameters are the four rates, both populations at the first count, and the two SDs; their priors
are uniform between bounds that are far apart. In most of the plausible box the log-likelihood is
hundreds below its maximum, in a tenth of it thousands.

The equations are solved in ln u and ln v by Runge and Kutta's rule with a fixed step. That solution
*is* the model, so the likelihood is the same everywhere; near the posterior it is that of the
differential equations to six digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.problems.base import Benchmark
from quell.bench.problems.gaussian import log_normal
from quell.bench.problems.model import Parameter, ReadOnly
from quell.bench.problems.real import simulated_data
from quell.bench.truth.shipped import shipped_truth

PARAMETERS = (
    Parameter("alpha", 0.02, 0.2, 1.2, 2.0),
    Parameter("beta", 0.001, 0.01, 0.1, 0.2),
    Parameter("gamma", 0.02, 0.2, 1.5, 3.0),
    Parameter("delta", 0.001, 0.01, 0.1, 0.2),
    Parameter("prey", 1.0, 10.0, 80.0, 150.0),
    Parameter("predators", 0.5, 2.0, 30.0, 80.0),
    Parameter("sigma_prey", 0.03, 0.1, 1.0, 3.0),
    Parameter("sigma_predators", 0.03, 0.1, 1.0, 3.0),
)
#: Parameters behind the data: about those of the hares and lynxes of the Hudson's Bay Company.
GENERATING = {"lotka_volterra": (0.55, 0.028, 0.8, 0.024, 33.0, 6.0, 0.25, 0.25)}
#: Years after the first count, and steps of the solution in each.
YEARS, STEPS = 20, 20
#: Populations are kept between exp(∓30): beyond, the solution would overflow.
LARGEST_LOG = 30.0


@dataclass(frozen=True, eq=False)
class Data(ReadOnly):
    """The logs of the counts of prey and predators, (years + 1, 2)."""

    log_counts: FloatArray


def log_populations(theta: FloatArray) -> FloatArray:
    """Ln u and ln v in every year, (years + 1, 2, n), for parameters θ (n, 8).

    >>> logs = log_populations(np.array([GENERATING["lotka_volterra"]]))
    >>> np.exp(logs[[0, 5, 20], :, 0]).round(1)
    array([[33. ,  6. ],
           [19.8, 40. ],
           [29.7,  6.1]])
    """
    alpha, beta, gamma, delta, *starts = theta.T[:6]
    base, coupling = np.stack([alpha, -gamma]), np.stack([-beta, delta])
    step = 1 / STEPS

    def slope(logs: FloatArray) -> FloatArray:
        return base + coupling * np.exp(logs[::-1])

    logs = np.log(np.stack(starts))
    years = [logs]
    with np.errstate(over="ignore"):  # an infinite slope is cut off after the step
        for _ in range(YEARS):
            for _ in range(STEPS):
                first = slope(logs)
                second = slope(logs + 0.5 * step * first)
                third = slope(logs + 0.5 * step * second)
                fourth = slope(logs + step * third)
                logs = logs + step / 6 * (first + 2 * (second + third) + fourth)
                logs = np.minimum(np.maximum(logs, -LARGEST_LOG), LARGEST_LOG)
            years.append(logs)
    return np.stack(years)


def simulate_data(key: str, rng: np.random.Generator) -> Data:
    """Counts from the model at ``GENERATING[key]``."""
    theta = np.array([GENERATING[key]])
    logs = log_populations(theta)[:, :, 0]
    return Data(logs + theta[0, 6:] * rng.standard_normal(logs.shape))


def lotka_volterra(_dimension: int) -> Benchmark:
    """The model with the counts that `simulated_data` makes; eight parameters."""
    observed = simulated_data("lotka_volterra")
    names, *sides = zip(*PARAMETERS, strict=True)
    lower, plausible_lower, plausible_upper, upper = map(np.array, sides)

    def exact(theta: ArrayLike) -> FloatArray:
        theta = np.asarray(theta, dtype=np.float64)
        points = theta.reshape(-1, len(names))
        inside = ((points >= lower) & (points <= upper)).all(-1)
        values = np.full(len(points), -np.inf)
        logs = log_populations(points[inside])
        errors = points[inside, 6:].T
        values[inside] = log_normal(observed.log_counts[..., None], logs, errors).sum((0, 1))
        return values.reshape(theta.shape[:-1])

    return Benchmark(
        name="lotka_volterra",
        names=names,
        lower=lower,
        upper=upper,
        plausible_lower=plausible_lower,
        plausible_upper=plausible_upper,
        exact=exact,
        make_truth=lambda: shipped_truth("lotka_volterra", observed),
        emulated_sd=1.0,
    )
