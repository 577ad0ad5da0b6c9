"""A noisy target that returns −inf now and then: where that is a fact, and where an accident."""

import warnings

import numpy as np
import pytest
from helpers.vbmc import make_problem, make_state, unbounded_problem

from quell import Problem, infer
from quell.vbmc.low_values import are_accidents

INF = np.inf


def grid(n=7):
    side = np.linspace(-3, 3, n)
    return np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)


def bowl(theta):
    return -0.5 * np.sum(np.asarray(theta) ** 2, axis=-1)


def state_with(zero, problem=None, **changes):
    """Good values on a grid, with zero density on the mask ``zero`` of it."""
    theta = grid()
    values = np.where(zero, -INF, bowl(theta))
    problem = unbounded_problem(2) if problem is None else problem
    return make_state(problem, theta, values, **changes)


class TestTheRule:
    def test_among_good_points(self):
        x = grid()
        assert are_accidents(np.array([[0.1, 0.2]]), x, bowl(x), 28.0).all()

    def test_not_where_the_others_are_hopelessly_low(self):
        x = grid()
        y = np.where(x[:, 0] > 0, -40.0, 0.0)
        found = are_accidents(np.array([[2.1, 0.1], [-2.1, 0.1]]), x, y, 28.0)
        assert found.tolist() == [False, True]

    def test_not_among_each_other(self):
        x = grid()
        crowd = np.array([[5.0, 5.0]]) + 0.1 * np.random.default_rng(0).normal(size=(9, 2))
        assert not are_accidents(crowd, x, bowl(x), 28.0).any()

    @pytest.mark.parametrize(("n_good", "expected"), [(3, True), (2, False)])
    def test_by_the_majority_of_the_nearest(self, n_good, expected):
        """Of the 2D + 1 = 5 at distance one; all that are farther away are good."""
        angle = 2 * np.pi * np.arange(5) / 5
        near = np.column_stack([np.cos(angle), np.sin(angle)])
        x = np.concatenate([near, 3 * near, 5 * near])
        y = np.where(np.arange(15) < 5 - n_good, -99.0, 0.0)
        assert are_accidents(np.zeros((1, 2)), x, y, 28.0)[0] == expected

    def test_a_value_at_the_same_point_settles_it(self):
        x = np.concatenate([[[2.0, 0.0]], grid()])
        y = np.where(x[:, 0] > 0, -40.0, 0.0)
        assert are_accidents(np.array([[2.0, 0.0]]), x, y, 28.0).all()

    @pytest.mark.parametrize("n", [1, 2])
    def test_with_few_others(self, n):
        x = np.zeros((n, 3)) + np.arange(n)[:, None]
        assert are_accidents(np.full((1, 3), 0.5), x, np.zeros(n), 28.0).tolist() == [True]


class TestTrainingSet:
    lone = (grid() == [0.0, 0.0]).all(axis=1)
    half = grid()[:, 0] > 0

    def test_a_lone_one_is_left_out(self):
        training = state_with(self.lone).training
        assert training.n_accidents == 1
        assert np.flatnonzero(self.lone)[0] not in training.rows
        assert training.data.size == 48

    def test_of_an_exact_target_it_is_a_fact(self):
        training = state_with(self.lone, sds=0.0, noisy=False).training
        assert training.n_accidents == 0
        assert training.data.size == 49

    def test_a_whole_region_stays(self):
        training = state_with(self.half).training
        assert training.n_accidents == 0
        assert training.data.size == 49
        assert training.data.y[self.half].max() < training.data.y.max() - 27

    def test_where_the_prior_is_zero_there_is_nothing_to_decide(self):
        problem = make_problem(
            2, prior=lambda theta: -INF if np.all(np.abs(theta) < 0.1) else -np.log(400.0)
        )
        training = state_with(self.lone, problem).training
        assert training.n_accidents == 0
        assert training.data.size == 48  # the surrogate need not learn it

    def test_what_was_trimmed_has_a_say(self):
        """Far down, values are dropped at the end of warm-up; −inf there is no accident."""
        theta = np.linspace(0, 30, 31)[:, None]
        values = -0.5 * theta[:, 0] ** 2
        values[[25, 28]] = -INF
        state = make_state(unbounded_problem(1), theta, values)
        low = state.evaluations.log_joint < -50
        assert state.with_data(trimmed=low).training.n_accidents == 0

    def test_decided_anew_with_more_evaluations(self):
        """The first beyond an edge is left out; with others like it, all are facts."""
        theta = grid()[grid()[:, 0] <= 0]
        beyond = np.array([[0.6, 0.1], [0.7, -0.1], [0.8, 0.0], [0.9, 0.1], [0.75, 0.05]])
        counts = []
        for n in (1, 5):
            points = np.concatenate([theta, beyond[:n]])
            values = np.append(bowl(theta), np.full(n, -INF))
            counts.append(make_state(unbounded_problem(2), points, values).training.n_accidents)
        assert counts == [1, 0]


def test_one_in_ten_does_no_harm():
    """As facts they moved the mean by one SD."""

    def target(theta, rng):
        value = bowl(theta) + rng.standard_normal()
        return (value if rng.random() > 0.1 else -INF), 1.0

    problem = Problem(
        target, lower=[-10] * 2, upper=[10] * 2, plausible_lower=[-3] * 2, plausible_upper=[3] * 2,
        noise="reported",
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = infer(problem, budget=70, seed=5000, progress=False)
    assert np.all(np.abs(result.posterior.mean()) < 0.4)
    assert np.all(np.abs(result.posterior.sd() - 1) < 0.3)
    assert abs(result.log_evidence - np.log(2 * np.pi / 400)) < 0.5
    n = int(result.evaluations.zero_density.sum())
    left_out = [reason for reason in result.reasons if "gave -inf beside good ones" in reason]
    assert len(left_out) == 1
    assert 3 <= int(left_out[0].split()[0]) <= n
