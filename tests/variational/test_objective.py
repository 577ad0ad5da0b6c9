import numpy as np
import pytest
from helpers.mixtures import base_sample, central_differences, make_mixture
from helpers.variational import wavy_gp
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.mixture import BaseSample, Mixture, entropy, entropy_lower_bound
from quell.quadrature import Quadrature
from quell.variational.objective import Objective, Penalty

modest = settings(deadline=None, max_examples=10)
seeds = st.integers(0, 10_000)
BOX = Penalty(np.array([-1.0, -2.0]), np.array([1.0, 6.0]))  # widths 2 and 8


def inside(weights=(0.5, 0.3, 0.2)):
    """A mixture within all bounds of ``BOX``."""
    k = len(weights)
    means = np.column_stack([np.linspace(-0.9, 0.9, k), np.linspace(-1.5, 5.5, k)])
    return Mixture(weights, means, np.linspace(0.1, 0.4, k), [1.0, 3.0])


def violating(kind, n_components=4, dimension=2, seed=0):
    """A mixture beyond one of the soft bounds of the training inputs of ``wavy_gp``."""
    q = make_mixture(n_components, dimension, seed)
    weights, means, scales = q.weights.copy(), q.means.copy(), q.scales.copy()
    if kind == "means":
        means[0] += 8.0
        means[-1, 0] -= 9.0
    elif kind == "large":
        scales[:2] *= 60.0
    elif kind == "small":
        scales[1:] *= 1e-8
    elif kind == "weights":
        weights[1:3] = 1e-3, 1e-5
        weights /= weights.sum()
    return Mixture(weights, means, scales, q.lengths)


# The penalty


def test_penalty_for_points_has_their_box():
    x = np.array([[0.0, 3.0], [1.0, -4.0], [-2.0, 0.0]])
    penalty = Penalty.for_points(x)
    np.testing.assert_array_equal(penalty.lower, [-2.0, -4.0])
    np.testing.assert_array_equal(penalty.upper, [1.0, 3.0])
    assert penalty.pruning_weight == 0.01
    assert Penalty.for_points(x, 0.0).pruning_weight == 0.0


@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_penalty_inside_the_bounds_is_that_of_the_weights_alone(n_components):
    q = inside(np.full(n_components, 1 / n_components))
    value, gradient = BOX(q)
    assert value == pytest.approx(0.1 * n_components * 1 / (4 * n_components))
    np.testing.assert_allclose(gradient, 0.0, atol=1e-15)
    value, gradient = BOX(q, weights=False)
    assert value == 0
    np.testing.assert_array_equal(gradient, np.zeros_like(q.to_vector()))


def test_penalty_on_the_edges_of_the_bounds_is_zero():
    q = Mixture([0.5, 0.5], [[-1.0, 6.0], [1.0, -2.0]], [1.0, 1e-6], [2.0, 8.0])
    value, gradient = BOX(q, weights=False)
    assert value == pytest.approx(0.0, abs=1e-20)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-10)


def test_penalty_of_means_outside_the_box_by_hand():
    means = [[1.1, 0.0], [0.0, -2.4], [-1.2, 7.0]]
    q = Mixture([0.4, 0.3, 0.3], means, [0.1, 0.1, 0.1], [1.0, 1.0])
    value, gradient = BOX(q, weights=False)
    # Distances 0.1 and 0.2 in units of 1 % of 2; 0.4 and 1 in units of 1 % of 8.
    assert value == pytest.approx(0.5 * (5.0**2 + 10.0**2 + 5.0**2 + 12.5**2))
    by_mean = [[5.0 / 0.02, 0.0], [0.0, -5.0 / 0.08], [-10.0 / 0.02, 12.5 / 0.08]]
    np.testing.assert_allclose(gradient[:6].reshape(3, 2), by_mean)
    np.testing.assert_array_equal(gradient[6:], 0.0)


def test_penalty_of_scales_by_hand():
    # log σ_k λ_i is 0.3 above log 2 and 0.5 above log 8 for the first component, and 0.2 below
    # log(2e-6) in the first coordinate of the second; the interval is log 10⁶ wide.
    lengths = np.array([2.0, 8.0 * np.exp(0.2)])
    q = Mixture([0.5, 0.5], [[0.0, 0.0], [0.0, 0.0]], [np.exp(0.3), 1e-6 * np.exp(-0.2)], lengths)
    unit = 0.01 * np.log(1e6)
    value, gradient = BOX(q, weights=False)
    assert value == pytest.approx(0.5 * (0.3**2 + 0.5**2 + 0.2**2) / unit**2)
    by_log_scale = np.array([0.3 + 0.5, -0.2]) / unit**2
    by_log_length = np.array([0.3 - 0.2, 0.5]) / unit**2
    np.testing.assert_array_equal(gradient[:4], 0.0)
    np.testing.assert_allclose(gradient[4:6], by_log_scale)
    np.testing.assert_allclose(gradient[6:8], by_log_length)
    np.testing.assert_array_equal(gradient[8:], 0.0)


@pytest.mark.parametrize(
    ("weights", "pruning_weight", "threshold"),
    [
        ([0.6, 0.39, 0.01], 0.01, 1 / 12),
        ([0.6, 0.39, 0.01], 0.2, 0.2),
        ([0.6, 0.39, 0.01], 0.0, 1 / 12),
        ([0.55, 0.449, 0.001], 0.01, 1 / 12),
    ],
)
def test_penalty_of_weights_by_hand(weights, pruning_weight, threshold):
    penalty = Penalty(BOX.lower, BOX.upper, pruning_weight)
    expected = 0.1 * sum(min(w, threshold) for w in weights)
    if pruning_weight > 0:
        lowest = np.log(pruning_weight / 2)
        for w in weights:
            below = max(0.0, lowest - np.log(w / max(weights)))
            expected += 0.5 * (below / (0.01 * -lowest)) ** 2
    assert penalty(inside(weights))[0] == pytest.approx(expected)
    assert penalty(inside(weights), weights=False)[0] == 0


def test_pruning_weight_zero_leaves_tiny_weights_alone():
    penalty = Penalty(BOX.lower, BOX.upper, 0.0)
    assert penalty(inside([0.6, 0.4 - 1e-9, 1e-9]))[0] < 0.1
    assert BOX(inside([0.6, 0.4 - 1e-9, 1e-9]))[0] > 100


@pytest.mark.parametrize("pruning_weight", [0.01, 0.0])
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("kind", ["none", "means", "large", "small", "weights"])
def test_gradient_of_the_penalty_is_its_derivative(kind, weights, pruning_weight):
    penalty = Penalty.for_points(wavy_gp(2).data.x, pruning_weight)
    q = violating(kind)
    value, gradient = penalty(q, weights=weights)
    expected = central_differences(lambda p: penalty(p, weights=weights)[0], q, 1e-6)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7 * scale)
    binding = kind != "none" and (kind != "weights" or (weights and pruning_weight > 0))
    assert (value > 1) == binding


def test_a_coordinate_without_spread_counts_as_one_wide():
    penalty = Penalty.for_points(np.array([[0.0, 5.0], [2.0, 5.0]]))
    q = Mixture([1.0], [[1.0, 5.1]], [1.0], [1.0, 0.9])
    value, gradient = penalty(q, weights=False)
    assert value == pytest.approx(0.5 * (0.1 / 0.01) ** 2)
    assert np.isfinite(gradient).all()


def test_zero_weights_have_a_finite_penalty_and_gradient():
    value, gradient = BOX(inside([0.5, 0.5, 0.0]))
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()


# The objective


@pytest.mark.parametrize("beta", [0.0, 2.0])
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("with_base", [True, False])
def test_objective_is_minus_bound_minus_entropy_plus_penalty(beta, weights, with_base):
    gp = wavy_gp(2, 3)
    quadrature, penalty = Quadrature(gp), Penalty.for_points(gp.data.x)
    base = base_sample(32, 2) if with_base else None
    for kind in ("none", "means"):
        q = violating(kind)
        moments = quadrature.moments(q)
        h = entropy(q, base) if with_base else entropy_lower_bound(q)
        expected = -(moments.mean - beta * moments.sd) - h + penalty(q, weights=weights)[0]
        value, _ = Objective(quadrature, penalty, base, beta, weights)(q)
        assert value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("beta", [0.0, 2.0])
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("with_base", [True, False])
@pytest.mark.parametrize("kind", ["none", "means", "large", "weights"])
def test_gradient_of_the_objective_is_its_derivative(kind, with_base, weights, beta):
    gp = wavy_gp(2, 2)
    base = base_sample(16, 2) if with_base else None
    objective = Objective(Quadrature(gp), Penalty.for_points(gp.data.x), base, beta, weights)
    q = violating(kind)
    _, gradient = objective(q)
    expected = central_differences(lambda p: objective(p)[0], q)
    if not weights:
        expected[-4:] = 0.0
        np.testing.assert_array_equal(gradient[-4:], 0.0)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6 * scale)


def test_gradient_of_the_objective_is_its_derivative_for_very_small_scales():
    gp = wavy_gp(2)
    objective = Objective(Quadrature(gp), Penalty.for_points(gp.data.x), base_sample(16, 2), 2.0)
    q = violating("small", 2)
    _, gradient = objective(q)
    # In units of the components' widths: an absolute step would jump over a narrow one.
    free = q.to_vector()
    steps = np.full(len(free), 1e-5)
    steps[:4] *= (q.scales[:, None] * q.lengths).ravel()
    expected = [
        (
            objective(Mixture.from_vector(free + step, 2, 2))[0]
            - objective(Mixture.from_vector(free - step, 2, 2))[0]
        )
        / 2e-5
        for step in np.diag(steps)
    ]
    np.testing.assert_allclose(gradient * steps / 1e-5, expected, rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("dimension", [1, 4])
@modest
@given(n_components=st.integers(1, 5), seed=seeds, beta=st.sampled_from([0.0, 2.0]))
def test_gradient_of_the_objective_at_random_mixtures(dimension, n_components, seed, beta):
    gp = wavy_gp(dimension, 2, seed=seed % 3)
    objective = Objective(
        Quadrature(gp), Penalty.for_points(gp.data.x), base_sample(8, dimension), beta
    )
    q = make_mixture(n_components, dimension, seed)
    ordered = np.sort(q.weights)
    if n_components > 1 and ordered[-1] - ordered[-2] < 1e-3:
        return  # a tie of the largest weights is a kink
    if np.abs(q.weights - max(1 / (4 * n_components), 0.01)).min() < 1e-4:
        return  # so is the threshold
    expected = central_differences(lambda p: objective(p)[0], q)
    scale = max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(objective(q)[1], expected, rtol=1e-5, atol=1e-6 * scale)


def test_objective_defaults_are_no_pessimism_and_free_weights():
    gp = wavy_gp(2)
    quadrature, penalty, base = Quadrature(gp), Penalty.for_points(gp.data.x), base_sample(16, 2)
    q = make_mixture(3, 2)
    plain, spelt = Objective(quadrature, penalty, base), Objective(quadrature, penalty, base, 0.0)
    assert plain(q)[0] == spelt(q)[0]
    assert np.abs(plain(q)[1][-3:]).max() > 0


@pytest.mark.parametrize("with_base", [True, False])
@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_value_alone_is_that_of_a_call(with_base, beta):
    q, quadrature = make_mixture(3, 2), Quadrature(wavy_gp(2))
    base = base_sample(32, 2) if with_base else None
    objective = Objective(quadrature, Penalty.for_points(quadrature.gp.data.x), base, beta)
    assert objective.value(q) == pytest.approx(objective(q)[0], rel=1e-14)


def test_a_base_sample_checked_once_gives_the_same_entropy():
    q, base = make_mixture(3, 2), base_sample(32, 2)
    checked = BaseSample.of(base, 2)
    assert entropy(q, checked) == entropy(q, base)
    np.testing.assert_array_equal(
        entropy(q, checked, gradient=True)[1], entropy(q, base, gradient=True)[1]
    )
    with pytest.raises(ValueError, match="base must have at least one row"):
        BaseSample.of(np.empty((0, 2)), 2)
