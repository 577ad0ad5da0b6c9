"""The inference space: round trips, Jacobians, whitening, invariances, refusals."""

import dataclasses
import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from quell.space import InferenceSpace

INF = np.inf
EPS = np.finfo(float).eps

property_test = settings(max_examples=100, deadline=None)
seeds = st.integers(0, 2**32 - 1)

# name: (lower, upper, plausible_lower, plausible_upper), two-sided map, periodic
COORDINATES = {
    "logit": ((-2.0, 5.0, 0.0, 3.0), "logit", False),
    "probit": ((10.0, 11.0, 10.2, 10.3), "probit", False),
    "student": ((-300.0, -100.0, -250.0, -110.0), "student", False),
    "unbounded": ((-INF, INF, -7.0, -3.0), "logit", False),
    "lower": ((1.0, INF, 1.5, 9.0), "logit", False),
    "upper": ((-INF, 2.0, -30.0, 1.0), "logit", False),
    "periodic": ((0.0, 360.0, 330.0, 400.0), "student", True),
    "fixed": ((4.0, 4.0, 4.0, 4.0), "logit", False),
}
FREE = [name for name in COORDINATES if name != "fixed"]


def make_space(names=tuple(COORDINATES)):
    boxes, families, periodic = zip(*(COORDINATES[name] for name in names), strict=True)
    return InferenceSpace.from_bounds(
        *np.transpose(boxes), names=names, bounded=families, periodic=list(periodic)
    )


def random_rotation(rng, dimension):
    q, _ = np.linalg.qr(rng.standard_normal((dimension, dimension)))
    q[:, 0] *= np.sign(np.linalg.det(q))
    return q


def turned(space, seed=0):
    rng = np.random.default_rng(seed)
    return space.with_linear(
        random_rotation(rng, space.dimension), rng.uniform(0.3, 2.0, space.dimension)
    )


def random_covariance(rng, dimension):
    """Strongly correlated, with no correlation near the threshold of 0.05."""
    signs = rng.choice([-1.0, 1.0], dimension) * rng.uniform(0.2, 3.0, dimension)
    correlation = rng.uniform(0.3, 0.4, (dimension, dimension))
    correlation = np.where(np.eye(dimension) > 0, 1.0, (correlation + correlation.T) / 2)
    return correlation * np.outer(signs, signs)


def test_attributes():
    space = make_space()
    assert space.n_parameters == 8
    assert space.dimension == 7
    assert space.names == tuple(COORDINATES)
    assert space.free_names == tuple(FREE)
    np.testing.assert_array_equal(space.free, [True] * 7 + [False])
    assert space.kinds[-2:] == ("periodic", "fixed")
    with pytest.raises(dataclasses.FrozenInstanceError):
        space.scales = np.ones(7)
    with pytest.raises(ValueError, match="read-only"):
        space.rotation[0, 0] = 2.0
    with pytest.raises(ValueError, match="read-only"):
        turned(space).scales[0] = 2.0


# ---------------------------------------------------------------- round trips and bounds


@property_test
@given(st.sampled_from(FREE), st.floats(-1.5, 1.5))
def test_round_trip_from_x(name, x):
    space = make_space([name])
    np.testing.assert_allclose(
        space.to_inference(space.to_original([x])), [x], rtol=1e-10, atol=1e-10
    )


@property_test
@given(
    st.sampled_from(["logit", "probit", "student", "periodic"]),
    st.floats(-100, 100),
    st.floats(-1e4, 1e4),
    st.floats(0.0, 0.7),
    st.floats(0.0, 1.0),
)
def test_round_trip_on_bounds_of_any_size(name, exponent, offset, corner, fraction):
    width = 10.0**exponent
    low, high = offset * width, offset * width + width
    plausible = np.clip(low + (0.01 + corner + np.array([0.0, 0.25])) * width, low, high)
    family = "logit" if name == "periodic" else name
    space = InferenceSpace.from_bounds(
        low, high, *plausible, bounded=family, periodic=[name == "periodic"]
    )
    theta = min(max(low + fraction * width, low), high)
    back = space.to_original(space.to_inference([theta]))[0]
    error = abs(back - theta)
    if name == "periodic":
        assert low <= back < high
        error = min(error, abs(error - (high - low)))
    else:
        assert low < back < high
    assert error <= 40 * EPS * width + 4 * np.spacing(max(abs(low), abs(high)))


@property_test
@given(
    st.sampled_from([-1, 1]),
    st.floats(-100, 100),
    st.floats(-1e4, 1e4),
    st.floats(0.002, 0.9),
    st.floats(-6, 6),
)
def test_round_trip_beyond_one_bound_of_any_size(side, exponent, offset, inner, decades):
    width = 10.0**exponent
    bound = offset * width
    box = sorted([bound + side * inner * width, bound + side * width])
    hard = (bound, INF) if side > 0 else (-INF, bound)
    space = InferenceSpace.from_bounds(*hard, *box)
    theta = bound + side * width * 10.0**decades
    back = space.to_original(space.to_inference([theta]))[0]
    assert side * (back - bound) > 0
    distance = width * 10.0**decades
    assert abs(back - theta) <= 60 * EPS * distance + 4 * np.spacing(max(abs(bound), abs(theta)))


@property_test
@given(seeds)
def test_round_trip_after_rotation(seed):
    rng = np.random.default_rng(seed)
    space = turned(make_space(), seed)
    theta = make_space().to_original(rng.uniform(-1, 1, (20, 7)))
    back = space.to_original(space.to_inference(theta))
    ranges = np.array([7.0, 1.0, 200.0, 4.0, 9.0, 32.0, 360.0, 1.0])
    scale = np.maximum(ranges, np.abs(theta))
    error = np.abs(back - theta)
    error[:, 6] = np.minimum(error[:, 6], 360.0 - error[:, 6])
    assert (error <= 100 * EPS * scale).all()
    np.testing.assert_array_equal(back[:, 7], 4.0)


def test_leading_shapes_are_kept():
    for space in (make_space(), turned(make_space())):
        x = np.random.default_rng(1).uniform(-0.7, 0.7, (3, 4, 7))
        theta = space.to_original(x)
        assert theta.shape == (3, 4, 8)
        assert space.to_inference(theta).shape == (3, 4, 7)
        assert space.log_jacobian(x).shape == (3, 4)
        assert space.clear_of_bounds(theta).shape == (3, 4)
        np.testing.assert_allclose(space.to_original(x[1, 2]), theta[1, 2], rtol=1e-13)
        np.testing.assert_allclose(space.log_jacobian(x[1, 2]), space.log_jacobian(x)[1, 2])
        assert space.log_jacobian(x[1, 2]).shape == ()
        assert space.clear_of_bounds(theta[1, 2]).shape == ()
        assert space.to_original(np.empty((0, 7))).shape == (0, 8)
        assert space.to_inference(np.empty((0, 8))).shape == (0, 7)


def test_arguments_are_not_changed():
    space = turned(make_space())
    x = np.full((2, 7), 0.3)
    theta = space.to_original(x)
    kept = theta.copy()
    space.to_inference(theta)
    space.clear_of_bounds(theta)
    space.log_jacobian(x)
    np.testing.assert_array_equal(theta, kept)
    np.testing.assert_array_equal(x, 0.3)


@pytest.mark.parametrize("size", [10.0, 1e3, 1e100, 1e300, 1.79e308])
@pytest.mark.parametrize("rotate", [False, True])
def test_never_outside_the_bounds(size, rotate):
    space = turned(make_space()) if rotate else make_space()
    x = np.concatenate([size * np.eye(7), -size * np.eye(7), np.full((1, 7), size)])
    theta = space.to_original(x)
    assert np.isfinite(theta).all()
    assert np.isfinite(space.log_jacobian(x)).all()
    inside = (theta > space.bounds.lower) & (theta < space.bounds.upper)
    on_circle = (theta >= space.bounds.lower) & (theta < space.bounds.upper)
    assert inside[:, :6].all()
    assert on_circle[:, 6].all()
    assert (theta[:, 7] == 4.0).all()
    assert np.isfinite(space.to_inference(theta)).all()


def test_points_on_a_hard_bound_are_finite():
    space = make_space()
    middle = space.to_original(np.zeros(7))
    for i in range(6):
        for bound in (space.bounds.lower[i], space.bounds.upper[i]):
            if np.isfinite(bound):
                theta = middle.copy()
                theta[i] = bound
                x = space.to_inference(theta)
                assert np.isfinite(x).all()
                assert abs(x[i]) > 1
                assert np.isfinite(space.log_jacobian(x))


def test_plausible_box_has_unit_size():
    space = make_space()
    theta = np.stack([space.bounds.plausible_lower, space.bounds.plausible_upper])
    corners = np.array([[-0.5], [0.5]]) * np.ones(7)
    np.testing.assert_allclose(space.to_inference(theta), corners, atol=1e-14)


def test_x_is_the_documented_formula():
    space = make_space()
    theta = np.array([1.3, 10.7, -180.0, -2.0, 40.0, -9.0, 10.0, 4.0])

    def logit(z):
        return np.log(z / (1 - z))

    def student(z):  # t(4), not by SciPy, whose quantiles have few digits before SciPy 1.17
        a = np.sqrt(4 * z * (1 - z))
        return np.sign(z - 0.5) * 2 * np.sqrt(np.cos(np.arccos(a) / 3) / a - 1)

    def standard(g, theta, low, high):
        return (g(theta) - (g(low) + g(high)) / 2) / (g(high) - g(low))

    expected = [
        standard(lambda a: logit((a + 2) / 7), 1.3, 0.0, 3.0),
        standard(lambda a: stats.norm.ppf(a - 10), 10.7, 10.2, 10.3),
        standard(lambda a: student((a + 300) / 200), -180.0, -250.0, -110.0),
        (-2.0 + 5.0) / 4.0,
        standard(lambda a: np.log(a - 1), 40.0, 1.5, 9.0),
        standard(lambda a: -np.log(2 - a), -9.0, -30.0, 1.0),
        # the circle is cut at 185, opposite to the plausible centre 365: 10 is 370 on that period
        standard(lambda a: student((a - 185) / 360), 370.0, 330.0, 400.0),
    ]
    np.testing.assert_allclose(space.to_inference(theta), expected, rtol=1e-11)
    rotation, scales = turned(space).rotation, turned(space).scales
    np.testing.assert_allclose(
        turned(space).to_inference(theta), (np.array(expected) @ rotation) / scales, rtol=1e-10
    )


# ---------------------------------------------------------------- Jacobian


@pytest.mark.parametrize("name", FREE)
def test_log_jacobian_by_finite_differences(name):
    space = make_space([name])
    x = np.linspace(-1.03, 0.97, 21)[:, None]
    h = 1e-5
    difference = (space.to_original(x + h) - space.to_original(x - h))[:, 0]
    if name == "periodic":
        difference %= 360.0
    np.testing.assert_allclose(
        space.log_jacobian(x), np.log(difference / (2 * h)), rtol=1e-7, atol=1e-7
    )


@pytest.mark.parametrize("seed", range(5))
def test_log_jacobian_determinant_after_whitening(seed):
    rng = np.random.default_rng(seed)
    space = make_space()
    for _ in range(2):
        space = space.whitened(random_covariance(rng, 7))
    x = rng.uniform(-0.3, 0.3, 7)
    h = 1e-5
    steps = h * np.eye(7)
    difference = (space.to_original(x + steps) - space.to_original(x - steps))[:, space.free]
    difference[:, 6] = (difference[:, 6] + 180.0) % 360.0 - 180.0
    sign, expected = np.linalg.slogdet(difference / (2 * h))
    assert sign == 1.0
    np.testing.assert_allclose(space.log_jacobian(x), expected, rtol=1e-7, atol=1e-7)


DENSITIES = {
    "logit": stats.beta(2.0, 3.5, loc=-2, scale=7),
    "probit": stats.uniform(10.0, 1.0),
    "student": stats.beta(1.5, 1.0, loc=-300, scale=200),
    "unbounded": stats.norm(-4.0, 3.0),
    "lower": stats.gamma(2.0, loc=1.0, scale=3.0),
    "upper": stats.uniform(-40.0, 42.0),
    "periodic": stats.uniform(0.0, 360.0),
}


@pytest.mark.parametrize("name", FREE)
def test_transformed_density_integrates_to_one(name):
    space = make_space([name])

    def density(x):
        with np.errstate(divide="ignore"):
            log_density = DENSITIES[name].logpdf(space.to_original([x]))[0]
        return np.exp(log_density + space.log_jacobian([x]))

    # break points keep the quadrature from missing the bulk; "upper" has a jump at -40
    pieces = [-INF, -3.0, -1.0, 0.0, 1.0, 3.0, INF]
    total = sum(
        integrate.quad(density, a, b, limit=400, epsabs=1e-9, epsrel=1e-9)[0]
        for a, b in pairwise(pieces)
    )
    assert total == pytest.approx(1.0, abs=1e-6)


def test_von_mises_density_integrates_to_one_across_the_bounds():
    """A bump at 5°, on both sides of the bounds 0 = 360 but far from the seam at 185."""
    space = make_space(["periodic"])
    bump = stats.vonmises(8.0, loc=np.deg2rad(5.0))
    x = np.linspace(-4.0, 4.0, 4001)[:, None]
    density = bump.pdf(np.deg2rad(space.to_original(x)[:, 0])) * np.deg2rad(1.0)
    values = density * np.exp(space.log_jacobian(x))
    assert integrate.trapezoid(values, x[:, 0]) == pytest.approx(1.0, abs=1e-6)
    assert values.argmax() == pytest.approx(2000, abs=5)


def test_transformed_density_integrates_to_one_on_a_rotated_grid():
    space = make_space(["logit", "lower"])
    space = space.whitened([[0.04, 0.03], [0.03, 0.05]])
    assert not space.is_standard
    axis = np.linspace(-60.0, 60.0, 1201)
    x = np.stack(np.meshgrid(axis, axis), axis=-1)
    theta = space.to_original(x)
    log_density = DENSITIES["logit"].logpdf(theta[..., 0]) + DENSITIES["lower"].logpdf(
        theta[..., 1]
    )
    values = np.exp(log_density + space.log_jacobian(x))
    assert values.sum() * (axis[1] - axis[0]) ** 2 == pytest.approx(1.0, abs=1e-8)


# ---------------------------------------------------------------- whitening


@property_test
@given(seeds)
def test_whitening_gives_unit_covariance(seed):
    rng = np.random.default_rng(seed)
    space = turned(make_space(), seed)
    from_v = space.rotation / space.scales
    covariance = from_v.T @ random_covariance(rng, 7) @ from_v
    white = space.whitened(covariance)
    # between two spaces with the same bounds the map is linear: x' = x W
    to_new = (space.rotation * space.scales).T @ (white.rotation / white.scales)
    np.testing.assert_allclose(to_new.T @ covariance @ to_new, np.eye(7), atol=1e-9)
    x = rng.uniform(-0.2, 0.2, (5, 7))
    np.testing.assert_allclose(
        white.to_inference(space.to_original(x)), x @ to_new, rtol=1e-8, atol=1e-8
    )
    np.testing.assert_allclose(
        white.log_jacobian(x @ to_new),
        space.log_jacobian(x) - np.linalg.slogdet(to_new)[1],
        rtol=1e-9,
    )


def test_samples_become_white():
    rng = np.random.default_rng(3)
    space = make_space(["logit", "lower", "periodic"])
    mixing = np.array([[1.0, 0.5, 0.5], [0.0, 1.0, -0.5], [0.0, 0.0, 1.0]])
    draws = 0.2 * rng.standard_normal((400, 3)) @ mixing
    assert (np.abs(np.corrcoef(draws.T)) > 0.05).all()
    white = space.whitened(np.cov(draws.T))
    moved = white.to_inference(space.to_original(draws))
    np.testing.assert_allclose(np.cov(moved.T), np.eye(3), atol=1e-9)


def test_whitening_white_changes_nothing():
    space = make_space()
    assert space.whitened(np.eye(7)).is_standard
    white = space.whitened(random_covariance(np.random.default_rng(0), 7))
    again = white.whitened(np.eye(7))
    theta = space.to_original(np.random.default_rng(1).uniform(-1, 1, (4, 7)))
    # the axes are the same up to order and sign: the distance from the origin is unchanged
    np.testing.assert_allclose(
        np.linalg.norm(again.to_inference(theta), axis=1),
        np.linalg.norm(white.to_inference(theta), axis=1),
        rtol=1e-9,
    )


def test_one_free_coordinate_can_be_whitened():
    space = make_space(["lower", "fixed"]).whitened([[0.25]])
    np.testing.assert_array_equal(space.scales, [0.5])
    np.testing.assert_array_equal(space.rotation, [[1.0]])


def test_plausible_range():
    space = make_space()
    np.testing.assert_array_equal(space.plausible_range(np.random.default_rng(0)), np.ones(7))
    white = turned(space)
    widths = white.plausible_range(np.random.default_rng(0))
    np.testing.assert_array_equal(widths, white.plausible_range(np.random.default_rng(0)))
    assert widths.shape == (7,)
    assert (widths != white.plausible_range(np.random.default_rng(1))).all()


def test_plausible_range_of_a_rotated_square():
    """By 45° the uniform square gives a triangular density, whose quantiles are known."""
    space = InferenceSpace.from_bounds([-INF] * 2, [INF] * 2, [-1, 10], [1, 30])
    half = np.sqrt(0.5)
    rotated = space.with_linear([[half, -half], [half, half]], [1.0, 0.25])
    triangle = np.sqrt(2) * (1 - np.sqrt(0.1))  # distance between its 5 % and 95 % quantiles
    expected = triangle * (11 / 9) / np.array([1.0, 0.25])
    widths = rotated.plausible_range(np.random.default_rng(5), n=100_000)
    np.testing.assert_allclose(widths, expected, rtol=0.01)
    scaled = space.with_linear(np.eye(2), [0.5, 2.0])
    np.testing.assert_allclose(
        scaled.plausible_range(np.random.default_rng(5)), [1.1 / 0.5, 1.1 / 2.0], rtol=0.01
    )


# ---------------------------------------------------------------- invariances


@pytest.mark.parametrize("seed", range(4))
def test_permuting_the_coordinates_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(7)
    space, permuted = make_space(FREE), make_space([FREE[i] for i in order])
    theta = space.to_original(rng.uniform(-1, 1, (10, 7)))
    x = space.to_inference(theta)
    np.testing.assert_array_equal(permuted.to_inference(theta[:, order]), x[:, order])
    covariance = random_covariance(rng, 7)
    white = space.whitened(covariance)
    white_permuted = permuted.whitened(covariance[np.ix_(order, order)])
    x = white.to_inference(theta)
    np.testing.assert_allclose(
        white_permuted.to_inference(theta[:, order]), x[:, order], rtol=1e-7, atol=1e-7
    )
    np.testing.assert_allclose(white_permuted.log_jacobian(x[:, order]), white.log_jacobian(x))


@pytest.mark.parametrize("seed", range(4))
def test_shifting_and_rescaling_the_parameters_changes_nothing(seed):
    rng = np.random.default_rng(seed)
    shift, scale = rng.uniform(-50, 50, 8), 10.0 ** rng.uniform(-4, 4, 8)
    boxes, families, periodic = zip(*COORDINATES.values(), strict=True)
    options = {"bounded": families, "periodic": list(periodic)}
    space = make_space()
    other = InferenceSpace.from_bounds(*(shift + scale * np.transpose(boxes)), **options)
    covariance = random_covariance(rng, 7)
    theta = space.to_original(rng.uniform(-1, 1, (10, 7)))
    for before, after in [(space, other), (space.whitened(covariance), other.whitened(covariance))]:
        x = before.to_inference(theta)
        np.testing.assert_allclose(after.to_inference(shift + scale * theta), x, atol=1e-7)
        np.testing.assert_allclose(
            after.log_jacobian(x),
            before.log_jacobian(x) + np.log(scale[:7]).sum(),
            rtol=1e-9,
            atol=1e-9,
        )
        np.testing.assert_array_equal(
            after.clear_of_bounds(shift + scale * theta), before.clear_of_bounds(theta)
        )


def test_a_space_survives_pickling():
    space = turned(make_space())
    x = np.full(7, 0.2)
    theta = space.to_original(x)
    copy = pickle.loads(pickle.dumps(space))
    np.testing.assert_array_equal(copy.to_original(x), theta)


# ---------------------------------------------------------------- fixed, periodic, veto


def test_fixed_coordinates_are_dropped_and_put_back():
    space = InferenceSpace.from_bounds([3, -INF, -1], [3, INF, -1], [3, 0, -5], [3, 1, 5])
    assert space.dimension == 1
    np.testing.assert_array_equal(space.to_inference([[3, 0.5, -1]]), [[0.0]])
    np.testing.assert_array_equal(space.to_original([[0.5]]), [[3.0, 1.0, -1.0]])
    np.testing.assert_allclose(space.log_jacobian([0.5]), 0.0)


def test_a_fixed_coordinate_may_be_listed_as_periodic():
    space = InferenceSpace.from_bounds([3, 0], [3, 1], [3, 0.2], [3, 0.8], periodic=["x1"])
    assert space.kinds == ("fixed", "two-sided")
    with pytest.raises(ValueError, match=r"theta\[0\] \('x1'\)"):
        space.to_inference([6, 0.5])


def test_periodic_points_are_wrapped():
    space = make_space(["periodic"])
    theta = np.array([[10.0], [370.0], [-350.0], [10.0 + 360 * 20]])
    x = space.to_inference(theta)
    np.testing.assert_array_equal(x, np.broadcast_to(x[0], x.shape))
    np.testing.assert_allclose(space.to_original(x), 10.0, rtol=1e-13)
    # continuous at the bounds 0 = 360, torn at the seam 185
    near = space.to_inference([[359.999], [0.001], [184.9], [185.1]])[:, 0]
    assert abs(near[0] - near[1]) < 1e-4
    assert near[2] > 1.0
    assert near[3] < -1.0


def test_almost_bounds_and_veto():
    space = make_space()
    low = [-2 + 7e-5, 10 + 1e-5, -300 + 2e-3, -INF, 1 + 8e-5, -INF, -INF, -INF]
    high = [5 - 7e-5, 11 - 1e-5, -100 - 2e-3, INF, INF, 2 - 3.2e-4, INF, INF]
    np.testing.assert_allclose(space.almost_lower, low, rtol=1e-15)
    np.testing.assert_allclose(space.almost_upper, high, rtol=1e-15)
    middle = space.to_original(np.zeros(7))
    assert space.clear_of_bounds(middle)
    for i in range(6):
        for edge, outwards in ((low[i], -1), (high[i], 1)):
            if np.isfinite(edge):
                points = np.array([middle, middle])
                points[:, i] = edge - outwards * 1e-7, edge + outwards * 1e-7
                np.testing.assert_array_equal(space.clear_of_bounds(points), [True, False])


def test_veto_of_periodic_coordinates_is_at_the_seam():
    space = make_space(["periodic", "unbounded"])
    angles = np.array([0.0, 359.9999, 360.0, 185.0, 184.997, 185.003, 184.99, 185.01, 545.0])
    clear = space.clear_of_bounds(np.column_stack([angles, np.zeros(9)]))
    np.testing.assert_array_equal(clear, [1, 1, 1, 0, 0, 0, 1, 1, 0])


def test_veto_of_points_out_of_bounds_or_not_finite():
    space = make_space(["logit", "unbounded", "periodic"])
    good = space.to_original(np.zeros(3))
    for i, value in [(0, 7.0), (0, -2.5), (1, INF), (1, np.nan), (2, INF), (2, np.nan)]:
        theta = good.copy()
        theta[i] = value
        assert not space.clear_of_bounds(theta)
    assert space.clear_of_bounds(good)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("theta", "says"),
    [
        ([1.0], "theta must have shape (..., 3), one column per parameter, got (1,)"),
        (1.0, "theta must have shape (..., 3), one column per parameter, got ()"),
        ([[0.5, 2.0]], "theta must have shape (..., 3), one column per parameter, got (1, 2)"),
        ([[1, 2, 4], [1, np.nan, 4]], "theta[1, 1] ('b') must be finite, got nan"),
        ([1, INF, 4], "theta[1] ('b') must be finite, got inf"),
        ([1.5, 2, 4], "theta[0] ('a') must lie within [0.0, 1.0] but is outside by 0.5 (move"),
        ([-1e-9, 2, 4], "is outside by 1e-09 (move it inside), got -1e-09"),
        ([[0.5, 2, 4], [0.5, -1, 4]], "theta[1, 1] ('b') must lie within [1.0, inf]"),
        ([0.5, 2, 4.25], "theta[2] ('c') must lie within [4.0, 4.0] but is outside by 0.25"),
        ([0.5, 2, "x"], "theta must be an array of real numbers"),
    ],
)
def test_points_that_are_refused(theta, says):
    space = InferenceSpace.from_bounds(
        [0, 1, 4], [1, INF, 4], [0.2, 2, 4], [0.8, 3, 4], names=["a", "b", "c"]
    )
    with pytest.raises(ValueError, match=re.escape(says)):
        space.to_inference(theta)


@pytest.mark.parametrize("method", ["to_original", "log_jacobian"])
def test_x_that_is_refused(method):
    space = make_space(["logit", "lower", "fixed"])
    with pytest.raises(ValueError, match=r"x must have shape \(..., 2\), one column per free"):
        getattr(space, method)([0.0, 0.0, 4.0])
    with pytest.raises(ValueError, match=r"x\[0, 1\] must be finite, got nan"):
        getattr(space, method)([[0.0, np.nan]])
    with pytest.raises(ValueError, match=r"x\[0\] must be finite, got -inf"):
        getattr(space, method)([-INF, 0.0])


def test_bad_linear_maps_are_refused():
    space = make_space(["logit", "lower"])
    with pytest.raises(ValueError, match="covariance must be positive definite"):
        space.whitened([[1.0, 1.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match="rotation must be an orthogonal"):
        space.with_linear([[1.0, 1.0], [0.0, 1.0]], [1.0, 1.0])


def test_plausible_box_too_small_to_resolve_is_refused():
    low = 1e-3 * (1 + 4 * EPS)
    with pytest.raises(ValueError, match=r"plausible_lower\[0\] \('a'\) must be further below"):
        InferenceSpace.from_bounds(0, INF, 0.5, np.nextafter(0.5, 1), names=["a"])
    with pytest.raises(ValueError, match=r"plausible_lower\[0\] \('a'\) must be further below"):
        InferenceSpace.from_bounds(0, 1, low, np.nextafter(low, 1), names=["a"])


def test_moved_plausible_bounds_are_warned_about_at_the_caller():
    with pytest.warns(UserWarning, match="'a' from 0.0 to 0.001") as record:
        InferenceSpace.from_bounds(0, 1, 0, 0.5, names=["a"])
    assert record[0].filename == __file__
