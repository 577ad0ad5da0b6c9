"""Moments and mode: against adaptive quadrature, closed forms and large samples."""

import numpy as np
import pytest
from scipy import integrate, stats

from quell import Posterior
from quell.mixture import Mixture
from quell.space import InferenceSpace

INF, NAN = np.inf, np.nan

# lower, upper, plausible_lower, plausible_upper, periodic, softness
KINDS = {
    "unbounded": (-INF, INF, -3.0, 5.0, False, NAN),
    "probit": (0.0, 2.0, 0.5, 1.2, False, NAN),
    "log": (1.0, INF, 1.5, 4.0, False, NAN),
    "upper log": (-INF, 3.0, -2.0, 2.0, False, NAN),
    "periodic": (0.0, 360.0, 330.0, 400.0, True, NAN),
    "box": (0.0, 2.0, 0.2, 1.9, False, 0.05),
    "sharp box": (0.0, 2.0, 0.2, 1.9, False, 1e-6),
    "softest box": (0.0, 2.0, 0.2, 1.9, False, 30.0),
    "plus": (1.0, INF, 1.1, 2.0, False, 0.1),
    "upper plus": (-INF, 0.0, -5.0, -0.1, False, 0.02),
    "fixed": (7.0, 7.0, 7.0, 7.0, False, NAN),
}
SOFT = ["box", "sharp box", "softest box", "plus", "upper plus"]


def make_space(*kinds):
    columns = list(zip(*(KINDS[kind] for kind in kinds), strict=True))
    space = InferenceSpace.from_bounds(
        *map(list, columns[:4]), periodic=list(columns[4]), bounded="probit"
    )
    return space.with_softness(np.array(columns[5])[space.free])


def turned(space, seed=0, low=0.6, high=1.4):
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((space.dimension, space.dimension)))
    rotation[:, 0] *= np.sign(np.linalg.det(rotation))
    return space.with_linear(rotation, rng.uniform(low, high, space.dimension))


def make_posterior(*kinds, width=1.0, seed=0):
    """Three components, the first across a bound of the soft kinds."""
    space = make_space(*kinds)
    space = turned(space, seed) if space.dimension > 1 else space
    rng = np.random.default_rng([seed, len(kinds)])
    means = rng.uniform(-0.5, 0.5, (3, space.dimension))
    means[0] -= 0.4
    scales = width * np.array([0.2, 0.3, 0.15])
    return Posterior(Mixture([0.5, 0.3, 0.2], means, scales, np.full(space.dimension, 1.1)), space)


FINE = np.linspace(-9, 9, 200_001)


def by_brute_force(posterior, function):
    """E[function(θ)] of a single parameter: a very fine trapezoidal rule for each component."""
    q, one = posterior.mixture, posterior.space.coordinate(0)
    density = stats.norm.pdf(FINE) * (FINE[1] - FINE[0])
    return sum(
        weight * (density @ function(one.value(mean + scale * q.lengths[0] * FINE)))
        for weight, mean, scale in zip(q.weights, q.means[:, 0], q.scales, strict=True)
    )


# The tails of a wide log-normal distribution are too heavy for the reference.
CASES = [
    (kind, width)
    for kind in KINDS
    for width in (0.02, 1.0, 4.0)
    if kind != "fixed" and not ("log" in kind and width > 1)
]


@pytest.mark.parametrize(("kind", "width"), CASES)
def test_mean_and_sd_of_one_parameter(kind, width):
    posterior = make_posterior(kind, width=width)
    mean = by_brute_force(posterior, lambda value: value)
    sd = np.sqrt(by_brute_force(posterior, lambda value: (value - mean) ** 2))
    tolerance = 1e-4 if kind == "periodic" else 1e-7  # the jump at the bound: of the reference
    assert posterior.mean()[0] == pytest.approx(mean, abs=tolerance * sd)
    assert posterior.sd()[0] == pytest.approx(sd, rel=tolerance)


@pytest.mark.parametrize("kind", ["box", "plus", "upper plus", "softest box", "probit"])
@pytest.mark.parametrize("ratio", [0.01, 0.1, 1.0, 10.0])
def test_quadrature_is_accurate_for_components_across_a_bound(kind, ratio):
    """One component with its mean next to the bound."""
    space = make_space(kind)
    at = 1e-3 if np.isfinite(space.bounds.lower[0]) else -1e-3
    at += space.bounds.lower[0] if at > 0 else space.bounds.upper[0]
    unit = KINDS[kind][5] if kind != "probit" else 0.3
    one = space.coordinate(0)
    mean, sd = float(one.standard(np.array(at))), unit / one.width / ratio
    posterior = Posterior(Mixture([1.0], [[mean]], [sd], [1.0]), space)
    expected = by_brute_force(posterior, lambda value: value)
    spread = np.sqrt(by_brute_force(posterior, lambda value: (value - expected) ** 2))
    assert posterior.mean()[0] == pytest.approx(expected, abs=1e-7 * spread)
    assert posterior.sd()[0] == pytest.approx(spread, rel=1e-7)


def test_a_normal_distribution_cut_off_at_its_mean():
    """As the softness vanishes θ = max(0, v): mean φ(0), second moment ½."""
    space = InferenceSpace.from_bounds(0, INF, 1, 2).with_softness([1e-9])
    posterior = Posterior(Mixture([1.0], [[-1.5]], [1.0], [1.0]), space)  # θ = 0 is v = −1.5
    mean = stats.norm.pdf(0)
    assert posterior.mean()[0] == pytest.approx(mean, rel=1e-8)
    assert posterior.sd()[0] == pytest.approx(np.sqrt(0.5 - mean**2), rel=1e-8)


@pytest.mark.parametrize("log_sd", [1e-6, 0.3, 1.0, 2.7, 5.0, 15.0])
@pytest.mark.parametrize(("side", "bound"), [(1, 0.0), (1, -7.5), (-1, 3.0)])
def test_log_normal_moments_are_exact(log_sd, side, bound):
    low, high = (bound, INF) if side > 0 else (-INF, bound)
    box = sorted([bound + side * 1.0, bound + side * np.e])  # one unit of log wide
    space = InferenceSpace.from_bounds(low, high, *box)
    posterior = Posterior(Mixture([1.0], [[0.0]], [log_sd], [1.0]), space)
    mean = bound + side * np.exp(0.5 + log_sd**2 / 2)
    assert posterior.mean()[0] == pytest.approx(mean, rel=1e-10)
    sd = np.exp(0.5 + log_sd**2) * np.sqrt(-np.expm1(-(log_sd**2)))
    assert posterior.sd()[0] == pytest.approx(sd, rel=1e-10)


def test_a_log_normal_mixture_is_that_of_its_components():
    space = InferenceSpace.from_bounds(0, INF, 1, np.e)
    posterior = Posterior(Mixture([0.7, 0.3], [[0.0], [2.0]], [0.5, 2.0], [1.0]), space)
    a, b = stats.lognorm(0.5, scale=np.exp(0.5)), stats.lognorm(2.0, scale=np.exp(2.5))
    mean = 0.7 * a.mean() + 0.3 * b.mean()
    second = 0.7 * a.moment(2) + 0.3 * b.moment(2)
    assert posterior.mean()[0] == pytest.approx(mean, rel=1e-10)
    assert posterior.sd()[0] == pytest.approx(np.sqrt(second - mean**2), rel=1e-10)


def test_log_normal_covariance_is_exact():
    """Cov = E[θ₁] E[θ₂] (exp(c₁₂) − 1), also of a lower with an upper bound."""
    space = InferenceSpace.from_bounds([0, -INF], [INF, 0], [1, -np.e], [np.e, -1])
    space = turned(space, 3)
    posterior = Posterior(Mixture([1.0], [[0.1, -0.2]], [1.3], [1.0, 1.6]), space)
    factor = space.rotation * space.scales * 1.3 * np.array([1.0, 1.6])
    c = factor @ factor.T
    m = (space.rotation * space.scales) @ [0.1, -0.2] + [0.5, -0.5]
    mean = np.exp(m * [1, -1] + np.diag(c) / 2) * [1, -1]
    signed = c * np.outer([1, -1], [1, -1])
    np.testing.assert_allclose(posterior.mean(), mean, rtol=1e-10)
    np.testing.assert_allclose(
        posterior.covariance(), np.outer(mean, mean) * np.expm1(signed), rtol=1e-8
    )


@pytest.mark.parametrize("scale", [1e-250, 1e-200, 1.0, 1e200, 1e300])
@pytest.mark.parametrize("kind", ["unbounded", "bounded", "lower", "soft", "soft lower"])
def test_sd_at_any_scale(kind, scale):
    lower = -INF if kind == "unbounded" else 0.0
    upper = scale if kind in ("bounded", "soft") else INF
    space = InferenceSpace.from_bounds(lower, upper, 0.2 * scale, 0.8 * scale)
    if "soft" in kind:
        space = space.with_softness([0.05 * scale])
    posterior = Posterior(Mixture([0.5, 0.5], [[-0.2], [0.2]], [0.3, 0.2], [1.0]), space)
    draws = posterior.sample(20_000, np.random.default_rng(0))[:, 0] / scale
    assert posterior.sd()[0] / scale == pytest.approx(draws.std(), rel=0.05)
    assert posterior.mean()[0] / scale == pytest.approx(draws.mean(), rel=0.02)


def test_moments_beyond_all_floating_point_numbers_are_infinite():
    space = InferenceSpace.from_bounds([0, 0], [INF, 1], [1, 0.2], [np.e, 0.8])
    posterior = Posterior(Mixture([1.0], [[0.0, 0.0]], [1.0], [60.0, 1.0]), space)
    assert posterior.sd()[0] == INF
    assert np.isfinite(posterior.sd()[1])
    assert not np.isnan(posterior.covariance()).any()


ALL = tuple(KINDS)


@pytest.mark.parametrize("seed", range(3))
def test_covariance_of_all_kinds_agrees_with_a_large_sample(seed):
    posterior = make_posterior(*ALL, seed=seed)
    draws = posterior.sample(400_000, np.random.default_rng(seed))
    sd = posterior.sd()
    scale = np.where(sd > 0, sd, 1.0)
    np.testing.assert_allclose((posterior.mean() - draws.mean(axis=0)) / scale, 0, atol=0.01)
    difference = (posterior.covariance() - np.cov(draws.T, bias=True)) / np.outer(scale, scale)
    np.testing.assert_allclose(difference, 0, atol=0.03)
    np.testing.assert_allclose(sd, np.sqrt(np.diag(posterior.covariance())))
    assert np.linalg.eigvalsh(posterior.covariance()).min() > -1e-9 * sd.max() ** 2


@pytest.mark.parametrize("pair", [("box", "plus"), ("sharp box", "box"), ("log", "upper plus")])
def test_covariance_of_strongly_correlated_parameters(pair):
    space = make_space(*pair)
    angle = np.pi / 4
    rotation = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    space = space.with_linear(rotation, [1.0, 0.07])  # correlation 0.99 of v
    posterior = Posterior(Mixture([1.0], [[-0.5, 0.0]], [0.4], [1.0, 1.0]), space)
    draws = posterior.sample(400_000, np.random.default_rng(0))
    correlation = posterior.covariance()[0, 1] / np.prod(posterior.sd())
    assert correlation == pytest.approx(np.corrcoef(draws.T)[0, 1], abs=0.01)


# ---------------------------------------------------------------- integers


@pytest.mark.parametrize(
    ("width", "softness"),
    [(0.02, None), (0.1, None), (0.3, None), (0.02, 0.2), (0.1, 0.2), (0.3, 0.2), (1.0, 0.2)],
)
def test_moments_of_integers_are_those_of_the_draws(width, softness):
    space = InferenceSpace.from_bounds(
        [-0.5, 0.0, -0.5], [4.5, 1.0, INF], [0, 0.2, 1], [4, 0.8, 5], bounded="probit"
    )
    if softness is not None:
        space = space.with_softness([softness, 0.1, softness])
    space = turned(space, 1)
    means = np.random.default_rng(2).uniform(-0.4, 0.4, (2, 3))
    mixture = Mixture([0.6, 0.4], means, [width, 0.5 * width], [1.0, 1.2, 0.9])
    posterior = Posterior(mixture, space, (True, False, True))
    draws = posterior.sample(400_000, np.random.default_rng(0))
    assert (draws[:, 0] == np.rint(draws[:, 0])).all()
    sd = posterior.sd()
    np.testing.assert_allclose(posterior.mean(), draws.mean(axis=0), atol=0.01)
    np.testing.assert_allclose(sd, draws.std(axis=0), rtol=0.01, atol=1e-3)
    scale = np.maximum(sd, 1e-2)
    difference = (posterior.covariance() - np.cov(draws.T, bias=True)) / np.outer(scale, scale)
    np.testing.assert_allclose(difference, 0, atol=0.02)


def test_an_integer_with_one_likely_value_has_no_spread():
    space = InferenceSpace.from_bounds(-0.5, 9.5, 2, 7)
    one = Posterior(Mixture([1.0], [[0.1]], [1e-3], [1.0]), space, (True,))
    assert one.mean()[0] == 5.0
    assert one.sd()[0] == pytest.approx(0.0, abs=1e-12)


def test_an_integer_with_very_many_values_is_as_good_as_continuous():
    space = InferenceSpace.from_bounds(-INF, INF, -1e6, 1e6)
    mixture = Mixture([1.0], [[0.1]], [0.2], [1.0])
    whole, continuous = Posterior(mixture, space, (True,)), Posterior(mixture, space)
    assert whole.sd() == pytest.approx(continuous.sd(), rel=1e-9)
    assert whole.mean() == pytest.approx(continuous.mean(), rel=1e-9)


# ---------------------------------------------------------------- marginals of soft parameters


@pytest.mark.parametrize("kind", SOFT)
def test_soft_marginals_are_those_of_the_draws(kind):
    posterior = make_posterior(kind, "unbounded", seed=1)
    marginal = posterior.marginal(0)
    draws = posterior.sample(50_000, np.random.default_rng(4))[:, 0]
    for p in (0.02, 0.3, 0.5, 0.9, 0.98):
        value = marginal.quantile(p)
        # Many draws have the same value, the number next to a bound, where that is not zero.
        assert np.mean(draws < value) - 0.01 < p < np.mean(draws <= value) + 0.01
        if np.mean(draws == value) == 0:
            assert float(marginal.cdf(value)) == pytest.approx(p, abs=1e-6)
    values = np.array([marginal.quantile(p) for p in (0.4, 0.6)])
    fine = np.linspace(*values, 2001)
    inside = integrate.simpson(marginal.density(fine), x=fine)
    assert inside == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("kind", ["box", "softest box", "plus", "upper plus"])
def test_soft_marginal_density_integrates_to_one(kind):
    posterior = make_posterior(kind, "unbounded", seed=2)
    marginal, one = posterior.marginal(0), posterior.space.coordinate(0)
    v = np.linspace(*one.standard(np.array([marginal.quantile(p) for p in (1e-6, 1 - 1e-6)])), 9000)
    values = one.value(v)
    distinct = np.append(np.diff(values) > 0, True)
    total = integrate.trapezoid(marginal.density(values[distinct]), values[distinct])
    assert total == pytest.approx(1, abs=1e-4)


# ---------------------------------------------------------------- the mode


@pytest.mark.parametrize("softness", [None, 0.05])
@pytest.mark.parametrize("bounded", ["probit", "logit", "student"])
def test_a_light_wide_component_does_not_draw_the_mode_to_the_bound(bounded, softness):
    space = InferenceSpace.from_bounds([0, 0], [1, 1], 0.3, 0.7, bounded=bounded)
    if softness is not None:
        space = space.with_softness([softness] * 2)
    mixture = Mixture([0.95, 0.05], [[0.1, 0.0], [0.0, 0.0]], [0.2, 8.0], [1.0, 1.0])
    mode = Posterior(mixture, space).mode()
    alone = Posterior(Mixture([1.0], [[0.1, 0.0]], [0.2], [1.0, 1.0]), space).mode()
    np.testing.assert_allclose(mode, alone, atol=0.01)


def test_a_posterior_piled_up_at_both_bounds_has_a_mode_near_one_but_not_on_it():
    space = InferenceSpace.from_bounds(0, 1, 0.3, 0.7, bounded="probit")
    posterior = Posterior(Mixture([1.0], [[0.0]], [3.0], [1.0]), space)
    distance = min(posterior.mode()[0], 1 - posterior.mode()[0])
    assert 1e-3 < distance < 0.1


@pytest.mark.parametrize("edge", ["lower", "upper"])
def test_mode_of_a_posterior_highest_at_a_soft_bound_is_near_it(edge):
    space = InferenceSpace.from_bounds(0, 1, 0.2, 0.8).with_softness([0.02])
    mean = -0.8 if edge == "lower" else 0.8  # ±0.5 are 0.2 and 0.8, ±0.83 the bounds
    mode = Posterior(Mixture([1.0], [[mean]], [0.1], [1.0]), space).mode()[0]
    assert (mode if edge == "lower" else 1 - mode) < 0.06


def test_mode_inside_soft_bounds_is_the_maximum_of_the_density():
    posterior = make_posterior("box", "plus", width=0.3, seed=4)
    mode = posterior.mode()
    rng = np.random.default_rng(0)
    around = mode + 0.3 * posterior.sd() * rng.standard_normal((4000, 2))
    clear = posterior.space.clear_of_bounds(around)
    assert posterior.log_density(mode) >= posterior.log_density(around[clear]).max() - 1e-3


def test_mode_of_components_beyond_a_soft_bound_is_finite_and_inside():
    space = InferenceSpace.from_bounds(0, 1, 0.2, 0.8).with_softness([1e-3])
    posterior = Posterior(Mixture([1.0], [[-40.0]], [0.1], [1.0]), space)
    assert 0 < posterior.mode()[0] < 1
    assert 0 < posterior.mean()[0] < 1
    assert posterior.sd()[0] < 1e-12
