"""Very low values keep their order but not their size; points of zero density lie below."""

import numpy as np
import pytest
from helpers.vbmc import make_problem, make_state, unbounded_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from quell.vbmc.low_values import (
    HOPELESS,
    NEGLIGIBLE_MASS,
    compressed,
    is_hopeless,
    log_slopes,
    resolved_depth,
    without_density,
)

quick = settings(max_examples=100, deadline=None)
powers = st.sampled_from([0.0, 0.25, 0.5, 1.0])
depths = st.sampled_from([resolved_depth(d) for d in (1, 2, 7)])
#: Log joints as targets return them, and those that stand for zero density.
finite_values = st.lists(st.floats(-1e300, 1e6), min_size=1, max_size=12)


def assert_no_inversion(raw, y):
    """The order of ``y`` is that of ``raw``, up to the rounding of both."""
    order = np.argsort(raw, kind="stable")
    steps = np.diff(y[order])
    assert (steps >= -1e-12 * np.abs(y).max()).all()
    apart = (
        np.diff(raw[order]) > 1e-6 * (1 + raw.max() - raw[order][:-1]) + 1e-9 * np.abs(raw).max()
    )
    assert (steps[apart] > 0).all()


@pytest.mark.parametrize("dimension", [1, 2, 5, 20])
def test_the_depth_leaves_a_negligible_share_of_a_normal(dimension):
    depth = resolved_depth(dimension)
    assert stats.chi2(dimension).sf(2 * depth) == pytest.approx(NEGLIGIBLE_MASS, rel=1e-6)


class TestCompressed:
    def test_nothing_happens_above_the_depth(self):
        y = np.array([-3.0, 7.0, -17.9, 6.0])
        np.testing.assert_array_equal(compressed(y, 25.0), y)

    def test_by_hand(self):
        found = compressed(np.array([2.0, -48.0, -23.0]), 25.0)
        np.testing.assert_allclose(found, [2.0, 2.0 - 25.0 * (1 + np.log(2.0)), -23.0])

    @quick
    @given(st.lists(st.floats(-1e8, 1e6), min_size=1, max_size=12), depths, powers)
    def test_order_is_kept_and_nothing_is_lowered(self, values, depth, power):
        raw = np.array(values)
        y = compressed(raw, depth, power)
        assert_no_inversion(raw, y)
        assert y.max() == raw.max()
        assert (y >= raw - 1e-9 * (1 + np.abs(raw).max())).all()

    def test_the_less_the_larger_the_power(self):
        y = np.array([0.0, -24.0, -26.0, -1e3, -1e7])
        found = np.array([compressed(y, 25.0, power) for power in (0.0, 0.25, 0.5, 1.0)])
        np.testing.assert_array_equal(found[:, :2], np.tile(y[:2], (4, 1)))
        np.testing.assert_allclose(found[-1], y)
        assert (np.diff(found[:, 2:], axis=0) < 0).all()

    @pytest.mark.parametrize("power", [0.0, 0.25, 0.5, 1.0])
    def test_slope_is_the_log_jacobian(self, power):
        y, step = np.array([3.0, -20.0, -30.0, -900.0, -4e4]), 1e-3
        numerical = 0.0
        for i in range(1, len(y)):
            shift = step * np.eye(len(y))[i]
            rise = compressed(y + shift, 25.0, power) - compressed(y - shift, 25.0, power)
            numerical += np.log(rise[i] / (2 * step))
        assert log_slopes(y, 25.0, power).sum() == pytest.approx(numerical, abs=1e-6)

    @pytest.mark.parametrize("power", [0.0, 0.25, 0.5])
    def test_smooth_at_the_depth(self, power):
        around = np.array([[0.0, -25.0 - e] for e in (-1e-4, 0.0, 1e-4)])
        values = [compressed(y, 25.0, power)[1] for y in around]
        np.testing.assert_allclose(np.diff(values), -1e-4, rtol=1e-4)


class TestHopeless:
    def test_far_below_the_best(self):
        values = np.array([-5.0, -5.0 - 0.9 * HOPELESS, -5.0 - 1.1 * HOPELESS, -1e300, np.nan])
        assert is_hopeless(values).tolist() == [False, False, True, True, False]

    @pytest.mark.parametrize("values", [[], [np.nan], [-np.inf, np.nan], [-1e300]])
    def test_without_a_better_one_nothing_is(self, values):
        assert not is_hopeless(np.array(values)).any()


class TestWithoutDensity:
    near = np.array([[0.0], [1.0], [9.0], [10.0]])
    y = np.array([0.0, -1.0, -60.0, -70.0])

    def test_a_cliff_of_the_depth_next_to_high_values(self):
        assert without_density(np.array([[0.4]]), self.near, self.y, 25.0) == -25.0

    def test_below_its_neighbours_where_they_are_lower(self):
        assert without_density(np.array([[9.6]]), self.near, self.y, 25.0) == -70.0

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_fewer_neighbours_than_usual(self, n):
        near = np.zeros((n, 3)) + np.arange(n)[:, None]
        y = -10.0 * np.arange(n)
        found = without_density(np.ones((2, 3)), near, y, 5.0)
        np.testing.assert_array_equal(found, np.full(2, min(-5.0, y.min())))


class TestTrainingSet:
    """The same of whole tables of evaluations."""

    @staticmethod
    def state(values, dimension, *, bounded=False, **changes):
        problem = make_problem(dimension) if bounded else unbounded_problem(dimension)
        theta = np.random.default_rng(len(values)).uniform(-3, 3, (len(values), dimension))
        return make_state(problem, theta, values, **changes)

    @quick
    @given(finite_values, st.integers(1, 3), st.booleans(), powers)
    def test_order_is_that_of_the_raw_values(self, values, dimension, bounded, power):
        state = self.state(values, dimension, bounded=bounded, noisy=False, power=power)
        training, table = state.training, state.evaluations
        known = ~is_hopeless(table.log_joint)[training.rows]
        raw = table.log_joint[training.rows] + state.space.log_jacobian(training.data.x)
        assert_no_inversion(raw[known], training.data.y[known])
        assert len(training.rows) == len(values)

    @quick
    @given(
        st.lists(st.one_of(st.just(-np.inf), st.floats(-1e300, 1e6)), min_size=2, max_size=14),
        st.integers(1, 3), st.booleans(), powers,
    )  # fmt: skip
    def test_no_point_of_zero_density_is_above_its_neighbours(
        self, values, dimension, bounded, power
    ):
        values = [0.0, *values]  # one has a density
        state = self.state(values, dimension, bounded=bounded, power=power)
        training, table = state.training, state.evaluations
        x, y = training.data.x, training.data.y
        zero = (table.zero_density | is_hopeless(table.log_joint))[training.rows]
        best = y[~zero].max()
        for row in np.flatnonzero(zero):
            distances = np.sum((x[~zero] - x[row]) ** 2, axis=1)
            nearest = np.argsort(distances)[: dimension + 1]
            assert y[row] <= y[~zero][nearest].min()
            assert y[row] <= best - resolved_depth(dimension)
            assert y[row] >= min(y[~zero].min(), best - resolved_depth(dimension))

    def test_hopelessly_low_values_are_taken_for_zero_density(self):
        low = [-1e10, -1e300, -np.finfo(float).max]
        theta = [[0.0], [1.0], [2.0], [3.0], [4.0]]
        state = make_state(unbounded_problem(1), theta, [-1.0, *low, -900.0], power=0.0)
        data, depth = state.training.data, resolved_depth(1)
        assert state.training.rows.tolist() == [0, 1, 2, 3, 4]
        lowest = -depth * (1 + np.log(899.0 / depth))
        # Both values there are, are among the two nearest of every point in one dimension.
        np.testing.assert_allclose(data.y - data.y[0], [0.0, *[lowest] * 3, lowest])

    def test_values_above_that_are_not(self):
        state = make_state(
            unbounded_problem(1), [[0.0], [1.0], [2.0]], [0.0, -1e6, -5e7], power=0.0
        )
        y, depth = state.training.data.y, resolved_depth(1)
        expected = [0.0, *(-depth * (1 + np.log(d / depth)) for d in (1e6, 5e7))]
        np.testing.assert_allclose(y - y[0], expected)

    def test_without_compression_values_stay_as_they_are(self):
        values = [0.0, -1e6, -30.0, -5e7]
        for changes in ({"power": 1.0}, {"power": 0.0, "warmup": False}):
            y = self.state(values, 2, **changes).training.data.y
            np.testing.assert_allclose(y - y[0], values)
