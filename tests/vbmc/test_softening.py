"""How soft the edges of bounded parameters should be: shares of SDs, and when nothing changes."""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.vbmc import make_problem

from quell.mixture import Mixture
from quell.vbmc.softening import (
    N_DRAWS,
    SHARE_OF_SD,
    conditional_sds,
    proposed_softness,
    skewness,
)

#: Relative error of an SD that is read off the draws, four times over.
ERROR = 4 / np.sqrt(2 * N_DRAWS)


def rng(seed=0):
    return np.random.default_rng(seed)


def problem(dimension=2, **changes):
    box = {"lower": 0.0, "upper": 10.0, "plausible_lower": 3.0, "plausible_upper": 7.0}
    box = {key: np.full(dimension, value) for key, value in box.items()} | {"bounded": "soft"}
    return make_problem(dimension, **(box | changes))


def blob(sds=(0.1, 0.1), mean=(0.0, 0.0)):
    """A normal in x."""
    return Mixture([1.0], [mean], [1.0], sds)


def ridge(n=60, sd=0.02):
    """Narrow components along a diagonal of x."""
    t = np.linspace(-0.5, 0.5, n)[:, None]
    return Mixture(np.full(n, 1 / n), t * np.array([1.0, 0.5]), np.full(n, sd), [1.0, 1.0])


def solution(mixture, space):
    return SimpleNamespace(space=space, mixture=mixture)


def proposed(mixture, space=None, now=None):
    space = problem(mixture.dimension).space if space is None else space
    now = np.full(space.dimension, np.nan) if now is None else np.array(now)
    return proposed_softness(rng(), solution(mixture, space), now)


def draws_of(mixture, space=None, n=200_000):
    space = problem(mixture.dimension).space if space is None else space
    return space.to_original(mixture.sample(n, rng(1)))[:, space.free]


class TestSizes:
    def test_a_share_of_each_sd_where_parameters_are_independent(self):
        mixture = blob((0.2, 0.05), (0.1, -0.2))
        expected = SHARE_OF_SD * draws_of(mixture).std(axis=0)
        np.testing.assert_allclose(proposed(mixture), expected, rtol=ERROR)

    def test_of_the_sd_given_the_others_on_a_ridge(self):
        mixture = ridge()
        theta = draws_of(mixture)
        precision = np.linalg.inv(np.cov(theta.T))
        conditional = 1 / np.sqrt(np.diag(precision))
        assert (conditional < 0.5 * theta.std(axis=0)).all()
        np.testing.assert_allclose(proposed(mixture), SHARE_OF_SD * conditional, rtol=ERROR)

    def test_in_a_whitened_space_too(self):
        mixture = ridge()
        space = problem().space.whitened([[0.1, 0.05], [0.05, 0.1]])
        theta = draws_of(mixture, space)
        conditional = 1 / np.sqrt(np.diag(np.linalg.inv(np.cov(theta.T))))
        expected = SHARE_OF_SD * np.minimum(conditional, theta.std(axis=0))
        np.testing.assert_allclose(proposed(mixture, space), expected, rtol=ERROR)

    def test_one_parameter_alone(self):
        mixture = blob([0.1], [0.0])
        expected = SHARE_OF_SD * draws_of(mixture).std(axis=0)
        np.testing.assert_allclose(proposed(mixture), expected, rtol=ERROR)

    def test_same_generator_same_answer(self):
        np.testing.assert_array_equal(proposed(ridge()), proposed(ridge()))

    def test_the_space_takes_it(self):
        softness = proposed(blob((0.2, 0.05)))
        space = problem().space.with_softness(softness)
        np.testing.assert_array_equal(space.softness, softness)


class TestOnlySharper:
    mixture = blob((0.1, 0.1))

    def wanted(self):
        return proposed(self.mixture)

    @pytest.mark.parametrize("times", [0.01, 0.5, 1.0, 1.5, 1.9])
    def test_nothing_where_it_is_sharp_enough(self, times):
        assert proposed(self.mixture, now=times * self.wanted()) is None

    def test_sharper_where_the_posterior_has_become_much_narrower(self):
        found = proposed(self.mixture, now=3.0 * self.wanted())
        np.testing.assert_allclose(found, self.wanted())

    def test_never_softer_and_along_with_another(self):
        wanted = self.wanted()
        found = proposed(self.mixture, now=wanted * [3.0, 0.1])
        np.testing.assert_allclose(found, wanted * [1.0, 0.1])
        found = proposed(self.mixture, now=wanted * [3.0, 1.5])
        np.testing.assert_allclose(found, wanted)  # a little sharper, as it is changed anyway

    def test_a_map_of_before_becomes_soft_beside_a_soft_one(self):
        wanted = self.wanted()
        found = proposed(self.mixture, now=[0.2 * wanted[0], np.nan])
        np.testing.assert_allclose(found, wanted * [0.2, 1.0])

    def test_a_posterior_that_is_one_number_asks_for_nothing(self):
        point = blob((1e-30, 1e-30))
        assert draws_of(point).std() == 0
        assert proposed(point) is None
        assert proposed(point, now=[0.1, 0.1]) is None
        found = proposed(blob((1e-30, 0.1)), now=[0.1, 10.0])
        assert found[0] == 0.1
        assert found[1] < 10.0


class TestSkewed:
    """A parameter over orders of magnitude keeps its logarithm."""

    space = problem(
        upper=np.full(2, np.inf), plausible_lower=[0.5, 0.5], plausible_upper=[2.0, 2.0],
        prior="included",
    ).space  # fmt: skip

    def sd_in_x(self, sd):
        """SD in x of one of ``sd`` in the logarithm of the parameter."""
        x = self.space.to_inference([[1.0, 1.0], [np.e, np.e]])
        return sd * np.diff(x, axis=0)[0]

    def mixture(self, first, second):
        sds = np.array([self.sd_in_x(first)[0], self.sd_in_x(second)[1]])
        return blob(sds, self.space.to_inference([1.0, 1.0]))

    def test_alone(self):
        assert proposed(self.mixture(1.5, 1.5), self.space) is None

    def test_the_other_one_becomes_soft(self):
        found = proposed(self.mixture(1.5, 0.1), self.space)
        assert np.isnan(found[0])
        assert found[1] == pytest.approx(SHARE_OF_SD * 0.1, rel=0.1)

    def test_what_is_skewed_in_both_is_not_kept_for_that(self):
        """Ten per cent of the mass far out: a long tail in the logarithm as well."""
        x = self.space.to_inference([[1.0, 1.0], [8.0, 1.0]])
        sds = np.full(2, 0.02)
        mixture = Mixture([0.97, 0.03], x, [1.0, 1.0], sds)
        theta = draws_of(mixture, self.space)
        assert skewness(theta)[0] > 2.5
        assert np.isfinite(proposed(mixture, self.space)).all()

    def test_the_skew_of_an_exponential_at_the_bound_is_no_reason(self):
        """Skewness 2: what touches a bound is what soft edges are for."""
        theta = rng().exponential(size=(100_000, 1))
        assert skewness(theta)[0] == pytest.approx(2.0, abs=0.1)
        space = problem(1, plausible_lower=[0.2], plausible_upper=[3.0]).space
        x = space.to_inference(np.linspace(0.02, 4.0, 100)[:, None])
        weights = np.exp(-np.linspace(0.02, 4.0, 100))
        mixture = Mixture(weights / weights.sum(), x, np.full(100, 0.02), [1.0])
        assert np.isfinite(proposed(mixture, space)).all()


class TestWhichParameters:
    @pytest.mark.parametrize("family", ["probit", "logit", "student"])
    def test_only_where_asked_for(self, family):
        assert proposed(blob(), problem(bounded=family).space) is None

    def test_one_for_each(self):
        found = proposed(blob(), problem(bounded=["soft", "logit"]).space)
        assert np.isfinite(found).tolist() == [True, False]

    def test_bounds_on_one_side(self):
        space = problem(
            3, lower=[0.0, -np.inf, -np.inf], upper=[np.inf, 10.0, np.inf], prior="included"
        ).space
        found = proposed(blob((0.1,) * 3, (0.0,) * 3), space)
        assert np.isfinite(found).tolist() == [True, True, False]

    @pytest.mark.parametrize(
        "changes",
        [{"lower": [-np.inf] * 2, "upper": [np.inf] * 2, "prior": "included"},
         {"periodic": [True, True]}],
    )  # fmt: skip
    def test_not_without_an_edge(self, changes):
        assert proposed(blob(), problem(**changes).space) is None

    def test_fixed_parameters_have_no_entry(self):
        space = problem(
            3, lower=[0.0, 4.0, 0.0], upper=[10.0, 4.0, 10.0], plausible_lower=[3.0, 4.0, 3.0],
            plausible_upper=[7.0, 4.0, 7.0], bounded=["probit", "soft", "soft"],
        ).space  # fmt: skip
        found = proposed(blob(), space)
        assert np.isfinite(found).tolist() == [False, True]


class TestMoments:
    def test_conditional_sds_of_a_normal(self):
        covariance = np.array([[1.0, 0.9, 0.1], [0.9, 1.0, 0.0], [0.1, 0.0, 4.0]])
        draws = rng().multivariate_normal(np.zeros(3), covariance, 200_000)
        expected = 1 / np.sqrt(np.diag(np.linalg.inv(covariance)))
        np.testing.assert_allclose(conditional_sds(draws), expected, rtol=0.02)

    def test_conditional_sds_have_the_units_of_their_parameter(self):
        draws = rng().normal(size=(500, 3)) @ rng(1).normal(size=(3, 3))
        units = np.array([1e-12, 1.0, 1e12])
        np.testing.assert_allclose(
            conditional_sds(draws * units), units * conditional_sds(draws), rtol=1e-6
        )

    def test_conditional_sds_of_columns_that_are_the_same(self):
        column = rng().normal(size=(500, 1))
        found = conditional_sds(np.hstack([column, column, np.zeros((500, 1))]))
        assert np.isfinite(found).all()
        assert (found[:2] < 1e-5).all()

    def test_skewness(self):
        draws = rng().standard_gamma([4.0, 1.0], (300_000, 2)) * [1.0, -3.0]
        np.testing.assert_allclose(skewness(draws), [1.0, -2.0], atol=0.1)
        assert skewness(np.ones((10, 1))) == 0.0
