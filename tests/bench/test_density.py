import numpy as np
import pytest
from scipy.fft import dct
from scipy.special import ndtr
from scipy.stats import norm

from quell.bench.density import (
    Density,
    bandwidth,
    density_from_draws,
    density_on_box,
    inverse_cdf_draws,
    total_variation,
    trapezoid,
)
from quell.bench.truth.stored import stored_marginals


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


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("shift", [0.0, 0.01, 0.02, 0.05])
def test_draws_that_are_all_but_evenly_spread_give_a_flat_density_and_no_warning(shift):
    draws = (np.arange(50) + 0.5 + shift * np.random.default_rng(0).uniform(-0.5, 0.5, 50)) / 50
    p = density_from_draws(draws, lower=0.0, upper=1.0)
    assert np.abs(p(np.linspace(0.05, 0.95, 50)) - 1.0).max() < 0.1


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


def test_total_variation_agrees_with_the_integral_on_a_million_points():
    # Two narrow densities on the same coarse grid, a quarter of a step apart.
    x = np.linspace(0, 1, 200)
    p, q = (Density.from_grid(x, norm(mean, 0.02).pdf(x)) for mean in (0.5, 0.501))
    fine = np.linspace(0, 1, 1_000_000)
    expected = 0.5 * trapezoid(np.abs(p(fine) - q(fine)), fine)
    assert total_variation(p, q) == pytest.approx(expected, rel=3e-3)


def test_box_density_of_its_formula():
    # The recipe of the original benchmark, written out with sums instead of transforms.
    n, draws = 8192, np.random.default_rng(8).beta(2, 5, 400)
    grid = np.linspace(0, 1, n)
    below = np.searchsorted(grid, draws, side="right") - 1
    frequency = np.bincount(below, minlength=n) / len(draws)
    k = np.arange(1, 200)
    cosines = np.cos(np.pi * k[:, None] * (2 * np.arange(n) + 1) / (2 * n))
    a = 2 * cosines @ frequency
    t = bandwidth(dct(frequency), len(draws)) ** 2
    value = 1 + (a * np.exp(-(k**2) * np.pi**2 * t / 2)) @ cosines
    value = np.maximum(value, 2.2e-16)
    p = density_on_box(draws, lower=0.0, upper=1.0)
    np.testing.assert_allclose(p(grid), value / trapezoid(value, grid), atol=1e-9)


def test_box_density_counts_draws_at_both_bounds_and_drops_those_outside():
    inside = np.concatenate([np.zeros(300), np.linspace(0, 1, 1001), np.ones(300)])
    p = density_on_box(inside, lower=0.0, upper=1.0)
    q = density_on_box(np.append(inside, [-0.1, 1.1]), lower=0.0, upper=1.0)
    assert total_variation(p, q) == 0
    assert p(0.0) == pytest.approx(p(1.0), rel=1e-4)
    assert p(0.0) > 2 * p(0.5)
    with pytest.raises(ValueError, match="no draws between 5 and 6"):
        density_on_box(inside, lower=5.0, upper=6.0)


def draws_from_stored(marginal, i, n=100_000):
    grid = marginal.grid
    return inverse_cdf_draws(grid, marginal(grid), n, np.random.default_rng([9, i]))


@pytest.mark.usefixtures("data_folder")
@pytest.mark.parametrize("key", ["multisensory_s2", "neuronal_v1", "rodent", "timing"])
def test_box_density_against_stored_marginals(key):
    dimension = {"multisensory_s2": 6, "neuronal_v1": 7, "rodent": 9, "timing": 5}[key]
    for i, marginal in enumerate(stored_marginals(key, dimension)):
        low, high = marginal.lower, marginal.upper
        # The stored density is half a step to the left of the draws it was made from.
        half = 0.5 * (marginal.grid[1] - marginal.grid[0])
        draws = np.minimum(draws_from_stored(marginal, i) + half, high)
        estimate = density_on_box(draws, lower=low, upper=high)
        assert total_variation(estimate, marginal) < 0.016, i


@pytest.mark.usefixtures("data_folder")
def test_half_a_step_matters_for_the_narrowest_marginal():
    marginal = stored_marginals("neuronal_v1", 7)[6]
    draws = draws_from_stored(marginal, 6)
    estimate = density_on_box(draws, lower=marginal.lower, upper=marginal.upper)
    # Half a step is 0.12 SDs here, and the mass between two normals so far apart 0.047.
    assert total_variation(estimate, marginal) == pytest.approx(0.047, abs=0.01)
