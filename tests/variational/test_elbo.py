import numpy as np
import pytest
from helpers.mixtures import base_sample, make_mixture
from helpers.variational import Gaussian, wavy_gp

from quell.mixture import Mixture, entropy
from quell.quadrature import Quadrature
from quell.variational import Elbo, evaluate_elbo


@pytest.mark.parametrize("n_samples", [1, 3])
@pytest.mark.parametrize("dimension", [1, 3])
def test_elbo_is_expected_log_joint_plus_entropy(dimension, n_samples):
    quadrature = Quadrature(wavy_gp(dimension, n_samples))
    q, base = make_mixture(3, dimension), base_sample(64, dimension)
    elbo = evaluate_elbo(quadrature, q, base)
    moments = quadrature.moments(q)
    assert elbo.entropy == entropy(q, base)
    assert elbo.value == moments.mean + entropy(q, base)
    assert elbo.sd == pytest.approx(np.sqrt(moments.within + moments.between), rel=1e-14)
    assert elbo.sd > 0
    for beta in (0.0, 1.0, 3.0):
        bound = moments.mean + entropy(q, base) - beta * elbo.sd
        assert elbo.lower_confidence_bound(beta) == pytest.approx(bound, rel=1e-14)


def test_elbo_value_bound_and_sd_are_those_of_its_parts():
    moments = Quadrature(wavy_gp(2)).moments(make_mixture(2, 2))
    low, high = Elbo(moments, 1.0), Elbo(moments, 3.5)
    assert high.value - low.value == pytest.approx(2.5)
    assert high.sd == low.sd == moments.sd
    assert low.lower_confidence_bound(2.0) == pytest.approx(low.value - 2 * moments.sd)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_elbo_of_the_exact_posterior_is_the_log_evidence(dimension):
    target = Gaussian(dimension)
    base = base_sample(4096, dimension)
    elbo = evaluate_elbo(Quadrature(target.exact_gp()), target.exact_mixture(), base)
    assert elbo.value == pytest.approx(target.log_z, abs=0.005)


@pytest.mark.parametrize("dimension", [1, 2, 5])
def test_elbo_of_another_mixture_falls_short_by_the_divergence(dimension):
    target = Gaussian(dimension)
    quadrature, base = Quadrature(target.exact_gp()), base_sample(4096, dimension)
    shift, stretch = 0.6, 1.4
    q = Mixture([1.0], [target.mean + shift * target.sd], [stretch], target.sd)
    divergence = dimension * 0.5 * (stretch**2 + shift**2 - 1 - 2 * np.log(stretch))
    elbo = evaluate_elbo(quadrature, q, base)
    assert elbo.value == pytest.approx(target.log_z - divergence, abs=0.01)


def test_base_sample_of_another_dimension_is_refused():
    with pytest.raises(ValueError, match="base"):
        evaluate_elbo(Quadrature(wavy_gp(2)), make_mixture(2, 2), base_sample(8, 3))
