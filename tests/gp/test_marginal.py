from decimal import Decimal, localcontext

import numpy as np
import pytest
from helpers.gp import (
    NOISES,
    make_data,
    make_theta,
    modest,
    naive_covariance,
    naive_mean,
    naive_noise,
    theta_size,
)
from helpers.numeric import assert_near, central_differences
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from quell.gp import TrainingData
from quell.gp.marginal import MarginalLikelihood, mean_jacobian
from quell.gp.model import NUGGET, Layout, mean_function
from quell.gp.pairs import Pairs

dimensions = pytest.mark.parametrize("dimension", [1, 2, 3, 5])
noises = pytest.mark.parametrize("noise", NOISES)
entries = st.floats(-1.0, 1.0, allow_subnormal=False)


def decimal_log_marginal(data, theta, shift=()):
    """log p(y | θ) in 50 digits; ``shift`` = (j, δ) moves θ_j by a Decimal δ."""
    with localcontext(prec=50):
        theta = [Decimal(float(t)) for t in theta]
        if shift:
            theta[shift[0]] += shift[1]
        x = [[Decimal(float(v)) for v in row] for row in data.x]
        n, d = data.size, data.dimension
        lengths, scales = (
            [t.exp() for t in theta[:d]],
            [t.exp() for t in theta[2 * d + 3 : 3 * d + 3]],
        )
        output, base = (2 * theta[d]).exp(), (2 * theta[d + 1]).exp()
        residual = [
            Decimal(float(y))
            - theta[d + 2]
            + sum(((p[k] - theta[d + 3 + k]) / scales[k]) ** 2 for k in range(d)) / 2
            for p, y in zip(x, data.y, strict=True)
        ]
        factor = [[Decimal(0)] * n for _ in range(n)]
        half = []
        for i in range(n):
            for j in range(i + 1):
                squares = sum(((x[i][k] - x[j][k]) / lengths[k]) ** 2 for k in range(d))
                entry = output * (-squares / 2).exp()
                if i == j:
                    v = data.variance[i]
                    entry += output * Decimal(NUGGET) + base
                    entry += theta[-1].exp() if np.isnan(v) else Decimal(float(v))
                entry -= sum(factor[i][k] * factor[j][k] for k in range(j))
                factor[i][j] = entry.sqrt() if i == j else entry / factor[j][j]
            half.append(
                (residual[i] - sum(factor[i][k] * half[k] for k in range(i))) / factor[i][i]
            )
        log_determinant = 2 * sum(factor[i][i].ln() for i in range(n))
        two_pi = Decimal("6.2831853071795864769252867665590057683943387987502")
        return -(sum(h * h for h in half) + log_determinant + n * two_pi.ln()) / 2


def decimal_gradient(data, theta):
    step = Decimal("1e-12")
    return np.array(
        [
            float(
                (
                    decimal_log_marginal(data, theta, (j, step))
                    - decimal_log_marginal(data, theta, (j, -step))
                )
                / (2 * step)
            )
            for j in range(len(theta))
        ]
    )


@dimensions
@noises
def test_value_is_the_multivariate_normal_density(dimension, noise):
    data = make_data(dimension, 25, noise)
    theta = make_theta(data)
    expected = stats.multivariate_normal.logpdf(
        data.y, naive_mean(theta, data.x), naive_covariance(theta, data.x, data.variance)
    )
    assert MarginalLikelihood(data).value(theta) == pytest.approx(expected, rel=1e-10, abs=1e-9)


@dimensions
@noises
def test_value_agrees_with_scikit_learn(dimension, noise):
    data = make_data(dimension, 25, noise, seed=1)
    theta = make_theta(data, seed=1)
    shape = ConstantKernel(np.exp(2 * theta[dimension]), "fixed") * RBF(
        np.exp(theta[:dimension]), "fixed"
    )
    alpha = naive_noise(theta, data.variance, dimension)
    peer = GaussianProcessRegressor(shape, alpha=alpha, optimizer=None)
    peer.fit(data.x, data.y - naive_mean(theta, data.x))
    expected = peer.log_marginal_likelihood()
    assert MarginalLikelihood(data).value(theta) == pytest.approx(expected, rel=1e-10, abs=1e-8)


@dimensions
@noises
def test_gradient_is_the_derivative_of_the_value(dimension, noise):
    data = make_data(dimension, 20, noise)
    marginal = MarginalLikelihood(data)

    @modest
    @given(arrays(float, theta_size(data), elements=entries))
    def check(theta):
        _, gradient = marginal(theta)
        assert_near(gradient, central_differences(marginal.value, theta), 1e-6)

    check()


@dimensions
@noises
def test_value_alone_is_the_value_with_gradient(dimension, noise):
    data = make_data(dimension, 20, noise)
    theta = make_theta(data)
    marginal = MarginalLikelihood(data)
    assert marginal.value(theta) == marginal(theta)[0]


def test_work_arrays_leak_nothing_from_one_call_to_the_next():
    data = make_data(2, 20, "partly")
    first, second = make_theta(data, n=2)
    marginal = MarginalLikelihood(data)
    value, gradient = marginal(first)
    kept = gradient.copy()
    marginal(second)
    marginal.value(second)
    again, gradient_again = marginal(first)
    assert again == value
    np.testing.assert_array_equal(gradient, kept)
    np.testing.assert_array_equal(gradient_again, kept)
    fresh, gradient_fresh = MarginalLikelihood(data)(first)
    assert fresh == value
    np.testing.assert_array_equal(gradient_fresh, kept)
    assert marginal.value(first) == value


def test_one_observation_has_the_univariate_density():
    data = TrainingData.from_arrays([[0.3]], [1.2], 0.5)
    theta = make_theta(data)
    sd = np.sqrt(naive_covariance(theta, data.x, data.variance)[0, 0])
    expected = stats.norm.logpdf(1.2, naive_mean(theta, data.x)[0], sd)
    value, gradient = MarginalLikelihood(data)(theta)
    assert value == pytest.approx(expected, rel=1e-12)
    assert gradient[0] == 0.0


def hard_data(noise_sd):
    """Every point twice, values down to -1e6."""
    rng = np.random.default_rng(4)
    x = np.repeat(rng.normal(size=(7, 2)), 2, axis=0)
    y = -np.repeat([0.0, 1.0, 30.0, 1e3, 1e4, 1e5, 1e6], 2) + 0.3 * rng.normal(size=14)
    return TrainingData.from_arrays(x, y, noise_sd)


@pytest.mark.parametrize("noise_sd", [0.0, 0.3, np.nan])
@pytest.mark.parametrize("log_output_scale", [0.0, 6.0, 12.0])
def test_duplicates_and_very_low_values_match_fifty_digits(noise_sd, log_output_scale):
    data = hard_data(noise_sd)
    theta = make_theta(data)
    theta[2], theta[3] = log_output_scale, -4.0
    value, gradient = MarginalLikelihood(data)(theta)
    noise = naive_noise(theta, data.variance, 2).min()
    tolerance = 1e-10 + 2e-16 * np.exp(2 * log_output_scale) / noise  # the condition of K_y
    expected = float(decimal_log_marginal(data, theta))
    assert value == pytest.approx(expected, rel=tolerance)
    assert_near(gradient, decimal_gradient(data, theta), tolerance)


def test_decimal_reference_agrees_with_scipy():
    data = make_data(2, 10, "partly")
    theta = make_theta(data)
    expected = stats.multivariate_normal.logpdf(
        data.y, naive_mean(theta, data.x), naive_covariance(theta, data.x, data.variance)
    )
    assert float(decimal_log_marginal(data, theta)) == pytest.approx(expected, rel=1e-11)


def test_a_common_shift_of_all_points_changes_nothing():
    data = make_data(2, 20, "known")
    theta = make_theta(data)
    far = TrainingData(data.x + 2.0**12, data.y, data.variance)
    moved = theta.copy()
    moved[Layout(2).mean_location] += 2.0**12
    value, gradient = MarginalLikelihood(data)(theta)
    value_far, gradient_far = MarginalLikelihood(far)(moved)
    assert value_far == pytest.approx(value, rel=1e-9)
    assert_near(gradient_far, gradient, 1e-8)


@noises
def test_training_covariance_is_the_lower_triangle_of_the_dense_one(noise):
    data = make_data(3, 12, noise)
    theta = make_theta(data)
    hyper = Layout(3, data.has_unknown_noise).unpack(theta)
    np.testing.assert_allclose(
        Pairs(data.x).covariance(hyper, data.variance),
        np.tril(naive_covariance(theta, data.x, data.variance)),
        rtol=1e-12,
    )


def test_the_nugget_is_on_the_diagonal():
    theta = np.array([0.0, 3.0, -30.0, 0.0, 0.0, 0.0])
    covariance = Pairs(np.zeros((2, 1))).covariance(Layout(1).unpack(theta), np.zeros(2))
    excess = covariance.diagonal() / covariance[1, 0] - 1.0
    np.testing.assert_allclose(excess, NUGGET, rtol=0.01)


def test_mean_jacobian_is_the_derivative_of_the_mean():
    data = make_data(3, 8)
    theta = make_theta(data)
    layout = Layout(3)

    def mean_of(part):
        moved = theta.copy()
        moved[layout.mean_function] = part
        return mean_function(layout.unpack(moved), data.x)

    expected = central_differences(mean_of, theta[layout.mean_function])
    assert_near(mean_jacobian(layout.unpack(theta), data.x), expected, 1e-8)
