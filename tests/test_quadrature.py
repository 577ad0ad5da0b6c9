"""Every closed form is compared with numerical integration of the surrogate itself."""

import tracemalloc

import numpy as np
import pytest
from helpers.mixtures import central_differences, make_mixture
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from quell.gp import GaussianProcess, TrainingData
from quell.gp.marginal import MarginalLikelihood
from quell.gp.model import kernel
from quell.mixture import Mixture
from quell.quadrature import Quadrature

modest = settings(deadline=None, max_examples=4)
seeds = st.integers(0, 10_000)
SAMPLE_WEIGHTS = {1: [1.0], 2: [0.8, 0.2], 3: [0.2, 0.5, 0.3], 4: [0.1, 0.4, 0.2, 0.3]}


def make_theta(dimension, n_samples, seed=0):
    """Moderate hyperparameters, different in every sample and coordinate."""
    rng = np.random.default_rng([seed, dimension, 1])
    d = dimension
    centre = np.concatenate([np.full(d, 0.1), [0.6, -1.5, -1.0], np.full(d, 0.3), np.full(d, 0.5)])
    return centre + 0.3 * rng.normal(size=(n_samples, len(centre)))


def make_data(dimension, size=20, seed=0):
    rng = np.random.default_rng([seed, dimension, 2])
    x = 0.5 + rng.normal(size=(size, dimension)) * np.linspace(0.8, 1.6, dimension)
    y = -1 - 0.4 * (x**2).sum(axis=1) + np.sin(2 * x).sum(axis=1)
    return TrainingData.from_arrays(x, y, rng.uniform(0.1, 0.5, size))


def make_gp(dimension, n_samples=1, size=20, seed=0):
    return GaussianProcess.condition(
        make_data(dimension, size, seed),
        make_theta(dimension, n_samples, seed),
        SAMPLE_WEIGHTS[n_samples],
    )


def component_draws(q, k, n, rng):
    return q.means[k] + q.scales[k] * q.lengths * rng.normal(size=(n, q.dimension))


def line_grid(q, size):
    """A grid on which the trapezium rule integrates 1-D components to machine precision."""
    sd = q.scales.max() * q.lengths[0]
    grid = np.linspace(q.means.min() - 9 * sd, q.means.max() + 9 * sd, size)
    densities = stats.norm.pdf(grid, q.means, q.scales[:, None] * q.lengths)
    return grid[:, None], densities * (grid[1] - grid[0])


def hermite_nodes(q, k, order):
    """Nodes (order^D, D) and weights of Gauss-Hermite quadrature over component ``k``."""
    node, weight = np.polynomial.hermite_e.hermegauss(order)
    mesh = np.stack(np.meshgrid(*[node] * q.dimension, indexing="ij"), axis=-1)
    weights = np.prod(np.meshgrid(*[weight] * q.dimension, indexing="ij"), axis=0).ravel()
    points = q.means[k] + q.scales[k] * q.lengths * mesh.reshape(-1, q.dimension)
    return points, weights / weights.sum()


def assert_same_moments(actual, expected, tolerance):
    """The same per component and in all, apart from the order of components."""
    for name in ("component_means", "component_covariances", "sample_means", "sample_variances"):
        np.testing.assert_allclose(
            getattr(actual, name), getattr(expected, name), rtol=tolerance, atol=tolerance
        )
    for name in ("mean", "within", "between", "variance", "sd"):
        assert getattr(actual, name) == pytest.approx(
            getattr(expected, name), rel=tolerance, abs=tolerance
        )


# The mean of G


@pytest.mark.parametrize("n_samples", [1, 3])
def test_mean_is_the_integral_of_the_predicted_mean_in_one_dimension(n_samples):
    gp, q = make_gp(1, n_samples), make_mixture(3, 1)
    grid, densities = line_grid(q, 2001)
    integrals = gp.predict(grid)[0] @ densities.T
    result = Quadrature(gp).moments(q)
    np.testing.assert_allclose(result.component_means, integrals, rtol=1e-9)
    np.testing.assert_allclose(result.sample_means, integrals @ q.weights, rtol=1e-9)
    assert result.mean == pytest.approx(
        sum(w * m for w, m in zip(SAMPLE_WEIGHTS[n_samples], integrals @ q.weights, strict=True)),
        rel=1e-9,
    )


def test_mean_is_the_adaptive_integral_over_the_mixture_density():
    gp, q = make_gp(1), make_mixture(2, 1, seed=4)
    integral, _ = integrate.quad(
        lambda x: float(gp.predict([[x]])[0][0, 0] * np.exp(q.log_density([x]))),
        -12,
        12,
        epsabs=1e-11,
    )
    assert Quadrature(gp).moments(q).mean == pytest.approx(integral, abs=1e-9)
    assert Quadrature(gp).mean_and_gradient(q)[0] == pytest.approx(integral, abs=1e-9)


def test_mean_is_the_integral_of_the_predicted_mean_in_two_dimensions():
    gp, q = make_gp(2, 3), make_mixture(3, 2)
    result = Quadrature(gp).moments(q)
    for k in range(3):
        points, weights = hermite_nodes(q, k, 60)
        np.testing.assert_allclose(
            result.component_means[:, k], gp.predict(points)[0] @ weights, rtol=1e-8
        )
    # In all, over the density of the mixture on a plain grid.
    side = np.linspace(-9, 9, 181)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1).reshape(-1, 2)
    total = gp.predict_mean(grid) @ np.exp(q.log_density(grid)) * (side[1] - side[0]) ** 2
    np.testing.assert_allclose(result.sample_means, total, rtol=1e-8)


def test_mean_agrees_with_random_draws_in_five_dimensions():
    gp, q = make_gp(5, 2, size=60), make_mixture(3, 5)
    result = Quadrature(gp).moments(q)
    rng = np.random.default_rng(1)
    for k in range(3):
        values = gp.predict_mean(component_draws(q, k, 20_000, rng))
        error = 5 * values.std(axis=1) / np.sqrt(values.shape[1])
        assert (np.abs(values.mean(axis=1) - result.component_means[:, k]) < error).all()
    values = SAMPLE_WEIGHTS[2] @ gp.predict_mean(q.sample(40_000, rng))
    assert abs(values.mean() - result.mean) < 5 * values.std() / np.sqrt(len(values))


def test_mean_of_a_quadratic_known_exactly_is_the_closed_form():
    d, centre, omega = 3, np.array([0.5, -1.0, 2.0]), np.array([0.7, 1.0, 3.0])
    x = np.random.default_rng(0).normal(size=(9, d))
    y = 4.0 - 0.5 * (((x - centre) / omega) ** 2).sum(axis=1)
    theta = np.concatenate([np.zeros(d), [0.0, -4.0, 4.0], centre, np.log(omega)])
    q = make_mixture(4, d)
    gp = GaussianProcess.condition(TrainingData.from_arrays(x, y), [theta])
    second = np.diag(q.covariance()) + (q.mean() - centre) ** 2
    expected = 4.0 - 0.5 * (second / omega**2).sum()
    assert Quadrature(gp).moments(q).mean == pytest.approx(expected, rel=1e-10)


# The variance of G


def test_covariances_are_double_integrals_in_one_dimension():
    gp, q = make_gp(1, 3), make_mixture(3, 1)
    grid, densities = line_grid(q, 601)
    integrals = densities @ gp.covariance(grid, grid) @ densities.T
    result = Quadrature(gp).moments(q)
    np.testing.assert_allclose(result.component_covariances, integrals, rtol=1e-8, atol=1e-11)
    for s in range(3):
        assert result.sample_variances[s] == pytest.approx(
            q.weights @ integrals[s] @ q.weights, rel=1e-8
        )


def test_covariances_are_double_integrals_in_two_dimensions():
    gp, q = make_gp(2, 2), make_mixture(2, 2)
    nodes = [hermite_nodes(q, k, 26) for k in range(2)]
    points = np.concatenate([p for p, _ in nodes])
    densities = np.zeros((2, len(points)))
    densities[0, : len(points) // 2] = nodes[0][1]
    densities[1, len(points) // 2 :] = nodes[1][1]
    integrals = densities @ gp.covariance(points, points) @ densities.T
    result = Quadrature(gp).moments(q)
    np.testing.assert_allclose(result.component_covariances, integrals, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(
        result.sample_variances, np.einsum("j,sjk,k->s", q.weights, integrals, q.weights), rtol=1e-6
    )


def test_covariances_agree_with_random_draws_in_five_dimensions():
    gp, q = make_gp(5, size=60), make_mixture(2, 5)
    rng = np.random.default_rng(2)
    batches = np.empty((24, 2, 2))
    for batch in batches:
        left = [component_draws(q, k, 200, rng) for k in range(2)]
        right = [component_draws(q, k, 200, rng) for k in range(2)]
        for j in range(2):
            for k in range(2):
                batch[j, k] = gp.covariance(left[j], right[k]).mean()
    error = 5 * batches.std(axis=0, ddof=1) / np.sqrt(len(batches))
    result = Quadrature(gp).moments(q)
    assert (error < 0.2 * np.abs(batches.mean(axis=0)).max()).all()
    assert (np.abs(batches.mean(axis=0) - result.component_covariances[0]) < error).all()
    totals = np.einsum("j,bjk,k->b", q.weights, batches, q.weights)
    bound = 5 * totals.std(ddof=1) / np.sqrt(len(totals))
    assert abs(totals.mean() - result.variance) < bound


def test_covariances_are_symmetric_and_far_from_the_data_those_of_the_prior():
    gp, q = make_gp(2, 2), make_mixture(3, 2)
    covariances = Quadrature(gp).moments(q).component_covariances
    np.testing.assert_allclose(covariances, covariances.transpose(0, 2, 1), rtol=1e-12)
    far = Mixture([1.0], [[300.0, -300.0]], [0.5], [1.0, 2.0])
    shrink = np.prod(
        np.sqrt(gp.hyper.lengths**2 / (2 * 0.25 * far.lengths**2 + gp.hyper.lengths**2)), 1
    )
    result = Quadrature(gp).moments(far)
    np.testing.assert_allclose(
        result.sample_variances, gp.hyper.output_variance * shrink, rtol=1e-12
    )


def test_no_component_matters_but_by_its_weight():
    gp, q = make_gp(2), make_mixture(3, 2)
    absent = Mixture([*(0.0, *q.weights)], [[5.0, 5.0], *q.means], [3.0, *q.scales], q.lengths)
    with_it, without = (Quadrature(gp).moments(p) for p in (absent, q))
    assert with_it.mean == pytest.approx(without.mean, rel=1e-13)
    assert with_it.variance == pytest.approx(without.variance, rel=1e-12)


# Several hyperparameter samples


@pytest.mark.parametrize("n_samples", [1, 2, 4])
def test_total_moments_follow_from_those_of_the_samples(n_samples):
    gp, q = make_gp(2, n_samples), make_mixture(3, 2)
    result = Quadrature(gp).moments(q)
    means, variances = [], []
    for s in range(n_samples):
        alone = GaussianProcess.condition(gp.data, gp.theta[s : s + 1])
        part = Quadrature(alone).moments(q)
        assert part.between == 0
        means.append(part.mean)
        variances.append(part.variance)
        np.testing.assert_allclose(
            part.component_covariances[0], result.component_covariances[s], rtol=1e-12
        )
    np.testing.assert_allclose(result.sample_means, means, rtol=1e-12)
    np.testing.assert_allclose(result.sample_variances, variances, rtol=1e-12)

    w = SAMPLE_WEIGHTS[n_samples]
    mean = sum(a * m for a, m in zip(w, means, strict=True))
    within = sum(a * v for a, v in zip(w, variances, strict=True))
    between = 0.0
    if n_samples > 1:
        spread = sum(a * (m - mean) ** 2 for a, m in zip(w, means, strict=True))
        between = spread / (1 - sum(a * a for a in w))
        assert between > 0.01 * within  # or the test would not see it
    assert result.mean == pytest.approx(mean, rel=1e-12)
    assert result.within == pytest.approx(within, rel=1e-12)
    assert result.between == pytest.approx(between, rel=1e-10, abs=1e-300)
    assert result.variance == pytest.approx(within + between, rel=1e-12)
    assert result.sd == pytest.approx(np.sqrt(within + between), rel=1e-12)


def test_between_variance_of_equal_weights_has_the_divisor_n_minus_one():
    gp, q = GaussianProcess.condition(make_data(2), make_theta(2, 5)), make_mixture(2, 2)
    result = Quadrature(gp).moments(q)
    assert result.between == pytest.approx(np.var(result.sample_means, ddof=1), rel=1e-12)


# Gradients


@pytest.mark.parametrize("n_samples", [1, 4])
@pytest.mark.parametrize("n_components", [1, 2, 5])
@pytest.mark.parametrize("dimension", [1, 2, 4])
@modest
@given(seed=seeds)
def test_gradient_of_the_mean_is_its_derivative(n_samples, n_components, dimension, seed):
    quadrature = Quadrature(make_gp(dimension, n_samples, seed=seed % 7))
    q = make_mixture(n_components, dimension, seed)
    value, gradient = quadrature.mean_and_gradient(q)
    assert value == pytest.approx(quadrature.moments(q).mean, rel=1e-11, abs=1e-11)
    expected = central_differences(lambda p: quadrature.moments(p).mean, q)
    assert gradient.shape == q.to_vector().shape
    np.testing.assert_allclose(gradient, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("beta", [0.0, 1.5, 3.0])
@pytest.mark.parametrize("n_samples", [1, 4])
@pytest.mark.parametrize("n_components", [1, 2, 5])
@pytest.mark.parametrize("dimension", [1, 2, 4])
@modest
@given(seed=seeds)
def test_lower_bound_is_mean_less_beta_sds_with_its_derivative(
    beta, n_samples, n_components, dimension, seed
):
    quadrature = Quadrature(make_gp(dimension, n_samples, seed=seed % 7))
    q = make_mixture(n_components, dimension, seed)

    def bound(p):
        result = quadrature.moments(p)
        return result.mean - beta * result.sd

    value, gradient = quadrature.lower_bound_and_gradient(q, beta)
    assert value == pytest.approx(bound(q), rel=1e-10, abs=1e-10)
    assert gradient.shape == q.to_vector().shape
    np.testing.assert_allclose(gradient, central_differences(bound, q), rtol=1e-6, atol=1e-6)


def test_gradients_do_not_change_the_mixture_or_the_surrogate():
    quadrature, q = Quadrature(make_gp(2, 2)), make_mixture(3, 2)
    first = quadrature.moments(q)
    gradients = [quadrature.lower_bound_and_gradient(q, 2.0)[1] for _ in range(2)]
    quadrature.kernel_means(q).at(quadrature.gp.x)
    np.testing.assert_array_equal(*gradients)
    assert_same_moments(quadrature.moments(q), first, 0.0)


# The mean of the kernel


def test_kernel_means_are_the_integrals_of_the_kernel():
    gp, q = make_gp(1, 3), make_mixture(3, 1)
    x = np.array([[-1.5], [0.2], [0.9], [4.0]])
    grid, densities = line_grid(q, 1201)
    means = Quadrature(gp).kernel_means(q)
    assert means.at(x).shape == (3, 3, 4)
    for s in range(3):
        expected = densities @ kernel(gp.hyper[s], grid, x)
        np.testing.assert_allclose(means.at(x)[s], expected, rtol=1e-8, atol=1e-10)
        np.testing.assert_array_equal(means.at(x, slice(s, s + 1))[0], means.at(x)[s])


@pytest.mark.parametrize("dimension", [1, 3])
def test_kernel_means_have_the_right_gradient(dimension):
    gp, q = make_gp(dimension, 2), make_mixture(3, dimension)
    means = Quadrature(gp).kernel_means(q)
    rng = np.random.default_rng(2)
    x, coefficients = rng.normal(size=dimension), rng.normal(size=(2, 3))

    def value(x):
        return np.sum(coefficients * means.at(x[None])[..., 0])

    steps = 1e-5 * np.eye(dimension)
    expected = [(value(x + step) - value(x - step)) / 2e-5 for step in steps]
    np.testing.assert_allclose(means.gradient(x, coefficients), expected, rtol=1e-6, atol=1e-8)


# Pending points


@pytest.mark.parametrize("dimension", [1, 3])
def test_pending_points_leave_the_mean_and_reduce_the_variance_as_if_observed(dimension):
    gp, q = make_gp(dimension, 2), make_mixture(3, dimension)
    points = np.random.default_rng(5).normal(size=(2, dimension))
    pending = GaussianProcess.condition(
        gp.data, gp.theta, gp.weights, pending=points, pending_sd=0.3
    )
    observed = gp.append(points[0], 2.0, 0.3).append(points[1], -7.0, 0.3)
    before, during, after = (Quadrature(g).moments(q) for g in (gp, pending, observed))
    np.testing.assert_allclose(during.component_means, before.component_means, rtol=1e-10)
    np.testing.assert_allclose(
        during.component_covariances, after.component_covariances, rtol=1e-8, atol=1e-10
    )
    assert (during.sample_variances < before.sample_variances).all()
    np.testing.assert_allclose(
        Quadrature(pending).mean_and_gradient(q)[1],
        Quadrature(gp).mean_and_gradient(q)[1],
        rtol=1e-9,
        atol=1e-10,
    )


# Invariances


@pytest.mark.parametrize("shift", [3.0, -1e5])
def test_a_common_translation_changes_nothing(shift):
    gp, q = make_gp(2, 2), make_mixture(3, 2)
    offset = shift * np.array([1.0, -0.7])
    theta = gp.theta.copy()
    theta[:, gp.layout.mean_location] += offset
    data = TrainingData(gp.data.x + offset, gp.data.y, gp.data.variance)
    moved = Quadrature(GaussianProcess.condition(data, theta, gp.weights))
    moved_q = Mixture(q.weights, q.means + offset, q.scales, q.lengths)
    assert_same_moments(moved.moments(moved_q), Quadrature(gp).moments(q), 1e-8)
    np.testing.assert_allclose(
        moved.lower_bound_and_gradient(moved_q, 2.0)[1],
        Quadrature(gp).lower_bound_and_gradient(q, 2.0)[1],
        rtol=1e-7,
        atol=1e-7,
    )
    x = np.array([[0.4, -0.2]])
    np.testing.assert_allclose(
        moved.kernel_means(moved_q).at(x + offset),
        Quadrature(gp).kernel_means(q).at(x),
        rtol=1e-7,
        atol=1e-8,
    )


def test_a_change_of_units_changes_nothing():
    gp, q = make_gp(2, 2), make_mixture(3, 2)
    units = np.array([1e-4, 50.0])
    theta = gp.theta.copy()
    layout = gp.layout
    theta[:, layout.mean_location] *= units
    theta[:, layout.lengths] += np.log(units)
    theta[:, layout.mean_scales] += np.log(units)
    data = TrainingData(gp.data.x * units, gp.data.y, gp.data.variance)
    scaled = Quadrature(GaussianProcess.condition(data, theta, gp.weights))
    scaled_q = Mixture(q.weights, q.means * units, q.scales, q.lengths * units)
    assert_same_moments(scaled.moments(scaled_q), Quadrature(gp).moments(q), 1e-9)


def test_the_factor_shared_by_scales_and_lengths_changes_nothing():
    gp, q = make_gp(2, 2), make_mixture(3, 2)
    other = Mixture(q.weights, q.means, q.scales * 7, q.lengths / 7)
    assert_same_moments(Quadrature(gp).moments(other), Quadrature(gp).moments(q), 1e-12)


def test_the_order_of_components_changes_nothing():
    gp, q = make_gp(2, 2), make_mixture(3, 2)
    order = [2, 0, 1]
    turned = Mixture(q.weights[order], q.means[order], q.scales[order], q.lengths)
    a, b = Quadrature(gp).moments(q), Quadrature(gp).moments(turned)
    np.testing.assert_allclose(b.component_means, a.component_means[:, order], rtol=1e-12)
    np.testing.assert_allclose(
        b.component_covariances, a.component_covariances[:, order][:, :, order], rtol=1e-10
    )
    assert (b.mean, b.sd) == pytest.approx((a.mean, a.sd), rel=1e-12)


@pytest.mark.parametrize("constant", [0.0, -37.5])
def test_a_constant_log_joint_has_that_mean_under_every_mixture(constant):
    x = np.random.default_rng(1).normal(size=(12, 2))
    theta = [[0.3, -0.2, 1.0, -3.0, constant, 0.0, 0.0, 20.0, 20.0]]
    gp = GaussianProcess.condition(TrainingData.from_arrays(x, np.full(12, constant)), theta)
    quadrature = Quadrature(gp)
    for seed in range(4):
        q = make_mixture(3, 2, seed)
        result = quadrature.moments(q)
        assert result.mean == pytest.approx(constant, abs=1e-12)
        assert result.variance > 0
        np.testing.assert_allclose(quadrature.mean_and_gradient(q)[1], 0.0, atol=1e-12)


def test_raising_the_log_joint_raises_the_mean_and_leaves_the_variance():
    gp, q = make_gp(2, 3), make_mixture(3, 2)
    theta = gp.theta.copy()
    theta[:, gp.layout.mean_max] += 12.0
    data = TrainingData(gp.data.x, gp.data.y + 12.0, gp.data.variance)
    raised = Quadrature(GaussianProcess.condition(data, theta, gp.weights)).moments(q)
    plain = Quadrature(gp).moments(q)
    assert raised.mean == pytest.approx(plain.mean + 12.0, rel=1e-11)
    assert raised.variance == pytest.approx(plain.variance, rel=1e-9)


# Memory


def peak_bytes(function):
    function()  # caches and imports
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


SQUARE = 400 * 400 * 8  # bytes of an N x N array


@pytest.fixture(scope="module")
def large():
    data = make_data(9, 400)
    gp = GaussianProcess.condition(data, make_theta(9, 2), SAMPLE_WEIGHTS[2])
    return gp, Quadrature(gp), make_mixture(10, 9)


@pytest.mark.parametrize("name", ["moments", "mean_and_gradient", "lower_bound_and_gradient"])
def test_quadrature_makes_no_array_with_two_axes_of_points(large, name):
    _, quadrature, q = large
    arguments = (q, 2.0) if name == "lower_bound_and_gradient" else (q,)
    # N x N x D would be 9 squares, N x N one; K x N x D for both samples is half of one.
    assert peak_bytes(lambda: getattr(quadrature, name)(*arguments)) < 1.0 * SQUARE


def test_marginal_likelihood_makes_no_array_with_two_axes_of_points_and_one_of_coordinates(large):
    marginal = MarginalLikelihood(large[0].data)
    theta = large[0].theta[0]
    assert peak_bytes(lambda: marginal(theta)) < 6 * SQUARE


# Hard cases


def ill_conditioned():
    """Duplicates and near-duplicates, smooth kernel, values down to -10⁶, almost no noise."""
    rng = np.random.default_rng(8)
    x = rng.uniform(-3, 3, size=(30, 2))
    x = np.concatenate([x, x[:10], x[:10] + 1e-9])
    y = -0.5 * (x**2).sum(axis=1)
    y[np.argsort(y)[:5]] = -1e6
    theta = [
        [1.5, 1.5, np.log(1e5), 0.5 * np.log(1e-5), 0.0, 0.0, 0.0, 0.0, 0.0],
        [3.0, 3.0, np.log(1e6), 0.5 * np.log(1e-5), 0.0, 0.0, 0.0, 1.0, 1.0],
    ]
    return GaussianProcess.condition(TrainingData.from_arrays(x, y), theta)


@pytest.mark.parametrize("scale", [1e-6, 0.1, 1.0, 30.0])
def test_ill_conditioned_surrogates_give_finite_moments_and_no_negative_variance(scale):
    quadrature = Quadrature(ill_conditioned())
    rng = np.random.default_rng(9)
    q = Mixture(np.full(4, 0.25), rng.normal(size=(4, 2)), np.full(4, scale), [1.0, 0.5])
    result = quadrature.moments(q)
    for name in ("component_means", "component_covariances", "sample_means", "sample_variances"):
        assert np.isfinite(getattr(result, name)).all()
    assert (np.diagonal(result.component_covariances, axis1=1, axis2=2) >= 0).all()
    assert (result.sample_variances >= 0).all()
    assert result.within >= 0
    assert result.between >= 0
    assert np.isfinite(result.sd)
    for beta in (0.0, 3.0):
        value, gradient = quadrature.lower_bound_and_gradient(q, beta)
        assert np.isfinite(value)
        assert np.isfinite(gradient).all()
    assert np.isfinite(quadrature.kernel_means(q).at(rng.normal(size=(3, 2)))).all()


def lost_to_rounding(seed):
    """A variance of some 10⁻³ as the difference of terms of 10¹⁴, and a mixture."""
    x = np.linspace(-3, 3, 40)[:, None]
    theta = [[3.0, np.log(1e7), 0.5 * np.log(1e-5), 0.0, 0.0, 1.0]]
    data = TrainingData.from_arrays(x, -0.5 * x[:, 0] ** 2)
    means = np.random.default_rng(seed).uniform(-2, 2, (3, 1))
    q = Mixture(np.full(3, 1 / 3), means, np.full(3, 0.3), [1.0])
    return Quadrature(GaussianProcess.condition(data, theta)), q


@pytest.mark.parametrize("seed", range(12))
def test_a_variance_lost_to_rounding_is_not_negative(seed):
    quadrature, q = lost_to_rounding(seed)
    result = quadrature.moments(q)
    assert np.diagonal(result.component_covariances[0]).min() > 0
    assert result.sample_variances[0] > 0
    assert result.within > 0
    value, gradient = quadrature.lower_bound_and_gradient(q, 3.0)
    assert np.isfinite(value)
    assert value <= quadrature.mean_and_gradient(q)[0]
    assert np.isfinite(gradient).all()


def test_a_floored_variance_has_no_slope():
    for seed in range(12):  # rounding decides which of them are at the floor
        quadrature, q = lost_to_rounding(seed)
        value, gradient = quadrature.lower_bound_and_gradient(q, 3.0)
        mean, mean_gradient = quadrature.mean_and_gradient(q)
        if mean - value < 1e-6:
            np.testing.assert_allclose(gradient, mean_gradient, atol=1e-6)


def test_a_component_on_an_exactly_known_point_has_a_variance_of_almost_nothing():
    data = TrainingData.from_arrays([[0.0], [1.0], [2.0]], [0.0, -1.0, 3.0])
    gp = GaussianProcess.condition(data, [[0.0, 0.0, -30.0, 0.0, 0.0, 0.0]])
    result = Quadrature(gp).moments(Mixture([1.0], [[1.0]], [1e-9], [1.0]))
    assert result.mean == pytest.approx(-1.0, abs=1e-9)
    assert 0 <= result.variance < 1e-11


def test_a_mixture_far_from_all_data_sees_the_mean_function_alone():
    gp = make_gp(2, 2)
    q = Mixture([1.0], [[1e5, -1e5]], [0.5], [1.0, 2.0])
    result = Quadrature(gp).moments(q)
    hyper = gp.hyper
    second = (q.means - hyper.mean_location) ** 2 + 0.25 * q.lengths**2
    expected = hyper.mean_max - 0.5 * (second / hyper.mean_scales**2).sum(axis=1)
    np.testing.assert_allclose(result.sample_means, expected, rtol=1e-12)


# Bad input


@pytest.mark.parametrize("dimension", [1, 3])
def test_a_mixture_of_another_dimension_is_refused(dimension):
    quadrature, q = Quadrature(make_gp(2)), make_mixture(2, dimension)
    for call in (
        lambda: quadrature.moments(q),
        lambda: quadrature.mean_and_gradient(q),
        lambda: quadrature.lower_bound_and_gradient(q, 0.0),
        lambda: quadrature.lower_bound_and_gradient(q, 2.0),
        lambda: quadrature.kernel_means(q),
    ):
        with pytest.raises(ValueError, match=f"mixture has {dimension} dim.*surrogate 2"):
            call()


@pytest.mark.parametrize("k", [0, 2])
def test_moments_without_a_component_are_those_of_the_smaller_mixture(k):
    quadrature, q = Quadrature(make_gp(2, n_samples=3)), make_mixture(4, 2)
    smaller = q.without(k)
    found = quadrature.moments_without(quadrature.moments(q), k, smaller.weights)
    expected = quadrature.moments(smaller)
    for name in ("component_means", "component_covariances", "sample_means", "sample_variances"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10)
    for name in ("mean", "within", "between"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-10)
