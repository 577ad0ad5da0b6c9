"""The evidence by importance sampling, against quadrature of the surrogate."""

from dataclasses import replace

import numpy as np
import pytest

from quell.gp import TrainingData
from quell.mixture import Mixture, normal_base_sample
from quell.quadrature import Quadrature
from quell.space import InferenceSpace
from quell.variational import evaluate_elbo
from quell.vbmc.evidence import LARGEST_CORRECTION, evidence
from quell.vbmc.state import Solution


def rng(seed=1):
    return np.random.default_rng(seed)


def solution(mixture, theta, y=lambda x: -0.5 * x**2, noise_sd=0.0):
    """A surrogate of one coordinate with data on [-4, 4], and a mixture that need not fit it."""
    x = np.linspace(-4, 4, 17)
    data = TrainingData.from_arrays(x[:, None], y(x), noise_sd)
    space = InferenceSpace.from_bounds([-np.inf], [np.inf], [-1.0], [1.0])
    theta = np.atleast_2d(theta)
    first = Solution(space, mixture, None, data, theta, np.full(len(theta), 1 / len(theta)))
    elbo = evaluate_elbo(
        Quadrature(first.surrogate()), mixture, normal_base_sample(4096, 1, rng(0))
    )
    return replace(first, elbo=elbo)


GRID = np.linspace(-12, 12, 401)[:, None]


def log_integral(f):
    """log ∫ exp f over the grid, for values f (..., 401)."""
    return np.log(np.trapezoid(np.exp(f), GRID[:, 0], axis=-1))


def log_integral_of_the_mean(solved):
    return float(log_integral(solved.surrogate().pooled(GRID)[0]))


def expected_log_integral(solved, n=4000):
    """The mean of log Z over functions drawn from the surrogate, a sample of θ at a time."""
    gp = solved.surrogate()
    means, _ = gp.predict(GRID)
    found = []
    for mean, covariance in zip(means, gp.covariance(GRID, GRID), strict=True):
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        f = mean + rng(3).standard_normal((n, len(GRID))) @ root.T
        found.append(log_integral(f))
    return float(np.mean(found))


# log ℓ, log σ_f, log σ̄, m_0, x_m, log ω
THETAS = [[0.0, 1.0, -5.0, 0.0, 0.0, 0.0], [0.5, 1.5, -5.0, 0.0, 0.3, 0.1]]


@pytest.mark.parametrize("scale", [0.9, 1.0, 1.3])
def test_it_is_the_integral_of_the_surrogate_whatever_the_mixture(scale):
    solved = solution(Mixture([1.0], [[0.1]], [scale], [1.0]), THETAS)
    found = evidence(rng(), solved, importance=True)
    assert found.method == "importance sampling"
    assert found.value == pytest.approx(log_integral_of_the_mean(solved), abs=0.02)
    assert solved.elbo.sd <= found.sd < solved.elbo.sd + 0.05


@pytest.mark.parametrize("noise_sd", [1.0, 3.0])
@pytest.mark.parametrize("theta", [THETAS[:1], THETAS])
def test_under_noise_it_is_the_expectation_over_functions(noise_sd, theta):
    """Against draws of whole functions; the expansion is to second order."""
    solved = solution(Mixture([1.0], [[0.0]], [1.0], [1.0]), theta, noise_sd=noise_sd)
    found = evidence(rng(), solved, importance=True)
    expected = expected_log_integral(solved)
    gain = expected - log_integral_of_the_mean(solved)
    assert gain > 0.05
    assert found.value == pytest.approx(expected, abs=0.02 + 0.2 * gain)
    assert found.sd >= np.hypot(solved.elbo.sd, 0.7 * gain)


def test_the_elbo_is_lower_by_the_divergence():
    solved = solution(Mixture([1.0], [[0.0]], [1.3], [1.0]), THETAS)
    found = evidence(rng(), solved, importance=True)
    assert found.value > solved.elbo.value + 0.03


def test_without_importance_sampling_it_is_the_elbo():
    solved = solution(Mixture([1.0], [[0.1]], [1.3], [1.0]), THETAS)
    found = evidence(rng(), solved, importance=False)
    assert (found.value, found.sd, found.method) == (solved.elbo.value, solved.elbo.sd, "elbo")


@pytest.mark.parametrize(
    "mixture",
    [
        Mixture([1.0], [[0.0]], [0.3], [1.0]),  # far too narrow: few draws carry all weight
        Mixture([1.0], [[2.5]], [0.5], [1.0]),  # beside the mass
        Mixture([1.0], [[0.0]], [8.0], [1.0]),  # so wide that more is gained than believed
    ],
)
def test_weights_that_cannot_be_trusted_leave_the_elbo(mixture):
    solved = solution(mixture, THETAS)
    assert log_integral_of_the_mean(solved) - solved.elbo.value > min(LARGEST_CORRECTION, 0.5)
    found = evidence(rng(), solved, importance=True)
    assert found.method == "corrected elbo"
    convexity = found.value - solved.elbo.value
    assert 0 <= convexity <= LARGEST_CORRECTION
    assert found.sd == pytest.approx(np.hypot(solved.elbo.sd, convexity))


def test_it_is_a_function_of_the_generator():
    solved = solution(Mixture([1.0], [[0.1]], [1.2], [1.0]), THETAS)
    first, second = (evidence(rng(7), solved, importance=True) for _ in range(2))
    assert first == second
