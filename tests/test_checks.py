"""Checks of single values: what passes, what is refused, and in which words."""

import re

import numpy as np
import pytest

from quell import checks


class TestIntegers:
    @pytest.mark.parametrize("value", [3, np.int64(3), np.uint8(3)])
    def test_integers_of_any_kind_become_plain(self, value):
        found = checks.integer("n", value, least=1)
        assert found == 3
        assert type(found) is int

    @pytest.mark.parametrize("value", [0, -1, 1.0, True, "1", None, np.nan, [1]])
    def test_everything_else_is_refused(self, value):
        message = f"n must be a positive integer, got {value!r}"
        with pytest.raises(ValueError, match=re.escape(message)):
            checks.integer("n", value, least=1)

    @pytest.mark.parametrize(
        ("least", "words"),
        [(0, "a non-negative integer"), (1, "a positive integer"), (4, "an integer of at least 4")],
    )
    def test_the_limit_is_named(self, least, words):
        assert checks.integer("n", least, least=least) == least
        with pytest.raises(ValueError, match=f"^n must be {words}, got {least - 1}$"):
            checks.integer("n", least - 1, least=least)


class TestNumbers:
    @pytest.mark.parametrize("value", [2, 2.0, np.float32(2), np.array([[2.0]]), np.int64(2)])
    def test_numbers_and_arrays_with_one_entry_become_floats(self, value):
        found = checks.number("x", value)
        assert found == 2.0
        assert type(found) is float

    def test_without_limits_everything_on_the_line_passes(self):
        assert checks.number("x", np.inf) == np.inf
        assert np.isnan(checks.number("x", np.nan))

    @pytest.mark.parametrize("value", ["2", b"2", None, True, np.array(["2"]), object()])
    def test_what_is_no_number_is_a_type_error(self, value):
        with pytest.raises(TypeError, match="x must be a real number"):
            checks.number("x", value)

    @pytest.mark.parametrize("value", [1j, [1.0, 2.0], np.ma.masked])
    def test_other_numbers_are_refused(self, value):
        with pytest.raises(ValueError, match="x must be"):
            checks.number("x", value)

    @pytest.mark.parametrize(
        ("limits", "good", "bad", "words"),
        [
            ({"above": 0}, [1e-9, 7], [0, -1], "positive and finite"),
            ({"above": 2}, [2.1], [2, 1], "above 2 and finite"),
            ({"least": 0}, [0, 7], [-1e-9], "0 or positive and finite"),
            ({"below": 0}, [-1], [0, 1], "negative and finite"),
            ({"at_most": 3}, [3, -5], [3.1], "at most 3 and finite"),
            ({"least": 0, "at_most": 1}, [0, 0.5, 1], [-0.1, 1.1], "from 0 to 1"),
            ({"above": 0, "at_most": 1}, [0.5, 1], [0, 1.1], "positive and at most 1"),
            ({"least": 1, "below": 2}, [1], [0.9, 2], "at least 1 and below 2"),
        ],
    )
    def test_limits(self, limits, good, bad, words):
        for value in good:
            assert checks.number("x", value, **limits) == value
        for value in [*map(float, bad), np.nan, np.inf, -np.inf]:
            with pytest.raises(ValueError, match=f"^x must be {words}, got {value!r}$"):
                checks.number("x", value, **limits)


class TestSeconds:
    @pytest.mark.parametrize("value", [0, -1.0, np.nan, "1", True, [1.0, 2.0]])
    def test_what_is_no_time_is_refused(self, value):
        for or_infinite in (False, True):
            with pytest.raises(ValueError, match="t must be a positive number of seconds, got"):
                checks.seconds("t", value, or_infinite=or_infinite)

    def test_infinity_only_where_it_is_allowed(self):
        assert checks.seconds("t", 2) == 2.0
        assert checks.seconds("t", np.inf, or_infinite=True) == np.inf
        with pytest.raises(ValueError, match="got inf"):
            checks.seconds("t", np.inf)


class TestFlags:
    @pytest.mark.parametrize("value", [True, False, np.True_])
    def test_truth_values_become_plain(self, value):
        assert checks.flag("f", value) is bool(value)

    @pytest.mark.parametrize("value", [1, 0.0, "yes", None, np.array([True])])
    def test_everything_else_is_refused(self, value):
        with pytest.raises(TypeError, match="f must be True or False, got"):
            checks.flag("f", value)


class TestChoices:
    OPTIONS = ("sample", "map")

    def test_an_option_is_returned(self):
        assert checks.choice("how", "map", self.OPTIONS) == "map"

    @pytest.mark.parametrize("value", [None, 3, ["map"], np.array(["map"])])
    def test_what_is_no_text_is_refused(self, value):
        with pytest.raises(ValueError, match="how must be one of 'sample', 'map', got"):
            checks.choice("how", value, self.OPTIONS)

    def test_for_what_is_no_text_nothing_is_suggested(self):
        with pytest.raises(ValueError, match=r"got None$"):
            checks.choice("noise", None, ("unknown", "exact"))

    def test_the_nearest_is_suggested(self):
        with pytest.raises(ValueError, match="got 'Sampel'; did you mean 'sample'"):
            checks.choice("how", "Sampel", self.OPTIONS)
        with pytest.raises(ValueError, match=r"got 'zzz'$"):
            checks.choice("how", "zzz", self.OPTIONS)


class TestArrays:
    @pytest.mark.parametrize(
        ("value", "why"),
        [
            (np.ma.array([1.0, 2.0], mask=[True, False]), "masked"),
            ([10**400, 0], "too large"),
            (["1"], "got the text '1'"),
            ([1j], "complex"),
        ],
    )
    def test_what_is_no_array_of_numbers_is_refused(self, value, why):
        with pytest.raises(ValueError, match=f"^x must be an array of real numbers: .*{why}"):
            checks.as_floats("x", value)

    def test_a_mask_that_hides_nothing_does_no_harm(self):
        assert checks.as_floats("x", np.ma.array([1.0, 2.0])).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("name", ["", " ", "\t"])
def test_a_name_that_shows_nothing_is_refused(name):
    with pytest.raises(ValueError, match="names must be non-empty strings"):
        checks.coordinate_names(["a", name], 2)


def test_generators():
    rng = np.random.default_rng(1)
    assert checks.generator(rng) is rng
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator .* type int"):
        checks.generator(1)
