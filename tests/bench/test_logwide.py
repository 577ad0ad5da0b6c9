import numpy as np
import pytest
from scipy.stats import lognorm, multivariate_normal

from quell.bench import load
from quell.bench.density import density_of_logs
from quell.bench.problems.logwide import BOUND, CORRELATION, LOG_SD, MEDIANS


def test_the_density_is_log_normal():
    theta = np.array([0.3, 900.0, 7.0, 12.0])
    for dim, size in ((2, 2), (4, 4)):
        point = theta[:size]
        pair = LOG_SD**2 * np.array([[1, CORRELATION[dim]], [CORRELATION[dim], 1]])
        logs = np.log(point / MEDIANS[:size])
        expected = sum(multivariate_normal(cov=pair).logpdf(logs[i : i + 2])
                       for i in range(0, size, 2)) - np.log(point).sum()  # fmt: skip
        assert load("logwide", dim).exact(point) == pytest.approx(expected, rel=1e-12)
    single = sum(
        lognorm(LOG_SD, scale=m).logpdf(x) for m, x in zip(MEDIANS[:2], theta, strict=False)
    )
    assert load("logwide", 2).exact(theta[:2]) == pytest.approx(single, rel=1e-12)


@pytest.mark.parametrize("dim", [2, 4])
def test_evidence_and_moments_by_quadrature_in_the_plane_of_logs(dim):
    """Pair by pair; the target itself, not its formula, is integrated."""
    problem = load("logwide", dim)
    truth, covariance = problem.truth, np.zeros((dim, dim))
    nodes, weights = np.polynomial.legendre.leggauss(400)
    evidence = 0.0
    for i in range(0, dim, 2):
        ends = [(np.log(MEDIANS[j]) - 9 * LOG_SD, high) for j, high in
                ((i, np.log(MEDIANS[i]) + 10 * LOG_SD), (i + 1, np.log(BOUND)))]  # fmt: skip
        a, b = (low + (nodes + 1) * (high - low) / 2 for low, high in ends)
        area = np.outer(weights, weights) * np.prod([(h - low) / 2 for low, h in ends])
        points = np.tile(MEDIANS[:dim], (400, 400, 1))
        points[..., i], points[..., i + 1] = np.exp(a)[:, None], np.exp(b) * (1 - 1e-15)
        others = [j for j in range(dim) if j not in (i, i + 1)]
        # The other pair, at its medians, is a constant factor.
        rho = CORRELATION[dim]
        constant = -np.log(2 * np.pi * LOG_SD**2 * np.sqrt(1 - rho**2)) if others else 0.0
        constant -= np.log([MEDIANS[j] for j in others]).sum()
        f = np.exp(problem.exact(points) - constant + a[:, None] + b) * area
        evidence += np.log(f.sum())
        f /= f.sum()
        x, y = points[..., i], points[..., i + 1]
        mean = [(f * x).sum(), (f * y).sum()]
        np.testing.assert_allclose(mean, truth.mean[i : i + 2], rtol=1e-6)
        dx, dy = x - mean[0], y - mean[1]
        covariance[i : i + 2, i : i + 2] = [[(f * dx * dx).sum(), (f * dx * dy).sum()],
                                            [(f * dx * dy).sum(), (f * dy * dy).sum()]]  # fmt: skip
    assert evidence == pytest.approx(truth.log_evidence, abs=1e-6)
    np.testing.assert_allclose(covariance, truth.covariance, rtol=1e-5, atol=1e-9)


def test_bounds_differ_from_parameter_to_parameter():
    problem = load("logwide", 4)
    assert problem.upper.tolist() == [np.inf, BOUND, np.inf, BOUND]
    np.testing.assert_array_equal(
        problem.exact([[1.0, 1.0, 1.0, 1.1 * BOUND], [0.0, 1.0, 1.0, 1.0]]), [-np.inf, -np.inf]
    )


def test_the_posterior_spans_three_decades():
    draws = load("logwide").truth.sample(20_000, np.random.default_rng(2))
    low, high = np.quantile(draws, [0.02, 0.98], axis=0)
    assert (high / low > 800).all()


def test_logs_correlate_within_pairs_only():
    draws = load("logwide", 4).truth.sample(50_000, np.random.default_rng(3))
    correlation = np.corrcoef(np.log(draws).T)
    expected = np.kron(np.eye(2), [[1, 0.9], [0.9, 1]])
    np.testing.assert_allclose(correlation, expected, atol=0.02)


def test_draws_at_the_limits_of_floating_point_are_compared_too():
    density = density_of_logs(np.array([0.0, 1.0, 2.0, np.inf]), lower=0.0, upper=np.inf)
    assert density.lower < -700
    assert density.upper > 700
    assert density_of_logs(np.array([0.5, 1.0, 2.0]), lower=0.0, upper=2.0).upper == np.log(2.0)
