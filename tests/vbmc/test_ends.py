"""The ends of a posterior are evaluated where its axes are not known well."""

import numpy as np
import pytest
from helpers.vbmc import SETTINGS, hand_fit, make_iteration, make_state, unbounded_problem

from quell import Settings
from quell.evaluations import Origin
from quell.mixture import Mixture
from quell.vbmc import propose
from quell.vbmc.ends import LEAST_SDS, next_end

PLANE = unbounded_problem(2)  # θ = 4 x
NONE = np.empty((0, 2))
#: The posterior is thought to be round, of SD 0.25 in x and 1 in θ.
ROUND = Mixture([1.0], [[0.0, 0.0]], [0.25], [1.0, 1.0])
#: D + 2 of every 2 (D + 2) evaluations.
TURN = 84


def state(sds, *more, spread=0.8, sd=0.5, n_asked=TURN, **changes):
    """Evaluations within the posterior, of a normal log density that has these ``sds`` in θ."""
    rng = np.random.default_rng(3)
    within = spread * rng.standard_normal((60, 2))
    theta = np.concatenate([within, *[np.atleast_2d(one) for one in more]])
    values = -0.5 * np.sum((theta / sds) ** 2, axis=1) + sd * rng.standard_normal(len(theta))
    found = make_state(PLANE, theta, values, sd)
    made = {
        "fit": hand_fit(found.training.data), "mixture": ROUND, "warmup": False, "last_warmup": 1,
        "full_refit": False, "n_asked": n_asked, "history": (make_iteration(reliability=0.5),),
    }  # fmt: skip
    return found.with_data(**(made | changes))


def test_along_the_ridge_that_the_posterior_has_a_piece_of():
    theta = next_end(PLANE, state([10.0, 1.0]), NONE)
    assert abs(theta[0]) == pytest.approx(LEAST_SDS, rel=0.15)
    assert abs(theta[1]) < 0.8


def test_further_out_under_more_noise():
    near = next_end(PLANE, state([10.0, 1.0], sd=0.5), NONE)
    far = next_end(PLANE, state([10.0, 1.0], sd=4.0), NONE)
    assert np.linalg.norm(near) == pytest.approx(LEAST_SDS, rel=0.1)
    assert np.linalg.norm(far) == pytest.approx(np.sqrt(24.0), rel=0.1)


def test_nowhere_if_the_evaluations_bear_the_posterior_out():
    assert next_end(PLANE, state([1.0, 1.0], sd=0.05), NONE) is None


def test_what_noise_hides_is_looked_at():
    assert next_end(PLANE, state([1.0, 1.0], sd=3.0), NONE) is not None


def test_an_end_that_was_seen_is_left():
    ends = np.array([[3.0, 0.0], [-3.0, 0.0]])
    first = next_end(PLANE, state([10.0, 1.0], ends[0], sd=1e-3), NONE)
    assert first[0] < -2.0  # the other one
    assert next_end(PLANE, state([10.0, 1.0], *ends, sd=1e-3), NONE) is None
    assert next_end(PLANE, state([10.0, 1.0], ends[0], sd=1e-3), ends[1:]) is None  # or under way


def test_it_is_every_eighth_evaluation_at_most():
    """2 (D + 2) of them."""
    found = [
        n for n in range(60, 100) if next_end(PLANE, state([9.0, 1.0], n_asked=n), NONE) is not None
    ]
    assert found == [60, 68, 76, 84, 92]


def test_not_before_the_posterior_is_found():
    assert next_end(PLANE, state([10.0, 1.0], warmup=True), NONE) is None
    lost = (make_iteration(reliability=1e3),)
    assert next_end(PLANE, state([10.0, 1.0], history=lost), NONE) is None


def test_it_is_a_step_of_the_search_and_the_paper_has_none():
    ridge = state([10.0, 1.0])
    end = next_end(PLANE, ridge, NONE)
    found = propose(np.random.default_rng(1), PLANE, ridge, SETTINGS, NONE)
    assert found.origin == Origin.SEARCH
    np.testing.assert_array_equal(found.theta, end)
    paper = propose(np.random.default_rng(1), PLANE, ridge, Settings.variant("paper-viqr"), NONE)
    assert not np.allclose(paper.theta, end)
