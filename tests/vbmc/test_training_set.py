"""The state's training set is always the one that its evaluations, trimming and space give."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import fitted_state, make_state, make_table, unbounded_problem

from quell import Evaluations, Problem, Settings
from quell.space import InferenceSpace
from quell.vbmc import Action, TrainingSet, absorb, close_iteration, initial_state, propose
from quell.vbmc.coordinates import change_coordinates
from quell.vbmc.warmup import leave_warmup


def assert_fresh(state):
    """Against a computation from nothing but the state's other fields."""
    fresh = TrainingSet.of(
        state.evaluations,
        state.trimmed,
        state.space,
        noisy=state.noisy,
        power=state.power if state.warmup else 1.0,
        found=state.found,
    )
    assert state.training.data.equals(fresh.data)
    np.testing.assert_array_equal(state.training.rows, fresh.rows)
    np.testing.assert_array_equal(state.training.single_sd, fresh.single_sd)


def ridge(theta):
    """A narrow, correlated normal log density, with a cliff."""
    a, b = theta
    return -0.5 * ((a + b) ** 2 + 25 * (a - b) ** 2) if a > -4 else -np.inf


def short_run(sd, n=110):
    """Every state of a run on the ridge, one evaluation at a time."""
    problem = unbounded_problem(2)
    settings = Settings(stop_early=False)
    nothing = Evaluations.empty(problem.names)
    none = np.empty((0, 2))
    rng = np.random.default_rng(3)
    state = initial_state(rng, problem, none, nothing, noisy=sd > 0)
    yield state
    table = nothing
    for i in range(n):
        theta = propose(np.random.default_rng(i), problem, state, settings, none).theta
        value = ridge(theta) + sd * rng.standard_normal()
        table = table.extend(make_table(problem, [theta], [value], sd))
        state = absorb(np.random.default_rng(1000 + i), state, settings, table)
        state = replace(state, n_asked=i + 1)
        yield state
    yield close_iteration(np.random.default_rng(0), state, settings)


@pytest.mark.parametrize("sd", [0.0, 1.0])
def test_at_every_step_of_a_run(sd):
    actions = []
    for state in short_run(sd):
        assert_fresh(state)
        actions = [iteration.action for iteration in state.history]
    assert Action.END_OF_WARMUP in actions
    assert Action.WHITENING in actions
    assert state.trimmed.any()
    if state.fit is not None:
        assert state.fit.gp.data.equals(state.training.data)


def test_after_whitening_and_the_end_of_warmup():
    state = fitted_state()
    space = state.space.whitened(np.array([[0.05, 0.03], [0.03, 0.04]]))
    whitened = change_coordinates(np.random.default_rng(0), state, space, full_refit=False)
    assert_fresh(whitened)
    assert not whitened.training.data.equals(state.training.data)
    values = -np.arange(0.0, 80, 2)
    theta = np.random.default_rng(1).normal(size=(len(values), 2))
    trimmed = leave_warmup(make_state(unbounded_problem(2), theta, values), at_once=True)
    assert_fresh(trimmed)
    assert trimmed.training.data.size < len(values)


def test_empty_without_a_value():
    problem = unbounded_problem(1)
    for values in ([], [np.nan], [-np.inf, np.nan]):
        theta = np.arange(float(len(values)))[:, None]
        state = make_state(problem, theta, values)
        assert state.training.data.size == len(state.training.rows) == 0


def test_what_is_known_beside_an_edge_is_not_compressed():
    """Far beyond a soft edge nearly all of the fall is the log-Jacobian's, which is known."""
    space = InferenceSpace.from_bounds([0.0], [10.0], [2.0], [8.0]).with_softness([0.01])
    x = np.linspace(-0.95, 0.4, 11)[:, None]
    theta = space.to_original(x)
    table = make_table(Problem(lambda _: 0.0, lower=0, upper=10), theta, np.zeros(11), 0.0)
    whole, log = (
        TrainingSet.of(table, np.zeros(11, dtype=bool), space, noisy=False, power=power)
        for power in (1.0, 0.0)
    )
    assert whole.data.y.min() < -50  # so low that it would be compressed by half
    np.testing.assert_allclose(log.data.rest, whole.data.rest, atol=1e-9)
    assert log.log_slope == pytest.approx(0.0, abs=1e-9)
