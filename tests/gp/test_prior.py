import math
import re

import numpy as np
import pytest
from helpers.gp import make_data, modest
from helpers.numeric import assert_near, central_differences
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quell.gp import HyperparameterPrior, TrainingData
from quell.gp.data import high_density_rows

FLOOR = 0.5 * math.log(1e-5)
LOG_TINY = math.log(1e-6)


def table_data(y=(0.0, -1, -2, -3, -4, -5, -6, -7, -50, -100), noise_sd=0.1):
    """Ranges 4 and 0.5 in x, 100 in y, and 7 among the eight best values."""
    x = np.column_stack([np.linspace(-1.0, 3.0, 10), np.linspace(10.5, 10.0, 10)])
    return TrainingData.from_arrays(x, y, noise_sd)


def default_prior(noise="partly"):
    return HyperparameterPrior.for_data(make_data(2, 12, noise), plausible_range=[1.0, 2.0])


def interior(prior, shares):
    return prior.lower + np.asarray(shares) * (prior.upper - prior.lower)


def shares(n=10):
    return st.lists(st.floats(1e-4, 1 - 1e-4), min_size=n, max_size=n)


# The table


def test_bounds_are_those_of_the_table():
    prior = HyperparameterPrior.for_data(table_data(), plausible_range=[2.0, 0.3])
    lower = [
        math.log(4.0) + LOG_TINY,
        math.log(0.5) + LOG_TINY,
        math.log(100.0) + LOG_TINY,
        FLOOR,
        -100.0,
        -1.0 - 2.0,
        10.0 - 0.25,
        math.log(4.0) + LOG_TINY,
        math.log(0.5) + LOG_TINY,
    ]
    upper = [
        math.log(40.0),
        math.log(5.0),
        math.log(1000.0),
        math.log(100.0),
        0.0 + 2.0,
        3.0 + 2.0,
        10.5 + 0.25,
        math.log(4.0) + 3,
        math.log(0.5) + 3,
    ]
    np.testing.assert_allclose(prior.lower, lower, rtol=1e-12)
    np.testing.assert_allclose(prior.upper, upper, rtol=1e-12)


def test_student_priors_are_those_of_the_table():
    prior = HyperparameterPrior.for_data(table_data(), plausible_range=[2.0, 0.3])
    nan = math.nan
    location = [math.log(math.sqrt(2 / 6) * 2.0), math.log(math.sqrt(2 / 6) * 0.3), nan, FLOOR]
    scale = [0.5 * math.log(1e3), 0.5 * math.log(1e3), nan, 0.5]
    np.testing.assert_allclose(prior.location, location + [nan] * 5, rtol=1e-12)
    np.testing.assert_allclose(prior.scale, scale + [nan] * 5, rtol=1e-12)


def test_an_expected_output_scale_has_a_student_prior():
    uniform = HyperparameterPrior.for_data(table_data())
    prior = HyperparameterPrior.for_data(table_data(), output_scale=4.0)
    j = prior.layout.output_scale
    assert prior.location[j] == pytest.approx(math.log(4.0))
    assert prior.scale[j] == 1.0
    assert (prior.lower[j], prior.upper[j]) == (uniform.lower[j], uniform.upper[j])
    theta = np.tile(prior.start, (2, 1))
    theta[:, j] = math.log(4.0), math.log(4.0) - 6.0
    rise = prior.log_density(theta[0])[0] - prior.log_density(theta[1])[0]
    assert rise == pytest.approx(stats.t(3).logpdf(0.0) - stats.t(3).logpdf(6.0))
    assert uniform.log_density(theta[0])[0] == uniform.log_density(theta[1])[0]


@pytest.mark.parametrize(
    ("y", "margin"),
    [
        ([0.0, -1, -2, -3, -4, -5, -6, -7, -50, -100], 2.0),
        ([0.0, 0, 0, 0, 0, 0, 0, -0.5, -50, -100], 0.5),
        ([0.0, 0, 0, 0, 0, 0, 0, 0, -50, -100], 0.1),
        ([0.0, 0, 0, 0, 0, 0, 0, 0, -50, 5], 2.0),
    ],
)
def test_the_mean_may_exceed_the_data_by_a_share_of_the_high_range(y, margin):
    prior = HyperparameterPrior.for_data(table_data(y))
    j = prior.layout.mean_max
    assert prior.lower[j] == min(y)
    assert prior.upper[j] == pytest.approx(max(y) + margin)


@pytest.mark.parametrize(
    ("guess", "centre", "scale"),
    [
        (None, 0.0, math.log(10)),
        (1.0, 0.0, 0.5 * math.log(10)),
        (3.0, math.log(9.0), 0.5 * math.log(10)),
    ],
)
def test_unknown_noise_is_centred_on_the_guess(guess, centre, scale):
    prior = HyperparameterPrior.for_data(table_data(noise_sd=np.nan), noise_guess=guess)
    assert prior.layout.size == 10
    assert prior.lower[-1] == pytest.approx(centre + math.log(1e-3))
    assert prior.upper[-1] == pytest.approx(centre + math.log(1e3))
    assert prior.location[-1] == pytest.approx(centre)
    assert prior.scale[-1] == pytest.approx(scale)


def assert_proper(prior):
    for field in ("lower", "upper", "start", "plausible_lower", "plausible_upper", "softness"):
        assert np.isfinite(getattr(prior, field)).all(), field
    assert (prior.lower < prior.start).all()
    assert (prior.start < prior.upper).all()
    assert (prior.lower <= prior.plausible_lower).all()
    assert (prior.plausible_lower <= prior.plausible_upper).all()
    assert (prior.plausible_upper <= prior.upper).all()
    assert (prior.softness > 0).all()
    value, gradient = prior.log_density(prior.start)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
    u = prior.unconstrain(prior.start)
    error = np.abs(prior.constrain(u) - prior.start)
    assert (error <= 1e-9 * (prior.upper - prior.lower)).all()
    assert np.isfinite(prior.draw(np.random.default_rng(0), 20)).all()


@pytest.mark.parametrize("noise", ["exact", "known", "unknown", "partly"])
@pytest.mark.parametrize("dimension", [1, 4])
def test_ordinary_data_give_a_proper_prior(dimension, noise):
    assert_proper(HyperparameterPrior.for_data(make_data(dimension, 15, noise)))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([[0.0, 3.0], [1.0, 3.0], [2.0, 3.0]], [0.0, -1.0, -4.0]),
        ([[0.0, 3.0], [1.0, 4.0], [2.0, 7.0]], [-5.0, -5.0, -5.0]),
        ([[1.0, 3.0], [1.0, 3.0]], [-5.0, -5.0]),
        ([[0.0, 0.0], [1e-9, 1e-9]], [0.0, -1e-9]),
        ([[0.0, 0.0], [1e9, 1e9], [0.0, 1.0]], [0.0, -1e9, -1.0]),
        ([[0.0, 3.0], [1.0, 4.0], [2.0, 7.0]], [-1e6, -1e6, -1e6]),
    ],
    ids=["constant coordinate", "constant y", "one place", "tiny", "huge", "constant far y"],
)
@pytest.mark.parametrize("noise_sd", [0.0, np.nan])
def test_degenerate_data_give_a_proper_prior(x, y, noise_sd):
    assert_proper(HyperparameterPrior.for_data(TrainingData.from_arrays(x, y, noise_sd)))


def test_a_constant_coordinate_takes_its_scale_from_the_plausible_range():
    data = TrainingData.from_arrays([[0.0, 3.0], [1.0, 3.0]], [0.0, -1.0])
    prior = HyperparameterPrior.for_data(data, plausible_range=[1.0, 8.0])
    assert prior.upper[1] == pytest.approx(math.log(80.0))
    assert prior.lower[prior.layout.mean_location][1] == pytest.approx(3.0 - 4.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"plausible_range": [1.0, 0.0]}, "plausible_range[1] must be positive and finite, got 0"),
        (
            {"plausible_range": [-2.0, 1.0]},
            "plausible_range[0] must be positive and finite, got -2",
        ),
        ({"plausible_range": [1.0, np.nan]}, "plausible_range[1] must not be nan"),
        ({"plausible_range": [1.0, 1.0, 1.0]}, "plausible_range must have shape (2,), got (3,)"),
        ({"noise_guess": 0.0}, "noise_guess must be a positive SD, got 0"),
        ({"noise_guess": -1.0}, "noise_guess must be a positive SD, got -1"),
        ({"noise_guess": np.nan}, "noise_guess must be a positive SD, got nan"),
        ({"noise_guess": np.inf}, "noise_guess must be a positive SD, got inf"),
        ({"output_scale": 0.0}, "output_scale must be positive and finite, got 0"),
        ({"output_scale": np.nan}, "output_scale must be positive and finite, got nan"),
        ({"output_scale": np.inf}, "output_scale must be positive and finite, got inf"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        HyperparameterPrior.for_data(table_data(), **arguments)


def test_an_infinite_plausible_range_is_refused():
    with pytest.raises(ValueError, match=re.escape("plausible_range[1]")):
        HyperparameterPrior.for_data(table_data(), plausible_range=[1.0, np.inf])


def test_fewer_than_two_points_are_refused():
    with pytest.raises(ValueError, match="data must have at least 2 observations, got 1"):
        HyperparameterPrior.for_data(table_data().subset([0]))


# Density


@modest
@given(a=shares(), b=shares())
def test_log_density_is_that_of_student_t_up_to_a_constant(a, b):
    prior = default_prior()
    student = ~np.isnan(prior.scale)
    first, second = interior(prior, a), interior(prior, b)

    def reference(theta):
        return stats.t.logpdf(theta, 3, prior.location, prior.scale)[student].sum()

    actual = prior.log_density(first)[0] - prior.log_density(second)[0]
    assert actual == pytest.approx(reference(first) - reference(second), abs=1e-10)


@modest
@given(a=shares())
def test_gradient_of_the_log_density(a):
    prior = default_prior()
    theta = interior(prior, a)
    expected = central_differences(lambda t: prior.log_density(t)[0], theta)
    assert_near(prior.log_density(theta)[1], expected, 1e-7)


# Unconstrained coordinates


def spread_u(prior, a, reach=8.0):
    """From ``reach`` softnesses below the bounds to as many above."""
    low = prior.lower - reach * prior.softness
    return low + np.asarray(a) * (prior.upper - prior.lower + 2 * reach * prior.softness)


@modest
@given(a=shares())
def test_constrain_and_unconstrain_undo_each_other(a):
    prior = default_prior()
    theta = interior(prior, a)
    np.testing.assert_allclose(
        prior.constrain(prior.unconstrain(theta)), theta, rtol=1e-10, atol=1e-10
    )
    u = spread_u(prior, a)
    np.testing.assert_allclose(prior.unconstrain(prior.constrain(u)), u, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("size", [0.0, 1.0, 30.0, 1e3, 1e6, 1e150])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_theta_stays_strictly_inside_for_any_u(size, sign):
    prior = default_prior()
    edge = prior.lower if sign < 0 else prior.upper
    theta = prior.constrain(edge + sign * size)
    assert (prior.lower < theta).all()
    assert (theta < prior.upper).all()
    back = prior.unconstrain(theta)
    assert np.isfinite(back).all()


@pytest.mark.parametrize(
    "size",
    [
        0.0,
        30.0,
        1e6,
        1e20,
    ],
)
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_derivatives_are_finite_for_any_u(size, sign):
    prior = default_prior()
    edge = prior.lower if sign < 0 else prior.upper
    for part in prior.constrain_derivatives(edge + sign * size):
        assert np.isfinite(part).all()


@pytest.mark.parametrize("offset", [-1e6, -1e8])
def test_theta_stays_strictly_inside_where_the_data_are_far_from_zero(offset):
    data = TrainingData.from_arrays([[0.0], [1.0], [2.0]], offset + np.array([0.0, 1.0, 3.0]))
    prior = HyperparameterPrior.for_data(data)
    for edge, sign in ((prior.lower, -1.0), (prior.upper, 1.0)):
        theta = prior.constrain(edge + sign * 100.0)
        assert (prior.lower < theta).all()
        assert (theta < prior.upper).all()
        assert np.isfinite(prior.unconstrain(theta)).all()


def test_values_outside_the_bounds_are_clipped_into_them():
    prior = default_prior()
    for outside in (prior.lower - 5.0, prior.upper + 5.0, prior.lower, prior.upper):
        u = prior.unconstrain(outside)
        assert np.isfinite(u).all()
        theta = prior.constrain(u)
        assert ((prior.lower < theta) & (theta < prior.upper)).all()


def test_constrain_is_increasing():
    prior = default_prior()
    path = np.stack([spread_u(prior, np.full(10, a)) for a in np.linspace(0, 1, 2001)])
    assert (np.diff(prior.constrain(path), axis=0) > 0).all()


def test_constrain_is_the_identity_far_from_the_bounds():
    prior = default_prior()
    reach = 15 * prior.softness
    wide = prior.upper - prior.lower > 2 * reach
    assert wide.sum() >= 5
    for share in (0.0, 0.3, 1.0):
        u = prior.lower + reach + share * (prior.upper - prior.lower - 2 * reach)
        np.testing.assert_allclose(prior.constrain(u)[wide], u[wide], rtol=0, atol=1e-6)
        slope, log_slope, _ = prior.constrain_derivatives(u)
        np.testing.assert_allclose(slope[wide], 1.0, atol=1e-6)
        np.testing.assert_allclose(log_slope[wide], 0.0, atol=1e-6)


def test_constrain_works_on_batches():
    prior = default_prior()
    u = np.stack([spread_u(prior, np.full(10, a)) for a in (0.1, 0.5, 0.9)])
    np.testing.assert_array_equal(prior.constrain(u)[1], prior.constrain(u[1]))


@modest
@given(a=shares())
def test_derivatives_of_constrain(a):
    prior = default_prior()
    u = spread_u(prior, a)
    slope, log_slope, log_slope_slope = prior.constrain_derivatives(u)
    step = 1e-5 * prior.softness

    def difference(function):
        return (function(u + step) - function(u - step)) / (2 * step)

    np.testing.assert_allclose(slope, difference(prior.constrain), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(np.exp(log_slope), slope, rtol=1e-12)
    np.testing.assert_allclose(
        log_slope_slope,
        difference(lambda v: prior.constrain_derivatives(v)[1]),
        rtol=1e-4,
        atol=1e-6,
    )


# Random vectors


@pytest.fixture(scope="module")
def many_draws():
    prior = default_prior()
    return prior, prior.draw(np.random.default_rng(0), 4000)


def test_draws_stay_inside_the_bounds(many_draws):
    prior, draws = many_draws
    assert draws.shape == (4000, 10)
    assert ((prior.lower <= draws) & (draws <= prior.upper)).all()


def test_student_entries_are_drawn_from_the_truncated_prior(many_draws):
    prior, draws = many_draws
    for j in np.flatnonzero(~np.isnan(prior.scale)):
        t = stats.t(3, prior.location[j], prior.scale[j])
        low, high = t.cdf(prior.lower[j]), t.cdf(prior.upper[j])

        def truncated(value, t=t, low=low, high=high):
            return (t.cdf(value) - low) / (high - low)

        assert stats.kstest(draws[:, j], truncated).pvalue > 1e-3, prior.layout.names[j]


def test_uniform_entries_favour_the_plausible_part_but_reach_everywhere(many_draws):
    prior, draws = many_draws
    for j in np.flatnonzero(np.isnan(prior.scale)):
        values = draws[:, j]
        low, high = prior.plausible_lower[j], prior.plausible_upper[j]
        inside = values[(low <= values) & (values <= high)]
        assert 0.8 < len(inside) / len(values) < 0.99, prior.layout.names[j]
        assert stats.kstest(inside, stats.uniform(low, high - low).cdf).pvalue > 1e-3
        below, above = values[values < low], values[values > high]
        assert len(below) > 0
        assert len(above) > 0
        gap = (low - prior.lower[j]) / (low - prior.lower[j] + prior.upper[j] - high)
        assert len(below) / (len(below) + len(above)) == pytest.approx(gap, abs=0.12)
        tails = np.where(
            values < low, values - prior.lower[j], values - high + low - prior.lower[j]
        )
        tails = tails[(values < low) | (values > high)]
        width = low - prior.lower[j] + prior.upper[j] - high
        assert stats.kstest(tails, stats.uniform(0, width).cdf).pvalue > 1e-3


def test_about_half_of_the_vectors_or_more_are_plausible_in_all_uniform_entries(many_draws):
    prior, draws = many_draws
    uniform = np.isnan(prior.scale)
    inside = (prior.plausible_lower <= draws) & (draws <= prior.plausible_upper)
    assert 0.45 < inside[:, uniform].all(axis=1).mean() < 0.8


def test_draws_repeat_with_the_generator():
    prior = default_prior()
    first, second = (prior.draw(np.random.default_rng(5), 7) for _ in range(2))
    np.testing.assert_array_equal(first, second)


def test_empirical_prior_is_read_off_the_better_points():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 2)) * [1.0, 3.0]
    data = TrainingData.from_arrays(x, -(x**2).sum(axis=1))
    plain = HyperparameterPrior.for_data(data)
    prior = HyperparameterPrior.for_data(data, empirical=True)
    layout, best = prior.layout, high_density_rows(data.y)
    np.testing.assert_allclose(prior.location[layout.lengths], np.log(x[best].std(axis=0)))
    assert np.all(prior.scale[layout.lengths] >= 2.0)
    assert prior.location[layout.mean_max] == data.y.max()
    assert prior.scale[layout.mean_max] == pytest.approx(np.ptp(data.y[best]))
    assert prior.upper[layout.mean_max] > plain.upper[layout.mean_max]
    assert prior.lower[layout.base_noise] == prior.location[layout.base_noise] == np.log(1e-3)
    others = np.arange(layout.size) != layout.base_noise
    np.testing.assert_array_equal(prior.lower[others], plain.lower[others])
