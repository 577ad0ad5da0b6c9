"""The inference space with soft edges: round trips, Jacobians, whitening, refusals."""

import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate

from quell.space import InferenceSpace

INF, NAN = np.inf, np.nan
property_test = settings(max_examples=100, deadline=None)
seeds = st.integers(0, 2**32 - 1)

# name: (lower, upper, plausible_lower, plausible_upper), two-sided map, periodic, softness
COORDINATES = {
    "box": ((-2.0, 5.0, 0.0, 3.0), "probit", False, 0.2),
    "logit": ((10.0, 11.0, 10.2, 10.3), "logit", False, NAN),
    "sharp": ((-300.0, -100.0, -250.0, -110.0), "student", False, 0.1),
    "softest": ((0.0, 1.0, 0.2, 0.8), "probit", False, 50.0),
    "fixed": ((4.0, 4.0, 4.0, 4.0), "logit", False, NAN),
    "unbounded": ((-INF, INF, -7.0, -3.0), "logit", False, NAN),
    "lower": ((1.0, INF, 1.5, 9.0), "logit", False, 0.3),
    "log": ((1.0, INF, 1.5, 9.0), "logit", False, NAN),
    "upper": ((-INF, 2.0, -30.0, 1.0), "logit", False, 2.0),
    "periodic": ((0.0, 360.0, 330.0, 400.0), "logit", True, NAN),
}
NAMES = tuple(COORDINATES)
FREE = [name for name in NAMES if name != "fixed"]
SOFT = ["box", "sharp", "softest", "lower", "upper"]


def make_space(names=NAMES, soft=True):
    boxes, families, periodic, softness = zip(*(COORDINATES[name] for name in names), strict=True)
    space = InferenceSpace.from_bounds(
        *np.transpose(boxes), names=names, bounded=families, periodic=list(periodic)
    )
    return space.with_softness(np.array(softness)[space.free]) if soft else space


def turned(space, seed=0):
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((space.dimension, space.dimension)))
    rotation[:, 0] *= np.sign(np.linalg.det(rotation))
    return space.with_linear(rotation, rng.uniform(0.3, 2.0, space.dimension))


def inside_points(n, rng, margin=0.0):
    """Between the bounds, at least ``margin`` of the width away from them, (n, 10)."""
    b = make_space().bounds
    low = np.where(np.isfinite(b.lower), b.lower, b.plausible_lower - 5)
    high = np.where(np.isfinite(b.upper), b.upper, b.plausible_upper + 5)
    return low + (high - low) * (margin + (1 - 2 * margin) * rng.beta(0.7, 0.7, (n, len(NAMES))))


def test_the_default_has_no_soft_edges():
    space = make_space(soft=False)
    assert space.softness.shape == (9,)
    assert np.isnan(space.softness).all()
    with pytest.raises(ValueError, match="read-only"):
        space.softness[0] = 1.0
    again = make_space().with_softness(space.softness)
    theta = inside_points(20, np.random.default_rng(0))
    np.testing.assert_array_equal(again.to_inference(theta), space.to_inference(theta))


def test_the_given_array_is_copied():
    given = np.array([0.5])
    space = InferenceSpace.from_bounds(0, 1, 0.2, 0.8).with_softness(given)
    given[0] = 7.0
    assert space.softness[0] == 0.5


def test_soft_edges_undo_the_whitening():
    space = turned(make_space(soft=False)).with_softness(make_space().softness)
    assert space.is_standard
    np.testing.assert_array_equal(space.plausible_range(np.random.default_rng(0)), np.ones(9))


def test_x_is_the_documented_formula():
    space = make_space(["box", "lower", "upper"])
    theta = np.array([[-1.9, 1.2, 1.9], [0.7, 20.0, -3.0], [4.9, 2.0, -80.0]])

    def box(y):
        d, w, s = y + 2, 7, 0.2
        return s * np.log(np.expm1(d / s) / -np.expm1((d - w) / s))

    def plus(d, s):
        return s * np.log(np.expm1(d / s))

    g = [
        box,
        lambda y: plus(y - 1, 0.3),
        lambda y: -plus(2 - y, 2.0),
    ]
    for i in range(3):
        low, high = g[i](space.bounds.plausible_lower[i]), g[i](space.bounds.plausible_upper[i])
        expected = (g[i](theta[:, i]) - (low + high) / 2) / (high - low)
        np.testing.assert_allclose(space.to_inference(theta)[:, i], expected, atol=1e-12)


@pytest.mark.parametrize("name", FREE)
def test_the_plausible_box_has_unit_size(name):
    space = make_space([name])
    box = [space.bounds.plausible_lower, space.bounds.plausible_upper]
    np.testing.assert_allclose(space.to_inference(box), [[-0.5], [0.5]], rtol=1e-9)


@property_test
@given(seeds)
def test_round_trips_after_rotation(seed):
    rng = np.random.default_rng(seed)
    space = turned(make_space(), seed)
    # Further out several x have the same θ next to a bound, to rounding.
    x = space.to_inference(inside_points(5, rng, margin=0.01))
    np.testing.assert_allclose(space.to_inference(space.to_original(x)), x, atol=1e-6)
    theta = inside_points(5, rng)
    back = space.to_original(space.to_inference(theta))
    np.testing.assert_allclose(back, theta, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("size", [10.0, 1e3, 1e100, 1e300, 1.79e308])
@pytest.mark.parametrize("rotate", [False, True])
def test_never_outside_the_bounds_and_always_finite(size, rotate):
    space = turned(make_space()) if rotate else make_space()
    x = size * np.random.default_rng(0).uniform(-1, 1, (200, 9))
    theta = space.to_original(x)
    assert space.contains(theta).all()
    assert np.isfinite(space.to_inference(theta)).all()
    assert np.isfinite(space.log_jacobian(x)).all()
    slopes = space.raw_slopes(x)
    assert (np.isfinite(slopes) & (slopes >= 0)).all()


def test_points_on_a_hard_bound_are_finite_and_not_clear():
    space = make_space(SOFT)
    low = np.where(np.isfinite(space.bounds.lower), space.bounds.lower, 0.0)
    high = np.where(np.isfinite(space.bounds.upper), space.bounds.upper, 3.0)
    for theta in (low, high):
        assert np.isfinite(space.to_inference(theta)).all()
        assert not space.clear_of_bounds(theta)
    assert space.clear_of_bounds(space.to_original(np.zeros(5)))


@pytest.mark.parametrize("seed", range(4))
def test_log_jacobian_determinant_by_finite_differences(seed):
    space = turned(make_space(FREE), seed)
    rng = np.random.default_rng(seed)
    h = 1e-5
    for x in rng.uniform(-0.5, 0.5, (5, 9)):
        steps = np.concatenate([x + h * np.eye(9), x - h * np.eye(9)])
        theta = space.to_original(steps)
        difference = theta[:9] - theta[9:]
        difference[:, -1] = (difference[:, -1] + 180) % 360 - 180
        _, expected = np.linalg.slogdet(difference / (2 * h))
        assert float(space.log_jacobian(x)) == pytest.approx(expected, abs=2e-5)


def test_raw_slopes_by_finite_differences_and_against_the_log_jacobian():
    space = make_space()
    theta = inside_points(24, np.random.default_rng(3), margin=0.01).reshape(4, 6, 10)
    x = space.to_inference(theta)
    slopes = space.raw_slopes(x)
    assert slopes.shape == (4, 6, 9)
    np.testing.assert_allclose(np.log(slopes).sum(-1), space.log_jacobian(x), atol=1e-10)
    h = 1e-6
    difference = (space.to_original(x + h) - space.to_original(x - h))[..., space.free]
    difference[..., -1] %= 360
    np.testing.assert_allclose(slopes, difference / (2 * h), rtol=1e-5, atol=1e-6)
    # they are about v, whatever the whitening
    other = turned(space)
    again = other.raw_slopes(other.to_inference(space.to_original(x)))
    np.testing.assert_allclose(again, slopes, rtol=1e-8)


def test_raw_slopes_turn_small_sds_into_raw_units():
    space = turned(make_space(["box", "lower"]))
    x = np.array([0.3, -0.2])
    draws = x + 1e-4 * np.random.default_rng(0).standard_normal((20_000, 2)) * [1.0, 3.0]
    to_v = space.rotation * space.scales
    sd = np.sqrt(((to_v * (1e-4 * np.array([1.0, 3.0]))) ** 2).sum(axis=1))
    np.testing.assert_allclose(
        space.raw_slopes(x) * sd, space.to_original(draws).std(axis=0), rtol=0.02
    )


@pytest.mark.parametrize("name", SOFT)
def test_transformed_uniform_density_integrates_to_one(name):
    """Uniform up to the bound, where the tail is that of the Jacobian alone."""
    space = make_space([name])
    low = space.bounds.lower[0] if np.isfinite(space.bounds.lower[0]) else -40.0
    high = space.bounds.upper[0] if np.isfinite(space.bounds.upper[0]) else 20.0
    ends = space.to_inference([[low], [high]])[:, 0]
    x = np.linspace(*ends, 800_001)
    values = np.exp(space.log_jacobian(x[:, None])) / (high - low)
    assert integrate.simpson(values, x=x) == pytest.approx(1.0, abs=1e-7)


def test_transformed_density_integrates_to_one_on_a_rotated_grid():
    space = make_space(["box", "lower"]).whitened([[0.04, 0.03], [0.03, 0.05]])
    assert not space.is_standard
    axis = np.linspace(-30.0, 30.0, 1501)
    x = np.stack(np.meshgrid(axis, axis), axis=-1)
    theta = space.to_original(x)
    log_density = -np.log(7.0) - (theta[..., 1] - 1.0)  # uniform, and exponential
    values = np.exp(log_density + space.log_jacobian(x))
    assert values.sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1.0, abs=1e-5)


@property_test
@given(seeds)
def test_change_of_coordinates_between_two_softnesses_is_exact(seed):
    """The same density in original space, whichever space it is written in."""
    rng = np.random.default_rng(seed)
    old = turned(make_space(), seed)
    factor = 10.0 ** rng.uniform(-1, 1, 9)
    new = turned(make_space().with_softness(make_space().softness * factor), seed + 1)
    theta = inside_points(4, rng)
    x = new.to_inference(old.to_original(old.to_inference(theta)))
    np.testing.assert_allclose(new.to_original(x), theta, rtol=1e-8, atol=1e-8)
    hard = make_space(soft=False)
    x = new.to_inference(inside_points(1, rng, margin=0.1)[0])
    h = 1e-6
    images = hard.to_inference(
        new.to_original(np.concatenate([x + h * np.eye(9), x - h * np.eye(9)]))
    )
    _, measured = np.linalg.slogdet((images[:9] - images[9:]) / (2 * h))
    expected = new.log_jacobian(x) - hard.log_jacobian(hard.to_inference(new.to_original(x)))
    assert measured == pytest.approx(float(expected), abs=1e-3)


def test_whitening_with_soft_edges_gives_unit_covariance():
    space = make_space(["box", "upper", "unbounded"])
    covariance = np.array([[0.04, 0.03, 0.0], [0.03, 0.05, 0.02], [0.0, 0.02, 0.3]])
    white = space.whitened(covariance)
    np.testing.assert_array_equal(white.softness, space.softness)
    x = np.random.default_rng(0).multivariate_normal(np.zeros(3), covariance, 50_000)
    again = white.to_inference(space.to_original(x))
    np.testing.assert_allclose(np.cov(again.T), np.eye(3), atol=0.03)
    widths = white.plausible_range(np.random.default_rng(1))
    assert widths.shape == (3,)
    assert (widths > 0.5).all()


@pytest.mark.parametrize("name", FREE)
def test_standard_coordinate_and_back(name):
    space = turned(make_space())
    i, column = NAMES.index(name), FREE.index(name)
    reach = (-0.5, -0.3, 0.0, 0.4, 0.571) if name == "sharp" else (-0.8, -0.6, 0.0, 0.4, 0.9)
    for v in reach:
        value = space.from_standard_coordinate(i, v)
        inside, again, slope = space.standard_coordinate(i, np.array(value))
        assert inside
        assert float(again) == pytest.approx(v, abs=1e-7)
        x = (v * np.eye(9)[column]) @ space.rotation / space.scales
        assert float(slope) == pytest.approx(np.log(space.raw_slopes(x)[column]), abs=1e-6)


def test_a_soft_space_survives_pickling():
    space = turned(make_space())
    copy = pickle.loads(pickle.dumps(space))
    x = np.full(9, 0.2)
    np.testing.assert_array_equal(copy.to_original(x), space.to_original(x))
    np.testing.assert_array_equal(copy.softness, space.softness)


def test_shifting_and_rescaling_the_parameters_changes_nothing():
    rng = np.random.default_rng(1)
    shift, scale = rng.uniform(-50, 50, 10), 10.0 ** rng.uniform(-4, 4, 10)
    boxes, families, periodic, softness = zip(*COORDINATES.values(), strict=True)
    space = make_space()
    softness = (np.array(softness) * scale)[space.free]
    options = {"bounded": families, "periodic": list(periodic)}
    other = InferenceSpace.from_bounds(*(shift + scale * np.transpose(boxes)), **options)
    other = other.with_softness(softness)
    theta = inside_points(50, rng)
    x = space.to_inference(theta)
    np.testing.assert_allclose(other.to_inference(shift + scale * theta), x, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        other.raw_slopes(x), space.raw_slopes(x) * scale[space.free], rtol=1e-6, atol=1e-300
    )


def test_as_the_softness_vanishes_the_coordinate_is_the_raw_one():
    space = InferenceSpace.from_bounds([0, 2], [1, INF], [0.2, 3], [0.8, 9]).with_softness(
        [1e-6] * 2
    )
    theta = np.array([[0.01, 2.01], [0.5, 500.0], [0.99, 5.0]])
    expected = (theta - [0.5, 6.0]) / [0.6, 6.0]
    np.testing.assert_allclose(space.to_inference(theta), expected, atol=1e-9)


@pytest.mark.parametrize(
    ("softness", "says"),
    [
        ([0.0, NAN, NAN, NAN], "softness[0] ('a') must be positive and finite, or nan"),
        ([NAN, -1.0, NAN, NAN], "softness[1] ('b') must be positive and finite, or nan"),
        ([INF, NAN, NAN, NAN], "softness[0] ('a') must be positive and finite, or nan"),
        ([NAN, NAN, 1.0, NAN], "softness[2] ('c') must be nan because the coordinate has no hard"),
        ([NAN, NAN, NAN, 1.0], "softness[3] ('e') must be nan because the coordinate has no hard"),
        ([1.0] * 5, "each coordinate that is not fixed ('a', 'b', 'c', 'e'), got (5,)"),
        (1.0, "softness must have shape (4,)"),
        ([1.7e308, NAN, NAN, NAN], "softness[0] ('a') must be at most 1e+06 times"),
    ],
)
def test_softness_that_is_refused(softness, says):
    space = InferenceSpace.from_bounds(
        [0, 0, -INF, 3, 0], [1, INF, INF, 3, 360], [0.2, 1, -1, 3, 100], [0.8, 2, 1, 3, 200],
        names=list("abcde"), periodic=["e"],
    )  # fmt: skip
    with pytest.raises(ValueError, match=re.escape(says)):
        space.with_softness(softness)


def test_softness_too_large_for_floating_point_numbers_is_refused():
    space = InferenceSpace.from_bounds(-1e307, 1e307, -1e304, 9e306, names=["huge"])
    with pytest.raises(ValueError, match=r"'huge'.* must be nearer to the size"):
        space.with_softness([1.7e308])
