"""The map for heavy tails: formula, inverse, slope, far out, in a space, and what is refused."""

import pickle
import re

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from quell.space import InferenceSpace
from quell.space.tails import FURTHEST, LINEAR_SHARE, HeavyTails

INF, NAN = np.inf, np.nan
U = np.concatenate([[0.0], np.geomspace(1e-9, 1e12, 85)])
U = np.concatenate([-U[::-1], U])
MAPS = [(0.0, 1.0), (-3.0, 0.01), (5.0, 40.0)]


def one(centre=0.0, scale=1.0):
    return HeavyTails(np.array([centre]), np.array([scale]))


def column(values):
    return np.asarray(values, dtype=np.float64)[:, None]


def formula(u):
    return (1 - LINEAR_SHARE) * np.arcsinh(u) + LINEAR_SHARE * u


@pytest.mark.parametrize(("centre", "scale"), MAPS)
def test_forward_is_the_documented_formula(centre, scale):
    t = one(centre, scale).forward(column(centre + scale * U))[:, 0]
    np.testing.assert_allclose(t, centre + scale * formula(U), rtol=1e-12, atol=1e-13 * abs(centre))


@pytest.mark.parametrize("r", [1e-6, 0.3, 1.0, 2.5, 4.0, 7.0, 30.0, 4e4])
def test_inverse_is_the_root_found_by_bisection(r):
    root = optimize.brentq(lambda u: formula(u) - r, 0.0, 1.1 * r / LINEAR_SHARE, xtol=1e-14)
    assert one().inverse(np.array([[r], [-r]])).ravel() == pytest.approx([root, -root], rel=1e-10)


@pytest.mark.parametrize(("centre", "scale"), MAPS)
def test_there_and_back(centre, scale):
    g, theta = one(centre, scale), column(centre + scale * U)
    again = g.inverse(g.forward(theta))
    np.testing.assert_allclose(again, theta, rtol=1e-12, atol=1e-14 * max(abs(centre), scale))
    t = column(centre + scale * U[np.abs(U) < 1e9])
    np.testing.assert_allclose(
        g.forward(g.inverse(t)), t, rtol=1e-12, atol=1e-14 * max(abs(centre), scale)
    )


@pytest.mark.parametrize(("centre", "scale"), MAPS)
def test_slope_by_differences(centre, scale):
    g, h = one(centre, scale), 1e-6 * scale
    t = column(centre + scale * np.linspace(-40, 40, 161))
    slope = (g.inverse(t + h) - g.inverse(t - h)) / (2 * h)
    np.testing.assert_allclose(g.log_slope(t), np.log(slope), atol=1e-6)
    np.testing.assert_allclose(g.log_slope_at(g.inverse(t)), g.log_slope(t), atol=1e-10)


def test_linear_in_the_middle_and_far_out():
    g = one()
    assert g.log_slope(column([0.0, 1e-4])) == pytest.approx(0, abs=1e-7)
    far = g.log_slope(column([-1e6, 1e9]))
    assert far == pytest.approx(-np.log(LINEAR_SHARE), abs=1e-2)
    slopes = g.log_slope(column(np.linspace(0, 1e3, 2000)))[:, 0]
    assert (np.diff(slopes) > 0).all()
    assert (slopes < -np.log(LINEAR_SHARE)).all()


@pytest.mark.parametrize("value", [1e300, -1e300, 1.7e308, -1.7e308])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_absurd_numbers_stay_finite(value, scale):
    g = one(1e5, scale)
    with np.errstate(all="raise"):
        for result in (g.forward(column([value])), g.inverse(column([value]))):
            assert np.isfinite(result).all()
            assert np.sign(result[0, 0]) == np.sign(value)
        assert 0 <= g.log_slope(column([value]))[0, 0] <= -np.log(LINEAR_SHARE) + 1e-12
    assert np.isfinite(FURTHEST / LINEAR_SHARE)


# ---------------------------------------------------------------- in a space

TAILS = np.array([[0.5, 2.0], [NAN, NAN], [-60.0, 3.0], [NAN, NAN]])


def make_space(tails=TAILS):
    space = InferenceSpace.from_bounds(
        [-INF, 0, -INF, 7, -INF], [INF, 1, INF, 7, INF],
        [-3, 0.2, -80, 7, -1], [4, 0.8, -40, 7, 1],
        names=list("abcde"), bounded="probit",
    )  # fmt: skip
    return space if tails is None else space.with_tails(tails)


def turned(space):
    root = np.random.default_rng(3).standard_normal((4, 4))
    return space.whitened(root @ root.T + np.eye(4))


def test_spaces_have_none_by_default_and_nan_changes_nothing():
    space = turned(make_space(None))
    assert np.isnan(space.tails).all()
    assert space.tails.shape == (4, 2)
    again = turned(make_space(np.full((4, 2), NAN)))
    x = np.random.default_rng(0).standard_normal((50, 4))
    np.testing.assert_array_equal(space.to_original(x), again.to_original(x))
    np.testing.assert_array_equal(space.log_jacobian(x), again.log_jacobian(x))


def test_only_the_columns_that_are_told_change():
    theta = np.array([[1.0, 0.3, -50.0, 7.0, 0.4], [30.0, 0.9, -900.0, 7.0, -2.0]])
    plain, heavy = make_space(None).to_inference(theta), make_space().to_inference(theta)
    np.testing.assert_array_equal(plain[:, [1, 3]], heavy[:, [1, 3]])
    assert (np.abs(heavy[1, [0, 2]]) < 0.6 * np.abs(plain[1, [0, 2]])).all()


def test_the_plausible_box_has_unit_size():
    space = make_space()
    box = np.array([space.bounds.plausible_lower, space.bounds.plausible_upper])
    np.testing.assert_allclose(space.to_inference(box), [[-0.5] * 4, [0.5] * 4], atol=1e-12)


def test_round_trip_and_jacobian_of_a_whitened_space():
    space = turned(make_space())
    x = 0.5 * np.random.default_rng(1).standard_normal((40, 4))  # off the bounds of one
    theta = space.to_original(x)
    np.testing.assert_allclose(space.to_inference(theta), x, atol=1e-9)
    h = 1e-5
    steps = h * np.eye(4)
    columns = [(space.to_original(x + s) - space.to_original(x - s)) / (2 * h) for s in steps]
    jacobian = np.stack(columns, axis=-1)[:, space.free]
    np.testing.assert_allclose(
        space.log_jacobian(x), np.log(np.abs(np.linalg.det(jacobian))), atol=1e-6
    )


def test_a_density_keeps_its_mass():
    space = InferenceSpace.from_bounds(-INF, INF, -4, 4).with_tails([[0.3, 1.4]])

    def density(x):
        theta = space.to_original([x])[0]
        return stats.t(2.5).pdf(theta) * np.exp(space.log_jacobian([x]))

    mass = integrate.quad(density, -400, 400, points=[-3, -1, 0, 1, 3], limit=400)[0]
    assert mass == pytest.approx(1, abs=1e-6)


def test_soft_edges_and_heavy_tails_go_together():
    space = make_space().with_softness([NAN, 0.05, NAN, NAN])
    np.testing.assert_array_equal(space.tails, TAILS)
    other = make_space(None).with_softness([NAN, 0.05, NAN, NAN]).with_tails(TAILS)
    x = np.random.default_rng(0).standard_normal((20, 4))
    np.testing.assert_array_equal(space.to_original(x), other.to_original(x))


def test_one_coordinate_alone():
    space = turned(make_space())
    coordinate = space.coordinate(2)
    v = coordinate.standard(np.array([-200.0, -55.0]))
    np.testing.assert_allclose(coordinate.value(v), [-200.0, -55.0], rtol=1e-12)
    assert isinstance(coordinate.map, HeavyTails)


def test_pickled():
    space = turned(make_space())
    again = pickle.loads(pickle.dumps(space))
    np.testing.assert_array_equal(again.to_original(np.ones(4)), space.to_original(np.ones(4)))
    assert not again.tails.flags.writeable or again.tails is not space.tails


@pytest.mark.parametrize(
    ("row", "value", "says"),
    [
        (0, [0.0, 0.0], "'a'.*positive and finite scale"),
        (0, [0.0, -1.0], "'a'.*positive and finite scale"),
        (0, [0.0, INF], "'a'.*positive and finite scale"),
        (0, [0.0, NAN], "'a'.*positive and finite scale"),
        (2, [NAN, 1.0], "'c'.*finite centre"),
        (2, [-INF, 1.0], "'c'.*finite centre"),
        (1, [0.5, 0.1], "'b'.*hard bounds"),
        (3, [1e300, 1.0], "'e'.*nearer to the plausible box"),
    ],
)
def test_refused_by_name(row, value, says):
    tails = np.full((4, 2), NAN)
    tails[row] = value
    with pytest.raises(ValueError, match=says):
        make_space(None).with_tails(tails)


def test_a_wrong_shape_is_refused():
    with pytest.raises(ValueError, match=re.escape("(4, 2)")):
        make_space(None).with_tails([0.0, 1.0])
