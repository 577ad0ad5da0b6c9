"""A mixture of posteriors that live in different spaces."""

import numpy as np
import pytest
from scipy.integrate import trapezoid

import quell
from quell import Posterior, StackedPosterior
from quell.mixture import Mixture
from quell.space import InferenceSpace

SHARES = np.array([0.3, 0.7])


def one_sided():
    """Two members over (0, ∞) and a fixed parameter, with maps of their own."""
    space = InferenceSpace.from_bounds([0, 5], [np.inf, 5], [1, 5], [4, 5], names=["a", "fixed"])
    soft = space.with_softness([0.1])
    first = Mixture([0.5, 0.5], [[-0.5], [0.6]], [0.2, 0.3], [1.0])
    second = Mixture([1.0], [[0.2]], [0.1], [1.0])
    return StackedPosterior(
        (
            Posterior(first, space),
            Posterior(second, soft.with_linear([[1.0]], [2.0])),
        ),
        SHARES,
    )


def test_density_is_normalised_and_that_of_the_draws():
    posterior = one_sided()

    a = np.linspace(0.0, 300.0, 100_001)
    density = np.exp(posterior.log_density(np.column_stack([a, np.full_like(a, 5.0)])))
    assert trapezoid(density, a) == pytest.approx(1.0, abs=1e-4)
    draws = posterior.sample(200_000, np.random.default_rng(0))[:, 0]
    below = a <= 3.0
    assert np.mean(draws < 3.0) == pytest.approx(trapezoid(density[below], a[below]), abs=0.005)
    assert posterior.log_density([[-1.0, 5.0], [1.0, 4.0]]).tolist() == [-np.inf, -np.inf]


def test_moments_and_marginal_are_those_of_the_draws():
    posterior = one_sided()
    draws = posterior.sample(400_000, np.random.default_rng(0))
    np.testing.assert_allclose(posterior.mean(), draws.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(posterior.covariance(), np.cov(draws.T), atol=0.1)
    np.testing.assert_allclose(posterior.sd()[0], draws[:, 0].std(), rtol=0.02)
    marginal = posterior.marginal("a")
    assert marginal.name == "a"
    for p in (0.025, 0.5, 0.975):
        assert float(marginal.cdf(marginal.quantile(p))) == pytest.approx(p, abs=1e-8)
        assert marginal.quantile(p) == pytest.approx(np.quantile(draws[:, 0], p), rel=0.02)
    np.testing.assert_allclose(
        marginal.density([1.0, 2.0]), np.exp(posterior.log_density([[1.0, 5.0], [2.0, 5.0]]))
    )
    with pytest.raises(ValueError, match="'fixed' is fixed"):
        posterior.marginal("fixed")


def test_mode_is_the_highest_point():
    posterior = one_sided()
    grid = np.linspace(0.3, 9.0, 2000)
    logs = posterior.log_density(np.column_stack([grid, np.full(2000, 5.0)]))
    assert posterior.mode()[0] == pytest.approx(grid[logs.argmax()], abs=0.05)


def test_integers():
    space = InferenceSpace.from_bounds(0.5, 9.5, 2, 7, names=["a"])
    mixtures = (Mixture([1.0], [[m]], [0.2], [1.0]) for m in (-0.3, 0.3))
    members = tuple(Posterior(mixture, space, (True,)) for mixture in mixtures)
    posterior = StackedPosterior(members, SHARES)
    draws = posterior.sample(1000, np.random.default_rng(0))
    np.testing.assert_array_equal(draws, np.rint(draws))
    assert posterior.integer == (True,)
    assert posterior.mode()[0] == round(posterior.mode()[0])


def test_quantiles_of_a_circle_are_counted_from_the_seam():
    space = InferenceSpace.from_bounds(0, 360, 350, 370, names=["a"], periodic=["a"])
    members = [Posterior(Mixture([1.0], [[m]], [0.3], [1.0]), space) for m in (-0.4, 0.4)]
    marginal = StackedPosterior(tuple(members), np.array([0.5, 0.5])).marginal(0)
    low, high = marginal.quantile(0.025), marginal.quantile(0.975)
    assert low > 340
    assert high < 20
    assert float(marginal.cdf(low)) == pytest.approx(0.025, abs=1e-8)


def test_shares_and_members_must_go_together():
    member = one_sided().members[0]
    with pytest.raises(ValueError, match="one share for each of the 1 members"):
        StackedPosterior((member,), SHARES)


class TestAllThatAPosteriorHas:
    """What a stacked posterior says of itself is what its draws say."""

    def test_figures_of_the_marginals(self):
        posterior = one_sided()
        draws = posterior.sample(200_000, np.random.default_rng(0))[:, 0]
        assert posterior.median()[1] == 5.0
        assert posterior.median()[0] == pytest.approx(np.median(draws), rel=0.01)
        np.testing.assert_allclose(
            posterior.interval(0.9, "a"), np.quantile(draws, [0.05, 0.95]), rtol=0.02
        )
        marginal = posterior.marginal("a")
        assert marginal.mean() == pytest.approx(posterior.mean()[0], rel=1e-9)
        assert marginal.sd() == pytest.approx(posterior.sd()[0], rel=1e-6)
        values = np.array([0.5, 2.0, -1.0])
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(marginal.logpdf(values), np.log(marginal.density(values)))
        np.testing.assert_allclose(posterior.pdf([[2.0, 5.0]]), marginal.density([2.0]))

    def test_correlation_is_one_with_itself_and_none_with_what_is_fixed(self):
        np.testing.assert_array_equal(one_sided().correlation(), [[1.0, np.nan], [np.nan, np.nan]])

    def test_the_marginal_is_a_distribution_of_scipy(self):
        posterior = one_sided()
        frozen = posterior.to_scipy("a")
        marginal = posterior.marginal("a")
        np.testing.assert_allclose(frozen.cdf([1.0, 2.0]), marginal.cdf([1.0, 2.0]))
        np.testing.assert_allclose(frozen.ppf(0.3), marginal.quantile(0.3))
        assert frozen.std() == pytest.approx(marginal.sd())

    def test_the_median_of_a_circle_is_where_the_mass_is(self):
        space = InferenceSpace.from_bounds(0, 360, 350, 370, names=["a"], periodic=["a"])
        members = [Posterior(Mixture([1.0], [[m]], [0.3], [1.0]), space) for m in (-0.4, 0.4)]
        posterior = StackedPosterior(tuple(members), np.array([0.5, 0.5]))
        assert min(posterior.median()[0], 360 - posterior.median()[0]) < 1e-6
        low, high = posterior.interval(0.95, "a")
        assert low > 340
        assert high < 20

    def test_as_prior_is_the_same_density_in_any_order_of_the_parameters(self):
        posterior = one_sided()
        prior = posterior.as_prior()
        points = np.array([[1.0, 5.0], [2.0, 5.0], [-1.0, 5.0]])
        np.testing.assert_allclose(prior.logpdf(points), posterior.log_density(points))
        bounds = InferenceSpace.from_bounds([5, 0], [5, 9], [5, 1], [5, 4], names=["fixed", "a"])
        turned = prior.for_parameters(bounds.bounds)
        np.testing.assert_allclose(turned.logpdf(points[:, ::-1]), prior.logpdf(points))
        assert turned.names == ("fixed", "a")
        assert (turned.rvs(10)[:, 0] == 5).all()

    def test_as_prior_gives_integers_their_probability(self):
        space = InferenceSpace.from_bounds(0.5, 9.5, 2, 7, names=["a"])
        mixtures = (Mixture([1.0], [[m]], [0.2], [1.0]) for m in (-0.3, 0.3))
        members = tuple(Posterior(mixture, space, (True,)) for mixture in mixtures)
        prior = StackedPosterior(members, SHARES).as_prior()
        masses = np.exp(prior.logpdf(np.arange(1.0, 10.0)[:, None]))
        assert masses.sum() == pytest.approx(1.0, abs=1e-6)

    def test_it_is_the_prior_of_a_problem_with_its_own_plausible_box(self):
        problem = quell.Problem(
            None, lower=[0, 5], upper=[np.inf, 5], names=["a", "fixed"],
            prior=one_sided(), noise="exact",
        )  # fmt: skip
        assert 0 < problem.plausible_lower[0] < problem.plausible_upper[0]
        np.testing.assert_allclose(
            problem.log_prior([2.0, 5.0]), one_sided().log_density([2.0, 5.0])
        )

    def test_text(self):
        assert repr(one_sided()) == (
            "StackedPosterior of a, fixed: 3 normal distributions from 2 runs"
        )
        assert "<table" in one_sided()._repr_html_()
        assert repr(one_sided().marginal("a")).startswith("Marginal of a: mean ")
