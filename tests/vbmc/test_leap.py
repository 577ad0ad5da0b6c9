"""Following a law of the log-likelihood to where it says that the posterior is."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import SETTINGS

import quell
from quell.bench import load
from quell.settings import Settings
from quell.vbmc import initial_state
from quell.vbmc import leap as leaping
from quell.vbmc.law import Lead, fit_law
from quell.vbmc.leap import follow_law, is_within_bounds, leap, next_leap, space_of
from quell.vbmc.step import absorb, propose

X = np.column_stack([np.ones(20), np.linspace(300.0, 310.0, 20)])
Y = 40.0 - 0.1 * X[:, 1] + np.cos(np.arange(20) ** 2)
BETA = np.linalg.lstsq(X, Y, rcond=None)[0]


def log_likelihood(theta):
    """Of a straight line in raw units, with the SD of its residuals."""
    residuals = Y - X @ theta[:2]
    return -0.5 * float(residuals @ residuals) / theta[2] ** 2 - 20 * float(np.log(theta[2]))


def line_problem(**changes):
    options = {
        "lower": [-5000, -20, 0], "upper": [5000, 20, 200],
        "plausible_lower": [-500, -2, 0.2], "plausible_upper": [500, 2, 20], "noise": "exact",
    }  # fmt: skip
    return quell.Problem(log_likelihood, **(options | changes))


def advance(problem, n, settings=SETTINGS, seed=1):
    """The state after n evaluations of a run made by hand."""
    rng = np.random.default_rng(seed)
    table = quell.Evaluations.empty(problem.names)
    none = np.empty((0, problem.dimension))
    state = initial_state(rng, problem, none, table, noisy=False)
    for i in range(n):
        proposal = propose(rng, problem, state, settings, none)
        table = table.append(
            proposal.theta, problem.evaluate(proposal.theta, rng),
            log_prior=problem.log_prior(proposal.theta), origin=proposal.origin, index=i,
        )  # fmt: skip
        state = absorb(rng, state.asked(), settings, table)
    return state


@pytest.fixture(scope="module")
def searching():
    """A state that has not found the posterior yet."""
    return advance(line_problem(), 25, settings=Settings(climb=False))


def law_of(state):
    theta, y = state.evaluations.theta, state.evaluations.log_joint
    return fit_law(state.space.bounds, theta, y, np.zeros(len(y)))


def test_a_regression_in_raw_units_is_found_at_once():
    """Without the law runs are off by tens of nats; which digit a run gets right is chance."""
    bench = load("regression", 5)
    truth = bench.truth
    results = [
        quell.infer(bench.as_problem("exact"), seed=seed, budget=110, progress=False)
        for seed in (1, 2, 3)
    ]
    assert all("leapt" in [row["action"] for row in result.history] for result in results)
    errors = [abs(result.log_evidence - truth.log_evidence) for result in results]
    assert np.median(errors) < 0.06
    assert max(errors) < 0.5
    sds = np.median([result.posterior.sd() for result in results], axis=0)
    assert np.allclose(sds, np.sqrt(truth.covariance.diagonal()), rtol=0.1)


def test_a_bent_posterior_has_no_law():
    bench = load("rosenbrock", 2)
    result = quell.infer(bench.as_problem("exact"), seed=1, budget=80, progress=False)
    assert "leapt" not in [row["action"] for row in result.history]


class TestWhatIsProposed:
    @pytest.fixture
    def state(self, searching):
        return replace(searching, lead=Lead(law_of(searching), is_borne_out=False))

    def test_the_mode_once(self, state):
        problem, rng = line_problem(), np.random.default_rng(0)
        none = np.empty((0, 3))
        theta = next_leap(rng, problem, state, none)
        assert np.allclose(theta[:2], BETA, atol=[5.0, 0.02])
        assert next_leap(rng, problem, state, theta[None]) is None

    def test_draws_where_it_is_borne_out(self, state):
        problem, rng = line_problem(), np.random.default_rng(0)
        lead = replace(state.lead, is_borne_out=True)
        drawn = [
            next_leap(rng, problem, replace(state, lead=lead), np.empty((0, 3))) for _ in range(20)
        ]
        assert lead.law.is_near(np.array(drawn)).mean() > 0.9

    def test_nothing_beyond_the_bounds(self, state):
        law = state.lead.law
        outside = replace(law, mode=law.mode + np.array([100.0, 0.0, 0.0]))
        for borne_out in (False, True):
            lost = replace(state, lead=Lead(outside, borne_out))
            rng = np.random.default_rng(0)
            assert next_leap(rng, line_problem(), lost, np.empty((0, 3))) is None

    def test_nothing_without_a_law(self, state):
        rng = np.random.default_rng(0)
        lost = replace(state, lead=None)
        assert next_leap(rng, line_problem(), lost, np.empty((0, 3))) is None

    def test_fixed_parameters_keep_their_value(self):
        problem = line_problem(
            lower=[-5000, -20, 1.5], upper=[5000, 20, 1.5],
            plausible_lower=[-500, -2, 1.5], plausible_upper=[500, 2, 1.5],
        )  # fmt: skip
        result = quell.infer(problem, seed=3, budget=60, progress=False)
        assert "leapt" in [row["action"] for row in result.history]
        assert set(result.evaluations.theta[:, 2]) == {1.5}
        assert np.allclose(result.posterior.mean()[:2], BETA, atol=[20.0, 0.07])


class TestTheLeap:
    def test_a_mode_on_or_beyond_a_bound_is_not_followed(self, searching):
        law = law_of(searching)
        assert is_within_bounds(law, searching.space)
        for shift in (4.6, 100.0, 1e300):
            far = replace(law, mode=law.mode + np.array([shift, 0.0, 0.0]))
            assert is_within_bounds(far, searching.space) == (shift < 5)

    def test_the_posterior_is_round_in_its_space(self, searching):
        state, law = searching, law_of(searching)
        rng = np.random.default_rng(0)
        space = space_of(rng, state, law)
        x = space.to_inference(law.sample(rng, 5000))
        assert np.allclose(np.cov(x.T), np.eye(3), atol=0.1)

    def test_one_that_promises_too_much_is_taken_back(self, searching, monkeypatch):
        law, rng = law_of(searching), np.random.default_rng(0)

        def lost(_rng, state, _settings, action):
            last = replace(state.history[-1], action=action, believable=False)
            return replace(state, history=(*state.history, last))

        monkeypatch.setattr(leaping, "refit", lost)
        refused = leap(rng, searching, law, space_of(rng, searching, law), SETTINGS)
        assert refused.refused_leaps == 1
        assert refused.space is searching.space
        assert len(refused.history) == len(searching.history)

    def test_it_ends_warm_up(self):
        state = advance(line_problem(), 60)
        actions = [iteration.action for iteration in state.history]
        after = actions.index("leapt")
        assert not any(iteration.warmup for iteration in state.history[after:])
        assert state.overview is not None
        assert state.trimmed.any()

    def test_a_law_that_says_what_is_known_is_not_followed(self):
        state = advance(line_problem(), 60)
        after = follow_law(np.random.default_rng(0), state, SETTINGS)
        assert after.lead is None
        assert len(after.history) == len(state.history)


def test_the_paper_follows_no_law():
    state = advance(line_problem(), 30, settings=Settings.variant("paper-viqr"))
    assert state.lead is None
