"""Single coordinates of the inference space, and which points lie within the bounds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.space import InferenceSpace

INF = np.inf
property_test = settings(max_examples=60, deadline=None)

# name: (lower, upper, plausible_lower, plausible_upper), two-sided map, periodic
COORDINATES = {
    "logit": ((-2.0, 5.0, 0.0, 3.0), "logit", False),
    "probit": ((10.0, 11.0, 10.2, 10.3), "probit", False),
    "student": ((-300.0, -100.0, -250.0, -110.0), "student", False),
    "fixed": ((4.0, 4.0, 4.0, 4.0), "logit", False),
    "unbounded": ((-INF, INF, -7.0, -3.0), "logit", False),
    "lower": ((1.0, INF, 1.5, 9.0), "logit", False),
    "upper": ((-INF, 2.0, -30.0, 1.0), "logit", False),
    "periodic": ((0.0, 360.0, 330.0, 400.0), "logit", True),
}
NAMES = tuple(COORDINATES)
FREE = [name for name in NAMES if name != "fixed"]


def make_space(seed=None):
    boxes, families, periodic = zip(*COORDINATES.values(), strict=True)
    space = InferenceSpace.from_bounds(
        *np.transpose(boxes), names=NAMES, bounded=families, periodic=list(periodic)
    )
    if seed is None:
        return space
    rng = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(rng.standard_normal((space.dimension, space.dimension)))
    rotation[:, 0] *= np.sign(np.linalg.det(rotation))
    return space.with_linear(rotation, rng.uniform(0.3, 2.0, space.dimension))


def inside_points(n=50, seed=0):
    space = make_space()
    return space.to_original(np.random.default_rng(seed).uniform(-1, 1, (n, space.dimension)))


class TestContains:
    def test_points_of_the_space_are_inside(self):
        space = make_space()
        x = np.random.default_rng(1).normal(scale=3, size=(4, 100, space.dimension))
        inside = space.contains(space.to_original(x))
        assert inside.shape == (4, 100)
        assert inside.all()

    @pytest.mark.parametrize("name", FREE)
    def test_outside_one_bound_is_outside(self, name):
        space, i = make_space(), NAMES.index(name)
        for bound in (space.bounds.lower[i], space.bounds.upper[i]):
            if not np.isfinite(bound):
                continue
            step = -1.0 if bound == space.bounds.lower[i] else 1.0
            theta = inside_points(1)[0]
            theta[i] = bound + step
            assert bool(space.contains(theta)) == (name == "periodic")
            theta[i] = bound  # the density is that of an open interval
            assert bool(space.contains(theta)) == (name == "periodic")

    def test_a_fixed_parameter_must_have_its_value(self):
        space, theta = make_space(), inside_points(1)[0]
        assert space.contains(theta)
        theta[NAMES.index("fixed")] = np.nextafter(4.0, 5.0)
        assert not space.contains(theta)

    @pytest.mark.parametrize("bad", [np.nan, INF, -INF])
    @pytest.mark.parametrize("name", NAMES)
    def test_not_finite_is_outside(self, name, bad):
        theta = inside_points(1)[0]
        theta[NAMES.index(name)] = bad
        assert not make_space().contains(theta)

    def test_mask_row_by_row_whatever_the_whitening(self):
        theta = inside_points(6)
        theta[2, 0], theta[4, 5] = 99.0, 0.0
        for space in (make_space(), make_space(seed=3)):
            assert space.contains(theta).tolist() == [True, True, False, True, False, True]

    def test_wrong_shape_is_refused(self):
        with pytest.raises(ValueError, match="theta must have shape"):
            make_space().contains(np.zeros(3))


class TestStandardCoordinate:
    def test_agrees_with_the_whole_map(self):
        space, theta = make_space(), inside_points()
        v = space.to_inference(theta)  # x = v before whitening
        for name in FREE:
            i, column = NAMES.index(name), FREE.index(name)
            inside, alone, _ = space.standard_coordinate(i, theta[:, i])
            assert inside.all()
            np.testing.assert_allclose(alone, v[:, column], rtol=1e-9, atol=1e-9)

    def test_does_not_depend_on_whitening(self):
        theta = inside_points()
        for name in FREE:
            i = NAMES.index(name)
            plain = make_space().standard_coordinate(i, theta[:, i])
            turned = make_space(seed=5).standard_coordinate(i, theta[:, i])
            for a, b in zip(plain, turned, strict=True):
                np.testing.assert_array_equal(a, b)

    def test_slopes_add_up_to_the_log_jacobian(self):
        space, theta = make_space(), inside_points()
        total = sum(
            space.standard_coordinate(NAMES.index(name), theta[:, NAMES.index(name)])[2]
            for name in FREE
        )
        np.testing.assert_allclose(total, space.log_jacobian(space.to_inference(theta)), atol=1e-8)

    @pytest.mark.parametrize("name", FREE)
    def test_slope_by_finite_differences(self, name):
        space, i = make_space(), NAMES.index(name)
        for v in (-0.7, 0.0, 0.4):
            step = 1e-6
            low, high = (space.from_standard_coordinate(i, v + s) for s in (-step, step))
            middle = space.from_standard_coordinate(i, v)
            _, _, slope = space.standard_coordinate(i, np.array(middle))
            difference = (high - low) % 360 if name == "periodic" else high - low
            assert np.log(difference / (2 * step)) == pytest.approx(float(slope), abs=1e-5)

    @pytest.mark.parametrize("name", FREE)
    def test_values_out_of_bounds_are_marked_and_harmless(self, name):
        space, i = make_space(), NAMES.index(name)
        lower, upper = space.bounds.lower[i], space.bounds.upper[i]
        values = np.array([[lower - 1, upper + 1], [lower, upper]])
        values = values[:, np.isfinite(values[0])]
        inside, v, slope = space.standard_coordinate(i, values)
        assert inside.shape == v.shape == slope.shape == values.shape
        assert np.all(inside) if name == "periodic" else not inside.any()
        assert np.isfinite(v).all()
        assert np.isfinite(slope).all()

    def test_periodic_values_count_modulo_the_period(self):
        space, i = make_space(), NAMES.index("periodic")
        value = np.array([1.0, 100.0, 359.0])
        here = space.standard_coordinate(i, value)
        there = space.standard_coordinate(i, value + 720.0)
        np.testing.assert_allclose(here[1], there[1], atol=1e-9)
        np.testing.assert_allclose(here[2], there[2], atol=1e-9)

    @property_test
    @given(st.sampled_from(FREE), st.floats(-2, 2))
    def test_and_back(self, name, v):
        space, i = make_space(), NAMES.index(name)
        value = space.from_standard_coordinate(i, v)
        inside, again, _ = space.standard_coordinate(i, np.array(value))
        assert inside
        assert float(again) == pytest.approx(v, abs=1e-7)

    @pytest.mark.parametrize("name", FREE)
    def test_the_plausible_box_is_one_wide(self, name):
        space, i = make_space(), NAMES.index(name)
        for v, bound in ((-0.5, "plausible_lower"), (0.5, "plausible_upper")):
            expected = getattr(space.bounds, bound)[i]
            expected = expected % 360 if name == "periodic" else expected
            assert space.from_standard_coordinate(i, v) == pytest.approx(expected, rel=1e-9)
