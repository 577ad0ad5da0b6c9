import re

import numpy as np
import pytest

from quell.gp import TrainingData

X = [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]
Y = [-1.0, -2.0, -3.0]


def test_from_arrays_squares_the_sds_and_knows_its_size():
    data = TrainingData.from_arrays(X, Y, [0.0, 0.5, 3.0])
    assert (data.size, data.dimension) == (3, 2)
    np.testing.assert_array_equal(data.variance, [0.0, 0.25, 9.0])
    assert not data.has_unknown_noise


def test_a_scalar_sd_is_repeated_and_none_means_exact():
    np.testing.assert_array_equal(TrainingData.from_arrays(X, Y, 2.0).variance, [4.0, 4.0, 4.0])
    np.testing.assert_array_equal(TrainingData.from_arrays(X, Y).variance, [0.0, 0.0, 0.0])


def test_nan_sd_means_unknown_noise():
    data = TrainingData.from_arrays(X, Y, [0.5, np.nan, 0.5])
    assert data.has_unknown_noise
    np.testing.assert_array_equal(data.variance, [0.25, np.nan, 0.25])
    assert TrainingData.from_arrays(X, Y, np.nan).has_unknown_noise


def test_the_arrays_are_copies():
    x, y, sd = np.array(X), np.array(Y), np.ones(3)
    data = TrainingData.from_arrays(x, y, sd)
    x[:], y[:], sd[:] = 9.0, 9.0, 9.0
    np.testing.assert_array_equal(data.x, X)
    np.testing.assert_array_equal(data.y, Y)
    np.testing.assert_array_equal(data.variance, 1.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, 1.0], Y), "x must have shape (n, D), got (2,)"),
        ((X, [-1.0, -2.0]), "y must have shape (3,), one value per row of x, got (2,)"),
        ((X, [[-1.0], [-2.0], [-3.0]]), "y must have shape (3,)"),
        ((X, [-1.0, np.nan, -3.0]), "y[1] must be finite"),
        ((X, [-1.0, -2.0, -np.inf]), "y[2] must be finite"),
        ((X, ["a", "b", "c"]), "y must be an array of real numbers"),
        (([[0.0, 1.0], [2.0, np.inf], [4.0, 5.0]], Y), "x[1, 1]"),
        ((X, Y, [0.1, 0.2]), "noise_sd must be a number or have shape (3,), got (2,)"),
        ((X, Y, [0.1, 0.2, -0.25]), "noise_sd[2] must be non-negative"),
        ((X, Y, [0.1, np.inf, 0.2]), "noise_sd[1] must be non-negative and finite"),
    ],
)
def test_bad_arrays_are_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        TrainingData.from_arrays(*arguments)


def test_a_negative_sd_is_named_with_its_value():
    with pytest.raises(ValueError, match=r"noise_sd\[2\].*got -0\.25"):
        TrainingData.from_arrays(X, Y, [0.1, 0.2, -0.25])


def test_a_non_finite_coordinate_is_named():
    with pytest.raises(ValueError, match=r"x\[0, 1\] \('rate'\) must be finite, got nan"):
        TrainingData.from_arrays([[0.0, np.nan]], [0.0], names=["slope", "rate"])


def test_names_must_fit_the_columns():
    with pytest.raises(ValueError, match="names has 1 entries, expected 2"):
        TrainingData.from_arrays(X, Y, names=["slope"])


@pytest.mark.parametrize("rows", [[2, 0], [True, False, True], slice(0, 2).indices(3)[:2]])
def test_subset_takes_the_same_rows_of_everything(rows):
    data = TrainingData.from_arrays(X, Y, [0.1, 0.2, np.nan])
    rows = np.array(rows)
    part = data.subset(rows)
    np.testing.assert_array_equal(part.x, np.array(X)[rows])
    np.testing.assert_array_equal(part.y, np.array(Y)[rows])
    np.testing.assert_array_equal(part.variance, data.variance[rows])


def test_append_puts_the_other_set_behind():
    first = TrainingData.from_arrays(X, Y, 0.5)
    second = TrainingData.from_arrays([[7.0, 8.0]], [-9.0], np.nan)
    both = first.append(second)
    np.testing.assert_array_equal(both.x, [*X, [7.0, 8.0]])
    np.testing.assert_array_equal(both.y, [*Y, -9.0])
    np.testing.assert_array_equal(both.variance, [0.25, 0.25, 0.25, np.nan])
    assert first.size == 3
    assert both.has_unknown_noise


class TestPart:
    rows = np.array([0, 2, 5])

    def data(self, unknown):
        sd = np.where(np.isin(np.arange(40), unknown), np.nan, 1.0)
        return TrainingData.from_arrays(np.arange(40.0)[:, None], np.zeros(40), sd)

    @pytest.mark.parametrize("unknown", [[], [5, 9]])
    def test_the_rows_alone_where_they_have_all_kinds_of_noise(self, unknown):
        assert self.data(unknown).part(self.rows).equals(self.data(unknown).subset(self.rows))

    @pytest.mark.parametrize(("unknown", "size"), [([7], 4), (range(6, 40), 13)])
    def test_some_more_where_only_others_have_unknown_noise(self, unknown, size):
        part = self.data(list(unknown)).part(self.rows)
        assert part.has_unknown_noise
        assert part.size == size
        assert np.isin(self.rows, part.x[:, 0]).all()


def test_equality_of_training_sets():
    data = TrainingData.from_arrays([[0.0], [1.0]], [0.0, 1.0], [np.nan, 1.0])
    assert data.equals(TrainingData.from_arrays([[0.0], [1.0]], [0.0, 1.0], [np.nan, 1.0]))
    assert not data.equals(TrainingData.from_arrays([[0.0], [1.0]], [0.0, 2.0], [np.nan, 1.0]))
    assert not data.equals(TrainingData.from_arrays([[0.0], [1.0]], [0.0, 1.0], 1.0))
    assert not data.equals(data.subset([0]))
