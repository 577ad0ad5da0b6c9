"""Priors: every kind a user may pass, what is computed from it, and what is refused."""

import functools
import math
import re
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quell import Problem
from quell.problem.densities import distribution_text, is_discrete
from quell.problem.prior import make_prior, probe_points
from quell.space.bounds import check_bounds

INF = np.inf
NEW_STYLE = hasattr(stats, "Normal")
needs_new_style = pytest.mark.skipif(not NEW_STYLE, reason="this SciPy has only the older kind")


def box(size=2, lower=-10.0, upper=10.0, **more):
    names = [chr(ord("a") + i) for i in range(size)]
    return check_bounds(lower, upper, -1.0, 1.0, names=names, **more)


# ---- uniform ------------------------------------------------------------------------------


def test_uniform_on_the_box_leaves_fixed_coordinates_out():
    bounds = check_bounds([0, -2, 3], [4, 2, 3], [1, -1, 3], [2, 1, 3])
    prior = make_prior(None, bounds)
    np.testing.assert_allclose(prior.log_density([[1, 1, 3], [4, 2, 3]]), -np.log(16.0))
    assert prior.is_proper
    assert not prior.is_included


def test_uniform_is_zero_outside_the_box_and_counts_a_circle_as_its_period():
    bounds = check_bounds([0, 0], [4, 360], [1, 350], [2, 370], periodic=[False, True])
    prior = make_prior(None, bounds)
    np.testing.assert_allclose(
        prior.log_density([[1, 10], [1, 365], [-0.1, 10], [4.1, 10]]),
        [-np.log(4 * 360)] * 2 + [-INF] * 2,
    )


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0.1, 1e6)), min_size=1, max_size=4),
    st.integers(0, 2**31),
)
@settings(deadline=None, max_examples=40)
def test_uniform_integrates_to_one_over_any_box(sides, seed):
    lower = np.array([low for low, _ in sides])
    width = np.array([width for _, width in sides])
    bounds = check_bounds(lower, lower + width, lower + 0.3 * width, lower + 0.6 * width)
    theta = lower + width * np.random.default_rng(seed).uniform(0.01, 0.99, (3, len(sides)))
    volume = np.prod(bounds.upper - bounds.lower)
    np.testing.assert_allclose(np.exp(make_prior(None, bounds).log_density(theta)) * volume, 1.0)


@pytest.mark.parametrize(("lower", "upper"), [(0, INF), (-INF, 0), (-INF, INF)])
def test_uniform_with_an_infinite_bound_is_improper(lower, upper):
    bounds = check_bounds(
        [lower, 0], [upper, 1], [-1 if upper == 0 else 1, 0.2], [-0.5 if upper == 0 else 2, 0.8]
    )
    with pytest.warns(UserWarning, match=r"'x1' has an infinite hard bound.*log_evidence.*nan"):
        prior = make_prior(None, bounds)
    assert not prior.is_proper
    inside = [-0.7 if upper == 0 else 1.5, 0.5]
    np.testing.assert_array_equal(prior.log_density([inside, [inside[0], 1.5]]), [0.0, -INF])


def test_a_fixed_coordinate_at_any_value_does_not_make_the_uniform_improper():
    prior = make_prior(None, check_bounds([0, 5], [1, 5], [0.2, 5], [0.8, 5]))
    assert prior.is_proper
    np.testing.assert_array_equal(prior.log_density([[0.5, 5]]), [0.0])


def test_included_is_zero_and_flagged():
    prior = make_prior("included", box(lower=-INF, upper=INF))
    assert prior.is_included
    assert prior.is_proper
    np.testing.assert_array_equal(prior.log_density([[1, 2], [3, 4]]), [0, 0])


# ---- distributions ------------------------------------------------------------------------

OLD = [stats.norm(0.5, 2.0), stats.beta(2, 3, loc=-10, scale=20)]


def reference(theta):
    return stats.norm.logpdf(theta[:, 0], 0.5, 2) + stats.beta.logpdf(theta[:, 1], 2, 3, -10, 20)


THETA = np.random.default_rng(1).uniform(-9, 9, (7, 2))


@pytest.mark.parametrize("container", [list, tuple, lambda d: np.array(d, dtype=object)])
def test_independent_old_style(container):
    prior = make_prior(container(OLD), box())
    np.testing.assert_allclose(prior.log_density(THETA), reference(THETA), rtol=1e-13)
    np.testing.assert_allclose(prior.log_density(THETA[:1]), reference(THETA[:1]), rtol=1e-13)


@needs_new_style
def test_independent_new_style_agrees_with_the_old():
    new = [
        stats.Normal(mu=0.5, sigma=2.0),
        stats.make_distribution(stats.beta)(a=2.0, b=3.0) * 20 - 10,
    ]
    prior = make_prior(new, box())
    np.testing.assert_allclose(prior.log_density(THETA), reference(THETA), rtol=1e-10)
    mixed = make_prior([new[0], OLD[1]], box())
    np.testing.assert_allclose(mixed.log_density(THETA), reference(THETA), rtol=1e-12)


@needs_new_style
def test_new_style_truncation_and_mixture():
    truncated = stats.truncate(stats.Normal(), -10, 10)
    mixture = stats.Mixture([stats.Normal(), stats.Normal(mu=3)], weights=[0.25, 0.75])
    prior = make_prior([truncated, mixture], box())
    value = prior.log_density([[0.0, 3.0]])
    expected = stats.norm.logpdf(0) + np.log(0.25 * stats.norm.pdf(3) + 0.75 * stats.norm.pdf(0))
    np.testing.assert_allclose(value, expected, rtol=1e-8)


def test_one_distribution_for_one_parameter_needs_no_list():
    prior = make_prior(stats.norm(0, 1), box(1))
    np.testing.assert_allclose(prior.log_density([[0.0], [1.0]]), stats.norm.logpdf([0, 1]))


def test_a_family_without_parameters_is_frozen():
    histogram = stats.rv_histogram(np.histogram([1.0, 2.0, 2.5, 3.0], bins=4))
    prior = make_prior([stats.norm, histogram], box())
    expected = stats.norm.logpdf(0.5) + np.log(histogram.pdf(2.7))
    np.testing.assert_allclose(prior.log_density([[0.5, 2.7]]), expected)


@pytest.mark.parametrize("entry", [None, stats.norm(3, 1), "anything"])
def test_entries_of_fixed_parameters_are_not_used(entry):
    bounds = check_bounds([-10, 3], [10, 3], [-1, 3], [1, 3])
    prior = make_prior([stats.norm(), entry], bounds)
    np.testing.assert_allclose(prior.log_density([[0.0, 3.0]]), stats.norm.logpdf(0))


def test_joint_distribution():
    joint = stats.multivariate_normal([0, 1], [[2.0, 0.5], [0.5, 1.0]])
    prior = make_prior(joint, box())
    np.testing.assert_allclose(prior.log_density(THETA), joint.logpdf(THETA))
    np.testing.assert_allclose(prior.log_density(THETA[:1]), joint.logpdf(THETA[0]))
    student = stats.multivariate_t([0, 1], np.eye(2), df=3)
    np.testing.assert_allclose(make_prior(student, box()).log_density(THETA), student.logpdf(THETA))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_kernel_density_estimate_has_its_points_in_columns(size):
    kde = stats.gaussian_kde(np.random.default_rng(0).standard_normal((size, 60)))
    theta = np.random.default_rng(1).uniform(-1, 1, (size, size))  # square: shapes cannot tell
    prior = make_prior(kde, box(size))
    np.testing.assert_allclose(prior.log_density(theta), kde.logpdf(theta.T))


class OwnDistribution:
    """What a user may write: points (n, D) in, (n,) or (n, 1) out."""

    def logpdf(self, theta):
        assert theta.ndim == 2
        theta[:] *= 1.0  # may write into its argument
        return -np.sum(theta**2, axis=1, keepdims=True)


def test_any_object_with_logpdf_is_a_joint_prior():
    theta = THETA.copy()
    logs = make_prior(OwnDistribution(), box()).log_density(theta)
    np.testing.assert_allclose(logs, -np.sum(THETA**2, axis=1))
    np.testing.assert_array_equal(theta, THETA)


def test_density_is_not_renormalised_and_is_zero_outside_the_bounds():
    bounds = box(1, lower=-1.5, upper=1.5)
    with pytest.warns(UserWarning, match="not renormalised"):
        prior = make_prior([stats.norm()], bounds)
    np.testing.assert_allclose(prior.log_density([[0], [2]]), [stats.norm.logpdf(0), -INF])


def test_zero_density_within_the_bounds_is_allowed():
    prior = make_prior([stats.gamma(2), stats.uniform(0, 5)], box())
    assert prior.log_density([[-1.0, 1.0]])[0] == -INF
    lower, upper = prior.support
    np.testing.assert_array_equal(lower, [0, 0])
    np.testing.assert_array_equal(upper, [10, 5])


# ---- functions ----------------------------------------------------------------------------


def test_function_is_called_point_by_point_with_a_copy():
    seen = []

    def log_density(theta):
        assert theta.shape == (2,)
        seen.append(theta.copy())
        theta[:] = 0.0
        return -float(np.sum(seen[-1] ** 2))

    prior = make_prior(log_density, box())
    seen.clear()
    theta = THETA.copy()
    np.testing.assert_allclose(prior.log_density(theta), -np.sum(THETA**2, axis=1))
    np.testing.assert_array_equal(theta, THETA)
    np.testing.assert_array_equal(seen, THETA)


@pytest.mark.parametrize("wrap", [float, np.float64, np.array, lambda v: np.array([v])])
def test_function_may_return_any_single_number(wrap):
    prior = make_prior(lambda theta: wrap(theta[0]), box())
    np.testing.assert_array_equal(prior.log_density([[1.0, 2.0]]), [1.0])


def test_function_is_not_called_outside_the_bounds():
    prior = make_prior(lambda theta: np.log(theta[0]), check_bounds(0, INF, 1, 2))
    assert prior.log_density([[-1.0]])[0] == -INF


def test_function_by_partial_and_callable_object():
    def log_density(theta, scale):
        return -float(np.sum(theta**2)) / scale

    prior = make_prior(functools.partial(log_density, scale=2.0), box())
    np.testing.assert_allclose(prior.log_density([[1, 1]]), -1.0)


# ---- warnings about mass out of bounds ------------------------------------------------------


@pytest.mark.parametrize(
    ("distribution", "mass"),
    [
        (stats.norm(0, 1), 2 * stats.norm.sf(1.5)),
        (stats.norm(1.5, 1), 0.5 + stats.norm.cdf(-3)),
        (stats.gamma(2), stats.gamma.sf(1.5, 2)),
        pytest.param("Normal", 2 * stats.norm.sf(1.5), marks=needs_new_style),
    ],
)
def test_mass_outside_is_named(distribution, mass):
    if isinstance(distribution, str):
        distribution = getattr(stats, distribution)()
    bounds = check_bounds(-1.5, 1.5, -1, 1, names=["a", "b"])
    text = f"prior of 'b' has {mass:.3g} of its mass outside the hard bounds [-1.5, 1.5]"
    with pytest.warns(UserWarning, match=re.escape(text)) as caught:
        make_prior([stats.uniform(-1.5, 3), distribution], bounds)
    assert len(caught) == 1


@pytest.mark.parametrize(
    "distribution",
    [
        stats.norm(0, 1.5 / 3.4),  # 7e-4 of the mass is out
        stats.uniform(-1.5, 3),
        stats.uniform(-1.5, 3.002),
        stats.truncnorm(-1.5, 1.5),
        type("NoCdf", (), {"logpdf": lambda _, x: 0 * x})(),
    ],
)
def test_little_or_unknown_mass_outside_is_no_warning(distribution):
    make_prior([distribution], check_bounds(-1.5, 1.5, -1, 1))


def test_von_mises_on_a_circle_has_all_its_mass_inside():
    bounds = check_bounds(0, 2 * np.pi, 1, 2, periodic=[True])
    prior = make_prior([stats.vonmises(2.0, loc=1.0)], bounds)
    np.testing.assert_allclose(prior.log_density([[0.5]]), stats.vonmises.logpdf(0.5, 2, 1))


def test_mass_of_a_cdf_that_fails_is_not_computed():
    class Odd:
        def logpdf(self, x):
            return 0.0 * x

        def cdf(self, _):
            warnings.warn("odd", RuntimeWarning, stacklevel=1)
            raise NotImplementedError

    make_prior([Odd()], box(1))


# ---- refused ------------------------------------------------------------------------------


def nan_at_zero(theta):
    return np.nan if theta[0] == 0.0 else 0.0


def raises(_):
    raise RuntimeError("table missing")


N, V, T = stats.norm(), ValueError, TypeError

BAD = [
    ("flat", V, r'prior must be None .* or "included", got the string \'flat\''),
    (3.0, T, r"prior must be None .*, got an object of type float"),
    ({"a": N}, T, r"got an object of type dict"),
    (N, V, r"one-dimensional distribution norm\(\) but there are 2 parameters"),
    ([N], V, r"prior has 1 entries, expected 2, one for each of \['a', 'b'\]"),
    ([N] * 3, V, r"prior has 3 entries, expected 2"),
    ([N, None], V, r"prior\[1\] \('b'\) is None but the parameter is not fixed"),
    ([N, 3], T, r"prior\[1\] \('b'\) must be a distribution .* of type int"),
    ([len, N], T, r"prior\[0\] \('a'\) must be a distribution .* all parameters"),
    ([stats.gamma, N], T, r"prior\[0\] \('a'\) .*gamma, which needs .*gamma\(a\)"),
    ([N, stats.poisson(3)], V, r"prior\[1\] \('b'\) .* discrete .* poisson\(3\)"),
    ([stats.poisson, N], V, r"prior\[0\] \('a'\) is the discrete"),
    (stats.poisson(3), V, r"prior is the discrete distribution poisson\(3\)"),
    (stats.multinomial(3, [0.5, 0.5]), V, r"prior is the discrete distribution multinomial"),
    ([stats.norm(0, -1), N], V, r"prior\[0\] \('a'\) has the log density nan at a"),
    ([stats.norm([0, 1]), N], V, r"prior\[0\] \('a'\)"),
    (stats.multivariate_normal([0, 0, 0]), V, r"normal of 3 parameters, but there are 2"),
    (stats.gaussian_kde([[1.0, 2, 3]]), V, r"gaussian_kde of 1 parameter, but there are 2"),
    (stats.multivariate_normal, V, r"prior, multivariate_normal_gen, failed"),
    (nan_at_zero, V, r"prior has the log density nan at a=0, b=0 .*-inf where"),
    (lambda _: np.inf, V, r"log density inf at a=0, b=0 \(keep the hard bounds away"),
    (lambda theta: theta, V, r"failed at a=0, b=0 with ValueError.*shape \(2,\)"),
    (lambda _: None, V, r"TypeError: its log density must be a real number, got None"),
    (lambda _: 1j, V, r"must be real, got the complex number 1j"),
    (lambda _: "0", V, r"must be a real number, got '0'"),
    (raises, V, r"prior failed at a=0, b=0 with RuntimeError: table missing"),
    (lambda: 0.0, V, r"prior failed at a=0, b=0 with TypeError"),
    ([stats.uniform(11, 2), N], V, r"zero everywhere within the hard bounds \[-10"),
]  # fmt: skip


@pytest.mark.parametrize(("prior", "kind", "message"), BAD)
def test_refused(prior, kind, message):
    with pytest.raises(kind, match=message):
        make_prior(prior, box())


@pytest.mark.skipif(not hasattr(stats, "Binomial"), reason="SciPy 1.16 has the first of them")
def test_new_style_discrete_refused():
    with pytest.raises(ValueError, match=r"prior\[0\] \('a'\) is the discrete .*Binomial\(n=3"):
        make_prior([stats.Binomial(n=3, p=0.5), stats.norm()], box())


def test_nan_far_from_the_probe_is_found_when_it_matters():
    prior = make_prior(lambda theta: np.nan if theta[0] > 5 else 0.0, box())
    with pytest.raises(ValueError, match=r"log density nan at a=6, b=1"):
        prior.log_density([[1.0, 1.0], [6.0, 1.0]])


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([[1.0, 2.0, 3.0]], r"theta must have shape \(n, 2\)"),
        ([1.0, 2.0], r"theta must have shape \(n, 2\)"),
        ([[1.0, np.nan]], r"theta\[0, 1\] \('b'\) must be finite, got nan"),
    ],
)
def test_points_are_checked(theta, message):
    with pytest.raises(ValueError, match=message):
        make_prior(OLD, box()).log_density(theta)


# ---- texts --------------------------------------------------------------------------------


def test_description_tells_priors_apart_without_addresses():
    def first(theta):
        return -float(theta[0] ** 2)

    def second(theta):
        return -float(theta[0] ** 2) - 1e-3 * theta[1]

    one, same, other = (make_prior(f, box()).describe() for f in (first, first, second))
    assert one == same != other
    described = make_prior(OLD, box()).describe()
    assert described["marginals"] == ["norm(0.5, 2.0)", "beta(2, 3, loc=-10, scale=20)"]
    assert "0x" not in str(make_prior(OwnDistribution(), box()).describe())
    assert make_prior(None, box()).describe() == {"kind": "uniform"}


def test_probe_moves_every_free_coordinate():
    bounds = check_bounds([0, 5, 0], [1, 5, 1], [0.2, 5, 0.2], [0.8, 5, 0.8])
    probe = probe_points(bounds)
    assert probe.shape == (4, 3)
    assert (np.ptp(probe, axis=0) > 0).tolist() == [True, False, True]


@pytest.mark.parametrize(
    ("distribution", "discrete"),
    [(stats.norm(), False), (stats.norm, False), (stats.binom(3, 0.5), True), (object(), False)],
)
def test_is_discrete(distribution, discrete):
    assert is_discrete(distribution) == discrete


def test_texts_of_distributions():
    assert distribution_text(stats.norm(np.float64(1), np.array([2.0]))) == "norm(1.0, [2.0])"
    if NEW_STYLE:
        assert distribution_text(stats.Normal(mu=1, sigma=2)) == "Normal(mu=1.0, sigma=2.0)"


@pytest.mark.parametrize("wrong", [lambda: math.log(-1.0), lambda: np.nan])
def test_a_prior_that_fails_in_part_of_the_box_is_warned_about(wrong):
    """Also far outside the plausible box, next to the hard bounds."""

    def log_prior(theta):
        return -theta[0] if theta[0] > -90 else wrong()

    box = {"lower": -100, "upper": 100, "plausible_lower": 0.5, "plausible_upper": 2}
    with pytest.warns(UserWarning, match="count as ones of zero density") as caught:
        Problem(None, **box, prior=log_prior)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Problem(None, **box, prior=lambda theta: -theta[0] if theta[0] > 0 else -np.inf)
