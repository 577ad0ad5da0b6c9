import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import cauchy, multivariate_normal, norm

from quell.bench import load
from quell.bench.problems.hierarchical import (
    MEAN_SD,
    SPREAD_SCALE,
    mean_given_spread,
    observations,
)


def test_the_joint_density_is_that_of_the_model():
    y, errors = observations(5)
    theta = np.array([3.0, 2.0, 4.0, 5.0, -1.0])
    expected = (
        norm(theta[2:], errors).logpdf(y).sum()
        + norm(theta[0], theta[1]).logpdf(theta[2:]).sum()
        + norm(0, MEAN_SD).logpdf(theta[0])
        + np.log(2) + cauchy(0, SPREAD_SCALE).logpdf(theta[1])
    )  # fmt: skip
    assert load("hierarchical").exact(theta) == pytest.approx(expected, rel=1e-12)
    theta[1] = 0.0
    assert load("hierarchical").exact(theta) == -np.inf


@pytest.mark.parametrize("dim", [5, 10])
def test_the_spread_has_no_upper_bound_and_a_tail_of_a_power_law(dim):
    problem = load("hierarchical", dim)
    assert (problem.lower[1], problem.upper[1]) == (0.0, np.inf)
    density = problem.truth.marginals[1]
    # 1/τ² by the prior, and 1/τ for each group.
    ratio = density(4000.0) / density(2000.0)
    assert np.log2(ratio) == pytest.approx(-2 - (dim - 2), abs=0.05)


@pytest.mark.parametrize("dim", [5, 10])
def test_evidence_by_quadrature_on_the_plane_of_mean_and_spread(dim):
    """The effects are integrated out by hand, μ and τ by brute force."""
    y, errors = observations(dim)
    mu = np.linspace(-120, 120, 1201)
    # τ = t / (1 - t), midpoints.
    t = (np.arange(4000) + 0.5) / 4000
    tau = t / (1 - t)
    log_f = norm(0, MEAN_SD).logpdf(mu)[:, None] + np.log(2) + cauchy(0, SPREAD_SCALE).logpdf(tau)
    for value, error in zip(y, errors, strict=True):
        log_f = log_f + norm(mu[:, None], np.sqrt(error**2 + tau**2)).logpdf(value)
    f = np.exp(log_f) * (mu[1] - mu[0]) / len(t) / (1 - t) ** 2
    truth = load("hierarchical", dim).truth
    assert np.log(f.sum()) == pytest.approx(truth.log_evidence, abs=1e-5)
    f /= f.sum()
    np.testing.assert_allclose([(f.T @ mu).sum(), (f @ tau).sum()], truth.mean[:2], rtol=1e-4)


def test_evidence_given_the_spread_is_a_multivariate_normal():
    y, errors = observations(10)
    tau = np.array([1e-6, 3.0, 50.0])
    _, _, logs = mean_given_spread(tau, y, errors)
    for spread, log in zip(tau, logs, strict=True):
        covariance = np.diag(errors**2 + spread**2) + MEAN_SD**2
        assert log == pytest.approx(multivariate_normal(cov=covariance).logpdf(y), rel=1e-10)


@pytest.mark.parametrize("dim", [5, 10])
def test_density_of_the_spread_integrates_to_one_along_its_tail(dim):
    density = load("hierarchical", dim).truth.marginals[1]
    parts = [quad(density, a, b, limit=200)[0] for a, b in ((0, 5), (5, 50), (50, 5000))]
    assert sum(parts) == pytest.approx(1, abs=1e-6)
    assert density(0.0) > 0.01  # no spread at all is possible


def test_draws_have_the_joint_law():
    """Conditional laws, which the marginals and the covariance do not show."""
    truth, n = load("hierarchical").truth, 200_000
    draws = truth.sample(n, np.random.default_rng(4))
    y, errors = observations(5)
    mu, tau, effects = draws[:, :1], draws[:, 1:2], draws[:, 2:]
    pull = tau**2 / (tau**2 + errors**2)
    z = (effects - pull * y - (1 - pull) * mu) / (np.sqrt(pull) * errors)
    assert np.abs(z.mean(0)).max() < 4.5 / np.sqrt(n)
    assert np.abs(z.var(0) - 1).max() < 4.5 * np.sqrt(2 / n)
    assert (
        np.abs(np.corrcoef(np.column_stack([z, mu, np.log(tau)]).T) - np.eye(5))[:3].max() < 0.012
    )


@pytest.mark.parametrize("dim", [5, 10])
def test_effects_in_units_of_their_spread_are_the_same_model(dim):
    """The density of η is that of θ = μ + τ η times τ for each group; draws go over likewise."""
    natural, scaled = load("hierarchical", dim), load("noncentred", dim)
    draws = natural.truth.sample(100_000, np.random.default_rng(5))
    mu, tau, effects = draws[:, :1], draws[:, 1:2], draws[:, 2:]
    own = np.column_stack([mu, tau, (effects - mu) / tau])
    expected = natural.exact(draws[:50]) + (dim - 2) * np.log(tau[:50, 0])
    np.testing.assert_allclose(scaled.exact(own[:50]), expected, rtol=1e-9)
    assert scaled.truth.log_evidence == pytest.approx(natural.truth.log_evidence, rel=1e-12)
    sds = np.sqrt(np.diag(scaled.truth.covariance))
    for i in range(2, dim):
        assert own[:, i].mean() == pytest.approx(scaled.truth.mean[i], abs=0.02 * sds[i])
        assert own[:, i].std() == pytest.approx(sds[i], rel=0.02)
    correlation = np.corrcoef(own[:, [0, *range(2, dim)]].T)
    told = scaled.truth.covariance / np.outer(sds, sds)
    others = [0, *range(2, dim)]
    np.testing.assert_allclose(correlation, told[np.ix_(others, others)], atol=0.02)


def test_their_density_where_the_product_is_large():
    theta = np.array([0.0, 1e4, 100.0, 0.0, 0.0])
    assert -1e12 < load("noncentred").exact(theta) < -1e9
