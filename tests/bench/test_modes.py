"""Problems with several modes, the ring and the funnel."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from quell.bench import load
from quell.bench.problems.funnel import BOUND, SD

PLANE = ["two_modes", "four_modes", "narrow_and_broad", "cross", "halo", "ring"]


@pytest.mark.parametrize("name", PLANE)
def test_evidence_and_moments_by_quadrature_on_the_plane(name):
    problem = load(name, 2)
    truth = problem.truth
    # The trapezoid rule, fine enough for an SD of 0.2.
    side = np.linspace(-20, 20, 801) if name != "ring" else np.linspace(-6, 6, 601)
    x = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    mass = np.exp(problem.exact(x)) * (side[1] - side[0]) ** 2
    assert np.log(mass.sum()) == pytest.approx(truth.log_evidence, abs=1e-8)
    mass /= mass.sum()
    mean = np.einsum("ij,ijk->k", mass, x)
    np.testing.assert_allclose(mean, truth.mean, atol=1e-8)
    covariance = np.einsum("ij,ijk,ijl->kl", mass, x - mean, x - mean)
    np.testing.assert_allclose(covariance, truth.covariance, atol=1e-8)
    for axis, density in enumerate(truth.marginals):
        np.testing.assert_allclose(
            mass.sum(1 - axis) / (side[1] - side[0]), density(side), atol=1e-6
        )


@pytest.mark.parametrize("name", ["two_modes", "narrow_and_broad"])
def test_one_dimension_by_adaptive_quadrature(name):
    problem = load(name, 1)

    def integral(power):
        parts = [quad(lambda x: np.exp(problem.exact([x])) * x**power, a, b, epsabs=1e-12)[0]
                 for a, b in ((-10, -4), (-4, 0), (0, 4), (4, 25))]  # fmt: skip
        return sum(parts)

    assert integral(0) == pytest.approx(1, abs=1e-9)
    assert integral(1) == pytest.approx(problem.truth.mean[0], abs=1e-8)
    second = problem.truth.covariance[0, 0] + problem.truth.mean[0] ** 2
    assert integral(2) == pytest.approx(second, abs=1e-7)


def test_modes_are_equal_and_apart():
    for name, place in (("two_modes", [6.0, 0.0]), ("four_modes", [5.0, 5.0])):
        problem, place = load(name, 2), np.array(place)
        peaks = problem.exact([place, -place])
        assert peaks[0] == pytest.approx(peaks[1])
        assert problem.exact(np.zeros(2)) < peaks[0] - 70
    problem = load("narrow_and_broad", 2)
    narrow, broad = problem.exact([[-5.0, 0.0], [5.0, 0.0]])
    assert narrow - broad == pytest.approx(np.log(100), abs=1e-3)
    draws = problem.truth.sample(20_000, np.random.default_rng(1))
    assert (np.abs(draws[:, 0] + 5) < 1).mean() == pytest.approx(0.5, abs=0.02)
    draws = load("four_modes").truth.sample(20_000, np.random.default_rng(2))
    share = np.bincount(2 * (draws[:, 0] > 0) + (draws[:, 1] > 0)) / len(draws)
    np.testing.assert_allclose(share, 0.25, atol=0.02)


@pytest.mark.parametrize("dim", [4, 6])
def test_labels_may_change_places(dim):
    problem, half = load("labels", dim), dim // 2
    rng = np.random.default_rng(3)
    x = problem.truth.sample(50, rng) + rng.standard_normal((50, dim))
    swapped = np.concatenate([x[:, half:], x[:, :half]], axis=1)
    np.testing.assert_allclose(problem.exact(x), problem.exact(swapped))
    alone = x.copy()
    alone[:, [0, half]] = x[:, [half, 0]]
    assert (problem.exact(alone) < problem.exact(x) - 10).all()
    assert np.ptp(problem.truth.mean[[0, half]]) < 1e-12


def test_four_dimensions_have_their_modes_on_the_first_axis():
    problem = load("two_modes", 4)
    x = np.array([6.3, 0.2, -0.4, 0.1])
    expected = np.log(0.5) + norm([6, 0, 0, 0], 0.5).logpdf(x).sum()
    assert problem.exact(x) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("dim", [2, 4])
def test_funnel_given_its_scale(dim):
    """Evidence and variances of x by quadrature over v of the target's own slices."""
    problem = load("funnel", dim)
    nodes, weights = np.polynomial.legendre.leggauss(200)
    v, weights = BOUND * nodes, BOUND * weights
    # The integral over the x of a normal slice, from its height at zero and its known width.
    heights = problem.exact(np.column_stack([v, np.zeros((200, dim - 1))]))
    slices = np.exp(heights + (dim - 1) * (0.5 * np.log(2 * np.pi) + 0.5 * v)) * weights
    assert np.log(slices.sum()) == pytest.approx(problem.truth.log_evidence, abs=1e-10)
    slices /= slices.sum()
    np.testing.assert_allclose(
        problem.truth.covariance.diagonal(), [slices @ v**2] + [slices @ np.exp(v)] * (dim - 1)
    )
    point = np.append(1.5, np.linspace(-1, 2, dim - 1))
    expected = norm(0, SD).logpdf(1.5) + norm(0, np.exp(0.75)).logpdf(point[1:]).sum()
    assert problem.exact(point) == pytest.approx(expected, rel=1e-12)
    assert problem.exact(np.append(6.01, point[1:])) == -np.inf


def test_funnel_by_draws_from_elsewhere():
    """Importance sampling that knows nothing of the funnel's shape."""
    problem, n = load("funnel"), 200_000
    rng = np.random.default_rng(6)
    v, t = rng.uniform(-BOUND, BOUND, n), 3 * rng.standard_cauchy(n)
    log_q = -np.log(2 * BOUND) - np.log(np.pi * 3 * (1 + (t / 3) ** 2))
    weights = np.exp(problem.exact(np.column_stack([v, t])) - log_q)
    error = weights.std() / np.sqrt(n)
    assert error < 0.02
    assert weights.mean() == pytest.approx(np.exp(problem.truth.log_evidence), abs=4.5 * error)
