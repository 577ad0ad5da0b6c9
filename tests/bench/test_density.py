import numpy as np
import pytest
from scipy.fft import dct
from scipy.special import ndtr
from scipy.stats import norm

from quell.bench.density import (
    Density,
    bandwidth,
    density_from_draws,
    inverse_cdf_draws,
    total_variation,
    trapezoid,
)


def normal(mean, sd):
    return Density.from_function(norm(mean, sd).pdf, mean - 9 * sd, mean + 9 * sd)


@pytest.mark.parametrize("shift", [0.0, 0.1, 1.0, 4.0])
def test_total_variation_of_shifted_normals(shift):
    # Two normals of equal SD cross once, half-way.
    expected = 2 * ndtr(shift / 2) - 1
    assert total_variation(normal(0, 1), normal(shift, 1)) == pytest.approx(expected, abs=1e-6)


def test_total_variation_of_normals_of_different_width():
    s = 2.0
    cross = np.sqrt(2 * np.log(s) / (1 - 1 / s**2))
    expected = 2 * (ndtr(cross) - ndtr(cross / s))
    assert total_variation(normal(0, 1), normal(0, s)) == pytest.approx(expected, abs=1e-6)


def test_total_variation_sees_a_density_much_narrower_than_the_other():
    assert total_variation(normal(0, 1), normal(0, 1e-5)) == pytest.approx(1, abs=1e-3)


def test_total_variation_of_disjoint_densities_is_one():
    assert total_variation(normal(0, 1), normal(100, 1)) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("n", [10_000, 100_000])
def test_bandwidth_for_normal_draws_is_near_the_optimum(n):
    draws = np.random.default_rng(3).standard_normal(n)
    low, high = draws.min() - 1, draws.max() + 1
    counts, _ = np.histogram(draws, bins=8192, range=(low, high))
    h = bandwidth(dct(counts / n), n) * (high - low)
    assert h == pytest.approx((4 / 3) ** 0.2 * n**-0.2, rel=0.05)


def test_bandwidth_resolves_two_far_modes():
    rng = np.random.default_rng(4)
    draws = np.concatenate([rng.normal(-50, 1, 50_000), rng.normal(50, 1, 50_000)])
    p = density_from_draws(draws)
    assert p(50.0) == pytest.approx(0.5 / np.sqrt(2 * np.pi), rel=0.03)
    assert p(0.0) < 1e-6


def test_density_of_normal_draws():
    p = density_from_draws(np.random.default_rng(5).normal(3, 2, 100_000))
    assert trapezoid(p(p.grid), p.grid) == pytest.approx(1)
    assert total_variation(p, normal(3, 2)) < 0.01


def test_density_keeps_within_bounds_and_does_not_sink_there():
    draws = -np.abs(np.random.default_rng(6).standard_normal(100_000))
    clipped, free = density_from_draws(draws, upper=0.0), density_from_draws(draws)
    assert clipped(0.1) == 0
    assert clipped(-1e-3) == pytest.approx(2 / np.sqrt(2 * np.pi), rel=0.03)
    assert free(0.0) < 0.7 * clipped(-1e-3)


def test_density_of_equal_draws_is_a_spike():
    p = density_from_draws(np.full(100, 2.0))
    assert trapezoid(p(p.grid), p.grid) == pytest.approx(1)
    assert total_variation(p, normal(2, 1)) > 0.99


def test_density_is_zero_outside_its_range():
    x = np.linspace(0, 1, 11)
    assert Density.from_grid(x, np.ones(11))([-0.1, 0.5, 1.1]).tolist() == [0, 1, 0]


def test_inverse_cdf_draws():
    x = np.linspace(0, 1, 1001)
    draws = inverse_cdf_draws(x, 2 * x, 50_000, np.random.default_rng(7))
    assert draws.mean() == pytest.approx(2 / 3, abs=0.005)
