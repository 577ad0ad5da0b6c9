"""Moments and marginals of parameters with a map for heavy tails, by brute force and draws."""

import numpy as np
import pytest
from scipy import integrate, stats

from quell import Posterior
from quell.mixture import Mixture
from quell.space import InferenceSpace

INF, NAN = np.inf, np.nan
FINE = np.linspace(-9, 9, 200_001)


def single(centre, scale, width):
    space = InferenceSpace.from_bounds(-INF, INF, -4, 4).with_tails([[centre, scale]])
    return Posterior(Mixture([0.6, 0.4], [[-0.2], [0.3]], [width, 0.3 * width], [1.0]), space)


@pytest.mark.parametrize("width", [0.05, 0.4, 2.0])
@pytest.mark.parametrize(("centre", "scale"), [(0.0, 1.0), (0.5, 0.05), (-6.0, 2.0)])
def test_mean_and_sd_by_a_very_fine_rule(centre, scale, width):
    posterior = single(centre, scale, width)
    q, one = posterior.mixture, posterior.space.coordinate(0)
    density = stats.norm.pdf(FINE) * (FINE[1] - FINE[0])
    powers = [
        sum(
            w * (density @ one.value(m + s * FINE) ** n)
            for w, m, s in zip(q.weights, q.means[:, 0], q.scales, strict=True)
        )
        for n in (1, 2)
    ]
    sd = np.sqrt(powers[1] - powers[0] ** 2)
    assert posterior.mean()[0] == pytest.approx(powers[0], abs=1e-6 * sd)
    assert posterior.sd()[0] == pytest.approx(sd, rel=1e-5)


def test_covariance_of_a_whitened_space_is_that_of_the_draws():
    space = InferenceSpace.from_bounds([-INF, -INF, 0], [INF, INF, 1], [-4, -1, 0.2], [4, 1, 0.8])
    space = space.with_tails([[0.0, 2.0], [NAN, NAN], [NAN, NAN]])
    space = space.with_linear(*np.linalg.qr([[1.0, 0.5, 0.2], [0.1, 1, 0.4], [0.6, 0, 1]])[:1],
                              [1.0, 0.5, 0.8])  # fmt: skip
    means = [[0.1, 0.0, 0.2], [-0.3, 0.2, 0.0]]
    posterior = Posterior(Mixture([0.7, 0.3], means, [0.3, 0.5], [1.0, 1.0, 1.0]), space)
    draws = posterior.sample(400_000, np.random.default_rng(0))
    sd = posterior.sd()
    difference = (posterior.covariance() - np.cov(draws.T)) / np.outer(sd, sd)
    np.testing.assert_allclose(difference, 0, atol=0.02)
    np.testing.assert_allclose(posterior.mean(), draws.mean(axis=0), atol=0.01 * sd.max())


def test_marginal_density_and_quantiles():
    posterior = single(0.0, 1.0, 0.4)
    marginal = posterior.marginal(0)
    values = np.array([marginal.quantile(p) for p in (0.2, 0.9)])
    fine = np.linspace(*values, 4001)
    assert integrate.simpson(marginal.density(fine), x=fine) == pytest.approx(0.7, abs=1e-6)
    theta = fine[::500, None]
    np.testing.assert_allclose(posterior.log_density(theta), np.log(marginal.density(theta[:, 0])))
