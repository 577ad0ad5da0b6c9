"""The surrogate of GP-IMIQR beside the plain formulas of a Gaussian process."""

import numpy as np
import pytest

from quell.baselines.basis_process import (
    COEFFICIENT_SD,
    JITTER,
    BasisProcess,
    HyperPosterior,
    basis,
)

H = np.array([-0.3, 0.4, 0.6])


def data(n=14):
    rng = np.random.default_rng(4)
    x = rng.normal(size=(n, 2))
    y = 3 - (x**2).sum(axis=1) + np.sin(2 * x[:, 0]) + 20.0
    return x, y, rng.uniform(0.05, 0.4, n)


def whole_kernel(a, b):
    """The covariance of f itself, its quadratic part included."""
    offsets = (a[:, None] - b[None]) / np.exp(H[:2])
    smooth = np.exp(2 * H[2] - 0.5 * (offsets**2).sum(axis=-1))
    return smooth + COEFFICIENT_SD**2 * basis(a) @ basis(b).T


def plain(a, b):
    """Mean at a, and covariance between a and b, by the textbook."""
    x, y, variance = data()
    gram = whole_kernel(x, x) + np.diag(variance + JITTER)
    mean = whole_kernel(a, x) @ np.linalg.solve(gram, y)
    return mean, whole_kernel(a, b) - whole_kernel(a, x) @ np.linalg.solve(gram, whole_kernel(x, b))


def test_mean_and_covariance_are_those_of_the_sum_of_both_parts():
    process = BasisProcess.of(*data(), H)
    rng = np.random.default_rng(5)
    a, b = rng.normal(scale=2, size=(6, 2)), rng.normal(scale=2, size=(4, 2))
    mean, covariance = plain(a, b)
    assert process.mean(a) == pytest.approx(mean, rel=1e-6)
    made = process.covariance(a, process.features(a), b, process.features(b))
    assert made == pytest.approx(covariance, rel=1e-5, abs=1e-7)
    assert process.predict(a)[1] == pytest.approx(np.diag(plain(a, a)[1]), rel=1e-5)


def test_points_without_a_value_change_variances_only():
    a = np.array([[0.4, 3.0], [1.0, -1.0]])
    pending = np.array([[0.5, 2.9]])
    process = BasisProcess.of(*data(), H)
    waiting = BasisProcess.of(*data(), H, pending, 0.3)
    x, y, variance = data()
    told = BasisProcess.of(
        np.concatenate([x, pending]), np.append(y, 7.0), np.append(variance, 0.09), H
    )
    assert waiting.mean(a) == pytest.approx(process.mean(a), rel=1e-9)
    assert waiting.predict(a)[1] == pytest.approx(told.predict(a)[1], rel=1e-9)
    assert (waiting.predict(a)[1] < process.predict(a)[1]).all()


def test_marginal_likelihood_is_the_normal_density():
    from scipy import stats

    x, y, variance = data()
    scales, output = np.array([0.5, 2.0]), 100.0
    value, _ = HyperPosterior(x, y, variance, scales, output)(H)
    gram = whole_kernel(x, x) + np.diag(variance + JITTER)
    expected = stats.multivariate_normal(np.zeros(len(y)), gram).logpdf(y)

    def log_prior(h):
        """Up to a constant: Student's t of the scales, as densities of their logarithms."""
        return np.sum(stats.t(4).logpdf(np.exp(h) / np.append(scales, output)) + h)

    other = H + np.array([0.3, -0.2, 0.5])
    rise = value + expected + log_prior(H)  # the constant that the objective leaves out
    assert rise == pytest.approx(3 * stats.t(4).logpdf(0.0), rel=1e-6)
    assert HyperPosterior(x, y, variance, scales, output)(other)[0] != pytest.approx(value)


def test_gradient_is_the_derivative():
    objective = HyperPosterior(*data(), np.array([0.5, 2.0]), 100.0)
    _, gradient = objective(H)
    step = 1e-5 * np.eye(3)
    numeric = [(objective(H + e)[0] - objective(H - e)[0]) / 2e-5 for e in step]
    assert gradient == pytest.approx(numeric, rel=1e-4)


def test_a_quadratic_goes_on_where_there_are_no_data():
    x = np.random.default_rng(1).normal(size=(20, 2))
    truth = 4 + x[:, 0] - 2 * x[:, 0] ** 2 - 0.5 * x[:, 1] ** 2
    process = BasisProcess.of(x, truth, np.full(20, 1e-5), np.zeros(3))
    far = np.array([[8.0, 0.0]])
    assert process.mean(far) == pytest.approx([4 + 8 - 128], abs=4.0)
