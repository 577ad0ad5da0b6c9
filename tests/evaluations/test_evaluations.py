"""The table of evaluations: rows in, checks, duplicates merged, columns out."""

import re
import sys
import types

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import quell
from quell.evaluations import Evaluations, rng_for
from quell.evaluations.merging import combine
from quell.problem.outcome import Outcome

INF = np.inf
NAN = np.nan


def problem(**changes):
    box = {
        "lower": [-10, 0], "upper": [10, 5], "plausible_lower": [-1, 1],
        "plausible_upper": [1, 3], "names": ["a", "b"],
    }  # fmt: skip
    return quell.Problem(lambda theta: -float(theta @ theta), **{**box, **changes})


POINTS = [[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]]


# ---- rows ---------------------------------------------------------------------------------


def test_append_returns_a_new_table():
    empty = Evaluations.empty(["a", "b"])
    one = empty.append([1, 2], Outcome(-3.0, 0.5, seconds=2.0), log_prior=-1.0, origin="design",
                       index=4)  # fmt: skip
    assert (len(empty), len(one)) == (0, 1)
    two = one.append([3, 4], Outcome.failure("ValueError: no", kind="exception"), log_prior=-1.0,
                     origin="search", index=5)  # fmt: skip
    assert len(one) == 1
    np.testing.assert_array_equal(two.theta, [[1, 2], [3, 4]])
    np.testing.assert_array_equal(two.value, [-3, NAN])
    np.testing.assert_array_equal(two.sd, [0.5, NAN])
    np.testing.assert_array_equal(two.ok, [True, False])
    np.testing.assert_array_equal(two.log_joint, [-4, NAN])
    np.testing.assert_array_equal(two.index, [4, 5])
    assert two.error == ("", "ValueError: no")
    assert two.origin == ("design", "search")
    assert two.seconds[0] == 2.0
    assert (two.n_failed, two.n_counted) == (1, 2)


def test_arrays_are_read_only_and_not_shared_with_the_caller():
    theta = np.array([1.0, 2.0])
    table = Evaluations.empty(["a", "b"]).append(theta, Outcome(0.0), log_prior=0.0, origin="user")
    theta[:] = 9.0
    np.testing.assert_array_equal(table.theta, [[1, 2]])
    for column in (table.theta, table.value, table.sd, table.log_prior, table.seconds, table.index):
        with pytest.raises(ValueError, match="read-only"):
            column[0] = 1
    with pytest.raises(AttributeError):
        table.value = np.zeros(1)
    points = np.array(POINTS)
    given_points = Evaluations.from_arrays(points, [0, 0, 0])
    points[:] = 9.0
    assert given_points.theta[0, 0] == 0.0


def test_zero_density_of_likelihood_and_of_prior():
    table = Evaluations.empty(["a"])
    zero = Outcome.failure("zero density", kind="zero density", value=-INF)
    table = table.append([1], zero, log_prior=0.0, origin="search")
    table = table.append([2], Outcome(-1.0), log_prior=-INF, origin="search")
    table = table.append([3], Outcome.failure("lost", kind="lost"), log_prior=0.0, origin="search")
    table = table.append([4], Outcome(-1.0), log_prior=0.0, origin="search")
    np.testing.assert_array_equal(table.ok, [False, False, False, True])
    np.testing.assert_array_equal(table.zero_density, [True, True, False, False])
    assert table.error[1].startswith("zero density: the prior")
    np.testing.assert_array_equal(np.isfinite(table.log_joint), table.ok)


def test_given_rows_do_not_count():
    table = Evaluations.from_arrays(POINTS, [1, 2, 3], names=["a", "b"])
    assert table.n_counted == 0
    table = table.append([0, 1], Outcome(1.0), log_prior=0.0, origin="start", index=0)
    assert (len(table), table.n_counted) == (4, 1)
    np.testing.assert_array_equal(table.index, [-1, -1, -1, 0])


def test_extend_needs_the_same_parameters():
    one = Evaluations.from_arrays([[1.0]], [0.0], names=["a"])
    both = one.extend(Evaluations.from_arrays([[2.0]], [1.0], names=["a"]))
    np.testing.assert_array_equal(both.value, [0, 1])
    with pytest.raises(ValueError, match=r"evaluations are of \['b'\], expected \['a'\]"):
        one.extend(Evaluations.from_arrays([[2.0]], [1.0], names=["b"]))


@pytest.mark.parametrize(
    ("theta", "outcome", "log_prior", "message"),
    [
        ([1.0], Outcome(0.0), 0.0, r"theta must have shape \(n, 2\), got \(1, 1\)"),
        ([1.0, NAN], Outcome(0.0), 0.0, r"theta\[0, 1\].* must be finite, got nan"),
        ([1.0, 2.0], Outcome(NAN), 0.0, r"value\[0\] must be finite where there is no error"),
        ([1.0, 2.0], Outcome(-INF), 0.0, r"value\[0\] must be finite .*got -inf"),
        ([1.0, 2.0], Outcome(0.0, -1.0), 0.0, r"sd\[0\] must be finite and not negative"),
        ([1.0, 2.0], Outcome(0.0, INF), 0.0, r"sd\[0\] must be finite"),
        ([1.0, 2.0], Outcome(0.0), INF, r"log_prior\[0\] must be finite"),
        ([1.0, 2.0], Outcome(0.0), [0.0, 1.0], r"log_prior must have shape \(1,\), got \(2,\)"),
    ],
)
def test_append_refuses(theta, outcome, log_prior, message):
    with pytest.raises(ValueError, match=message):
        Evaluations.empty(["a", "b"]).append(theta, outcome, log_prior=log_prior, origin="user")


def test_repr():
    assert repr(Evaluations.empty(["a"])) == "Evaluations: 0 rows, 0 counted"
    table = Evaluations.from_arrays([[1.0]], [-INF], origin="user")
    assert repr(table) == "Evaluations: 1 row (1 failed), 1 counted"


# ---- a head start -------------------------------------------------------------------------------


def test_from_arrays_without_a_problem():
    table = Evaluations.from_arrays(POINTS, [-1, -INF, -3], [0.5, 0.5, NAN])
    assert table.names == ("x1", "x2")
    assert table.origin == ("given",) * 3
    np.testing.assert_array_equal(table.ok, [True, False, True])
    np.testing.assert_array_equal(table.sd, [0.5, 0.5, NAN])
    assert np.isnan(table.log_prior).all()
    np.testing.assert_array_equal(Evaluations.from_arrays(POINTS, [1, 2, 3]).sd, [NAN] * 3)
    np.testing.assert_array_equal(Evaluations.from_arrays(POINTS, [1, 2, 3], 0.0).sd, [0.0] * 3)


def test_from_arrays_with_a_problem_computes_the_prior():
    prior = [stats.norm(), stats.uniform(0, 5)]
    table = Evaluations.from_arrays(POINTS, [1, 2, 3], 0.5, problem=problem(prior=prior))
    assert table.names == ("a", "b")
    expected = stats.norm.logpdf([0, 1, 2]) - np.log(5)
    np.testing.assert_allclose(table.log_prior, expected)
    np.testing.assert_allclose(table.log_joint, expected + np.array([1, 2, 3]))


def test_zero_prior_density_at_a_given_point():
    half = problem(prior=lambda theta: 0.0 if theta[0] < 1.5 else -INF)
    table = Evaluations.from_arrays(POINTS, [1, 2, 3], problem=half)
    np.testing.assert_array_equal(table.ok, [True, True, False])
    np.testing.assert_array_equal(table.zero_density, [False, False, True])


def test_failures_are_told_with_a_reason():
    table = Evaluations.from_arrays(POINTS, [1, NAN, 3], errors=["", "crashed\n twice", ""])
    assert table.error == ("", "crashed twice", "")
    np.testing.assert_array_equal(table.ok, [True, False, True])


def test_an_earlier_run_under_another_prior():
    first = problem(noise="reported")
    table = Evaluations.empty(first.names)
    for i, point in enumerate(POINTS):
        log_prior = first.log_prior(point)
        table = table.append(point, Outcome(-1.0, 0.3, seconds=9.0), log_prior=log_prior,
                             origin="search", index=i)  # fmt: skip
    second = problem(prior=[stats.norm(), stats.uniform(0, 5)])
    again = table.as_given(second)
    assert again.n_counted == 0
    assert again.seconds[0] == 9.0
    np.testing.assert_array_equal(again.index, [-1] * 3)
    np.testing.assert_allclose(again.log_prior, second.log_prior(POINTS))
    assert table.n_counted == 3


@pytest.mark.parametrize(
    ("noise", "sds", "expected"),
    [
        ("auto", [0.5, NAN, 0.1], [0.5, NAN, 0.1]),
        ("reported", [0.5, NAN, 0.1], [0.5, NAN, 0.1]),
        ("unknown", [0.5, NAN, 0.1], [NAN] * 3),
        ("exact", None, [0.0] * 3),
        ("exact", [0.0, NAN, 0.0], [0.0] * 3),
    ],
)
def test_sds_follow_the_noise_mode(noise, sds, expected):
    table = Evaluations.from_arrays(POINTS, [1, 2, 3], sds, problem=problem(noise=noise))
    np.testing.assert_array_equal(table.sd, expected)


def test_points_on_a_circle_are_taken_into_one_period():
    table = Evaluations.from_arrays([[25.0, 1.0]], [1.0], problem=problem(periodic=["a"]))
    np.testing.assert_array_equal(table.theta, [[5.0, 1.0]])


V3 = [1.0, 2.0, 3.0]
BAD = [
    (([1.0, 2.0], V3), {}, r"points must have shape \(n, D\), got \(2,\)"),
    ((POINTS, [1.0, 2.0]), {}, r"values must have shape \(3,\), one for each point, got \(2,\)"),
    ((POINTS, [[1.0], [2.0], [3.0]]), {}, r"values must have shape \(3,\)"),
    ((POINTS, 1.0), {}, r"values must have shape \(3,\), .* got \(\)"),
    ((POINTS, ["x", 1, 2]), {}, r"values must be an array of real numbers"),
    ((POINTS, [1j, 1, 2]), {}, r"values must be an array of real numbers"),
    ((POINTS, [1.0, NAN, 3.0]), {}, r"values\[1\] must be finite .*errors.*, got nan"),
    ((POINTS, [1.0, 2.0, INF]), {}, r"values\[2\] must be finite .*, got inf"),
    ((POINTS, V3, [0.1, 0.2]), {}, r"sds must have shape \(3,\)"),
    ((POINTS, V3, [0.1, -0.2, 0.1]), {}, r"sds\[1\] must be positive and finite.*, got -0.2"),
    ((POINTS, V3, [0.1, 0.2, INF]), {}, r"sds\[2\] must be positive and finite.*, got inf"),
    ((POINTS, V3, [0.1, 0.2, 1e200]), {}, r"sds\[2\] must be positive and finite.*, got 1e\+200"),
    (([[0, 1], [NAN, 2], [2, 3]], V3), {}, r"points\[1, 0\] must be finite, got nan"),
    ((POINTS, V3), {"errors": "crashed"}, r"errors must be a sequence of strings"),
    ((POINTS, V3), {"errors": [None, "", ""]}, r"errors must be a sequence of strings"),
    ((POINTS, V3), {"errors": [""]}, r"errors has 1 entries, expected 3"),
    ((POINTS, V3), {"names": ["a"]}, r"names has 1 entries, expected 2"),
    (([[1.0], [2.0]], [1.0, 2.0]), {"problem": {}}, r"points have 1 columns, .* has 2 parameters"),
    (([[0, 1], [0, 6]], [1, 2]), {"problem": {}}, r"points\[1, 1\] \('b'\) must lie within .* 6"),
    (([[0, 1], [0, 1.5]], [1, 2]), {"problem": {"integer": ["b"]}},
     r"points\[1, 1\] \('b'\) must be an integer, got 1.5"),
    ((POINTS, V3, 0.0), {"problem": {"noise": "reported"}}, r"sds\[0\] must be positive, or nan"),
    ((POINTS, V3, [0, 0, 0.2]), {"problem": {"noise": "exact"}}, r"sds\[2\] must be 0 .*, got 0.2"),
]  # fmt: skip


@pytest.mark.parametrize(("arrays", "options", "message"), BAD)
def test_from_arrays_refuses(arrays, options, message):
    if "problem" in options:
        options = {**options, "problem": problem(**options["problem"])}
    with pytest.raises(ValueError, match=message):
        Evaluations.from_arrays(*arrays, **options)


# ---- duplicates ---------------------------------------------------------------------------------


def test_duplicates_are_weighted_by_precision():
    points = [[1, 1], [2, 2], [1, 1], [3, 3], [1, 1]]
    table = Evaluations.from_arrays(points, [1.0, 7.0, 2.0, NAN, 4.0], [1.0, 0.5, 2.0, 1.0, 0.5],
                                    errors=["", "", "", "no", ""])  # fmt: skip
    merged = table.merge_duplicates()
    np.testing.assert_array_equal(merged.theta, [[1, 1], [2, 2]])
    weights = np.array([1.0, 0.25, 4.0])
    np.testing.assert_allclose(merged.value, [weights @ [1, 2, 4] / weights.sum(), 7.0])
    np.testing.assert_allclose(merged.sd, [weights.sum() ** -0.5, 0.5])
    np.testing.assert_array_equal(merged.count, [3, 1])
    np.testing.assert_array_equal(merged.row, [0, 1])
    np.testing.assert_array_equal(merged.group, [0, 1, 0, -1, 0])
    assert len(merged) == 2


def test_merging_only_some_rows():
    table = Evaluations.from_arrays([[1], [2], [1]], [1.0, 2.0, 5.0], 1.0)
    merged = table.merge_duplicates(keep=[False, True, True])
    np.testing.assert_array_equal(merged.theta, [[2], [1]])
    np.testing.assert_array_equal(merged.value, [2, 5])
    np.testing.assert_array_equal(merged.row, [1, 2])
    np.testing.assert_array_equal(merged.group, [-1, 0, 1])


def test_merged_log_joint_uses_the_prior_once():
    table = Evaluations.from_arrays([[1, 1], [1, 1]], [1.0, 3.0], 1.0, problem=problem())
    np.testing.assert_allclose(table.merge_duplicates().log_joint, [2.0 - np.log(100)])


@pytest.mark.parametrize(
    ("values", "sds", "value", "sd"),
    [
        ([1.0, 4.0, 4.0], [NAN] * 3, 3.0, NAN),
        ([1.0, 1.0], [0.0, 0.0], 1.0, 0.0),
        ([1.0, 2.0], [0.0, 0.0], 1.5, 0.0),
        ([1.0, 9.0, 9.0], [0.0, 0.5, NAN], 1.0, 0.0),
        ([1.0, 3.0], [2.0, NAN], 2.0, np.sqrt(2.0)),
        ([1.0, 3.0], [1e-200, 1e-200], 2.0, 1e-200 / np.sqrt(2)),
        ([1.0, 3.0, 2.0], [1e200, 1e200, NAN], 2.0, 1e200 / np.sqrt(3)),
        ([1.0, 3.0], [1e-200, 1e200], 1.0, 1e-200),
    ],
)
def test_combining(values, sds, value, sd):
    merged_value, merged_sd = combine(np.array(values), np.array(sds))
    assert merged_value == pytest.approx(value, rel=1e-12)
    assert merged_sd == pytest.approx(sd, rel=1e-12, abs=0.0, nan_ok=True)


def test_minus_zero_is_zero_and_nearly_equal_is_not():
    table = Evaluations.from_arrays([[0.0], [-0.0], [5e-324]], [1.0, 3.0, 7.0])
    np.testing.assert_array_equal(table.merge_duplicates().value, [2, 7])


def test_merging_nothing():
    merged = Evaluations.empty(["a", "b"]).merge_duplicates()
    assert merged.theta.shape == (0, 2)
    assert merged.value.shape == merged.sd.shape == merged.count.shape == (0,)


rows = st.lists(
    st.tuples(st.integers(0, 3), st.floats(-100, 100), st.floats(0.01, 10)), min_size=1, max_size=12
)


@given(rows)
@settings(deadline=None)
def test_merging_is_the_sequential_update_in_any_order(rows):
    table = Evaluations.from_arrays(
        [[r[0]] for r in rows], [r[1] for r in rows], [r[2] for r in rows]
    )
    merged = table.merge_duplicates()
    running: dict[float, tuple[float, float]] = {}
    for point, y, s in rows:
        if point in running:
            old, old_s = running[point]
            tau, old_tau = s**-2, old_s**-2
            running[point] = ((tau * y + old_tau * old) / (tau + old_tau), (tau + old_tau) ** -0.5)
        else:
            running[point] = (y, s)
    np.testing.assert_array_equal(merged.theta[:, 0], list(running))
    np.testing.assert_allclose(merged.value, [v for v, _ in running.values()], atol=1e-9)
    np.testing.assert_allclose(merged.sd, [s for _, s in running.values()], rtol=1e-9)
    assert merged.count.sum() == len(rows)


# ---- columns ------------------------------------------------------------------------------------


def test_to_dict():
    columns = Evaluations.from_arrays(POINTS, [1, 2, 3], names=["a", "value"]).to_dict()
    assert list(columns) == [
        "a", "theta_value", "value", "sd", "log_prior", "error", "seconds", "origin", "index",
    ]  # fmt: skip
    np.testing.assert_array_equal(columns["theta_value"], [1, 2, 3])
    np.testing.assert_array_equal(columns["value"], [1, 2, 3])
    columns["a"][0] = 99.0  # a copy


def test_to_dict_never_loses_a_parameter():
    names = ["value", "theta_value", "sd"]
    columns = Evaluations.from_arrays([[1.0, 2.0, 3.0]], [0.0], names=names).to_dict()
    assert len(columns) == 3 + 7
    assert columns["theta_value"][0] == 1.0
    assert columns["theta_theta_value"][0] == 2.0


def test_to_pandas(monkeypatch):
    table = Evaluations.from_arrays(POINTS, [1, 2, 3])
    monkeypatch.setitem(sys.modules, "pandas", types.SimpleNamespace(DataFrame=list))
    assert table.to_pandas() == list(table.to_dict())
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_pandas needs pandas, which is not installed"):
        table.to_pandas()


# ---- random streams -------------------------------------------------------------------------


def test_stream_of_an_evaluation():
    expected = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(5,))).random(4)
    np.testing.assert_array_equal(rng_for(3, 5).random(4), expected)
    np.testing.assert_array_equal(rng_for(3, np.int64(5)).random(4), expected)
    draws = {rng_for(seed, i).random() for seed in (1, 2) for i in range(20)}
    assert len(draws) == 40


@pytest.mark.parametrize(
    ("seed", "index", "message"),
    [
        (1, -1, "index must be a non-negative integer, got -1"),
        (1, 1.0, "index must be a non-negative integer, got 1.0"),
        (1, True, "index must be a non-negative integer, got True"),
        (None, 1, "seed must be given"),
    ],
)
def test_bad_streams(seed, index, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        rng_for(seed, index)
