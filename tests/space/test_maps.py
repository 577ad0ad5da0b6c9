"""The unconstraining maps, one coordinate at a time."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from quell.space.families import FAMILIES
from quell.space.maps import Columns, OneSided, Periodic, TwoSided, Unbounded

DISTRIBUTIONS = {
    "soft": stats.norm(), "logit": stats.logistic(), "probit": stats.norm(), "student": stats.t(4),
}  # fmt: skip
EPS = np.finfo(float).eps
EXTREME = np.array([-1.7e308, -1e300, -1e5, -800.0, -40.0, 40.0, 800.0, 1e5, 1e300, 1.7e308])

property_test = settings(max_examples=200, deadline=None)
families = st.sampled_from(sorted(FAMILIES))
fractions = st.floats(0.0, 1.0)
exponents = st.floats(-100.0, 100.0)
offsets = st.floats(-1e6, 1e6)  # of the bound from zero, in units of the range


def column(value):
    return np.array([float(value)])


def at_fraction(low, high, fraction):
    """A point between the bounds, rounding included."""
    return min(max(low + fraction * (high - low), low), high)


@pytest.mark.parametrize("name", FAMILIES)
def test_families_are_the_named_distributions(name):
    family, reference = FAMILIES[name], DISTRIBUTIONS[name]
    r = np.concatenate([[0.0], np.geomspace(1e-8, 30.0, 200)])
    np.testing.assert_allclose(family.tail(r), reference.cdf(-r), rtol=1e-12)
    np.testing.assert_allclose(family.log_density(-r), reference.logpdf(r), rtol=1e-12)
    p = np.concatenate([np.geomspace(1e-300, 0.4, 200), [0.45, 0.49, 0.5]])
    # SciPy's t(4) quantiles lose digits about the centre, and before SciPy 1.17 nearly all of them
    # far in the tails.
    expected = student_quantiles(p) if name == "student" else -reference.ppf(p)
    np.testing.assert_allclose(family.quantile(p, 1.0 - p), expected, rtol=1e-12, atol=1e-15)


def student_quantiles(p):
    """r with F(−r) = p for t(4), in 60 digits: (1 − s)² (2 + s) = 4p with s = r/√(4 + r²)."""
    found = []
    with localcontext(prec=60):
        for share in map(Decimal, p.tolist()):
            u = (4 * share / 3).sqrt()  # of 1 − s: Newton's method rises from here, never past it
            for _ in range(60):
                u -= (u * u * (3 - u) - 4 * share) / (3 * u * (2 - u))
            s = 1 - u
            found.append(float(2 * s / (u * (1 + s)).sqrt()))
    return np.array(found)


def test_student_map_is_the_textbook_formula():
    """Against g = sign(z − ½) 2 √(c − 1), c = cos(arccos(a)/3)/a, a = √(4z(1−z)), and its cdf."""
    z = np.array([0.003, 0.1, 0.3, 0.7, 0.95])
    a = np.sqrt(4 * z * (1 - z))
    expected = np.sign(z - 0.5) * 2 * np.sqrt(np.cos(np.arccos(a) / 3) / a - 1)
    g = TwoSided(column(0), column(1), FAMILIES["student"])
    np.testing.assert_allclose(g.forward(z[:, None])[:, 0], expected, rtol=1e-12)
    t = np.linspace(-5, 5, 21)
    w = 1 + t**2 / 4
    expected = 0.5 + 3 / 8 * t / np.sqrt(w) * (1 - t**2 / (12 * w))
    np.testing.assert_allclose(g.inverse(t[:, None])[:, 0], expected, rtol=1e-12)


def test_student_quantile_has_no_cancellation_near_the_centre():
    """Near z = ½, t = (z − ½)/F'(0) with F'(0) = 3/8."""
    z = 0.5 + 1e-12
    g = TwoSided(column(0), column(1), FAMILIES["student"])
    np.testing.assert_allclose(g.forward(column(z)), (z - 0.5) * 8 / 3, rtol=1e-12)


@property_test
@given(families, exponents, offsets, fractions)
def test_two_sided_round_trip(name, exponent, offset, fraction):
    width = 10.0**exponent
    low, high = offset * width, offset * width + width
    g = TwoSided(column(low), column(high), FAMILIES[name])
    theta = at_fraction(low, high, fraction)
    back = g.inverse(g.forward(column(theta)))[0]
    assert low < back < high
    assert abs(back - theta) <= 8 * EPS * width + 2 * np.spacing(max(abs(low), abs(high)))


@property_test
@given(families, exponents, st.sampled_from([-1.0, 1.0]))
def test_two_sided_keeps_relative_precision_next_to_a_bound_at_zero(name, exponent, side):
    theta = column(side * 10.0 ** -abs(exponent) / 2)
    g = TwoSided(column(min(side, 0)), column(max(side, 0)), FAMILIES[name])
    # the probit map magnifies a relative error of t by t²
    np.testing.assert_allclose(g.inverse(g.forward(theta)), theta, rtol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_a_point_on_a_bound_counts_as_the_nearest_one_inside(name):
    two_sided = TwoSided(column(1), column(3), FAMILIES[name])
    on, inside = np.array([[1.0], [3.0]]), np.array([[np.nextafter(1, 2)], [np.nextafter(3, 2)]])
    np.testing.assert_array_equal(two_sided.forward(on), two_sided.forward(inside))
    for bound, side in ((1.0, 1.0), (3.0, -1.0)):
        one_sided = OneSided(column(bound), column(1), column(side))
        inside = column(np.nextafter(bound, 2))
        np.testing.assert_array_equal(one_sided.forward(column(bound)), one_sided.forward(inside))
    circle = Periodic(column(0), column(2), column(1), FAMILIES[name])
    inside = column(np.nextafter(2, 0))  # the seam is at 0 = 2
    for seam in (0.0, 2.0):
        np.testing.assert_allclose(
            np.abs(circle.forward(column(seam))), circle.forward(inside), rtol=0.3
        )


@property_test
@given(st.sampled_from([-1.0, 1.0]), exponents, offsets, st.floats(-20.0, 20.0))
def test_one_sided_round_trip(side, exponent, offset, decades):
    scale = 10.0**exponent
    bound = offset * scale
    g = OneSided(column(bound), column(scale), column(side))
    theta = bound + side * scale * 10.0**decades
    back = g.inverse(g.forward(column(theta)))[0]
    assert side * (back - bound) > 0
    distance = abs(theta - bound)
    rounding = (4 + abs(np.log(max(distance, 1e-300) / scale))) * EPS * distance
    assert abs(back - theta) <= rounding + 2 * np.spacing(max(abs(bound), abs(theta)))


def test_one_sided_works_at_the_ends_of_the_floating_point_range():
    """e^t alone would overflow or vanish here, the product with the scale does not."""
    for scale, theta in [(1e-250, 1e250), (1e250, 1e-250), (1e300, 1.7e308)]:
        g = OneSided(column(0), column(scale), column(1))
        np.testing.assert_allclose(g.inverse(g.forward(column(theta))), theta, rtol=1e-12)


@property_test
@given(families, exponents, st.floats(-1e3, 1e3), fractions, fractions, st.integers(-50, 50))
def test_periodic_round_trip(name, exponent, offset, centre, fraction, turns):
    period = 10.0**exponent
    low = offset * period
    high = low + period
    period = high - low
    assume(at_fraction(low, high, centre) < high)
    g = Periodic(column(low), column(high), column(at_fraction(low, high, centre)), FAMILIES[name])
    theta = at_fraction(low, high, fraction) + turns * period
    back = g.inverse(g.forward(column(theta)))[0]
    assert low <= back < high
    difference = abs(theta - back) / period
    error = abs(difference - round(difference)) * period
    assert error <= 8 * EPS * period + 4 * np.spacing(max(abs(low), abs(high), abs(theta)))


def test_periodic_is_centred_and_monotone_up_to_the_seam():
    g = Periodic(column(0), column(360), column(350), FAMILIES["logit"])
    assert g.forward(column(350))[0] == 0.0
    around = np.linspace(170.5, 529.5, 720)[:, None]  # from just after the seam to just before it
    assert (np.diff(g.forward(around)[:, 0]) > 0).all()
    np.testing.assert_allclose(g.inverse(g.forward(around)), around % 360, rtol=1e-12)
    assert (g.inverse(EXTREME[:, None]) == [[170.0]]).all()
    assert np.isfinite(g.forward(column(170))).all()
    np.testing.assert_array_equal(g.forward(column(-10)), g.forward(column(350)))


def test_periodic_upper_bound_is_the_lower_bound():
    g = Periodic(column(-np.pi), column(np.pi), column(0.3), FAMILIES["logit"])
    np.testing.assert_allclose(g.forward(column(-np.pi)), g.forward(column(np.pi)), rtol=1e-12)
    t = np.linspace(-8, 8, 4001)[:, None]
    theta = g.inverse(t)
    assert theta.min() >= -np.pi
    assert theta.max() < np.pi


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 1.0), (-1e-300, 1e300), (1.0, 1.0 + 1e-10), (-1e307, 1e307), (1e6, 1e6 + 1)],
)
def test_two_sided_stays_inside(name, low, high):
    g = TwoSided(column(low), column(high), FAMILIES[name])
    theta = g.inverse(EXTREME[:, None])
    assert (theta > low).all()
    assert (theta < high).all()
    on_bounds = g.forward(np.array([[low], [high]]))
    assert np.isfinite(on_bounds).all()
    assert on_bounds[0] < on_bounds[1]
    assert np.isfinite(g.log_slope(EXTREME[:, None])).all()


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("bound", [0.0, -3.5, 1e10, -1.7e308, 1.7e308])
@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_one_sided_stays_inside_and_finite(side, bound, scale):
    g = OneSided(column(bound), column(scale), column(side))
    theta = g.inverse(EXTREME[:, None])
    assert np.isfinite(theta).all()
    assert (side * theta > side * bound).all()
    largest = side * 1.7976931348623157e308
    assert np.isfinite(g.forward(np.array([[bound], [largest]]))).all()


def test_unbounded_is_the_identity():
    theta = np.array([[-1e308, 0.1], [3.0, 1e-308]])
    g = Unbounded()
    np.testing.assert_array_equal(g.forward(theta), theta)
    np.testing.assert_array_equal(g.inverse(theta), theta)
    np.testing.assert_array_equal(g.log_slope(theta), 0.0)


MAPS = {
    **{name: TwoSided(column(-2), column(5), FAMILIES[name]) for name in FAMILIES},
    "periodic": Periodic(column(-2), column(5), column(4), FAMILIES["logit"]),
    "lower": OneSided(column(-2), column(3), column(1)),
    "upper": OneSided(column(5), column(3), column(-1)),
    "unbounded": Unbounded(),
}


@pytest.mark.parametrize("name", MAPS)
def test_log_slope_is_the_derivative_of_the_inverse(name):
    t = np.linspace(-3.03, 3.1, 23)[:, None]
    h = 1e-5
    difference = MAPS[name].inverse(t + h) - MAPS[name].inverse(t - h)
    if name == "periodic":
        difference %= 7.0
    np.testing.assert_allclose(
        np.exp(MAPS[name].log_slope(t)), difference / (2 * h), rtol=1e-8, atol=1e-12
    )


@pytest.mark.parametrize("name", [*FAMILIES, "lower", "upper", "unbounded"])
def test_maps_increase(name):
    t = np.linspace(-6, 6, 50)[:, None]
    assert (np.diff(MAPS[name].inverse(t)[:, 0]) > 0).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_two_sided_is_mirror_symmetric_to_the_last_bit(name):
    g = TwoSided(column(-1), column(1), FAMILIES[name])
    theta = np.linspace(0.01, 0.99, 37)[:, None]
    np.testing.assert_array_equal(g.forward(-theta), -g.forward(theta))


def test_columns_put_every_result_back_in_its_place():
    kinds = ["upper", "two-sided", "unbounded", "two-sided", "periodic", "lower", "two-sided"]
    names = ["logit", "probit", "logit", "logit", "student", "logit", "probit"]
    low, high = np.arange(7.0), np.arange(7.0) + 2.0
    scale, centre = np.arange(7.0) + 1, np.arange(7.0) + 3.5
    columns = Columns.of(kinds, names, low, high, scale, centre)
    theta = low + np.linspace(0.1, 1.9, 5)[:, None] * np.linspace(0.7, 1, 7)
    t = columns.forward(theta)
    np.testing.assert_allclose(columns.inverse(t), theta, rtol=1e-14)
    alone = [
        OneSided(high[:1], scale[:1], column(-1)),
        TwoSided(low[1:2], high[1:2], FAMILIES["probit"]),
        Unbounded(),
        TwoSided(low[3:4], high[3:4], FAMILIES["logit"]),
        Periodic(low[4:5], high[4:5], column(5.5), FAMILIES["student"]),
        OneSided(low[5:6], scale[5:6], column(1)),
        TwoSided(low[6:7], high[6:7], FAMILIES["probit"]),
    ]
    for i, g in enumerate(alone):
        np.testing.assert_array_equal(t[:, [i]], g.forward(theta[:, [i]]))
        np.testing.assert_array_equal(
            columns.log_slope(t)[:, [i]], g.log_slope(t[:, [i]]), err_msg=kinds[i]
        )


def test_columns_refuse_an_unknown_kind():
    with pytest.raises(ValueError, match="no map for a coordinate of kind 'fixed'"):
        Columns.of(["fixed"], ["logit"], column(0), column(0), column(0), column(0))
