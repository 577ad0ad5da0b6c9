"""Surrogate and posterior fitted again: which refits follow, and what goes on record."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import (
    SETTINGS,
    elbo_of,
    fitted_state,
    make_history,
    make_iteration,
    solution_of,
)

from quell import Settings
from quell.mixture.divergence import gaussian_skl
from quell.variational import VariationalFit
from quell.vbmc import Action, refit
from quell.vbmc.refit import _record, _retrain_frequently


def retrains(state, index, reliability, settings=SETTINGS):
    record = make_iteration(index, reliability=reliability)
    return _retrain_frequently(state, record, settings)


@pytest.fixture(scope="module")
def later():
    """A noisy state whose warm-up ended in iteration 10."""
    return fitted_state(n=6, last_warmup=10)


class TestFrequentRetrain:
    def test_in_warmup_and_while_unreliable(self, later):
        in_warmup = replace(later, warmup=True, last_warmup=None)
        for index in (1, 5, 100):
            assert retrains(in_warmup, index, 0.5)
        for reliability, expected in ((2.9, False), (3.0, False), (3.1, True), (np.inf, True)):
            assert retrains(later, 30, reliability) == expected

    def test_in_two_iterations_after_warmup(self, later):
        # the record is of the iteration before
        assert [retrains(later, index, 0.5) for index in (10, 11, 12)] == [True, True, False]

    def test_under_noise_only_where_nothing_else_is_said(self, later):
        exact = replace(later, noisy=False)
        assert not retrains(exact, 30, 99.0)
        assert retrains(exact, 30, 99.0, Settings(frequent_retrain=True))
        assert not retrains(later, 30, 99.0, Settings(frequent_retrain=False))


@pytest.mark.parametrize(("r", "frequent"), [(2.9, False), (3.1, True)])
def test_the_next_iteration_watches_as_the_index_says(monkeypatch, r, frequent):
    monkeypatch.setattr("quell.vbmc.reliability.reliability_index", lambda *_: r)
    state = fitted_state(n=40, last_warmup=10, frequent=not frequent)
    history = make_history(30, solution=solution_of(state))
    quick = Settings(hyperparameters="map")
    new = refit.refit(np.random.default_rng(0), replace(state, history=history), quick, Action.NONE)
    assert new.frequent == frequent


def promising(elbo, excess, data):
    """The same ELBO, but for an expected log joint this much above the best value seen."""
    return replace(
        elbo, expected_log_joint=replace(elbo.expected_log_joint, mean=data.y.max() + excess)
    )


@pytest.fixture(scope="module")
def calm():
    """A state that has been stable for long."""
    state = fitted_state()
    solution = solution_of(state)
    history = make_history(
        40, solution=solution, reliability=0.1, elbo=solution.elbo.value,
        n_evaluations=np.arange(40) * 5,
    )  # fmt: skip
    return replace(state, history=history)


class TestRecord:
    def record(self, state, *, excess=None, mixture=None):
        gp = state.fit.gp
        mixture = state.mixture if mixture is None else mixture
        elbo = elbo_of(gp, mixture)
        if excess is not None:
            elbo = promising(elbo, excess, gp.data)
        return _record(state, gp, VariationalFit(mixture, elbo, 0), SETTINGS, Action.NONE)

    def test_what_promises_more_than_was_seen_is_neither_believable_nor_stable(self, calm):
        for excess in (1e-6, 2e7):
            record = self.record(calm, excess=excess)
            assert not record.believable
            assert not record.stable
            assert record.as_row()["believable"] is False
        fine = self.record(calm)
        assert fine.believable
        assert fine.stable

    def test_the_change_of_the_posterior_is_zero_for_the_same_one(self, calm):
        assert self.record(calm).gskl == pytest.approx(0.0, abs=1e-9)

    def test_and_does_not_depend_on_the_coordinates(self, calm):
        old = calm.history[-1].solution
        space = old.space.whitened([[0.05, 0.03], [0.03, 0.04]])
        moved = old.mixture.means + 0.05
        other = type(old.mixture)(
            old.mixture.weights, moved, old.mixture.scales, old.mixture.lengths
        )
        record = self.record(calm, mixture=other)
        expected = gaussian_skl(
            old.mixture.mean(), old.mixture.covariance(), other.mean(), other.covariance()
        )
        assert record.gskl == pytest.approx(expected, rel=1e-6)
        # A solution of other coordinates is carried to those of the state first.
        carried = replace(old, space=space)
        history = (*calm.history[:-1], replace(calm.history[-1], solution=carried))
        there = self.record(replace(calm, history=history), mixture=other)
        a = space.rotation * space.scales
        mean, covariance = old.mixture.mean() @ a.T, a @ old.mixture.covariance() @ a.T
        expected = gaussian_skl(mean, covariance, other.mean(), other.covariance())
        assert there.gskl == pytest.approx(expected, rel=1e-6)

    def test_is_appended_with_its_action(self, monkeypatch):
        state = fitted_state(n=12, history=make_history(3, solution=solution_of(fitted_state())))

        def fit_posterior(_rng, gp, start, *_):
            return VariationalFit(start, elbo_of(gp, start), 0)

        monkeypatch.setattr(refit, "fit_posterior", fit_posterior)
        new = refit.refit(np.random.default_rng(0), state, SETTINGS, Action.WENT_BACK)
        assert [it.index for it in new.history] == [1, 2, 3, 4]
        assert new.history[-1].action == "went back"
        assert new.history[-1].solution.space is state.space
        assert (new.in_iteration, new.full_refit) == (0, False)
        assert new.before is new.mixture
