"""What a scientist reaches for: SciPy's names, intervals, correlations, seeds, distances."""

import pickle

import numpy as np
import pytest
from helpers.problems import QUICK
from scipy import integrate, stats

import quell
from quell import Posterior, Problem
from quell.mixture import Mixture
from quell.space import InferenceSpace

INF = np.inf


def make(lower, upper, p_lower, p_upper, *, periodic=False, means=(0.0, 0.4), sd=0.2, **more):
    """A lopsided mixture over one parameter "a"."""
    names = ["a"]
    space = InferenceSpace.from_bounds(
        lower, upper, p_lower, p_upper, names=names, periodic=[periodic]
    )
    means = np.array(means)[:, None]
    return Posterior(Mixture([0.7, 0.3], means, [sd, sd / 2], [1.0]), space, **more)


ONE = {
    "unbounded": make(-INF, INF, -3, 5),
    "bounded": make(0, 2, 0.5, 1.2),
    "half": make(1, INF, 1.5, 4),
    "periodic": make(0, 360, 100, 200, periodic=True),
    "integer": make(-0.5, 9.5, 2, 6, integer=(True,)),
    "cut": make(-INF, INF, -3, 5, support=lambda theta: theta[:, 0] > 0.5),
}


def correlated(integer=None):
    """Two parameters of a rotated space: any two of them are correlated."""
    space = InferenceSpace.from_bounds([-0.5, -INF], [12.5, INF], [3, -2], [8, 2], names=["k", "x"])
    rotation = np.array([[0.8, -0.6], [0.6, 0.8]])
    space = space.with_linear(rotation, np.array([1.3, 0.7]))
    mixture = Mixture([0.6, 0.4], [[0.1, 0.0], [-0.1, 0.3]], [0.3, 0.2], [1.0, 0.8])
    return Posterior(mixture, space, integer=integer)


class TestMarginal:
    @pytest.mark.parametrize("kind", ONE)
    def test_quantiles_of_arrays_are_those_of_numbers(self, kind):
        marginal = ONE[kind].marginal("a")
        p = np.array([[1e-12, 0.2], [0.5, 1 - 1e-9]])
        values = marginal.quantile(p)
        assert values.shape == (2, 2)
        assert values[1, 0] == pytest.approx(marginal.quantile(0.5), rel=1e-12)
        # The probabilities of a cut marginal are sums, so their rounding is absolute.
        np.testing.assert_allclose(marginal.cdf(values), p, rtol=1e-6, atol=1e-12)

    @pytest.mark.parametrize("kind", ["unbounded", "bounded", "half"])
    def test_the_ends_of_the_support(self, kind):
        marginal = ONE[kind].marginal(0)
        assert tuple(marginal.ppf([0, 1])) == marginal.support()
        assert np.isnan(marginal.ppf([-0.1, 1.1, np.nan])).all()

    def test_a_cut_marginal_ends_where_the_draws_end(self):
        low, high = ONE["cut"].marginal("a").support()
        assert low == pytest.approx(0.5, abs=0.01)
        assert high < 20

    @pytest.mark.parametrize("kind", ["unbounded", "bounded", "half"])
    def test_moments_are_integrals(self, kind):
        marginal = ONE[kind].marginal("a")
        low, high = marginal.quantile([1e-10, 1 - 1e-10])

        def integral(power):
            f = lambda x: x**power * marginal.pdf(x)  # noqa: E731
            return integrate.quad(f, low, high, limit=200, points=[marginal.median()])[0]

        mean = integral(1)
        assert marginal.mean() == pytest.approx(mean, rel=1e-6)
        assert marginal.var() == pytest.approx(integral(2) - mean**2, rel=1e-5)
        assert marginal.std() == marginal.sd() == pytest.approx(np.sqrt(marginal.var()))
        assert marginal.median() == marginal.quantile(0.5)

    @pytest.mark.parametrize("kind", ONE)
    def test_moments_are_those_of_the_posterior(self, kind):
        posterior = ONE[kind]
        assert posterior.marginal("a").mean() == pytest.approx(posterior.mean()[0], rel=1e-9)
        assert posterior.marginal("a").sd() == pytest.approx(posterior.sd()[0], rel=1e-9)

    def test_logarithms_reach_where_the_density_is_zero(self):
        marginal = ONE["unbounded"].marginal("a")
        assert marginal.pdf(1000.0) == 0
        assert -1e7 < marginal.logpdf(1000.0) < -700
        x = np.linspace(-4, 8, 7)
        np.testing.assert_allclose(marginal.logpdf(x), np.log(marginal.pdf(x)), rtol=1e-9)
        assert ONE["bounded"].marginal("a").logpdf(2.5) == -INF
        assert ONE["cut"].marginal("a").logpdf(0.2) == -INF

    def test_draws(self):
        marginal = ONE["bounded"].marginal("a")
        draws = marginal.rvs((50, 100), random_state=3)
        assert stats.kstest(draws.ravel(), marginal.cdf).pvalue > 1e-3
        np.testing.assert_array_equal(draws, marginal.rvs((50, 100), np.random.default_rng(3)))
        np.testing.assert_array_equal(marginal.rvs(4), marginal.rvs(4))
        assert np.all(ONE["integer"].marginal("a").rvs(20) % 1 == 0)

    def test_nan_is_no_value(self):
        marginal = ONE["bounded"].marginal("a")
        for method in (marginal.pdf, marginal.logpdf, marginal.cdf, marginal.sf):
            assert np.isnan(method([np.nan])).all()

    def test_repr_is_one_line(self):
        assert repr(ONE["bounded"].marginal("a")).startswith(
            "Marginal of a: mean 0.9203, 95 % in ["
        )


class TestIntervals:
    def test_shape_and_share(self):
        posterior = correlated()
        interval = posterior.interval(0.9)
        assert interval.shape == (2, 2)
        marginal = posterior.marginal("x")
        np.testing.assert_allclose(marginal.cdf(interval[1]), [0.05, 0.95], rtol=1e-9)
        np.testing.assert_array_equal(posterior.interval(0.9, "x"), interval[1])
        np.testing.assert_array_equal(posterior.median()[1], marginal.median())

    @pytest.mark.parametrize("share", [0, 1, -0.5, 95, np.nan])
    def test_what_is_no_share(self, share):
        with pytest.raises(ValueError, match="confidence"):
            ONE["bounded"].interval(share)

    @pytest.mark.parametrize("plausible", [(330, 400), (130, 230)])
    def test_around_the_bounds_of_a_circle(self, plausible):
        """The mass is at 360 ± 25 whether the seam is far away or right there."""
        space = InferenceSpace.from_bounds(0, 360, *plausible, names=["a"], periodic=[True])
        one = space.coordinate(0)
        values = np.mod([[350.0], [10.0]], 360)
        mixture = Mixture([0.5, 0.5], one.standard(values), [0.05, 0.05], [1.0])
        low, high = Posterior(mixture, space).interval(0.9, "a")
        assert low > 300
        assert high < 60
        assert Posterior(mixture, space).marginal("a").cdf(high) >= 0

    def test_fixed_parameters(self):
        space = InferenceSpace.from_bounds([0, 7], [1, 7], [0.2, 7], [0.8, 7], names=["a", "b"])
        posterior = Posterior(Mixture([1.0], [[0.0]], [0.3], [1.0]), space)
        assert posterior.interval(0.9)[1].tolist() == [7, 7]
        assert posterior.median()[1] == 7
        correlation = posterior.correlation()
        assert correlation[0, 0] == 1
        assert np.isnan(correlation[1]).all()


def test_correlations_are_those_of_draws():
    posterior = correlated()
    draws = posterior.sample(50_000, 1)
    np.testing.assert_allclose(posterior.correlation(), np.corrcoef(draws.T), atol=0.03)
    assert abs(posterior.correlation()[0, 1]) > 0.2


class TestSampling:
    def test_seed_generator_or_nothing(self):
        posterior = correlated()
        by_seed = posterior.sample(5, 7)
        np.testing.assert_array_equal(by_seed, posterior.sample(5, np.random.default_rng(7)))
        np.testing.assert_array_equal(posterior.sample(5), posterior.sample(5, 0))
        assert posterior.sample(0).shape == (0, 2)

    @pytest.mark.parametrize("rng", [None, -1, 1.5, True, "seed", np.random.RandomState(1)])
    def test_what_is_no_seed(self, rng):
        with pytest.raises(TypeError, match="rng must be a seed"):
            correlated().sample(5, rng)

    def test_what_is_no_number_of_draws(self):
        with pytest.raises(ValueError, match="n must be"):
            correlated().sample(-1)


def test_density_by_all_its_names():
    posterior, theta = correlated(), np.array([[4.0, 0.5], [99.0, 0.0]])
    np.testing.assert_array_equal(posterior.log_pdf(theta), posterior.log_density(theta))
    np.testing.assert_array_equal(posterior.pdf(theta), np.exp(posterior.log_density(theta)))
    assert posterior.pdf(theta[0]).shape == ()
    assert repr(posterior) == "Posterior of k, x: a mixture of 2 normal distributions"


class TestScipy:
    @pytest.mark.parametrize("kind", ONE)
    def test_a_frozen_distribution(self, kind):
        frozen = ONE[kind].to_scipy("a")
        low, high = frozen.support()
        p = np.linspace(0.01, 0.99, 23)
        x = frozen.ppf(p)
        np.testing.assert_allclose(frozen.cdf(x), p, atol=1e-7)
        np.testing.assert_allclose(frozen.sf(x), 1 - p, atol=1e-7)
        assert low <= x.min() <= x.max() <= high
        np.testing.assert_allclose(frozen.logpdf(x), np.log(frozen.pdf(x)), rtol=1e-8)
        step = 1e-5 * frozen.std()
        inner = x if kind not in ("integer", "cut") else x[np.abs(x - np.rint(x)) < 0.4]
        if kind != "cut":
            slope = (frozen.cdf(inner + step) - frozen.cdf(inner - step)) / (2 * step)
            np.testing.assert_allclose(frozen.pdf(inner), slope, rtol=1e-4)
        assert frozen.rvs(5, random_state=1).shape == (5,)
        assert frozen.interval(0.9)[0] == pytest.approx(frozen.ppf(0.05))
        draws = frozen.rvs(20_000, random_state=2)
        assert frozen.mean() == pytest.approx(draws.mean(), abs=5 * frozen.std() / 141)
        assert frozen.std() == pytest.approx(draws.std(), rel=0.05)
        assert pickle.loads(pickle.dumps(ONE["bounded"].to_scipy(0))).cdf(1.0) > 0

    def test_integers_have_their_probability_as_density(self):
        posterior = ONE["integer"]
        counts = np.bincount(posterior.sample(100_000, 1)[:, 0].astype(int), minlength=10) / 1e5
        np.testing.assert_allclose(posterior.to_scipy("a").pdf(np.arange(10)), counts, atol=6e-3)

    @pytest.mark.parametrize("as_is", [True, False])
    def test_as_an_entry_of_a_prior(self, as_is):
        marginal = ONE["bounded"].marginal("a")
        entry = marginal if as_is else marginal.to_scipy()
        problem = Problem(
            None, lower=[0, 0], upper=[5, 5], plausible_lower=[0.5, 1], plausible_upper=[1.2, 4],
            prior=[entry, stats.uniform(0, 5)],
        )  # fmt: skip
        assert problem.upper.tolist() == [2, 5]
        assert problem.log_prior([0.8, 1.0]) == pytest.approx(marginal.logpdf(0.8) - np.log(5))


class TestAsPrior:
    def test_it_is_the_density_in_any_order(self):
        posterior = correlated()
        problem = Problem(
            None, lower=[-9, -0.5], upper=[9, 30], plausible_lower=[-1, 3], plausible_upper=[1, 8],
            prior=posterior.as_prior(), names=["x", "k"],
        )  # fmt: skip
        assert problem.upper.tolist() == [9, 12.5]  # where the posterior ends
        theta = np.array([[0.3, 4.0], [-1.0, 7.5]])
        np.testing.assert_allclose(
            problem.log_prior(theta), posterior.log_density(theta[:, ::-1]), rtol=1e-12
        )
        assert problem.support is None
        assert problem.log_prior([20.0, 4.0]) == -INF

    def test_a_posterior_itself_will_do(self):
        box = {"lower": [-0.5, -9], "upper": [12.5, 9], "plausible_lower": [3, -1]}
        names = ["k", "x"]
        problem = Problem(None, **box, plausible_upper=[8, 1], prior=correlated(), names=names)
        assert np.isfinite(problem.log_prior([4.0, 0.3]))

    def test_integers_have_a_mass_that_sums_to_one(self):
        posterior = correlated(integer=(True, False))
        logpdf = posterior.as_prior().logpdf
        x = np.linspace(-12, 12, 2001)
        mass = [
            integrate.trapezoid(np.exp(logpdf(np.stack([np.full_like(x, k), x], 1))), x)
            for k in range(13)
        ]
        assert sum(mass) == pytest.approx(1, abs=1e-6)
        draws = posterior.sample(100_000, 3)
        counts = np.bincount(draws[:, 0].astype(int), minlength=13) / len(draws)
        np.testing.assert_allclose(mass, counts, atol=6e-3)

    def test_several_integers(self):
        """Against the joint shares of draws; the sum is exact."""
        posterior = correlated(integer=(True, True))
        space = InferenceSpace.from_bounds(
            [-0.5, -8.5], [12.5, 8.5], [3, -2], [8, 2], names=["k", "x"]
        ).with_linear(posterior.space.rotation, posterior.space.scales)
        posterior = Posterior(posterior.mixture, space, integer=(True, True))
        cells = np.stack(np.meshgrid(np.arange(13.0), np.arange(-8.0, 9.0), indexing="ij"), -1)
        mass = np.exp(posterior.as_prior().logpdf(cells.reshape(-1, 2)))
        assert mass.sum() == pytest.approx(1, abs=1e-6)
        draws = posterior.sample(200_000, 1)
        for cell in ([5.0, 0.0], [6.0, 1.0], [4.0, -1.0]):
            share = np.all(draws == cell, axis=1).mean()
            found = mass[np.all(cells.reshape(-1, 2) == cell, axis=1)][0]
            assert found == pytest.approx(share, abs=5e-3)
            assert found > 0.01

    def test_integers_piled_at_a_bound(self):
        posterior = make(-0.5, 4.5, 1, 3, integer=(True,), means=(0.0, 1.2), sd=0.8)
        mass = np.exp(posterior.as_prior().logpdf(np.arange(5.0)[:, None]))
        assert mass.sum() == pytest.approx(1, abs=1e-9)
        assert mass[-1] > 0.2

    def test_far_integers_are_improbable_and_not_impossible(self):
        posterior = make(-0.5, 999.5, 2, 6, integer=(True,), sd=0.02)
        logs = posterior.as_prior().logpdf([[800.0], [900.0]])
        assert np.isfinite(logs).all()
        assert logs[1] < logs[0] < -1000

    def test_the_support_comes_along(self):
        prior = ONE["cut"].as_prior()
        assert prior.logpdf([[0.2]])[0] == -INF
        x = np.linspace(0.5, 12, 20_001)
        assert integrate.trapezoid(np.exp(prior.logpdf(x[:, None])), x) == pytest.approx(
            1, abs=0.02
        )
        problem = Problem(None, lower=-5, upper=9, plausible_lower=1, plausible_upper=3,
                          prior=prior, names=["a"])  # fmt: skip
        assert problem.support([[0.2], [1.0]]).tolist() == [False, True]

    def test_other_parameters(self):
        with pytest.raises(ValueError, match=r"posterior of the parameters \['a'\]"):
            Problem(None, lower=-5, upper=9, plausible_lower=1, plausible_upper=3,
                    prior=ONE["bounded"].as_prior(), names=["b"])  # fmt: skip

    def test_a_parameter_that_was_fixed(self):
        space = InferenceSpace.from_bounds([0, 7], [1, 7], [0.2, 7], [0.8, 7], names=["a", "b"])
        posterior = Posterior(Mixture([1.0], [[0.0]], [0.3], [1.0]), space)
        with pytest.raises(ValueError, match="'b' is fixed"):
            Problem(None, lower=0, upper=9, plausible_lower=[0.2, 2], plausible_upper=[0.8, 4],
                    prior=posterior, names=["a", "b"])  # fmt: skip


def test_two_sets_of_data_one_after_the_other():
    """A conjugate normal: A, then B with A's posterior as prior, against A and B together."""
    rng = np.random.default_rng(5)
    data = {"A": rng.normal(1.0, 1.0, 8), "B": rng.normal(1.0, 1.0, 12)}
    data["both"] = np.concatenate([data["A"], data["B"]])

    def infer(name, prior):
        def log_likelihood(theta):
            return float(stats.norm(theta[0], 1.0).logpdf(data[name]).sum())

        problem = Problem(
            log_likelihood, lower=-INF, upper=INF, plausible_lower=-2, plausible_upper=3,
            prior=prior, names=["mu"], noise="exact",
        )  # fmt: skip
        return quell.infer(problem, budget=40, seed=5001, progress=False, settings=QUICK)

    wide = [stats.norm(0, 2)]
    first, both = infer("A", wide), infer("both", wide)
    second = infer("B", first.posterior.as_prior())
    precision = 1 / 4 + 20
    exact = stats.norm(data["both"].sum() / precision, precision**-0.5)
    for result in (second, both):
        assert result.posterior.mean()[0] == pytest.approx(exact.mean(), abs=0.03)
        assert result.posterior.sd()[0] == pytest.approx(exact.std(), rel=0.1)
    assert first.log_evidence + second.log_evidence == pytest.approx(both.log_evidence, abs=0.05)
    assert quell.kl_divergence(second, both).value < 0.01
    assert quell.mmtv(second, both) < 0.05


class TestDistances:
    def normal(self, mean, sd, **more):
        space = InferenceSpace.from_bounds(-INF, INF, -0.5, 0.5, names=["a"])
        return Posterior(Mixture([1.0], [[mean]], [sd], [1.0]), space, **more)

    def test_kl_of_normals(self):
        p, q = self.normal(0, 1), self.normal(1, 2)
        exact = np.log(2) + (1 + 1) / 8 - 0.5
        assert quell.kl_divergence(p, q, method="gaussian").value == pytest.approx(exact)
        found = quell.kl_divergence(p, q)
        assert abs(found.value - exact) < 4 * found.standard_error
        assert 0 < found.standard_error < 0.02
        assert quell.kl_divergence(p, p) == (0.0, 0.0)
        assert quell.kl_divergence(p, q, seed=1).value != found.value

    def test_kl_in_two_dimensions_is_that_of_quadrature(self):
        p, q = correlated(), Posterior(correlated().mixture.without(0), correlated().space)
        grid = np.stack(np.meshgrid(np.linspace(-0.49, 12.49, 500), np.linspace(-8, 8, 500)), -1)
        a, b = p.log_density(grid), q.log_density(grid)
        exact = np.sum(np.exp(a) * (a - b)) * (12.98 / 499) * (16 / 499)
        found = quell.kl_divergence(p, q)
        assert abs(found.value - exact) < 4 * found.standard_error + 0.02

    def test_kl_where_one_is_zero(self):
        p = self.normal(0, 1)
        q = self.normal(0, 1, support=lambda theta: theta[:, 0] > 0)
        assert quell.kl_divergence(p, q).value == INF
        assert quell.kl_divergence(q, p).value == pytest.approx(np.log(2), abs=0.02)

    def test_kl_of_integers_is_that_of_their_probabilities(self):
        p, q = ONE["integer"], make(-0.5, 9.5, 2, 6, integer=(True,), means=(0.2, 0.5))
        k = np.arange(10.0)[:, None]
        a, b = p.as_prior().logpdf(k), q.as_prior().logpdf(k)
        assert np.exp(a).sum() == pytest.approx(1)
        found = quell.kl_divergence(p, q)
        assert abs(found.value - np.exp(a) @ (a - b)) < 4 * found.standard_error

    def test_integers_that_are_told_apart_by_their_fractions_only(self):
        """Two continuous distributions far apart, which are the same integer."""
        narrow = {"integer": (True,), "sd": 0.01}
        p = make(-0.5, 9.5, 2, 6, means=(0.0, 0.001), **narrow)
        q = make(-0.5, 9.5, 2, 6, means=(0.08, 0.081), **narrow)
        assert quell.mmtv(p, q) < 1e-6
        assert quell.kl_divergence(p, q).value == pytest.approx(0, abs=1e-6)

    def test_columns_are_matched_by_name(self):
        p = correlated()
        b = p.space.bounds
        columns = [side[::-1] for side in (b.lower, b.upper, b.plausible_lower, b.plausible_upper)]
        space = InferenceSpace.from_bounds(*columns, names=p.names[::-1])
        space = space.with_linear(p.space.rotation[::-1] * [1, -1], p.space.scales)
        means = p.mixture.means * [1, -1]
        q = Posterior(Mixture(p.mixture.weights, means, p.mixture.scales, p.mixture.lengths), space)
        np.testing.assert_allclose(q.mean(), p.mean()[::-1])
        assert quell.kl_divergence(p, q).value == pytest.approx(0, abs=1e-9)
        assert quell.kl_divergence(p, q, method="gaussian").value == pytest.approx(0, abs=1e-9)
        assert quell.mmtv(p, q) < 1e-9

    def test_mmtv_of_normals(self):
        shift = 0.7
        exact = 2 * stats.norm.cdf(shift / 2) - 1
        assert quell.mmtv(self.normal(0, 1), self.normal(shift, 1)) == pytest.approx(
            exact, abs=1e-4
        )
        assert quell.mmtv(self.normal(0, 1), self.normal(0, 1)) == 0
        assert quell.mmtv(self.normal(0, 1), self.normal(50, 1)) == pytest.approx(1)

    @pytest.mark.parametrize("kind", ONE)
    def test_draws_of_a_posterior_are_near_it(self, kind):
        posterior = ONE[kind]
        assert quell.mmtv(posterior, posterior.sample(20_000, 1)) < 0.03
        assert quell.mmtv(posterior, posterior.sample(20_000, 1) + posterior.sd()) > 0.2

    def test_circles_cut_elsewhere(self):
        one = make(0, 360, 100, 200, periodic=True)
        values = one.space.coordinate(0).value(np.array([0.0, 0.4]))
        space = InferenceSpace.from_bounds(0, 360, 90, 190, names=["a"], periodic=[True])
        means = space.coordinate(0).standard(values)[:, None]
        other = Posterior(Mixture([0.7, 0.3], means, [0.2, 0.1], [1.0]), space)
        assert quell.mmtv(one, other) < 0.05
        assert quell.mmtv(one, make(0, 360, 280, 380, periodic=True)) > 0.9

    def test_what_cannot_be_compared(self):
        with pytest.raises(ValueError, match="same parameters"):
            quell.mmtv(ONE["bounded"], correlated())
        with pytest.raises(TypeError, match=r"q must be a quell\.Posterior"):
            quell.kl_divergence(ONE["bounded"], np.zeros((5, 1)))
        with pytest.raises(ValueError, match="at least 100 draws"):
            quell.mmtv(ONE["bounded"], np.zeros((5, 1)))
        with pytest.raises(ValueError, match="method must be one of"):
            quell.kl_divergence(ONE["bounded"], ONE["bounded"], method="exact")


def test_draws_as_a_data_frame():
    pytest.importorskip("pandas")
    frame = correlated().to_pandas(7, 1)
    assert list(frame.columns) == ["k", "x"]
    np.testing.assert_array_equal(frame.to_numpy(), correlated().sample(7, 1))
