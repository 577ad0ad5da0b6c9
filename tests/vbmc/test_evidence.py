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


def solution(mixture, theta, y=lambda x: -0.5 * x**2):
    """A surrogate of one coordinate with data on [-4, 4], and a mixture that need not fit it."""
    x = np.linspace(-4, 4, 17)
    data = TrainingData.from_arrays(x[:, None], y(x))
    space = InferenceSpace.from_bounds([-np.inf], [np.inf], [-1.0], [1.0])
    theta = np.atleast_2d(theta)
    first = Solution(space, mixture, None, data, theta, np.full(len(theta), 1 / len(theta)))
    elbo = evaluate_elbo(
        Quadrature(first.surrogate()), mixture, normal_base_sample(4096, 1, rng(0))
    )
    return replace(first, elbo=elbo)


def log_integral(solved):
    x = np.linspace(-12, 12, 20001)[:, None]
    mean, _ = solved.surrogate().pooled(x)
    return float(np.log(np.trapezoid(np.exp(mean), x[:, 0])))


# log ℓ, log σ_f, log σ̄, m_0, x_m, log ω
THETAS = [[0.0, 1.0, -5.0, 0.0, 0.0, 0.0], [0.5, 1.5, -5.0, 0.0, 0.3, 0.1]]


@pytest.mark.parametrize("scale", [0.9, 1.0, 1.3])
def test_it_is_the_integral_of_the_surrogate_whatever_the_mixture(scale):
    solved = solution(Mixture([1.0], [[0.1]], [scale], [1.0]), THETAS)
    found = evidence(rng(), solved, importance=True)
    assert found.method == "importance sampling"
    assert found.value == pytest.approx(log_integral(solved), abs=0.02)
    assert solved.elbo.sd <= found.sd < solved.elbo.sd + 0.05


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
    assert log_integral(solved) - solved.elbo.value > min(LARGEST_CORRECTION, 0.5)
    assert evidence(rng(), solved, importance=True).method == "elbo"


def test_it_is_a_function_of_the_generator():
    solved = solution(Mixture([1.0], [[0.1]], [1.2], [1.0]), THETAS)
    first, second = (evidence(rng(7), solved, importance=True) for _ in range(2))
    assert first == second
