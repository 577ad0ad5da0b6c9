"""The posterior in the user's parameters: density, samples, moments, mode, marginals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from quell import Posterior
from quell.mixture import Mixture
from quell.space import InferenceSpace

INF = np.inf
property_test = settings(max_examples=40, deadline=None)

# lower, upper, plausible_lower, plausible_upper, periodic
KINDS = {
    "unbounded": (-INF, INF, -3.0, 5.0, False),
    "bounded": (0.0, 2.0, 0.5, 1.2, False),
    "half-bounded": (1.0, INF, 1.5, 4.0, False),
    "upper": (-INF, 3.0, -2.0, 2.0, False),
    "periodic": (0.0, 360.0, 330.0, 400.0, True),
    "fixed": (7.0, 7.0, 7.0, 7.0, False),
}


def make_posterior(*kinds, rotate=True, seed=0):
    """A lopsided mixture of three components over parameters of these kinds."""
    rng = np.random.default_rng([seed, len(kinds)])
    columns = list(zip(*(KINDS[kind] for kind in kinds), strict=True))
    space = InferenceSpace.from_bounds(
        *map(list, columns[:4]), periodic=list(columns[4]),
        names=[f"p_{kind}" if kinds.index(kind) == i else f"q_{kind}"
               for i, kind in enumerate(kinds)],
    )  # fmt: skip
    d = space.dimension
    if rotate and d > 1:
        rotation, _ = np.linalg.qr(rng.standard_normal((d, d)))
        rotation[:, 0] *= np.sign(np.linalg.det(rotation))
        space = space.with_linear(rotation, rng.uniform(0.6, 1.4, d))
    means = rng.uniform(-0.5, 0.5, (3, d))
    mixture = Mixture([0.5, 0.3, 0.2], means, [0.2, 0.3, 0.15], rng.uniform(0.7, 1.3, d))
    return Posterior(mixture, space)


def grid_of(posterior, i, n=400):
    """Values of one parameter that cover it, dense where it is squeezed."""
    reach = 1e-9 if posterior.space.kinds[i] == "periodic" else 1e-7
    if posterior.space.kinds[i] == "periodic":
        lower, upper = posterior.space.bounds.lower[i], posterior.space.bounds.upper[i]
        return lower + (upper - lower) * (np.arange(n) + 0.5) / n
    marginal = posterior.marginal(i)
    inside, ends, _ = posterior.space.standard_coordinate(
        i, np.array([marginal.quantile(reach), marginal.quantile(1 - reach)])
    )
    assert inside.all()
    return np.array([posterior.space.from_standard_coordinate(i, v) for v in np.linspace(*ends, n)])


PAIRS = [
    ("unbounded", "bounded"), ("bounded", "bounded"), ("half-bounded", "bounded"),
    ("upper", "half-bounded"),
]  # fmt: skip


@pytest.mark.parametrize("kinds", PAIRS)
def test_density_integrates_to_one(kinds):
    posterior = make_posterior(*kinds)
    a, b = grid_of(posterior, 0), grid_of(posterior, 1)
    density = np.exp(posterior.log_density(np.stack(np.meshgrid(a, b, indexing="ij"), axis=-1)))
    assert integrate.trapezoid(integrate.trapezoid(density, b), a) == pytest.approx(1, abs=2e-3)


def test_density_of_a_periodic_parameter_integrates_to_one_around_the_circle():
    posterior = make_posterior("periodic")
    theta = grid_of(posterior, 0, 20_000)
    density = np.exp(posterior.log_density(theta[:, None]))
    assert density.mean() * 360 == pytest.approx(1, abs=1e-3)
    again = posterior.log_density(theta[:, None] + 360.0)
    np.testing.assert_allclose(again, posterior.log_density(theta[:, None]), atol=1e-6)


def test_density_out_of_bounds_and_leading_shapes():
    posterior = make_posterior("bounded", "half-bounded")
    theta = np.array([[[1.0, 2.0], [2.5, 2.0]], [[1.0, 0.5], [np.nan, 2.0]]])
    log_density = posterior.log_density(theta)
    assert log_density.shape == (2, 2)
    assert np.isfinite(log_density).tolist() == [[True, False], [False, False]]
    assert (log_density[~np.isfinite(log_density)] == -INF).all()
    assert posterior.log_density([1.0, 2.0]).shape == ()
    assert float(posterior.log_density([1.0, 2.0])) == pytest.approx(log_density[0, 0])
    assert float(posterior.log_density([-1.0, 2.0])) == -INF
    assert (posterior.log_density([[0.0, 2.0], [2.0, 2.0], [1.0, 1.0]]) == -INF).all()


def test_density_is_that_of_the_samples():
    """E[1/density] over samples inside a box is the box's volume."""
    posterior = make_posterior("bounded", "half-bounded", seed=3)
    draws = posterior.sample(100_000, np.random.default_rng(0))
    inside = ((draws > [0.6, 1.8]) & (draws < [1.1, 3.0])).all(axis=1)
    estimate = np.sum(np.exp(-posterior.log_density(draws[inside]))) / len(draws)
    assert estimate == pytest.approx(0.5 * 1.2, rel=0.05)


ALL = ("unbounded", "fixed", "bounded", "half-bounded", "upper", "periodic")


def test_samples_are_inside_the_bounds_and_reproducible():
    posterior = make_posterior(*ALL)
    draws = posterior.sample(20_000, np.random.default_rng(1))
    assert draws.shape == (20_000, 6)
    assert posterior.space.contains(draws).all()
    lower, upper = posterior.space.bounds.lower, posterior.space.bounds.upper
    assert ((draws >= lower) & (draws <= upper)).all()
    np.testing.assert_array_equal(draws, posterior.sample(20_000, np.random.default_rng(1)))
    assert posterior.sample(0, np.random.default_rng(1)).shape == (0, 6)


def test_samples_stay_inside_however_wide_the_mixture():
    space = make_posterior("bounded", "half-bounded").space
    wide = Posterior(Mixture([1.0], [[5.0, -5.0]], [40.0], [1.0, 1.0]), space)
    assert space.contains(wide.sample(2000, np.random.default_rng(0))).all()


def test_moments_agree_with_a_large_sample():
    posterior = make_posterior(*ALL)
    draws = posterior.sample(400_000, np.random.default_rng(2))
    mean, covariance, sd = posterior.mean(), posterior.covariance(), posterior.sd()
    scale = np.where(sd > 0, sd, 1.0)
    np.testing.assert_allclose((mean - draws.mean(axis=0)) / scale, 0, atol=0.02)
    difference = (covariance - np.cov(draws.T, bias=True)) / np.outer(scale, scale)
    np.testing.assert_allclose(difference, 0, atol=0.05)
    np.testing.assert_allclose(sd, np.sqrt(np.diag(covariance)))
    np.testing.assert_allclose(covariance, covariance.T, atol=1e-12)


def test_moments_cannot_be_spoilt_by_the_caller():
    posterior = make_posterior("bounded", "unbounded")
    mean, covariance = posterior.mean(), posterior.covariance()
    mean[:], covariance[:] = 99.0, 99.0
    assert (posterior.mean() < 50).all()
    assert (posterior.covariance() < 50).all()


def test_without_maps_the_moments_are_those_of_the_mixture():
    posterior = make_posterior("unbounded", "unbounded", rotate=False)
    width = np.array([8.0, 8.0])
    exact = 1.0 + posterior.mixture.mean() * width
    np.testing.assert_allclose(posterior.mean(), exact, atol=0.02)
    exact = posterior.mixture.covariance() * np.outer(width, width)
    np.testing.assert_allclose(posterior.covariance(), exact, atol=0.02 * exact.max())


def test_fixed_parameters_are_put_back():
    posterior = make_posterior("bounded", "fixed", "half-bounded")
    assert posterior.dimension == 3
    assert posterior.names == ("p_bounded", "p_fixed", "p_half-bounded")
    assert (posterior.sample(100, np.random.default_rng(0))[:, 1] == 7.0).all()
    assert posterior.mean()[1] == pytest.approx(7.0, abs=1e-12)
    assert posterior.mode()[1] == 7.0
    np.testing.assert_allclose(posterior.covariance()[1], 0, atol=1e-12)
    theta = posterior.mode()
    assert np.isfinite(posterior.log_density(theta))
    theta[1] = 7.1
    assert posterior.log_density(theta) == -INF
    with pytest.raises(ValueError, match=r"p_fixed.*fixed"):
        posterior.marginal("p_fixed")


@pytest.mark.parametrize(
    ("kinds", "seed"),
    [(kinds, 0) for kinds in (*PAIRS, ("bounded", "fixed", "unbounded"))]
    + [(kinds, 1) for kinds in PAIRS[:4]],
)
def test_mode_is_the_maximum(kinds, seed):
    posterior = make_posterior(*kinds, seed=seed)
    mode = posterior.mode()
    axes = [
        grid_of(posterior, i, 150) if posterior.space.free[i] else np.array([7.0])
        for i in range(len(kinds))
    ]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    log_density = posterior.log_density(grid)
    assert posterior.log_density(mode) >= log_density.max() - 1e-4
    best = grid.reshape(-1, len(kinds))[np.argmax(log_density)]
    np.testing.assert_allclose(mode, best, atol=0.1 * posterior.sd().max())


def test_mode_of_one_component_without_maps_is_its_mean():
    space = make_posterior("unbounded", "unbounded", rotate=False).space
    posterior = Posterior(Mixture([1.0], [[0.25, -0.125]], [1e-3], [1.0, 1.0]), space)
    np.testing.assert_allclose(posterior.mode(), [3.0, 0.0], atol=1e-3)


def test_mode_chooses_the_higher_of_two_peaks():
    space = make_posterior("unbounded", rotate=False).space
    mixture = Mixture([0.6, 0.4], [[-0.5], [0.5]], [0.2, 0.05], [1.0])
    mode = Posterior(mixture, space).mode()
    assert mode[0] == pytest.approx(5.0, abs=0.05)  # lighter, but far narrower


class TestMarginal:
    @pytest.mark.parametrize("kind", ["unbounded", "bounded", "half-bounded", "upper"])
    def test_integrates_to_one(self, kind):
        posterior = make_posterior(kind, "bounded")
        values = grid_of(posterior, 0, 3000)
        density = posterior.marginal(0).density(values)
        assert integrate.trapezoid(density, values) == pytest.approx(1, abs=1e-3)

    def test_periodic_integrates_to_one(self):
        posterior = make_posterior("periodic", "bounded")
        values = grid_of(posterior, 0, 20_000)
        assert posterior.marginal(0).density(values).mean() * 360 == pytest.approx(1, abs=1e-3)

    @pytest.mark.parametrize("kinds", PAIRS)
    def test_equals_the_integrated_joint_after_whitening(self, kinds):
        posterior = make_posterior(*kinds)
        assert not posterior.space.is_standard
        axes = [grid_of(posterior, 0, 800), grid_of(posterior, 1, 800)]
        for i in (0, 1):
            values = axes[i][100:700:60]
            theta = np.empty((len(values), 800, 2))
            theta[..., i], theta[..., 1 - i] = values[:, None], axes[1 - i]
            integrated = integrate.trapezoid(np.exp(posterior.log_density(theta)), axes[1 - i])
            np.testing.assert_allclose(
                posterior.marginal(i).density(values), integrated, rtol=1e-3,
                atol=1e-5 / posterior.sd()[i],
            )  # fmt: skip

    def test_equals_the_samples(self):
        posterior = make_posterior(*ALL)
        draws = posterior.sample(50_000, np.random.default_rng(4))
        for i, name in enumerate(posterior.names):
            if name == "p_fixed":
                continue
            marginal = posterior.marginal(name)
            assert marginal.name == name
            assert stats.kstest(marginal.cdf(draws[:, i]), "uniform").statistic < 0.01
            low, high = np.quantile(draws[:, i], [0.05, 0.95])
            counts, edges = np.histogram(draws[:, i], 20, range=(low, high))
            fine = np.linspace(edges[:-1], edges[1:], 41, axis=-1)
            expected = integrate.trapezoid(marginal.density(fine), fine) * len(draws)
            assert (np.abs(counts - expected) < 5 * np.sqrt(expected) + 5).all()

    def test_by_index_and_by_name(self):
        posterior = make_posterior("bounded", "fixed", "unbounded")
        values = np.linspace(-3, 5, 7)
        by_index = posterior.marginal(2).density(values)
        np.testing.assert_array_equal(posterior.marginal("p_unbounded").density(values), by_index)
        np.testing.assert_array_equal(posterior.marginal(-1).density(values), by_index)
        np.testing.assert_array_equal(posterior.marginal(np.int64(2)).density(values), by_index)

    def test_unknown_names_and_numbers(self):
        posterior = make_posterior("bounded", "unbounded")
        with pytest.raises(ValueError, match=r"unknown parameter 'nope'.*p_bounded"):
            posterior.marginal("nope")
        with pytest.raises(ValueError, match=r"parameter must be less than 2, .* got 2"):
            posterior.marginal(2)
        with pytest.raises(ValueError, match="parameter must be an integer of at least -2"):
            posterior.marginal(-3)

    def test_what_is_no_point(self):
        with pytest.raises(ValueError, match="theta must be an array of real numbers"):
            make_posterior("bounded").log_density("here")

    @property_test
    @given(
        st.sampled_from(["unbounded", "bounded", "half-bounded", "upper", "periodic"]),
        st.floats(0.001, 0.999),
    )
    def test_cdf_and_quantile_are_inverse(self, kind, p):
        marginal = make_posterior(kind, "bounded").marginal(0)
        value = marginal.quantile(p)
        assert float(marginal.cdf(value)) == pytest.approx(p, abs=1e-7)
        p_again = float(marginal.cdf(value))
        assert marginal.quantile(p_again) == pytest.approx(value, rel=1e-5)

    @pytest.mark.parametrize("kind", ["unbounded", "bounded", "half-bounded", "upper"])
    def test_density_is_the_slope_of_the_cdf(self, kind):
        marginal = make_posterior(kind, "bounded").marginal(0)
        value = np.array([marginal.quantile(p) for p in (0.05, 0.4, 0.8)])
        step = 1e-5
        slope = (marginal.cdf(value + step) - marginal.cdf(value - step)) / (2 * step)
        np.testing.assert_allclose(marginal.density(value), slope, rtol=1e-5)

    def test_out_of_bounds(self):
        marginal = make_posterior("bounded", "unbounded").marginal(0)
        values = np.array([-1.0, 0.0, 2.0, 3.0, -INF, INF])
        np.testing.assert_array_equal(marginal.density(values), np.zeros(6))
        np.testing.assert_array_equal(marginal.cdf(values), [0, 0, 1, 1, 0, 1])
        assert marginal.density(np.zeros((2, 3))).shape == (2, 3)
        assert np.shape(marginal.density(1.0)) == ()

    @pytest.mark.parametrize("p", [0.0, 1.0, -0.1, np.nan])
    def test_quantile_refuses_what_is_no_share(self, p):
        with pytest.raises(ValueError, match="p must be between 0 and 1"):
            make_posterior("bounded").marginal(0).quantile(p)

    def test_far_out_values_are_harmless(self):
        marginal = make_posterior("unbounded", "bounded").marginal(0)
        np.testing.assert_array_equal(marginal.density([1e200, -1e300]), [0, 0])
        np.testing.assert_array_equal(marginal.cdf([1e200, -1e300]), [1, 0])

    def test_nan_stays_nan(self):
        marginal = make_posterior("bounded", "unbounded").marginal(0)
        assert np.isnan(marginal.cdf(np.nan))
