"""The known part of a density with soft edges: values, slopes, expectations; in the surrogate."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import log_expit
from scipy.stats import norm

from quell.gp import GaussianProcess, TrainingData
from quell.gp.gradients import LocalPrediction
from quell.gp.marginal import MarginalLikelihood
from quell.mixture import Mixture
from quell.quadrature import Quadrature
from quell.space import InferenceSpace
from quell.space.edges import Edges


def soft_space() -> InferenceSpace:
    """Edges of every kind, one coordinate without, rotated."""
    space = InferenceSpace.from_bounds(
        [0, 0, -np.inf, 1], [10, np.inf, 3, 2], [2, 1, -1, 1.2], [8, 3, 2, 1.8]
    )
    draws = np.random.default_rng(0).normal(size=(4, 9))
    return space.with_softness([0.3, 0.1, 0.2, np.nan]).whitened(np.cov(draws))


def test_the_rest_of_the_log_jacobian_is_that_of_the_other_coordinates():
    space = soft_space()
    x = 3 * np.random.default_rng(1).normal(size=(20, 4))
    assert space.edges is not None
    assert len(space.edges.slopes) == 4  # two of the box, one each of the half-bounded
    v = (x * space.scales) @ space.rotation.T
    other = space.coordinate(3).log_slope(v[:, 3])
    rest = space.log_jacobian(x) - space.edges.at(x) - other
    assert_allclose(rest, rest[0], atol=1e-9)


def test_a_space_without_soft_edges_has_none():
    assert InferenceSpace.from_bounds([0, 0], [1, np.inf], [0.2, 1], [0.8, 2]).edges is None


@pytest.mark.parametrize("slope", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("mean", [-4.0, -0.1, 0.0, 2.0])
def test_expectations_agree_with_integration(slope, mean):
    edges, sd = Edges(np.array([[slope]]), np.array([0.3])), 0.7
    value, _, _ = edges.expectation(np.array([[mean]]), np.array([[sd**2]]))
    kink = -0.3 / slope
    wanted, _ = quad(
        lambda x: log_expit(slope * x + 0.3) * norm.pdf(x, mean, sd),
        mean - 9 * sd, mean + 9 * sd, limit=500,
        points=[kink] if abs(kink - mean) < 9 * sd else None,
    )  # fmt: skip
    assert_allclose(value, wanted, rtol=1e-5, atol=1e-6)


def test_derivatives_agree_with_differences():
    edges = soft_space().edges
    assert edges is not None
    rng = np.random.default_rng(3)
    means, variances, step = rng.normal(size=(3, 4)), rng.uniform(0.1, 2, (3, 4)), 1e-5
    _, by_mean, by_variance = edges.expectation(means, variances)
    for i, move in enumerate(step * np.eye(4)):
        slope = (edges.at(means + move) - edges.at(means - move)) / (2 * step)
        assert_allclose(edges.gradient(means)[:, i], slope, rtol=1e-6, atol=1e-6)
        up, down = (edges.expectation(means + s * move, variances)[0] for s in (1, -1))
        assert_allclose(by_mean[:, i], (up - down) / (2 * step), rtol=1e-6, atol=1e-6)
        up, down = (edges.expectation(means, variances + s * move)[0] for s in (1, -1))
        assert_allclose(by_variance[:, i], (up - down) / (2 * step), rtol=1e-6, atol=1e-6)


@pytest.fixture
def surrogates() -> tuple[GaussianProcess, GaussianProcess, Edges]:
    """A surrogate that knows of an edge, and one of the rest alone."""
    edges = Edges(np.array([[8.0, 2.0]]), np.array([3.0]))
    rng = np.random.default_rng(4)
    x = rng.normal(size=(15, 2))
    rest = -0.5 * (x**2).sum(axis=1)
    theta = np.array([[0.0, 0.3, 0.2, -3.0, 0.1, 0.0, 0.1, 0.2, 0.1]])
    theta = np.concatenate([theta, theta + 0.1])
    data = TrainingData.from_arrays(x, rest + edges.at(x), 0.1, edges=edges)
    plain = TrainingData.from_arrays(x, rest, 0.1)
    return GaussianProcess.condition(data, theta), GaussianProcess.condition(plain, theta), edges


def test_the_surrogate_learns_the_rest_and_adds_what_is_known(surrogates):
    gp, plain, edges = surrogates
    x = np.random.default_rng(5).normal(size=(7, 2))
    mean, variance = gp.predict(x)
    plain_mean, plain_variance = plain.predict(x)
    assert_allclose(mean, plain_mean + edges.at(x), atol=1e-9)
    assert_allclose(variance, plain_variance)
    assert_allclose(gp.predict_mean(x), mean)
    theta = gp.theta[0]
    assert MarginalLikelihood(gp.data).value(theta) == pytest.approx(
        MarginalLikelihood(plain.data).value(theta)
    )
    local = LocalPrediction.at(gp, x[0])
    assert_allclose(local.mean, mean[:, 0])
    assert_allclose(
        local.mean_gradient(),
        LocalPrediction.at(plain, x[0]).mean_gradient() + edges.gradient(x[0]),
    )


def test_it_goes_on_after_more_observations(surrogates):
    gp, plain, edges = surrogates
    place = np.array([0.5, -0.4])
    more = gp.append(place, -1.0 + float(edges.at(place)), 0.1)
    x = np.array([[0.1, 0.2]])
    expected = plain.append(place, -1.0, 0.1).predict_mean(x) + edges.at(x)
    assert_allclose(more.predict_mean(x), expected)
    assert more.data.subset([0, 2]).edges is edges


def test_the_expected_log_joint_has_it_too(surrogates):
    gp, _, _ = surrogates
    q = Mixture([0.3, 0.7], [[0.0, 0.2], [-0.4, 0.1]], [0.5, 0.3], [1.0, 0.6])
    quadrature = Quadrature(gp)
    draws = q.sample(200_000, np.random.default_rng(6))
    values = gp.weights @ gp.predict_mean(draws)
    error = values.std() / np.sqrt(len(draws))
    assert abs(quadrature.moments(q).mean - values.mean()) < 5 * error
    value, gradient = quadrature.mean_and_gradient(q)
    assert value == pytest.approx(quadrature.moments(q).mean)
    vector, step = q.to_vector(), 1e-6

    def mean_at(moved):
        return quadrature.mean_and_gradient(Mixture.from_vector(moved, 2, 2))[0]

    for i, move in enumerate(step * np.eye(len(vector))):
        slope = (mean_at(vector + move) - mean_at(vector - move)) / (2 * step)
        assert gradient[i] == pytest.approx(slope, rel=1e-4, abs=1e-6)
