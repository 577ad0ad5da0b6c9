"""Bounds: what is accepted, what is moved with a warning, what is refused and with which words."""

import re

import numpy as np
import pytest

from quell.space.bounds import check_bounds

INF = np.inf


def test_kinds_follow_from_the_bounds():
    bounds = check_bounds(
        [0, -INF, 0, -INF, 0, 2],
        [1, INF, INF, 0, 360, 2],
        [0.2, -1, 1, -5, 10, 2],
        [0.8, 1, 2, -1, 20, 2],
        periodic=[False] * 4 + [True, True],
    )
    assert bounds.kinds == ("two-sided", "unbounded", "lower", "upper", "periodic", "fixed")
    np.testing.assert_array_equal(bounds.range, [1, 2, 2, 5, 360, 0])
    np.testing.assert_allclose(bounds.almost_lower, [1e-5, -INF, 2e-5, -INF, -INF, -INF])
    np.testing.assert_allclose(bounds.almost_upper, [1 - 1e-5, INF, INF, -5e-5, INF, INF])


def test_scalars_are_repeated_and_arrays_are_copied():
    plausible = np.array([0.2, 0.3, 0.4])
    bounds = check_bounds(0, 1, plausible, 0.8)
    np.testing.assert_array_equal(bounds.lower, np.zeros(3))
    assert bounds.names == ("x1", "x2", "x3")
    plausible[0] = 7.0
    assert bounds.plausible_lower[0] == 0.2
    with pytest.raises(ValueError, match="read-only"):
        bounds.lower[0] = 1.0
    assert check_bounds(0, 1, 0.2, 0.8).names == ("x1",)
    assert check_bounds(0, 1, 0.2, 0.8, names=["a", "b"]).lower.shape == (2,)


def test_families_one_for_all_or_one_each():
    box = ([0, 0], [1, 1], [0.2, 0.2], [0.8, 0.8])
    assert check_bounds(*box).bounded == ("logit", "logit")
    assert check_bounds(*box, bounded="student").bounded == ("student", "student")
    assert check_bounds(*box, bounded=["probit", "logit"]).bounded == ("probit", "logit")


@pytest.mark.parametrize("periodic", [["b"], ("b",), [False, True], np.array([False, True])])
def test_periodic_by_name_or_by_mask(periodic):
    bounds = check_bounds(0, 1, 0.2, 0.8, names=["a", "b"], periodic=periodic)
    assert bounds.kinds == ("two-sided", "periodic")


@pytest.mark.parametrize("periodic", [None, [], (), np.zeros(2, dtype=bool)])
def test_nothing_periodic(periodic):
    bounds = check_bounds(0, 1, 0.2, 0.8, names=["a", "b"], periodic=periodic)
    assert bounds.kinds == ("two-sided", "two-sided")


@pytest.mark.parametrize(
    ("box", "periodic", "moved"),
    [
        ((0, 2, 0, 1), [], (0.002, 1)),
        ((0, 2, 1, 2), [], (1, 1.998)),
        ((0, 2, 0.001, 1.9999), [], (0.002, 1.998)),
        ((1, INF, 1, 3), [], (1.002, 3)),
        ((-INF, 1, -3, 1), [], (-3, 0.996)),
        ((0, 360, 0, 360), ["w"], (0.36, 359.64)),
        ((0, 360, 90, 449.9), ["w"], (90.31, 449.59)),
    ],
)
def test_plausible_bounds_are_moved_off_the_hard_ones(box, periodic, moved):
    names = ["steady", "w"]
    columns = [[side, value] for side, value in zip((-9, 9, -1, 1), box, strict=True)]
    with pytest.warns(UserWarning, match="moved inside by 1e-3") as record:
        bounds = check_bounds(*columns, names=names, periodic=periodic)
    message = str(record[0].message)
    assert len(record) == 1
    assert "'w'" in message
    assert "steady" not in message
    result = (bounds.plausible_lower[1], bounds.plausible_upper[1])
    np.testing.assert_allclose(result, moved, rtol=1e-12)
    assert ("plausible_lower of 'w'" in message) == (result[0] != box[2])
    assert ("plausible_upper of 'w'" in message) == (result[1] != box[3])


@pytest.mark.parametrize("periodic", [False, True])
def test_bounds_once_moved_are_left_alone(periodic):
    rng = np.random.default_rng(0)
    lower = rng.uniform(-3, 3, 300)
    upper = lower + rng.uniform(0.1, 7, 300)
    with pytest.warns(UserWarning, match="moved inside"):
        once = check_bounds(lower, upper, lower, upper, periodic=[periodic] * 300)
    box = (once.plausible_lower, once.plausible_upper)
    again = check_bounds(lower, upper, *box, periodic=[periodic] * 300)
    np.testing.assert_array_equal(again.plausible_lower, box[0])
    np.testing.assert_array_equal(again.plausible_upper, box[1])


def test_plausible_box_of_a_fixed_coordinate_is_its_value():
    bounds = check_bounds([0, 3], [1, 3], [0.2, -10], [0.8, 10])
    assert bounds.plausible_lower[1] == bounds.plausible_upper[1] == 3


def test_plausible_box_of_a_periodic_coordinate_may_cross_the_bounds():
    for low, high in [(350, 370), (-10, 10), (0, 10), (200, 500)]:
        bounds = check_bounds(0, 360, low, high, periodic=[True])
        assert (bounds.plausible_lower[0], bounds.plausible_upper[0]) == (low, high)


# Every refusal: (columns of the coordinate 'w' next to a sound one, what the message must say).
REFUSED = {
    "lower above upper": ((3, 1, 1.5, 2), r"lower[1] ('w') must not exceed upper = 1.0", "got 3"),
    "lower nan": ((np.nan, 1, 0.2, 0.8), "lower[1] ('w') must not be nan", "got nan"),
    "upper nan": ((0, np.nan, 0.2, 0.8), "upper[1] ('w') must not be nan", "got nan"),
    "plausible nan": ((0, 1, np.nan, 0.8), "plausible_lower[1] ('w') must not be nan", "got nan"),
    "plausible_upper nan": (
        (0, 1, 0.2, np.nan),
        "plausible_upper[1] ('w') must not be nan",
        "got nan",
    ),
    "lower inf": ((INF, INF, 0.2, 0.8), "lower[1] ('w') must be finite, or -inf", "got inf"),
    "upper -inf": ((-INF, -INF, 0.2, 0.8), "upper[1] ('w') must be finite, or inf", "got -inf"),
    "plausible_lower infinite": (
        (-INF, INF, -INF, 1),
        "plausible_lower[1] ('w') must be finite (say where",
        "got -inf",
    ),
    "plausible_upper infinite": (
        (-INF, INF, 0, INF),
        "plausible_upper[1] ('w') must be finite (say where",
        "got inf",
    ),
    "plausible reversed": (
        (0, 1, 0.75, 0.25),
        "plausible_lower[1] ('w') must be less than plausible_upper = 0.25 (swap",
        "got 0.75",
    ),
    "plausible equal": (
        (-INF, INF, 0.5, 0.5),
        "plausible_lower[1] ('w') must be less than plausible_upper = 0.5",
        "got 0.5",
    ),
    "plausible below lower": (
        (0, 1, -0.25, 0.5),
        "plausible_lower[1] ('w') must not be below lower = 0.0 (move it inside",
        "got -0.25",
    ),
    "plausible above upper": (
        (-INF, 1, 0.5, 1.25),
        "plausible_upper[1] ('w') must not be above upper = 1.0 (move it inside",
        "got 1.25",
    ),
    "fixed below plausible": (
        (2, 2, 3, 4),
        "plausible_lower[1] ('w') must not be above 2.0, the value at which",
        "got 3",
    ),
    "fixed above plausible": (
        (2, 2, 0, 1),
        "plausible_upper[1] ('w') must not be below 2.0, the value at which",
        "got 1",
    ),
    "plausible squeezed out": (
        (0, 1, 0.9995, 1),
        "plausible_lower[1] ('w') must leave room below plausible_upper = 1.0",
        "got 0.9995",
    ),
    "hard range overflows": (
        (-1.7e308, 1.7e308, 0, 1),
        "upper[1] ('w') must be at a finite distance from lower = -1.7e+308 (rescale",
        "got 1.7e+308",
    ),
    "plausible range overflows": (
        (-INF, INF, -1.7e308, 1.7e308),
        "plausible_upper[1] ('w') must be near enough to the other bounds",
        "got 1.7e+308",
    ),
    "range below resolution": (
        (1, 1 + 1e-14, 1 + 3e-15, 1 + 6e-15),
        "lower[1] ('w') is too close to the bounds above it",
        "got 1",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_refusals_name_argument_coordinate_and_value(case):
    box, says, value = REFUSED[case]
    columns = [[sound, bad] for sound, bad in zip((-9, 9, -1, 1), box, strict=True)]
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        check_bounds(*columns, names=["sound", "w"])
    assert str(error.value).endswith(value)


PERIODIC_REFUSED = {
    "lower infinite": ((-INF, 1, 0, 0.5), "lower[1] ('w') must be finite because", "got -inf"),
    "upper infinite": ((0, INF, 0, 0.5), "upper[1] ('w') must be finite because", "got inf"),
    "more than a period": (
        (0, 4, 0.5, 5),
        "plausible_upper[1] ('w') must not be more than one period, 4.0, above",
        "got 5",
    ),
    "in another period": (
        (0, 4, 4, 5),
        "plausible_lower[1] ('w') must leave part of the plausible box between lower = 0.0 and",
        "got 4",
    ),
}


@pytest.mark.parametrize("case", PERIODIC_REFUSED)
def test_periodic_refusals(case):
    box, says, value = PERIODIC_REFUSED[case]
    columns = [[sound, bad] for sound, bad in zip((-9, 9, -1, 1), box, strict=True)]
    with pytest.raises(ValueError, match=re.escape(says)) as error:
        check_bounds(*columns, names=["sound", "w"], periodic=["w"])
    assert str(error.value).endswith(value)


@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (([0, 0], [1, 1, 1], 0.2, 0.8), {}, "upper must have shape (2,), got (3,)"),
        (([[0]], 1, 0.2, 0.8), {}, "lower must have shape (1,), got (1, 1)"),
        ((0, 1, [0.2, 0.3], 0.8), {"names": ["a"]}, "plausible_lower must have shape (1,)"),
        (([], [], [], []), {}, "lower must have at least one coordinate"),
        ((0, "x", 0.2, 0.8), {}, "upper must be an array of real numbers"),
        (([0, 0], 1, 0.2, 0.8), {"names": ["a", "a"]}, "'a' appears twice"),
        (
            ([1, 2], [1, 2], [1, 2], [1, 2]),
            {"names": ["a", "b"]},
            "lower equals upper for every coordinate ('a', 'b')",
        ),
        (
            (0, 1, 0.2, 0.8),
            {"bounded": "log"},
            "bounded for 'x1' must be one of 'soft', 'logit', 'probit', 'student', got 'log'",
        ),
        (
            ([0, 0], 1, 0.2, 0.8),
            {"bounded": ["logit", "Probit"], "names": ["a", "b"]},
            "bounded for 'b' must be one of 'soft', 'logit', 'probit', 'student', got 'Probit'",
        ),
        ((0, 1, 0.2, 0.8), {"bounded": ["logit"] * 2}, "each of the 1 coordinates, got 2 entries"),
        ((0, 1, 0.2, 0.8), {"bounded": [None]}, "bounded for 'x1' must be one of"),
        (
            ([0, 0], 1, 0.2, 0.8),
            {"periodic": ["c"], "names": ["a", "b"]},
            "periodic has the unknown name 'c'; the names are ['a', 'b']",
        ),
        ((0, 1, 0.2, 0.8), {"periodic": "x1"}, "got the single string 'x1' (put it in a list)"),
        ((0, 1, 0.2, 0.8), {"periodic": [True, False]}, "periodic has 2 entries, expected 1"),
        ((0, 1, 0.2, 0.8), {"periodic": [1]}, "or a mask of booleans, got [1]"),
    ],
)
def test_refusals_of_shapes_and_options(arguments, options, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        check_bounds(*arguments, **options)
