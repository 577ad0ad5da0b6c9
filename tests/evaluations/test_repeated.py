"""Evaluations made again: which values stand, what is set aside, and what they say of the noise."""

import numpy as np
import pytest

from quell import Evaluations
from quell.evaluations import Origin
from quell.evaluations.repeated import (
    disagreement,
    larger_than_stated,
    set_aside,
    standing,
    what_is_set_aside,
)


def table(*points, sds=1.0, origin=Origin.AGAIN):
    """A point 0, 1, ... for each of the lists of values."""
    theta = np.repeat(np.arange(len(points), dtype=float), [len(p) for p in points])[:, None]
    return Evaluations.from_arrays(theta, np.concatenate(points), sds, origin=origin)


class TestWhatStands:
    @pytest.mark.parametrize(
        ("values", "expected"),
        [
            ([0.0, 4.2], [1, 1]),
            ([0.0, 4.3], [0, 0]),
            ([0.0, -100.0, 0.5], [1, 0, 1]),
            ([20.0, 0.0, 0.5], [0, 1, 1]),
            ([0.0, 20.0, -20.0], [0, 0, 0]),
            ([50.0, 51.0, 0.0, 0.5, 1.0], [0, 0, 1, 1, 1]),
            ([50.0, 53.0, 0.0, 0.1], [0, 0, 1, 1]),
        ],
    )
    def test_those_that_most_others_agree_with(self, values, expected):
        assert standing(np.array(values), np.ones(len(values))).tolist() == [*map(bool, expected)]

    def test_noisier_values_agree_more_easily(self):
        assert standing(np.array([0.0, 20.0]), np.array([1.0, 7.0])).all()


class TestWhatIsSetAside:
    def test_only_where_a_point_was_evaluated_again_for_it(self):
        values = [0.0, -100.0, 0.5]
        assert set_aside(table(values)).tolist() == [False, True, False]
        for origin in (Origin.CHECK, Origin.GIVEN, Origin.SEARCH):
            assert not set_aside(table(values, origin=origin)).any()

    def test_a_failure_is_no_witness(self):
        theta, errors = np.zeros((2, 1)), ["", "boom"]
        failed = Evaluations.from_arrays(
            theta, [-100.0, np.nan], 1.0, errors=errors, origin=Origin.AGAIN
        )
        assert not set_aside(failed).any()

    def test_noise_of_unknown_size_has_to_be_told(self):
        unknown = table([0.0, -100.0, 0.5], sds=None)
        assert not set_aside(unknown).any()
        assert set_aside(unknown, unknown_sd=1.0).tolist() == [False, True, False]
        assert not set_aside(unknown, unknown_sd=40.0).any()

    def test_it_is_told_how_far_they_are_off(self):
        found = what_is_set_aside(table([1.0, 2.0], [0.0, 21.0, 1.0], [0.0, 40.0]))
        assert [one.row for one in found] == [3, 5, 6]
        assert found[0].off == 20.5
        assert np.isnan([one.off for one in found[1:]]).all()

    def test_sds_stated_too_small_do_not_make_everything_wrong(self):
        rng = np.random.default_rng(5)
        pairs = [rng.normal(0.0, 4.0, 2) for _ in range(12)]
        honest = table(*pairs, sds=4.0)
        assert set_aside(table(*pairs)).sum() <= set_aside(honest).sum() + 2
        far = [pair for pair in pairs if abs(pair[0] - pair[1]) > 4.3]
        assert set_aside(table(*far[:4])).all()  # too few to tell
        with_outlier = table(*pairs, [0.0, -100.0, 2.0])
        assert set_aside(with_outlier)[-3:].tolist() == [False, True, False]


def test_the_size_of_noise_by_repeats_is_not_moved_by_wrong_values():
    rng = np.random.default_rng(6)
    points = [(rng.normal(0.0, 3.0, 2), np.ones(2)) for _ in range(200)]
    wrong = [(np.array([0.0, 100.0]), np.ones(2))] * 10
    assert 2.5 < larger_than_stated(points + wrong) < 3.7
    assert larger_than_stated([(0.1 * value, sd) for value, sd in points]) == 1.0


def test_disagreement_counts_repeats_in_stated_sds():
    n, chi_square = disagreement(table([1.0, -1.0], [3.0], [0.0, 0.0, 3.0], sds=2.0))
    assert (n, chi_square) == (3, pytest.approx(2 / 4 + 6 / 4))
