"""The closed forms of WSABI-L beside brute-force quadrature, and beside emukit."""

import numpy as np
import pytest

from quell.baselines.warped import (
    JITTER,
    Measure,
    SquareRootSurrogate,
    U,
    Warped,
    log_normal,
    process_vector,
)
from quell.baselines.warped_fit import Objective
from quell.gp import TrainingData


def surrogate(dimension, n=7, seed=3, noise=None):
    """A surrogate of a lumpy likelihood, with nothing at zero or one by chance."""
    rng = np.random.default_rng(seed)
    x = rng.normal(0.2, 0.6, (n, dimension))
    ell = -((x - 0.3) ** 2).sum(axis=1) / 0.4 + 0.3 * np.sin(3 * x[:, 0]) - 5.0
    measure = Measure(np.linspace(-0.2, 0.1, dimension), np.linspace(0.3, 0.5, dimension))
    h = np.concatenate([[0.2], np.log(np.linspace(0.2, 0.35, dimension))])
    return SquareRootSurrogate.of(x, Warped.of(ell, noise), measure, h)


def brute_force(s, per_side):
    """Mean and variance of the integral by a grid of points and weights."""
    dimension = s.gp.dimension
    axis = np.linspace(-4.5, 4.5, per_side)
    grid = np.stack(np.meshgrid(*[axis] * dimension, indexing="ij"), axis=-1)
    grid = grid.reshape(-1, dimension)
    weight = np.exp(s.measure.log_density(grid)) * (axis[1] - axis[0]) ** dimension
    m = s.gp.predict_mean(grid)[0]
    mean = weight @ (s.warped.alpha + 0.5 * m**2)
    covariance = s.gp.covariance(grid, grid)[0]
    return mean, (weight * m) @ covariance @ (weight * m)


@pytest.mark.parametrize(("dimension", "per_side"), [(1, 801), (2, 61)])
def test_mean_and_variance_are_the_integrals(dimension, per_side):
    s = surrogate(dimension)
    mean, variance = s.moments()
    expected_mean, expected_variance = brute_force(s, per_side)
    assert mean == pytest.approx(expected_mean, rel=1e-6)
    assert variance == pytest.approx(expected_variance, rel=1e-4)
    value, sd = s.log_evidence()
    assert value == pytest.approx(np.log(expected_mean) + s.warped.log_scale, rel=1e-6)
    assert sd == pytest.approx(np.sqrt(expected_variance) / expected_mean, rel=1e-4)


def test_the_integrals_with_noise():
    s = surrogate(1, noise=np.linspace(0.2, 1.0, 7))
    assert s.moments() == pytest.approx(brute_force(s, 801), rel=1e-4)
    assert s.moments()[1] > surrogate(1).moments()[1]


def test_points_under_evaluation_change_no_answer():
    s = surrogate(2)
    pending = np.array([[0.1, 0.9], [-1.0, 0.4]])
    waiting = SquareRootSurrogate.of(s.gp.data.x, s.warped, s.measure, s.h, pending)
    assert waiting.moments() == pytest.approx(s.moments(), rel=1e-12)
    # ... but there is next to nothing to be learnt there any more.
    assert (waiting.uncertainty(pending) < s.uncertainty(pending) - 5).all()


def test_the_warp_and_its_inverse():
    ell = np.array([-3.0, -1.0, -np.inf, 2.0])
    warped = Warped.of(ell)
    assert warped.log_scale == 2.0
    assert warped.alpha == 0.0  # zero density is the smallest likelihood
    assert np.allclose(warped.alpha + 0.5 * warped.g**2, np.exp(ell - 2.0))
    positive = Warped.of(ell[[0, 1, 3]])
    assert positive.alpha == pytest.approx(0.8 * np.exp(-5.0))
    assert np.allclose(positive.alpha + 0.5 * positive.g**2, np.exp(ell[[0, 1, 3]] - 2.0))


def test_noise_goes_through_the_warp_with_its_quartiles():
    ell, sd = np.array([0.0, -1.0, -30.0]), np.array([0.5, 0.01, 0.5])
    warped = Warped.of(ell, sd)
    rng = np.random.default_rng(1)
    noisy = ell + sd * rng.standard_normal((200_000, 3))
    low, high = np.quantile(np.sqrt(2 * np.exp(noisy)), [0.25, 0.75], axis=0)
    expected = (high - low) / (2 * U)
    assert warped.sd[:2] == pytest.approx(expected[:2], rel=0.02)
    # Small noise: the slope of the warp, dg/dℓ = L/g = g/2.
    assert warped.sd[1] == pytest.approx(0.5 * warped.g[1] * 0.01, rel=1e-3)


def test_acquisition_is_the_variance_under_the_linearised_process():
    s = surrogate(2)
    x = np.random.default_rng(5).normal(size=(6, 2))
    mean, variance = (part[0] for part in s.gp.predict(x))
    density = np.exp(log_normal(x, s.measure.centre, s.measure.variance))
    expected = density**2 * mean**2 * variance * variance / (variance + JITTER)
    assert np.exp(s.uncertainty(x)) == pytest.approx(expected, rel=1e-10)


def test_noise_of_the_nearest_point_makes_a_place_less_attractive():
    sds = np.linspace(0.2, 1.0, 7)
    s = surrogate(1, noise=sds)
    x = s.gp.data.x + 1e-3
    mean, variance = (part[0] for part in s.gp.predict(x))
    density = np.exp(s.measure.log_density(x))
    share = variance / (variance + JITTER + s.warped.sd**2)
    assert np.exp(s.uncertainty(x)) == pytest.approx(density**2 * mean**2 * variance * share)
    assert (share < 0.9).any()


def test_kernel_is_a_normal_density_times_lambda_squared():
    s = surrogate(2)
    theta = process_vector(0.2, s.h[1:])
    hyper = s.gp.layout.unpack(theta)
    expected = np.exp(0.4) / (2 * np.pi * np.sqrt(np.exp(s.h[1:]).prod()))
    assert hyper.output_variance == pytest.approx(expected)
    assert hyper.lengths**2 == pytest.approx(np.exp(s.h[1:]))


def test_gradient_of_the_penalised_likelihood_is_its_derivative():
    s = surrogate(2, n=12)
    objective = Objective(TrainingData.from_arrays(s.gp.data.x, s.warped.g))
    h = np.array([0.3, -1.0, -1.7])
    value, gradient = objective(h)
    assert value == pytest.approx(objective.value(h))
    step = 1e-5 * np.eye(3)
    numeric = [(objective.value(h + e) - objective.value(h - e)) / 2e-5 for e in step]
    assert gradient == pytest.approx(numeric, rel=1e-5)


def test_agrees_with_emukit():
    pytest.importorskip("emukit")
    from emukit.quadrature.interfaces import IRBF, IBaseGaussianProcess
    from emukit.quadrature.kernels import QuadratureRBFGaussianMeasure
    from emukit.quadrature.measures import GaussianMeasure
    from emukit.quadrature.methods import BoundedBayesianQuadrature

    # emukit has one length scale for all coordinates.
    rng = np.random.default_rng(8)
    x = rng.normal(size=(9, 2))
    ell = -0.7 * (x**2).sum(axis=1)
    measure = Measure(np.array([0.1, -0.2]), np.array([0.5, 0.8]))
    h = np.concatenate([[0.1], np.log([0.4, 0.4])])
    s = SquareRootSurrogate.of(x, Warped.of(ell), measure, h)
    hyper = s.gp.hyper[0]

    class Kernel(IRBF):
        lengthscales = hyper.lengths
        variance = float(hyper.output_variance)

        def K(self, x1, x2):
            offsets = (x1[:, None] - x2[None]) / self.lengthscales
            return self.variance * np.exp(-0.5 * (offsets**2).sum(axis=-1))

    class Process(IBaseGaussianProcess):
        def __init__(self, kern, points, values):
            super().__init__(kern=kern)
            self._x, self._y = points, values

        X = property(lambda self: self._x)
        Y = property(lambda self: self._y)
        observation_noise_variance = JITTER

        def set_data(self, points, values):
            self._x, self._y = points, values

        def solve_linear(self, z):
            gram = self.kern.K(self._x, self._x) + JITTER * np.eye(len(self._x))
            return np.linalg.solve(gram, z)

        def graminv_residual(self):
            return self.solve_linear(self._y)

        def predict(self, points):
            cross = self.kern.K(points, self._x)
            variance = self.kern.variance - np.sum(cross * self.solve_linear(cross.T).T, axis=1)
            return cross @ self.graminv_residual(), variance[:, None]

        def predict_with_full_covariance(self, points):
            raise NotImplementedError

        def optimize(self):
            raise NotImplementedError

        def get_prediction_gradients(self, points):
            raise NotImplementedError

    kernel = QuadratureRBFGaussianMeasure(
        Kernel(), GaussianMeasure(mean=measure.centre, variance=measure.variance)
    )
    likelihood = np.exp(ell - s.warped.log_scale)[:, None]
    model = BoundedBayesianQuadrature(
        Process(kernel, x, likelihood), x, likelihood, lower_bound=s.warped.alpha
    )
    assert s.moments()[0] == pytest.approx(model.integrate()[0], rel=1e-8)
    points = rng.normal(size=(5, 2))
    mean, variance = (part[:, 0] for part in model.predict(points))
    m, v = (part[0] for part in s.gp.predict(points))
    assert s.warped.alpha + 0.5 * m**2 == pytest.approx(mean, rel=1e-6)
    assert m**2 * v == pytest.approx(variance, rel=1e-5)
