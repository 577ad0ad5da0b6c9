"""Marginals for users whose NumPy raises: far components come to nothing, quietly."""

import numpy as np
from helpers.vbmc import unbounded_problem

from quell import Posterior
from quell.mixture import Mixture


def test_far_components_underflow_quietly():
    mixture = Mixture([1e-5, 1 - 1e-5], [[0.0], [37.5]], [1.0, 1.0], [1.0])
    marginal = Posterior(mixture, unbounded_problem(1).space).marginal(0)
    with np.errstate(all="raise"):
        assert np.isfinite(marginal.quantile(1e-6))
        assert marginal.cdf([0.0, -160.0])[1] >= 0
        assert marginal.density([0.0, -160.0])[1] >= 0
