"""Evaluations of several runs as one table."""

from types import SimpleNamespace

import numpy as np
import pytest

from quell import Evaluations, join_evaluations
from quell.evaluations import Origin


def table(points, values, sds=1.0, names=("a", "b"), **changes):
    return Evaluations.from_arrays(points, values, sds, names=names, **changes)


def test_rows_of_all_runs_in_order():
    first = table([[1.0, 2.0], [3.0, 4.0]], [-1.0, -2.0])
    second = SimpleNamespace(evaluations=table([[5.0, 6.0]], [-np.inf]))
    joined = join_evaluations([first, second])
    np.testing.assert_array_equal(joined.theta, [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(joined.value, [-1, -2, -np.inf])
    assert joined.ok.tolist() == [True, True, False]
    assert set(joined.origin) == {Origin.GIVEN}


def test_columns_are_matched_by_name():
    joined = join_evaluations(
        [table([[1.0, 2.0]], [0.0]), table([[3.0, 4.0]], [0.0], names=("b", "a"))]
    )
    assert joined.names == ("a", "b")
    np.testing.assert_array_equal(joined.theta, [[1, 2], [4, 3]])


def test_what_was_handed_on_counts_once():
    # the second run had the first as its head start
    first = table([[1.0, 2.0], [3.0, 4.0]], [-1.0, -2.0])
    second = first.extend(table([[5.0, 6.0]], [-3.0]))
    joined = join_evaluations([first, second])
    assert len(joined) == 3
    np.testing.assert_array_equal(joined.merge_duplicates().sd, [1, 1, 1])


def test_repeats_of_a_point_with_other_noise_all_count():
    one = table([[1.0, 2.0], [1.0, 2.0]], [-1.0, -1.0])  # by chance the same, in one run
    joined = join_evaluations([one, table([[1.0, 2.0]], [-1.5])])
    assert len(joined) == 3


def test_other_parameters_are_refused():
    with pytest.raises(
        ValueError, match=r"of \['a', 'c'\], those of the first run of \['a', 'b'\]"
    ):
        join_evaluations([table([[1, 2]], [0.0]), table([[1, 2]], [0.0], names=("a", "c"))])
    with pytest.raises(ValueError, match="at least one result"):
        join_evaluations([])


def test_what_has_no_evaluations_is_refused():
    with pytest.raises(TypeError, match=r"runs\[1\] must be a result or a table .* got str"):
        join_evaluations([table([[1, 2]], [0.0]), "fit.quell"])
    with pytest.raises(TypeError, match="must be a list of results or tables, got NoneType"):
        join_evaluations(None)
