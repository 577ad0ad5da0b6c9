"""Models whose likelihood is synthetic: the estimator they share, and their kind of box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quell.arrays import FloatArray
from quell.bench.problems.model import Parameter
from quell.likelihoods.synthetic import Summary, SyntheticLikelihood, synthetic_likelihood

#: Simulations behind one evaluation, resamples behind its SD, and the lowest value.
SIMULATIONS, RESAMPLES, FLOOR = 100, 2000, -10_000.0
#: The plausible box leaves this share of the box on either side.
MARGIN = 0.1


def summary_likelihood(
    simulate: Callable[[FloatArray, int, np.random.Generator], FloatArray],
    observed: FloatArray,
    simulations: int,
    summary: Summary | None = None,
) -> SyntheticLikelihood:
    """The noisy log-likelihood from so many simulations per evaluation.

    ``simulate(theta, n, rng)`` returns n data sets, or their summaries where ``summary`` is None.
    """
    return synthetic_likelihood(
        simulate, observed, summary=summary, n_simulations=simulations, sd="bootstrap",
        n_bootstrap=RESAMPLES, floor=FLOOR, vectorised=True,
    )  # fmt: skip


def parameter(name: str, lower: float, upper: float) -> Parameter:
    """A parameter between two bounds, plausible but for a margin on either side.

    >>> parameter("a", 0.0, 10.0)
    Parameter(name='a', lower=0.0, plausible_lower=1.0, plausible_upper=9.0, upper=10.0)
    """
    margin = MARGIN * (upper - lower)
    return Parameter(name, lower, lower + margin, upper - margin, upper)
