"""The noise modes: every cell of their table, columns of SDs, and how "auto" is settled."""

import numpy as np
import pytest

from quell.problem.noise import (
    IGNORED_SD,
    NOISE_MODES,
    NoiseCheck,
    NoiseUndecided,
    check_noise,
    check_noise_guess,
    check_told_sds,
    sds_once_exact,
    sds_under,
    settle,
    under,
)
from quell.problem.outcome import Outcome

NAN, INF = np.nan, np.inf
VALUE = -1.5
BARE = "no pair"
POINT, ELSEWHERE = np.array([1.0, 2.0]), np.array([1.0, 3.0])

# noise, what was returned beside the value, SD of the outcome, whether it was reported
GOOD = [
    ("auto", BARE, NAN, False),
    ("auto", 0.3, 0.3, True),
    ("auto", NAN, NAN, True),
    ("auto", None, NAN, True),
    ("reported", 0.3, 0.3, True),
    ("reported", np.float32(0.5), 0.5, True),
    ("reported", NAN, NAN, True),
    ("reported", None, NAN, True),
    ("unknown", BARE, NAN, False),
    ("unknown", 0.3, NAN, False),
    ("unknown", 0.0, NAN, False),
    ("unknown", NAN, NAN, False),
    ("unknown", None, NAN, False),
    ("unknown", "nonsense", NAN, False),
    ("exact", BARE, 0.0, False),
    ("exact", 0.0, 0.0, False),
    ("exact", NAN, 0.0, False),
    ("exact", None, 0.0, False),
]
# noise, what was returned beside the value, kind of the failure, words
BAD = [
    ("reported", BARE, "bad return", 'without an SD although noise="reported"'),
    *[
        (noise, sd, "bad value", "the SD must be positive and finite")
        for noise in ("auto", "reported")
        for sd in (0.0, -0.1, INF, 1e101)
    ],
    *[(noise, "x", "bad return", "the SD must be a real number") for noise in ("auto", "reported")],
    *[
        ("exact", sd, "bad return", f'returned the SD {sd} although noise="exact"')
        for sd in (0.3, -0.1, INF)
    ],
    ("exact", "x", "bad return", "the SD must be a real number"),
]


def settled(sd, noise, value=VALUE):
    return settle(value, None if sd is BARE else sd, sd is not BARE, noise)


class TestSettle:
    @pytest.mark.parametrize(("noise", "sd", "wanted", "reported"), GOOD)
    def test_what_each_mode_accepts(self, noise, sd, wanted, reported):
        outcome = settled(sd, noise)
        assert not outcome.failed
        assert outcome.value == VALUE
        np.testing.assert_equal(outcome.sd, wanted)
        assert outcome.reported is reported

    @pytest.mark.parametrize(("noise", "sd", "kind", "words"), BAD)
    def test_what_each_mode_refuses(self, noise, sd, kind, words):
        outcome = settled(sd, noise)
        assert outcome.failed
        assert outcome.kind == kind
        assert words in outcome.error
        assert outcome.value == VALUE  # only the SD was bad
        assert np.isnan(outcome.sd)

    def test_both_columns_of_the_table_are_covered_for_every_mode(self):
        covered = {(noise, sd is BARE) for noise, sd, *_ in GOOD + BAD}
        assert covered == {(noise, bare) for noise in NOISE_MODES for bare in (False, True)}

    def test_an_ignored_sd_is_noted_and_a_missing_one_is_not(self):
        assert settled(0.3, "unknown").note == IGNORED_SD
        for sd in (BARE, None, NAN):
            assert settled(sd, "unknown").note == ""

    @pytest.mark.parametrize("noise", NOISE_MODES)
    @pytest.mark.parametrize("sd", [BARE, 0.3, 0.0, NAN, None, "x"])
    def test_the_value_is_looked_at_first(self, noise, sd):
        assert settled(sd, noise, -INF).zero_density
        assert settled(sd, noise, NAN).kind == "bad value"
        assert settled(sd, noise, "x").kind == "bad return"


class TestUnder:
    @pytest.mark.parametrize(
        ("outcome", "noise", "sd"),
        [
            (Outcome(VALUE), "exact", 0.0),
            (Outcome(VALUE), "unknown", NAN),
            (Outcome(VALUE, 0.3, reported=True), "reported", 0.3),
            (Outcome(VALUE, NAN, reported=True), "reported", NAN),
            (Outcome(VALUE, NAN, reported=True), "exact", 0.0),
            (Outcome(VALUE), "auto", NAN),
        ],
    )
    def test_an_outcome_of_auto_is_read_again(self, outcome, noise, sd):
        again = under(outcome, noise)
        assert not again.failed
        np.testing.assert_equal(again.sd, sd)

    def test_what_contradicts_the_mode_has_failed(self):
        assert under(Outcome(VALUE), "reported").kind == "bad return"
        assert under(Outcome(VALUE, 0.3, reported=True), "exact").kind == "bad return"

    def test_failures_and_what_else_is_known_stay(self):
        lost = Outcome.failure("no answer", kind="lost")
        assert under(lost, "exact") is lost
        again = under(Outcome(VALUE, seconds=2.5, note="so"), "exact")
        assert (again.seconds, again.note) == (2.5, "so")


class TestColumns:
    SDS = np.array([0.3, NAN, 0.0])

    @pytest.mark.parametrize(
        ("noise", "sds", "wanted"),
        [
            ("unknown", [0.3, NAN, 0.0], [NAN, NAN, NAN]),
            ("exact", [NAN, 0.0], [0.0, 0.0]),
            ("reported", [0.3, NAN], [0.3, NAN]),
            ("auto", [0.3, NAN, 0.0], [0.3, NAN, 0.0]),
        ],
    )
    def test_as_the_mode_has_them(self, noise, sds, wanted):
        given = np.array(sds)
        found = sds_under(given, noise)
        np.testing.assert_array_equal(found, wanted)
        assert not np.shares_memory(found, given)

    def test_what_contradicts_the_mode_is_named(self):
        with pytest.raises(ValueError, match=r'sds\[0\] must be 0 or missing .*"exact".* got 0\.3'):
            sds_under(self.SDS, "exact")
        with pytest.raises(ValueError, match=r'sds\[2\] must be positive, or nan .*"reported".* 0'):
            sds_under(self.SDS, "reported")

    def test_told_without_sds(self):
        none = np.full(2, NAN)
        with pytest.raises(ValueError, match='sds must be given because noise="reported"'):
            check_told_sds(none, "reported", given=False)
        check_told_sds(none, "reported", given=True)
        for noise in ("auto", "unknown", "exact"):
            check_told_sds(none, noise, given=False)

    def test_told_under_auto_positive_sds_mean_reported(self):
        with pytest.raises(ValueError, match=r"sds\[2\] must be positive"):
            check_told_sds(self.SDS, "auto", given=True)
        check_told_sds(self.SDS[:2], "auto", given=True)
        check_told_sds(np.zeros(2), "auto", given=True)

    def test_once_exact_missing_sds_are_zero(self):
        np.testing.assert_array_equal(sds_once_exact(np.array([NAN, 0.0])), [0.0, 0.0])


class TestArguments:
    @pytest.mark.parametrize("noise", NOISE_MODES)
    def test_modes(self, noise):
        assert check_noise(noise) == noise

    @pytest.mark.parametrize("noise", ["loud", None, 0.5, ["auto"]])
    def test_other_modes_are_refused(self, noise):
        with pytest.raises(ValueError, match="noise must be one of 'auto', 'reported', 'unknown'"):
            check_noise(noise)

    def test_a_misspelt_mode_gets_a_hint(self):
        with pytest.raises(ValueError, match="did you mean 'unknown'"):
            check_noise("unkown")

    @pytest.mark.parametrize("noise", ["auto", "reported", "unknown"])
    def test_guesses(self, noise):
        assert check_noise_guess(None, noise) is None
        assert check_noise_guess(2, noise) == 2.0
        for bad in (0.0, -1.0, NAN, INF):
            with pytest.raises(ValueError, match="noise_guess must be a positive, finite SD"):
                check_noise_guess(bad, noise)

    def test_no_guess_without_noise(self):
        assert check_noise_guess(None, "exact") is None
        with pytest.raises(ValueError, match='noise_guess must be None when noise="exact"'):
            check_noise_guess(1.0, "exact")


FAILED = Outcome.failure("no answer", kind="lost")
ZERO = Outcome.failure("zero density", kind="zero density", value=-INF)


class TestNoiseCheck:
    @pytest.mark.parametrize("noise", ["reported", "unknown", "exact"])
    @pytest.mark.parametrize("outcome", [Outcome(VALUE), Outcome(VALUE, 0.3, reported=True)])
    def test_a_known_mode_stays(self, noise, outcome):
        check = NoiseCheck(noise)
        assert check.after(POINT, outcome, repeat=True) is check
        assert not check.is_waiting

    @pytest.mark.parametrize(
        ("sd", "noise"), [(0.3, "reported"), (NAN, "reported"), (0.0, "exact")]
    )
    def test_a_reported_sd_settles_it(self, sd, noise):
        check = NoiseCheck("auto").after(POINT, Outcome(VALUE, sd, reported=True))
        assert (check.noise, check.is_waiting) == (noise, False)
        waiting = NoiseCheck("auto").after(POINT, Outcome(VALUE))
        assert waiting.after(ELSEWHERE, Outcome(VALUE, sd, reported=True)).noise == noise

    def test_a_bare_number_has_to_repeat_itself(self):
        check = NoiseCheck("auto").after(POINT, Outcome(VALUE))
        assert check.noise == "auto"
        assert check.is_waiting
        np.testing.assert_array_equal(check.theta, POINT)
        assert check.after(POINT, Outcome(VALUE), repeat=True).noise == "exact"

    def test_two_values_leave_it_to_the_user(self):
        check = NoiseCheck("auto").after(POINT, Outcome(VALUE))
        with pytest.raises(NoiseUndecided, match=r'\[1\.0, 2\.0\] gave -1\.5 and -1\.6.*"unknown"'):
            check.after(POINT, Outcome(-1.6), repeat=True)

    def test_failures_say_nothing(self):
        start = NoiseCheck("auto")
        assert start.after(POINT, FAILED) is start
        assert start.after(POINT, ZERO) is start
        waiting = start.after(POINT, Outcome(VALUE))
        assert waiting.after(POINT, FAILED, repeat=True) is waiting

    def test_zero_density_where_there_was_some_is_noise(self):
        waiting = NoiseCheck("auto").after(POINT, Outcome(VALUE))
        assert waiting.after(POINT, ZERO) is waiting  # not asked for as a repetition
        with pytest.raises(NoiseUndecided, match="-inf"):
            waiting.after(POINT, ZERO, repeat=True)

    def test_other_points_do_not_settle_it(self):
        waiting = NoiseCheck("auto").after(POINT, Outcome(VALUE))
        assert waiting.after(ELSEWHERE, Outcome(VALUE)) is waiting

    def test_the_users_own_repetition_counts(self):
        waiting = NoiseCheck("auto").after(POINT, Outcome(VALUE))
        assert waiting.after(POINT.copy(), Outcome(VALUE)).noise == "exact"
