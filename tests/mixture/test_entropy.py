import math
import warnings

import numpy as np
import pytest
from helpers.mixtures import base_sample, central_differences, random_mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quell.mixture import Mixture, entropy, entropy_lower_bound, normal_base_sample

modest = settings(deadline=None, max_examples=20)
seeds = st.integers(0, 1000)
sizes = pytest.mark.parametrize(
    ("n_components", "dimension"), [(1, 1), (1, 4), (2, 1), (3, 2), (5, 5), (12, 3)]
)


def gaussian_entropy(q):
    d = q.dimension
    return (
        0.5 * d * (1 + math.log(2 * math.pi)) + d * math.log(q.scales[0]) + np.log(q.lengths).sum()
    )


def slow_entropy(q, base, points_from=None):
    """The defining average, one component at a time; the points may come from another mixture."""
    points = q if points_from is None else points_from
    return -sum(
        w * q.log_density(mu + sigma * points.lengths * base).mean()
        for w, mu, sigma in zip(q.weights, points.means, points.scales, strict=True)
    )


# The base sample


@pytest.mark.parametrize("n", [2, 16, 100, 1024])
@pytest.mark.parametrize("dimension", [1, 3, 20])
def test_base_sample_is_antithetic_and_silent(n, dimension):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        base = base_sample(n, dimension)
    assert base.shape == (n, dimension)
    assert np.isfinite(base).all()
    np.testing.assert_array_equal(base[: n // 2], -base[n // 2 :])


def test_base_sample_is_standard_normal_and_more_even_than_random():
    base = base_sample(4096, 4)
    np.testing.assert_allclose(base.T @ base / 4096, np.eye(4), atol=0.02)
    for column in base.T:
        # Independent draws would have a distance near 0.87/sqrt(4096) = 0.014.
        assert stats.kstest(column, stats.norm.cdf).statistic < 0.002


def test_base_sample_is_finite_at_the_ends_of_the_sobol_grid(monkeypatch):
    class Corners:
        def __init__(self, *_, **__):
            pass

        def random_base2(self, m):
            return np.array([[0.0], [1 - 0.5**30]])[: 2**m]

    monkeypatch.setattr("scipy.stats.qmc.Sobol", Corners)
    base = base_sample(4, 1)
    assert np.isfinite(base).all()
    assert base[0, 0] == pytest.approx(-base[1, 0], rel=1e-6)


def test_base_sample_is_determined_by_the_generator():
    np.testing.assert_array_equal(base_sample(32, 3, seed=4), base_sample(32, 3, seed=4))
    assert not np.array_equal(base_sample(32, 3, seed=4), base_sample(32, 3, seed=5))
    rng = np.random.default_rng(4)
    first, second = normal_base_sample(32, 3, rng), normal_base_sample(32, 3, rng)
    assert not np.array_equal(first, second)


# The value of the entropy


@modest
@given(n_components=st.integers(1, 6), dimension=st.integers(1, 5), seed=seeds)
def test_entropy_is_the_average_it_says(n_components, dimension, seed):
    q = random_mixture(n_components, dimension, seed)
    base = np.random.default_rng(seed).normal(size=(9, dimension))  # any base sample will do
    value = entropy(q, base)
    assert value == pytest.approx(slow_entropy(q, base), rel=1e-12, abs=1e-12)
    assert entropy(q, base, gradient=True)[0] == value


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_entropy_of_one_gaussian_tends_to_the_closed_form(dimension):
    q = random_mixture(1, dimension)
    errors = [
        abs(entropy(q, base_sample(n, dimension)) - gaussian_entropy(q)) for n in (2**8, 2**14)
    ]
    assert errors[0] < 0.05
    assert errors[1] < 1e-3


def test_entropy_against_a_million_draws():
    q = random_mixture(5, 5)
    log_q = q.log_density(q.sample(1_000_000, np.random.default_rng(1)))
    error = log_q.std() / 1000
    # The quasi-random average over 2^14 points has an error well below that of the draws.
    assert abs(entropy(q, base_sample(2**14, 5)) + log_q.mean()) < 4 * error


def test_entropy_against_quadrature_in_two_dimensions():
    q = Mixture(
        [0.5, 0.3, 0.2], [[-1.0, 0.0], [1.0, 0.5], [0.0, -2.0]], [0.6, 1.0, 0.4], [1.0, 0.7]
    )
    axis = np.linspace(-9.0, 9.0, 721)
    log_q = q.log_density(np.stack(np.meshgrid(axis, axis, indexing="ij"), axis=-1))
    integral = -(np.exp(log_q) * log_q).sum() * (axis[1] - axis[0]) ** 2
    assert entropy(q, base_sample(2**16, 2)) == pytest.approx(integral, abs=2e-4)


def test_blocks_do_not_change_the_result(monkeypatch):
    q, base = random_mixture(7, 3), base_sample(64, 3)
    value, slope = entropy(q, base, gradient=True)
    for size in (1, 7 * 10, 7 * 64 * 3):  # one point; ten points of a row; three rows
        monkeypatch.setitem(entropy.__globals__, "BLOCK_ELEMENTS", size)
        again, slope_again = entropy(q, base, gradient=True)
        assert again == pytest.approx(value, rel=1e-13)
        np.testing.assert_allclose(slope_again, slope, rtol=1e-10, atol=1e-13)


@modest
@given(seed=seeds, shift=st.floats(-50, 50), factor=st.floats(0.01, 100))
def test_translation_and_scaling(seed, shift, factor):
    q, base = random_mixture(4, 3, seed), base_sample(16, 3)
    moved = Mixture(q.weights, q.means + shift * np.array([1, -1, 0.5]), q.scales, q.lengths)
    stretch = np.array([factor, 1.0, 1.0])
    stretched = Mixture(q.weights, q.means * stretch, q.scales, q.lengths * stretch)
    for estimate in (lambda r: entropy(r, base), entropy_lower_bound):
        assert estimate(moved) == pytest.approx(estimate(q), abs=1e-10)
        assert estimate(stretched) == pytest.approx(estimate(q) + math.log(factor), abs=1e-10)


def test_order_and_splitting_of_components_do_not_matter():
    q, base = random_mixture(4, 3), base_sample(32, 3)
    order = [2, 0, 3, 1]
    shuffled = Mixture(q.weights[order], q.means[order], q.scales[order], q.lengths)
    split = Mixture(
        np.append(q.weights, 0) * [1, 1, 1, 0.25, 0] + np.append(np.zeros(4), 0.75 * q.weights[3]),
        np.vstack([q.means, q.means[3]]),
        np.append(q.scales, q.scales[3]),
        q.lengths,
    )
    for estimate in (lambda r: entropy(r, base), entropy_lower_bound):
        assert estimate(shuffled) == pytest.approx(estimate(q), rel=1e-13)
        assert estimate(split) == pytest.approx(estimate(q), rel=1e-13)


# Its gradient


@sizes
@pytest.mark.parametrize("n", [1, 16])
def test_gradient_is_that_of_the_average_itself(n_components, dimension, n):
    q = random_mixture(n_components, dimension)
    base = np.random.default_rng(1).normal(size=(n, dimension))
    _, slope = entropy(q, base, gradient=True)
    expected = central_differences(lambda r: slow_entropy(r, base), q)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


@modest
@given(n_components=st.integers(2, 5), dimension=st.integers(1, 4), seed=seeds)
def test_gradient_at_random_mixtures(n_components, dimension, seed):
    q = random_mixture(n_components, dimension, seed, spread=1.0 + seed % 4)
    base = base_sample(16, dimension, seed)
    _, slope = entropy(q, base, gradient=True)
    expected = central_differences(lambda r: entropy(r, base), q)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=2e-7)


@modest
@given(n_components=st.integers(1, 30), dimension=st.integers(1, 8), seed=seeds)
def test_single_precision_is_precise_enough(n_components, dimension, seed):
    q = random_mixture(n_components, dimension, seed, spread=1.0 + seed % 4)
    base = base_sample(64, dimension, seed)
    value, slope = entropy(q, base, gradient=True)
    rough, rough_slope = entropy(q, base, gradient=True, single=True)
    assert rough == pytest.approx(value, abs=1e-4)
    assert entropy(q, base, single=True) == rough
    np.testing.assert_allclose(rough_slope, slope, atol=1e-4)
    assert rough_slope.dtype == np.float64


def test_single_precision_is_not_used_where_components_are_far_apart():
    q = Mixture([0.5, 0.5], [[0.0, 0.0], [5.0, 0.0]], [1.0, 1e-3], [1.0, 1.0])
    base = base_sample(64, 2)
    assert entropy(q, base, single=True) == entropy(q, base)
    near = Mixture([0.5, 0.5], [[0.0, 0.0], [5.0, 0.0]], [1.0, 1.0], [1.0, 1.0])
    assert entropy(near, base, single=True) != entropy(near, base)


def test_moving_the_points_alone_is_not_the_gradient():
    q, base = random_mixture(4, 3), base_sample(16, 3)
    _, slope = entropy(q, base, gradient=True)
    # log q held fixed, only the points follow the parameters; the weights are left out.
    path = central_differences(lambda r: slow_entropy(q, base, points_from=r), q)[:-4]
    gap = np.linalg.norm(slope[:-4] - path) / np.linalg.norm(slope[:-4])
    assert gap > 0.02
    # What is left out has expectation zero.
    base = base_sample(2**14, 3)
    _, slope = entropy(q, base, gradient=True)
    path = central_differences(lambda r: slow_entropy(q, base, points_from=r), q)[:-4]
    assert np.linalg.norm(slope[:-4] - path) / np.linalg.norm(slope[:-4]) < 0.002


def test_gradient_of_one_gaussian_is_exact():
    q = random_mixture(1, 3)
    _, slope = entropy(q, base_sample(16, 3), gradient=True)
    np.testing.assert_allclose(slope, [0, 0, 0, 3, 1, 1, 1, 0], atol=1e-12)


# The lower bound


def test_lower_bound_is_exact_for_one_gaussian():
    q = random_mixture(1, 3)
    value, slope = entropy_lower_bound(q, gradient=True)
    assert value == pytest.approx(gaussian_entropy(q), rel=1e-14)
    np.testing.assert_allclose(slope, [0, 0, 0, 3, 1, 1, 1, 0], atol=1e-14)


@modest
@given(n_components=st.integers(2, 6), dimension=st.integers(1, 5), seed=seeds)
def test_lower_bound_is_below_the_entropy(n_components, dimension, seed):
    q = random_mixture(n_components, dimension, seed)
    # Jensen loses D/2 (1 - log 2) = 0.15 D where one component dominates; 2^12 points err less.
    assert entropy_lower_bound(q) < entropy(q, base_sample(2**12, dimension))


def test_lower_bound_against_its_definition():
    q = random_mixture(4, 3)
    expected = 0.0
    for k in range(4):
        overlap = sum(
            q.weights[j]
            * stats.multivariate_normal.pdf(
                q.means[k],
                q.means[j],
                np.diag((q.scales[k] ** 2 + q.scales[j] ** 2) * q.lengths**2),
            )
            for j in range(4)
        )
        expected -= q.weights[k] * math.log(overlap)
    assert entropy_lower_bound(q) == pytest.approx(expected, rel=1e-12)
    assert entropy_lower_bound(q, gradient=True)[0] == entropy_lower_bound(q)


@sizes
def test_gradient_of_the_lower_bound(n_components, dimension):
    q = random_mixture(n_components, dimension)
    _, slope = entropy_lower_bound(q, gradient=True)
    expected = central_differences(entropy_lower_bound, q)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-7)


# Extreme mixtures


@pytest.mark.parametrize("distance", [1e2, 1e4, 1e8])
def test_far_apart_components(distance):
    weights = np.array([0.2, 0.3, 0.5])
    means = distance * np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 1.0]])
    q = Mixture(weights, means, [1.0, 0.5, 2.0], [1.0, 3.0])
    base = base_sample(64, 2)
    parts = [Mixture([1.0], [mu], [s], q.lengths) for mu, s in zip(means, q.scales, strict=True)]
    choice = -(weights * np.log(weights)).sum()  # which component, then where within it
    separate = choice + sum(w * entropy(part, base) for w, part in zip(weights, parts, strict=True))
    value, slope = entropy(q, base, gradient=True)
    assert value == pytest.approx(separate, rel=1e-12)
    bound, bound_slope = entropy_lower_bound(q, gradient=True)
    assert bound == pytest.approx(
        choice
        + sum(
            w * (gaussian_entropy(p) - (1 - math.log(2)))
            for w, p in zip(weights, parts, strict=True)
        ),
        rel=1e-12,
    )
    for gradient in (slope, bound_slope):
        np.testing.assert_allclose(gradient[:6], 0, atol=1e-12)
        np.testing.assert_allclose(gradient[6:9], 2 * weights, rtol=1e-10)
        np.testing.assert_allclose(gradient[9:11], 1, rtol=1e-10)
    expected = central_differences(lambda r: entropy(r, base), q, step=1e-4)
    np.testing.assert_allclose(slope[11:], expected[11:], atol=1e-6)


def test_nearly_duplicate_components():
    q = random_mixture(3, 2)
    means = q.means.copy()
    means[1] = means[0] + 1e-9
    scales = q.scales.copy()
    scales[1] = scales[0]
    twin = Mixture(q.weights, means, scales, q.lengths)
    base = base_sample(16, 2)
    merged = Mixture(
        [q.weights[0] + q.weights[1], q.weights[2]], means[[0, 2]], scales[[0, 2]], q.lengths
    )
    for estimate in (
        lambda r, **options: entropy(r, base, **options),
        lambda r, **options: entropy_lower_bound(r, **options),
    ):
        value, slope = estimate(twin, gradient=True)
        value_merged, slope_merged = estimate(merged, gradient=True)
        assert value == pytest.approx(value_merged, abs=1e-8)
        np.testing.assert_allclose(slope[:2] + slope[2:4], slope_merged[:2], atol=1e-7)
        np.testing.assert_allclose(slope[6] + slope[7], slope_merged[4], atol=1e-7)
        np.testing.assert_allclose(slope[8:11], slope_merged[5:8], atol=1e-7)


def test_a_needle_inside_a_wide_component():
    # The points of the wide one are thousands of needle widths from the needle.
    q = Mixture([0.5, 0.5], [[0.0, 0.0], [0.3, 0.1]], [1.0, 1e-4], [1.0, 1.0])
    base = base_sample(32, 2)
    value, slope = entropy(q, base, gradient=True)
    assert value == pytest.approx(slow_entropy(q, base), rel=1e-12)
    expected = central_differences(lambda r: slow_entropy(r, base), q, step=1e-7)
    np.testing.assert_allclose(slope, expected, rtol=1e-5, atol=1e-5)


def test_log_densities_of_minus_a_million_do_no_harm():
    q = Mixture([0.999, 0.001], [[0.0], [1.0]], [1e-3, 1e-6], [1.0])
    base = base_sample(16, 1)
    for value, slope in (
        entropy(q, base, gradient=True),
        entropy_lower_bound(q, gradient=True),
    ):
        assert math.isfinite(value)
        assert np.isfinite(slope).all()
    assert entropy(q, base) == pytest.approx(slow_entropy(q, base), rel=1e-12)
    # Points of a component with (almost) no weight, far from all others.
    q = Mixture([1.0, 1e-300], [[0.0], [1e4]], [1.0, 1.0], [1.0])
    assert np.isfinite(entropy(q, base, gradient=True)[1]).all()


@pytest.mark.parametrize("unit", [1e-120, 1e120])
def test_densities_beyond_the_range_of_floats(unit):
    q, base = random_mixture(3, 4), base_sample(16, 4)
    rescaled = Mixture(q.weights, q.means * unit, q.scales * unit, q.lengths)
    for estimate in (
        lambda r: entropy(r, base, gradient=True),
        lambda r: entropy_lower_bound(r, gradient=True),
    ):
        (value, slope), (value_rescaled, slope_rescaled) = estimate(q), estimate(rescaled)
        assert value_rescaled == pytest.approx(value + 4 * math.log(unit), rel=1e-13)
        np.testing.assert_allclose(slope_rescaled[12:], slope[12:], rtol=1e-9, atol=1e-10)
        np.testing.assert_allclose(slope_rescaled[:12] * unit, slope[:12], rtol=1e-9, atol=1e-10)


def test_zero_weights_are_absent():
    full = Mixture([0.3, 0.0, 0.7], [[0.0], [0.1], [2.0]], [1.0, 9.0, 0.5], [1.0])
    reduced, base = full.without(1), base_sample(16, 1)
    for estimate in (
        lambda r: entropy(r, base, gradient=True),
        lambda r: entropy_lower_bound(r, gradient=True),
    ):
        (value, slope), (value_reduced, slope_reduced) = estimate(full), estimate(reduced)
        assert value == pytest.approx(value_reduced, rel=1e-14)
        np.testing.assert_array_equal(slope[[1, 4, 8]], 0)
        np.testing.assert_allclose(np.delete(slope, [1, 4, 8]), slope_reduced, rtol=1e-12)


# Bad input


def test_bad_arguments_are_named():
    rng, q = np.random.default_rng(0), random_mixture(2, 3)
    for n in (0, 7, -2):
        with pytest.raises(ValueError, match=f"n must be even and at least 2, got {n}"):
            normal_base_sample(n, 3, rng)
    with pytest.raises(ValueError, match="dimension must be at least 1, got 0"):
        normal_base_sample(8, 0, rng)
    with pytest.raises(ValueError, match=r"base must have shape \(n, 3\), got \(4, 2\)"):
        entropy(q, np.zeros((4, 2)))
    with pytest.raises(ValueError, match=r"base must have at least one row, got shape \(0, 3\)"):
        entropy(q, np.zeros((0, 3)))
    with pytest.raises(ValueError, match=r"base\[0, 1\] must be finite, got nan"):
        entropy(q, [[0.0, np.nan, 0.0]])
