"""The soft-edged maps, against their formulas evaluated with 60 digits."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import integrate

from quell.space.maps import Columns, OneSided, TwoSided
from quell.space.soft import SoftBox, SoftPlus

EPS = np.finfo(float).eps
EXTREME = np.array([-1.7e308, -1e300, -1e5, -800.0, -40.0, 40.0, 800.0, 1e5, 1e300, 1.7e308])
DIGITS = 60

property_test = settings(max_examples=200, deadline=None)
sides = st.sampled_from([-1.0, 1.0])
exponents = st.floats(-100.0, 100.0)  # of the width, or of the softness of one-sided maps
softnesses = st.floats(-6.0, 2.0)  # log10 s/w
tails = st.floats(-650.0, 35.0)  # t/s, from the nearer bound
decades = st.floats(0.0, 250.0)  # by which a point is nearer to the bound than the other one


def column(value):
    return np.array([float(value)])


def exactly(function, *numbers):
    """The function of the floating-point numbers, with 60 digits."""
    with localcontext() as context:
        context.prec = DIGITS
        context.Emax, context.Emin = 10**15, -(10**15)
        return function(*(Decimal(float(number)) for number in numbers))


def softplus(a):
    return a + (1 + (-a).exp()).ln() if a > 0 else ln_one_plus(a.exp())


def ln_one_plus(e):
    """log(1 + e), also where 1 + e has no digit of e."""
    return e if e < Decimal(10) ** -50 else (1 + e).ln()


def logistic(a):
    return 1 / (1 + (-a).exp()) if a > 0 else a.exp() / (1 + a.exp())


def box_distance(t, w, s):
    """θ − LB of the soft box."""
    return s * (softplus(t / s) - softplus((t - w) / s))


def box_slope(t, w, s):
    return logistic(t / s) - logistic((t - w) / s)


def at(function, t):
    return float(function(column(t))[0])


# ---------------------------------------------------------------- the soft box


@property_test
@given(exponents, softnesses, tails)
def test_box_is_its_formula_next_to_the_lower_bound(exponent, log_softness, a):
    w = 10.0**exponent
    s = w * 10.0**log_softness
    t = min(a * s, 0.4 * w)
    with localcontext() as context:
        context.prec = 400  # the two terms may agree to hundreds of digits
        context.Emax, context.Emin = 10**15, -(10**15)
        t_, w_, s_ = (Decimal(number) for number in (t, w, s))
        exact = s_ * ((1 + (t_ / s_).exp()) / (1 + ((t_ - w_) / s_).exp())).ln()
        slope = box_slope(t_, w_, s_).ln()
    assume(float(exact) > 1e-300)
    g = SoftBox(column(0), column(w), column(s))
    assert at(g.inverse, t) == pytest.approx(float(exact), rel=1e-12)
    assert at(g.log_slope, t) == pytest.approx(float(slope), rel=1e-12, abs=1e-12)


@property_test
@given(softnesses, tails)
def test_box_is_its_formula_next_to_the_upper_bound(log_softness, a):
    s = 10.0**log_softness
    t = max(1.0 - a * s, 0.6)
    g = SoftBox(column(-1), column(0), column(s))
    with localcontext() as context:
        context.prec = 400
        context.Emax, context.Emin = 10**15, -(10**15)
        t_, s_ = Decimal(t), Decimal(s)
        exact = 1 - s_ * ((1 + (t_ / s_).exp()) / (1 + ((t_ - 1) / s_).exp())).ln()
        slope = box_slope(t_, Decimal(1), s_).ln()
    # t itself is known to a spacing only, which is a multiple of s of its own
    assert -at(g.inverse, t) == pytest.approx(float(exact), rel=1e-12 + 2 * EPS / s)
    assert at(g.log_slope, t) == pytest.approx(float(slope), rel=1e-12, abs=1e-12 + 2 * EPS / s)


@property_test
@given(st.sampled_from(["lower", "upper"]), exponents, softnesses, decades, st.floats(0.1, 0.5))
def test_box_round_trip_keeps_the_distance_from_the_nearer_bound(
    edge, exponent, log_softness, orders, fraction
):
    w = 10.0**exponent
    d = fraction * w * 10.0 ** -min(orders, 300 + exponent)
    low, high = (0.0, w) if edge == "lower" else (-w, 0.0)
    theta = d if edge == "lower" else -d
    g = SoftBox(column(low), column(high), column(w * 10.0**log_softness))
    assert at(lambda x: g.inverse(g.forward(x)), theta) == pytest.approx(theta, rel=1e-9)


@property_test
@given(exponents, st.floats(-1e6, 1e6), softnesses, st.floats(0.0, 1.0))
def test_box_round_trip_wherever_the_bounds_are(exponent, offset, log_softness, fraction):
    w = 10.0**exponent
    low, high = offset * w, offset * w + w
    g = SoftBox(column(low), column(high), column(w * 10.0**log_softness))
    theta = min(max(low + fraction * w, low), high)
    back = at(lambda x: g.inverse(g.forward(x)), theta)
    assert low < back < high
    assert abs(back - theta) <= 8 * EPS * w + 2 * np.spacing(max(abs(low), abs(high)))


@property_test
@given(exponents, softnesses, tails, sides)
def test_box_round_trip_from_t_where_theta_resolves_it(exponent, log_softness, a, side):
    w = 10.0**exponent
    s = w * 10.0**log_softness
    t = min(a * s, 0.5 * w)
    low, high = (0.0, w) if side > 0 else (-w, 0.0)
    t = t if side > 0 else w - t
    g = SoftBox(column(low), column(high), column(s))
    theta = at(g.inverse, t)
    assume(abs(theta) > 1e-300)
    assert abs(at(g.forward, theta) - t) <= 1e-12 * s + 8 * EPS * (w + abs(t))


@pytest.mark.parametrize("softness", [1e-6, 1e-3, 0.1, 1.0, 100.0])
@pytest.mark.parametrize(
    ("low", "high"),
    [(0.0, 1.0), (-1e-300, 1e300), (1.0, 1.0 + 1e-10), (-1e303, 1e303), (1e6, 1e6 + 1)],
)
def test_box_stays_inside_and_finite(low, high, softness):
    g = SoftBox(column(low), column(high), softness * (column(high) - column(low)))
    theta = g.inverse(EXTREME[1:-1, None] * softness)
    theta = np.concatenate([theta, g.inverse(EXTREME[:, None])])
    assert (theta > low).all()
    assert (theta < high).all()
    on_bounds = g.forward(np.array([[low], [high]]))
    assert np.isfinite(on_bounds).all()
    assert on_bounds[0] < on_bounds[1]
    assert np.isfinite(g.log_slope(EXTREME[:, None])).all()


@pytest.mark.parametrize("ratio", [1e-6, 1e-2, 0.3, 3.0, 100.0])
def test_box_increases_and_is_mirror_symmetric(ratio):
    w, s = 4.0, 4.0 * ratio
    g = SoftBox(column(-2), column(2), column(s))
    u = np.linspace(-30, 30, 201) * s if ratio > 0.1 else np.linspace(-30 * s, w / 2, 201)
    theta, mirror = g.inverse(u[:, None])[:, 0], g.inverse(w - u[:, None])[:, 0]
    assert (np.diff(theta[(theta > -2 + 1e-12) & (theta < 2 - 1e-12)]) > 0).all()
    np.testing.assert_allclose(theta, -mirror, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        g.log_slope(u[:, None]), g.log_slope(w - u[:, None]), rtol=1e-9, atol=2 * EPS * w / s
    )


def test_box_is_linear_away_from_the_bounds():
    g = SoftBox(column(3), column(13), column(0.1))
    t = np.linspace(4, 6, 11)[:, None]
    np.testing.assert_allclose(g.inverse(t), 3 + t, rtol=1e-15)
    np.testing.assert_allclose(g.forward(3 + t), t, rtol=1e-14)
    np.testing.assert_allclose(g.log_slope(t), 0, atol=1e-15)


def test_a_very_soft_box_is_a_logit():
    """In a = (t − w/2)/s."""
    from quell.space.families import FAMILIES

    s, a = 1e4, np.linspace(-20, 20, 41)[:, None]
    soft, logit = (
        SoftBox(column(0), column(1), column(s)),
        TwoSided(column(0), column(1), FAMILIES["logit"]),
    )
    np.testing.assert_allclose(soft.inverse(s * a + 0.5), logit.inverse(a), rtol=1e-3)
    np.testing.assert_allclose(
        soft.log_slope(s * a + 0.5) + np.log(s), logit.log_slope(a), atol=1e-3
    )


# ---------------------------------------------------------------- the soft plus


@property_test
@given(exponents, st.floats(-650.0, 1e6), sides)
def test_plus_is_its_formula(exponent, a, side):
    s = 10.0**exponent
    t = a * s
    exact = exactly(lambda t, s: s * softplus(t / s), t, s)
    slope = exactly(lambda t, s: -softplus(-t / s), t, s)
    assume(float(exact) > 1e-300)
    g = SoftPlus(column(0), column(s), column(side))
    assert side * at(g.inverse, side * t) == pytest.approx(float(exact), rel=1e-12)
    assert at(g.log_slope, side * t) == pytest.approx(float(slope), rel=1e-12, abs=1e-300)


@property_test
@given(sides, exponents, st.floats(-200.0, 6.0))
def test_plus_round_trip_keeps_the_distance(side, exponent, orders):
    s = 10.0**exponent
    d = s * 10.0 ** max(orders, -300 - exponent)
    g = SoftPlus(column(0), column(s), column(side))
    assert at(lambda x: g.inverse(g.forward(x)), side * d) == pytest.approx(side * d, rel=1e-12)


@property_test
@given(sides, exponents, st.floats(-1e6, 1e6), st.floats(-20.0, 20.0))
def test_plus_round_trip_wherever_the_bound_is(side, exponent, offset, orders):
    s = 10.0**exponent
    bound = offset * s
    theta = bound + side * s * 10.0**orders
    g = SoftPlus(column(bound), column(s), column(side))
    back = at(lambda x: g.inverse(g.forward(x)), theta)
    assert side * (back - bound) > 0
    distance = abs(theta - bound)
    assert abs(back - theta) <= 1e-13 * distance + 2 * np.spacing(max(abs(bound), abs(theta)))


@property_test
@given(sides, exponents, st.floats(-600.0, 1e8))
def test_plus_round_trip_from_t(side, exponent, a):
    s = 10.0**exponent
    g = SoftPlus(column(0), column(s), column(side))
    t = side * a * s
    theta = at(g.inverse, t)
    assume(abs(theta) > 1e-300)
    assert abs(at(g.forward, theta) - t) <= 1e-12 * s + 4 * EPS * abs(t)


@pytest.mark.parametrize("side", [-1.0, 1.0])
@pytest.mark.parametrize("bound", [0.0, -3.5, 1e10, -1.7e308, 1.7e308])
@pytest.mark.parametrize("softness", [1e-200, 1.0, 1e200])
def test_plus_stays_inside_and_finite(side, bound, softness):
    g = SoftPlus(column(bound), column(softness), column(side))
    theta = g.inverse(EXTREME[:, None])
    assert np.isfinite(theta).all()
    assert (side * theta > side * bound).all()
    largest = side * 1.7976931348623157e308
    assert np.isfinite(g.forward(np.array([[bound], [largest]]))).all()
    assert np.isfinite(g.log_slope(EXTREME[:, None])).all()


def test_plus_is_a_logarithm_near_the_bound_and_linear_far_away():
    g, log = SoftPlus(column(1), column(2), column(1)), OneSided(column(1), column(2), column(1))
    near = 1 + 2 * np.geomspace(1e-12, 1e-8, 5)[:, None]
    np.testing.assert_allclose(g.forward(near), 2 * log.forward(near), rtol=1e-8)
    far = np.linspace(80, 900, 5)[:, None]
    np.testing.assert_allclose(g.forward(far), far - 1, rtol=1e-14)


# ---------------------------------------------------------------- both


MAPS = {
    "box": SoftBox(column(-2), column(5), column(0.4)),
    "sharp box": SoftBox(column(-2), column(5), column(1e-3)),
    "very soft box": SoftBox(column(-2), column(5), column(30)),
    "lower": SoftPlus(column(-2), column(0.3), column(1)),
    "upper": SoftPlus(column(5), column(0.3), column(-1)),
}


@pytest.mark.parametrize("name", MAPS)
def test_log_slope_is_the_derivative_of_the_inverse(name):
    g = MAPS[name]
    t = np.concatenate([g.forward(column(-2 + d)) for d in (0.001, 0.1, 1, 3.3, 6, 6.9, 6.999)])
    h = 1e-4 * g.softness[0]
    difference = (g.inverse(t[:, None] + h) - g.inverse(t[:, None] - h)) / (2 * h)
    np.testing.assert_allclose(np.exp(g.log_slope(t[:, None])), difference, rtol=1e-6)


@pytest.mark.parametrize("name", MAPS)
def test_a_point_on_a_bound_counts_as_the_nearest_one_inside(name):
    g = MAPS[name]
    for bound in (-2.0, 5.0):
        if (name, bound) not in {("lower", 5.0), ("upper", -2.0)}:
            inside = np.nextafter(bound, 0.0)
            assert at(g.forward, bound) == at(g.forward, inside)


@pytest.mark.parametrize("name", ["box", "very soft box", "lower", "upper"])
def test_transformed_density_integrates_to_one(name):
    """Of a uniform or exponential density, which do not vanish at the bounds."""
    g = MAPS[name]
    ends = (-2.0, 5.0) if "box" in name else (-2.0, 60.0) if name == "lower" else (-57.0, 5.0)
    t = np.linspace(*(at(g.forward, end) for end in ends), 400_001)
    if "box" in name:
        density = np.full(len(t), 1 / 7)
    else:
        density = np.exp(-np.abs(g.inverse(t[:, None])[:, 0] - g.bound[0]))
    density = density * np.exp(g.log_slope(t[:, None])[:, 0])
    assert integrate.simpson(density, x=t) == pytest.approx(1, abs=1e-9)


def test_columns_with_and_without_soft_edges():
    kinds = ["upper", "two-sided", "unbounded", "two-sided", "lower", "lower", "two-sided"]
    low, high = np.arange(7.0), np.arange(7.0) + 2.0
    softness = np.array([0.1, np.nan, np.nan, 0.2, 0.3, np.nan, 0.4])
    columns = Columns.of(kinds, ["logit"] * 7, low, high, high, low, softness)
    theta = low + np.linspace(0.1, 1.9, 5)[:, None] * np.linspace(0.7, 1, 7)
    t = columns.forward(theta)
    np.testing.assert_allclose(columns.inverse(t), theta, rtol=1e-14)
    hard = Columns.of(kinds, ["logit"] * 7, low, high, high, low)
    alone = {
        0: SoftPlus(high[:1], softness[:1], column(-1)),
        3: SoftBox(low[3:4], high[3:4], softness[3:4]),
        4: SoftPlus(low[4:5], softness[4:5], column(1)),
        6: SoftBox(low[6:], high[6:], softness[6:]),
    }
    for i in range(7):
        if i in alone:
            expected = alone[i].forward(theta[:, [i]]), alone[i].log_slope(t[:, [i]])
        else:
            expected = hard.forward(theta)[:, [i]], hard.log_slope(t)[:, [i]]
        np.testing.assert_array_equal(t[:, [i]], expected[0])
        np.testing.assert_array_equal(columns.log_slope(t)[:, [i]], expected[1])


@pytest.mark.parametrize("kind", ["unbounded", "periodic"])
def test_columns_refuse_soft_edges_where_there_is_no_edge(kind):
    with pytest.raises(ValueError, match=f"no soft map for a coordinate of kind '{kind}'"):
        Columns.of([kind], ["logit"], column(0), column(1), column(1), column(0), column(1))
