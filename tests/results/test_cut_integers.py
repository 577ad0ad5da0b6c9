"""Marginals of integers in a posterior that ends at an edge."""

import numpy as np
import pytest

from quell import Posterior, Problem
from quell.mixture import Mixture


@pytest.mark.parametrize("upper", [9, 400])
def test_probabilities_of_integers_are_those_of_the_draws(upper):
    """A value k stands for k − ½ to k + ½, whether some of the mixture is cut off or not."""
    problem = Problem(
        None, lower=[0, 0], upper=[1, upper], plausible_lower=[0.2, upper / 9],
        plausible_upper=[0.8, upper / 1.5], integer=[False, True],
    )  # fmt: skip
    mixture = Mixture([0.6, 0.4], [[0.0, 0.0], [0.2, 0.3]], [0.3, 0.2], [1.0, 1.0])
    cut = Posterior(
        mixture, problem.space, (False, True), lambda t: upper * t[:, 0] + t[:, 1] < 0.9 * upper
    )
    draws = np.sort(cut.sample(40_000, 1)[:, 1])
    marginal = cut.marginal(1)
    places = np.quantile(draws, [0.05, 0.3, 0.5, 0.8, 0.97])
    below = np.searchsorted(draws, places, side="right") / len(draws)
    assert marginal.cdf(places + 0.5) == pytest.approx(below, abs=0.02)
    assert abs(marginal.median() - np.median(draws)) <= 0.5 + 0.01 * upper
    assert abs(marginal.median() - draws.mean()) < 0.1 * upper
