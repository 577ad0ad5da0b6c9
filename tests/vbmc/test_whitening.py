"""When the space is whitened: by the paper's schedule, and by the posterior's shape."""

import numpy as np
import pytest
from helpers.vbmc import fitted_state, make_history

from quell.mixture import Mixture
from quell.vbmc.whitening import axis_ratio, is_scheduled, whitening_is_due


def due_state(n=10, *, k=5, dimension=2, reliability=0.5, longest=1.0, **changes):
    """A state after ``n`` iterations whose posterior has one axis ``longest`` times the others."""
    lengths = np.ones(dimension)
    lengths[0] = longest
    mixture = Mixture(np.full(k, 1 / k), np.zeros((k, dimension)), np.ones(k), lengths)
    figures = {"last_whitening": 1, "mixture": mixture,
               "history": make_history(n, reliability=reliability)}  # fmt: skip
    return fitted_state(dimension=dimension, n=6, **(figures | changes))


def is_due(state, schedule):
    return whitening_is_due(state, schedule, state.mixture.covariance())


def wait(schedule, **changes):
    """Iterations until a whitening is due, None if it never is."""
    return next(
        (n for n in range(1, 80) if is_due(due_state(n, last_whitening=0, **changes), schedule)),
        None,
    )


class TestPaperSchedule:
    def test_due_some_iterations_after_the_last_one(self):
        due = [is_due(due_state(n), "paper") for n in range(1, 12)]
        assert not due[0]
        assert due[-1]
        assert due == sorted(due)  # once due, due until done

    def test_later_ones_are_further_apart(self):
        waits = [wait("paper", n_whitenings=c) for c in (0, 1, 2, 3)]
        assert waits[0] == waits[1] < waits[2] < waits[3]

    @pytest.mark.parametrize("changes", [{"reliability": 3.0}, {"reliability": np.inf}, {"k": 4}])
    def test_not_due(self, changes):
        assert is_due(due_state(30), "paper")
        assert not is_due(due_state(30, **changes), "paper")


class TestAdaptiveSchedule:
    def test_a_round_posterior_is_left_alone(self):
        assert wait("adaptive", longest=1.05) is None

    def test_a_long_one_waits_like_in_the_paper_whatever_its_components(self):
        for c in (0, 1, 3):
            assert wait("adaptive", longest=1.2, k=1, n_whitenings=c) == wait(
                "paper", n_whitenings=c
            )

    def test_a_very_long_one_does_not_wait_longer_each_time(self):
        assert wait("adaptive", longest=1.7, n_whitenings=5) == wait("paper", n_whitenings=1)

    def test_not_due_while_unreliable(self):
        assert is_due(due_state(30, longest=1.9), "adaptive")
        assert not is_due(due_state(30, longest=1.9, reliability=3.0), "adaptive")

    def test_a_ridge_does_not_wait_for_a_reliable_solution(self):
        assert is_due(due_state(30, longest=2.1, reliability=50.0), "adaptive")


def test_axis_ratio_of_a_turned_ridge():
    q = Mixture(np.full(2, 0.5), [[-3.0, -3.0], [3.0, 3.0]], [1.0, 1.0], [1.0, 1.0])
    assert axis_ratio(q.covariance()) == pytest.approx(np.sqrt(19.0))


def test_the_interval_between_changes_of_coordinates_grows():
    """Softening waits like the paper's whitening; that the two agree is what makes one schedule."""
    for changes in range(4):
        first = wait("paper", n_whitenings=changes)
        scheduled = [
            is_scheduled(due_state(n, last_whitening=0, n_whitenings=changes))
            for n in range(1, first + 5)
        ]
        assert scheduled.index(True) + 1 == first
        assert scheduled == sorted(scheduled)
