"""Evaluations that are not believed at once: which, what is asked again, and what comes of it."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import fitted_state, make_history, make_table, quadratic, unbounded_problem

from quell import Settings
from quell.evaluations import Origin
from quell.vbmc import absorb, propose
from quell.vbmc.doubt import (
    DOUBTED,
    LARGEST_SHARE,
    doubts_at_arrival,
    is_auditing,
    is_doubtful,
    next_again,
    rows_aside,
    with_audit,
    with_worst_doubted,
)
from quell.vbmc.noise_scale import with_noise_scale

PROBLEM = unbounded_problem(2)
PLACE = np.array([0.7, 0.2])
TRUE = float(quadratic(PLACE)[0])
NONE = np.empty((0, 2))
ROBUST = Settings(robust=True)
HISTORY = make_history(3)


@pytest.fixture(scope="module")
def state():
    return fitted_state(frequent=False, history=HISTORY)


def told(state, *values, place=PLACE, sd=0.1, origin=Origin.SEARCH):
    return state.evaluations.extend(
        make_table(PROBLEM, [place] * len(values), values, sd, origin=origin)
    )


def after(state, value, origin, settings=ROBUST, place=PLACE):
    """The state after one more evaluation, within an iteration."""
    state = replace(state, in_iteration=0)
    evaluations = told(state, value, origin=origin, place=place)
    return absorb(np.random.default_rng(1), state, settings, evaluations)


class TestWhatIsDoubted:
    @pytest.mark.parametrize("side", [-1, 1])
    def test_what_is_far_from_its_prediction(self, state, side):
        n = len(state.evaluations)
        assert doubts_at_arrival(state, told(state, TRUE + 30.0 * side)) == (n,)
        assert doubts_at_arrival(state, told(state, TRUE)) == ()
        # The same distance in nats, and well within the noise.
        assert doubts_at_arrival(state, told(state, TRUE + 30.0 * side, sd=20.0)) == ()

    def test_not_by_less_than_matters(self, state):
        far_in_sds = TRUE + 0.9
        assert DOUBTED * 0.15 < 0.9
        assert doubts_at_arrival(state, told(state, far_in_sds, sd=0.01)) == ()

    def test_low_values_only_if_they_are_off_by_a_part_of_their_depth(self, state):
        y, expected = np.array([-70.0, -160.0, -1.0]), np.full(3, -50.0)
        doubtful = is_doubtful(state, state.fit.gp, y, expected, np.full(3, 0.1))
        assert doubtful.tolist() == [False, True, True]

    def test_in_warmup_only_high_ones(self, state):
        warm = replace(state, warmup=True, history=())
        assert doubts_at_arrival(warm, told(state, TRUE - 30.0)) == ()
        assert doubts_at_arrival(warm, told(state, TRUE + 30.0))

    def test_repeats_and_what_was_given_are_not(self, state):
        for origin in (Origin.AGAIN, Origin.GIVEN):
            assert doubts_at_arrival(state, told(state, TRUE + 30.0, origin=origin)) == ()

    @pytest.mark.parametrize("origin", [Origin.GIVEN, Origin.USER])
    def test_not_where_nobody_can_be_asked(self, state, origin):
        theta, values = state.evaluations.theta, quadratic(state.evaluations.theta)
        values[int(values.argmax())] -= 30.0
        own = state.with_data(evaluations=make_table(PROBLEM, theta, values, 0.1, origin=origin))
        gp = state.fit.gp.condition(own.training.data, state.fit.gp.theta)
        own = replace(own, fit=replace(state.fit, gp=gp))
        assert with_worst_doubted(own) is own
        assert doubts_at_arrival(own, told(own, TRUE - 30.0, origin=origin)) == ()

    def test_no_more_than_a_share(self, state):
        many = told(state, *[TRUE - 30.0] * 40)
        assert len(doubts_at_arrival(state, many)) == int(LARGEST_SHARE * len(many))

    def test_at_the_end_of_an_iteration_the_worst_of_the_others(self, state):
        values = quadratic(state.evaluations.theta)
        row = int(values.argmax())
        values[row] -= 30.0
        wrong = make_table(PROBLEM, state.evaluations.theta, values, 0.1)
        wrong = state.with_data(evaluations=wrong)
        gp = state.fit.gp.condition(wrong.training.data, state.fit.gp.theta)
        doubting = with_worst_doubted(replace(wrong, fit=replace(state.fit, gp=gp)))
        assert doubting.doubted == doubting.aside_rows == (row,)
        assert row not in doubting.training.rows
        assert with_worst_doubted(state) is state

    def test_also_of_those_that_were_dropped_for_being_low(self, state):
        """A wrong value of warm-up, where the surrogate now knows better."""
        n = len(state.evaluations)
        table = told(state, TRUE - 100.0).extend(
            told(state, -300.0, place=[20.0, 20.0]).rows(np.arange(n + 1) == n)
        )
        trimmed = np.arange(n + 2) >= n
        dropped = state.with_data(evaluations=table, trimmed=trimmed)
        assert dropped.training.data.size == state.training.data.size
        doubting = with_worst_doubted(dropped)
        assert doubting.doubted == (n,)
        assert next_again(doubting, NONE).tolist() == PLACE.tolist()


class TestAskingAgain:
    def test_a_wrong_value_is_asked_for_twice_and_set_aside(self, state):
        n = len(state.evaluations)
        now = after(state, TRUE - 100.0, Origin.SEARCH)
        assert now.aside_rows == (n,)
        assert n not in now.training.rows
        # No search for hyperparameters that explain it.
        np.testing.assert_array_equal(now.fit.gp.theta, state.fit.gp.theta)
        asked = propose(np.random.default_rng(2), PROBLEM, now, ROBUST, NONE)
        assert asked.origin == Origin.AGAIN
        assert asked.theta.tolist() == PLACE.tolist()
        now = after(now, TRUE, Origin.AGAIN)
        assert now.aside_rows == (n, n + 1)
        now = after(now, TRUE + 0.1, Origin.AGAIN)
        assert now.aside_rows == (n,)
        assert n + 1 in now.training.rows
        assert now.training.data.y.max() < 10
        assert next_again(now, NONE) is None

    def test_news_is_believed_the_second_time(self, state):
        """The first value of a mode that was missed, far from the posterior."""
        place = np.array([14.0, 14.0])
        n = len(state.evaluations)
        now = after(state, 1.0, Origin.LOOK, place=place)
        assert now.aside_rows == (n,)
        now = after(now, 1.1, Origin.AGAIN, place=place)
        assert now.aside_rows == ()
        assert n in now.training.rows
        mean = now.fit.gp.pooled(now.space.to_inference(place)[None])[0][0]
        assert abs(mean - now.space.log_jacobian(now.space.to_inference(place)) - 1.05) < 0.5

    def test_not_while_the_point_is_under_evaluation(self, state):
        now = after(state, TRUE - 100.0, Origin.SEARCH)
        assert next_again(now, PLACE[None]) is None

    def test_repeats_that_fail_end_it(self, state):
        now = after(state, TRUE - 100.0, Origin.SEARCH)
        for _ in range(3):
            assert now.aside_rows
            assert next_again(now, NONE) is not None
            now = after(now, np.nan, Origin.AGAIN)
        assert next_again(now, NONE) is None
        assert now.aside_rows == ()  # nothing contradicts it

    def test_only_if_asked_for(self, state):
        now = after(state, TRUE - 100.0, Origin.SEARCH, settings=Settings())
        assert now.doubted == now.aside_rows == ()
        exact = after(replace(state, noisy=False), TRUE - 100.0, Origin.SEARCH)
        assert exact.doubted == exact.aside_rows == ()

    def test_a_repeat_is_no_step(self, state):
        now = after(state, TRUE - 100.0, Origin.SEARCH)
        now = replace(now, in_iteration=1)
        evaluations = told(now, TRUE, origin=Origin.AGAIN)
        assert absorb(np.random.default_rng(1), now, ROBUST, evaluations).in_iteration == 1


class TestTheAudit:
    def test_points_of_the_posterior_are_evaluated_again(self, state):
        audited = with_audit(state)
        assert len(audited.audited) == 5
        assert with_audit(replace(state, warmup=True)).audited == ()
        assert with_audit(replace(state, noisy=False)).audited == ()
        heights = quadratic(state.evaluations.theta[list(audited.audited)])
        assert heights.min() > -8
        assert is_auditing(audited)
        assert audited.aside_rows == ()  # they are believed meanwhile

    @pytest.mark.parametrize("factor", [0.25, 1.0, 4.0])
    def test_it_tells_by_what_factor_sds_are_wrong(self, state, factor):
        """With values that really have noise of SD 0.5."""
        rng = np.random.default_rng(8)
        theta = state.evaluations.theta
        values = quadratic(theta) + 0.5 * rng.standard_normal(len(theta))
        state = state.with_data(evaluations=make_table(PROBLEM, theta, values, 0.5 / factor))
        state = with_audit(state)
        rows = list(state.audited)
        again = quadratic(theta[rows]) + 0.5 * rng.standard_normal(5)
        repeats = make_table(PROBLEM, theta[rows], again, 0.5 / factor, origin=Origin.AGAIN)
        table = state.evaluations.extend(repeats)
        state = state.with_data(evaluations=table, trimmed=np.zeros(len(table), dtype=bool))
        aside = rows_aside(state, table, ())
        # One that contradicts, if any, is asked for once more.
        assert len(aside) <= 2
        state = replace(state, audited=(rows[0],))
        chosen = with_noise_scale(np.random.default_rng(1), state, ROBUST)
        assert chosen.noise_scale / factor in (0.5, 1.0, 2.0)
        if factor == 1.0:
            assert chosen.noise_scale == 1.0
            assert chosen.fit is state.fit
        else:
            assert chosen.fit is None
            assert (chosen.noise_scale > 1) == (factor > 1)
            got = np.sqrt(chosen.training.data.variance)
            assert got.max() == pytest.approx(0.5 / factor * chosen.noise_scale)
