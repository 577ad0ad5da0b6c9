"""Integer parameters: what the mixture says at whole numbers, against brute force."""

import numpy as np
import pytest

from quell import Posterior
from quell.mixture import Mixture
from quell.results import IntegerMarginal, Marginal
from quell.results import parts as parts_module
from quell.space import InferenceSpace

#: Values of the continuous parameter, over its whole range.
X = np.linspace(-10.0, 10.0, 4001)


def posterior_of(width, *, softness=None, angle=0.6, bounded="probit"):
    """An integer from 0 to 6 and a number, correlated."""
    space = InferenceSpace.from_bounds(
        [-0.5, -np.inf], [6.5, np.inf], [1, -1], [4, 1], names=["k", "x"], bounded=bounded
    )
    if softness is not None:
        space = space.with_softness([softness, np.nan])
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    space = space.with_linear(turn, [1.0, 0.5])
    mixture = Mixture([0.7, 0.3], [[0.0, 0.1], [0.4, -0.3]], [width, 0.6 * width], [1.0, 1.3])
    return Posterior(mixture, space, (True, False))


def table_of(posterior):
    """The density (7, n) that the mixture has at whole numbers, times the step of X."""
    k = np.arange(7.0)
    theta = np.stack(np.broadcast_arrays(k[:, None], X[None]), axis=-1)
    x = posterior.space.to_inference(theta)
    logs = posterior.mixture.log_density(x.reshape(-1, 2)).reshape(x.shape[:-1])
    return k, np.exp(logs - posterior.space.log_jacobian(x)) * (X[1] - X[0])


KINDS = [
    posterior_of(0.05), posterior_of(0.2), posterior_of(0.2, softness=0.05),
    posterior_of(0.6, softness=0.3), posterior_of(0.2, angle=0.0),
    posterior_of(0.3, bounded="logit"),
]  # fmt: skip


@pytest.mark.parametrize("posterior", KINDS)
class TestBesideSums:
    def test_mass_and_density(self, posterior):
        k, mass = table_of(posterior)
        assert posterior.log_mass == pytest.approx(np.log(mass.sum()), abs=1e-6)
        theta = np.stack(np.broadcast_arrays(k[:, None], X[None]), axis=-1)
        density = posterior.pdf(theta)
        np.testing.assert_allclose(density * (X[1] - X[0]), mass / mass.sum(), atol=1e-8)
        np.testing.assert_allclose(posterior.pdf(theta + np.array([0.3, 0.0])), density, atol=1e-12)

    def test_moments(self, posterior):
        k, mass = table_of(posterior)
        mass = mass / mass.sum()
        k = np.broadcast_to(k[:, None], mass.shape)
        x = np.broadcast_to(X, mass.shape)
        mean = np.array([(mass * k).sum(), (mass * x).sum()])
        away = [k - mean[0], x - mean[1]]
        covariance = [[(mass * a * b).sum() for a in away] for b in away]
        np.testing.assert_allclose(posterior.mean(), mean, atol=1e-5)
        np.testing.assert_allclose(posterior.covariance(), covariance, atol=1e-5)
        np.testing.assert_allclose(posterior.sd(), np.sqrt(np.diag(covariance)), atol=1e-5)

    def test_marginals(self, posterior):
        k, mass = table_of(posterior)
        mass = mass / mass.sum()
        whole, other = posterior.marginal("k"), posterior.marginal("x")
        assert isinstance(whole, IntegerMarginal)
        assert isinstance(other, Marginal)
        np.testing.assert_allclose(whole.density(k), mass.sum(axis=1), atol=1e-8)
        np.testing.assert_allclose(whole.cdf(k + 0.5), np.cumsum(mass.sum(axis=1)), atol=1e-8)
        assert whole.mean() == pytest.approx(posterior.mean()[0])
        assert whole.sd() == pytest.approx(posterior.sd()[0], abs=1e-9)
        steps = mass.sum(axis=0)
        np.testing.assert_allclose(other.density(X) * (X[1] - X[0]), steps, atol=1e-6)
        assert other.mean() == pytest.approx(posterior.mean()[1], abs=1e-9)

    def test_draws(self, posterior):
        k, mass = table_of(posterior)
        mass = mass / mass.sum()
        draws = posterior.sample(40_000, 1)
        share = (draws[:, :1] == k).mean(axis=0)
        np.testing.assert_allclose(share, mass.sum(axis=1), atol=0.002)
        for value in k[mass.sum(axis=1) > 0.02]:
            row = mass[int(value)] / mass[int(value)].sum()
            mean = row @ X
            sd = np.sqrt(row @ (X - mean) ** 2)
            given = draws[draws[:, 0] == value, 1]
            assert abs(given.mean() - mean) < 6 * sd / np.sqrt(len(given))
            assert given.std() == pytest.approx(sd, rel=6 / np.sqrt(len(given)))

    def test_mode(self, posterior):
        k, mass = table_of(posterior)
        row, column = np.unravel_index(np.argmax(mass), mass.shape)
        found = posterior.mode()
        assert found[0] == k[row]
        assert found[1] == pytest.approx(X[column], abs=0.01)


def test_whole_numbers_count_wherever_the_mixture_is_highest_between_them():
    """A narrow peak halfway between two integers: both have a half, and the evidence is theirs."""
    space = InferenceSpace.from_bounds(-0.5, 9.5, 2, 7, names=["k"], bounded="probit")
    centre = space.to_inference([3.5])
    posterior = Posterior(Mixture([1.0], [centre], [0.006], [1.0]), space, (True,))
    assert posterior.log_mass < -20
    probability = posterior.marginal("k").density([3, 4])
    assert probability.sum() == pytest.approx(1.0)
    _, v, log_slope = space.standard_coordinate(0, np.array([3.0, 4.0]))
    logs = -0.5 * ((v - centre[0]) / 0.006) ** 2 - log_slope
    assert probability[0] == pytest.approx(1 / (1 + np.exp(logs[1] - logs[0])), rel=1e-6)


def test_a_wide_integer_is_as_good_as_continuous():
    space = InferenceSpace.from_bounds(-0.5, 999.5, 100, 600, names=["k"], bounded="probit")
    posterior = Posterior(Mixture([1.0], [[0.0]], [0.1], [1.0]), space, (True,))
    assert isinstance(posterior.marginal("k"), Marginal)
    assert posterior.log_mass == 0.0
    k = np.arange(1000.0)[:, None]
    assert posterior.pdf(k).sum() == pytest.approx(1.0, abs=1e-6)
    assert posterior.sd()[0] == pytest.approx(np.std(posterior.sample(100_000)), rel=0.01)


def test_so_many_integers_that_some_are_taken_as_continuous(monkeypatch):
    space = InferenceSpace.from_bounds(
        [-0.5, -0.5], [6.5, 60.5], [1, 5], [4, 50], names=["few", "many"], bounded="probit"
    )
    mixture = Mixture([0.5, 0.5], [[0.0, 0.0], [0.2, 0.1]], [0.2, 0.04], [1.0, 1.0])
    whole = Posterior(mixture, space, (True, True))
    assert isinstance(whole.marginal("many"), IntegerMarginal)
    monkeypatch.setattr(parts_module, "MOST_PARTS", 40)
    some = Posterior(mixture, space, (True, True))
    assert isinstance(some.marginal("few"), IntegerMarginal)
    assert isinstance(some.marginal("many"), Marginal)
    np.testing.assert_allclose(some.mean(), whole.mean(), atol=0.02)
    assert (some.sample(100) % 1 == 0).all()


def test_quantiles_of_a_few_values():
    space = InferenceSpace.from_bounds(-0.5, 9.5, 2, 7, names=["k"])
    marginal = IntegerMarginal(space, 0, np.array([2.0, 5.0]), np.array([0.25, 0.75]))
    np.testing.assert_allclose(marginal.quantile([0.125, 0.25, 0.625]), [2.0, 2.5, 5.0])
    assert set(marginal.rvs(200)) == {2.0, 5.0}
    np.testing.assert_allclose(marginal.cdf([1.0, 2.5, 4.0, 5.5]), [0.0, 0.25, 0.25, 1.0])
    assert marginal.to_scipy().cdf(5.0) == pytest.approx(0.625)
    assert np.isnan(marginal.density(np.nan))
    assert marginal.logpdf(3) == -np.inf
