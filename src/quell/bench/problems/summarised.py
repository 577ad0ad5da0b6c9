"""Models whose likelihood is synthetic: the estimator and the box they share."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from quell.arrays import FloatArray
from quell.bench.problems.boxed import boxed_model
from quell.bench.problems.model import Model
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


def summarised_model(
    names: tuple[str, ...], lower: FloatArray, upper: FloatArray, likelihood: SyntheticLikelihood
) -> Model:
    """The model on the box ``lower`` to ``upper``, (D,) each; its noisy likelihood is all it has.

    >>> likelihood = summary_likelihood(
    ...     lambda theta, n, rng: rng.normal(theta, 1.0, (n, 1)), np.zeros(1), 100)
    >>> model = summarised_model(("a",), np.zeros(1), np.ones(1), likelihood)
    >>> model.plausible_lower, model.plausible_upper, model.exact is None
    (array([0.1]), array([0.9]), True)
    """
    margin = MARGIN * (upper - lower)
    return boxed_model(
        names, (lower, upper), (lower + margin, upper - margin), simulator=likelihood
    )
