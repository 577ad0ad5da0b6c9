"""The log evidence is not known better than it has moved of late."""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.problems import make

import quell
from quell import infer
from quell.run import ending
from quell.run import late_change as module
from quell.run.late_change import late_change

D = 2
NEEDED = 10 * (D + 2)  # evaluations over which an answer has to be stable


def iteration(n, value, *, warmup=False, believable=True):
    space = SimpleNamespace(dimension=D)
    solution = SimpleNamespace(space=space, value=value)
    return SimpleNamespace(
        n_evaluations=n, solution=solution, warmup=warmup, believable=believable, index=n
    )


@pytest.fixture
def stated(monkeypatch):
    """Solutions whose log evidence is what they say it is."""
    monkeypatch.setattr(module, "where_it_counts", lambda *_: None)
    monkeypatch.setattr(
        module, "evidence", lambda _, solution, **__: SimpleNamespace(value=solution.value)
    )


def change(history, value=1.0, chosen=-1):
    rng = np.random.default_rng(0)
    return late_change(rng, value, history[chosen], history, np.zeros(D, bool))


@pytest.mark.usefixtures("stated")
def test_it_is_the_difference_to_half_of_the_evaluations_ago():
    n = 200
    history = [
        iteration(n - NEEDED, 9.0), iteration(n - NEEDED // 2, 0.25),
        iteration(n - NEEDED // 2 + 1, 5.0), iteration(n, 0.9),
    ]  # fmt: skip
    assert change(history) == 0.75
    assert change(history, value=-1.0) == 1.25


@pytest.mark.usefixtures("stated")
def test_it_is_counted_from_the_iteration_that_is_returned():
    history = [iteration(100 + 5 * i, float(i)) for i in range(20)]
    assert change(history, value=10.0, chosen=10) == 10.0 - 6.0


@pytest.mark.usefixtures("stated")
@pytest.mark.parametrize("history", [
    [iteration(200, 0.0)],
    [iteration(100, 0.0, warmup=True), iteration(200, 0.9)],
    [iteration(100, np.nan), iteration(200, 0.9)],
])  # fmt: skip
def test_it_is_not_known_before_there_was_a_posterior(history):
    assert change(history) == 0.0


@pytest.mark.usefixtures("stated")
def test_what_promised_too_much_does_not_count():
    history = [iteration(90, 0.5), iteration(100, 1e6, believable=False), iteration(200, 0.9)]
    assert change(history) == 0.5


def bananas(theta):
    """Two bananas side by side, of log evidence -log of the box."""
    a, b = theta[[0, 2]], theta[[1, 3]]
    z = np.concatenate([a / 1.5, (b - 0.5 * a**2) / 0.4])
    return float(-0.5 * z @ z - 2 * np.log(2 * np.pi * 1.5 * 0.4))


def test_a_run_that_creeps_along_a_ridge_says_how_far_it_may_be_off(monkeypatch):
    """The surrogate is sure to a hundredth of a nat, and off by more than a tenth."""
    changes = []

    def spy(*args):
        changes.append(late_change(*args))
        return changes[-1]

    monkeypatch.setattr(ending, "late_change", spy)
    problem = make(
        bananas, dimension=4, lower=[-10, -10, -10, -10], upper=[10, 20, 10, 20],
        plausible_lower=[-3, -1, -3, -1], plausible_upper=[3, 5, 3, 5], noise="exact",
    )  # fmt: skip
    truth = -np.log(20 * 30 * 20 * 30)
    results = [infer(problem, seed=seed, progress=False) for seed in (1, 2, 3)]
    errors = np.array([abs(result.log_evidence - truth) for result in results])
    sds = np.array([result.log_evidence_sd for result in results])
    assert np.median(errors) > 0.05
    assert (errors < 3 * sds).all()
    assert np.sum(sds == changes) >= 2  # without it, a hundredth


def test_of_a_posterior_that_is_known_it_is_next_to_nothing():
    problem = make(lambda theta: float(-0.5 * theta @ theta), dimension=D, noise="exact")
    result = infer(problem, seed=1, progress=False)
    assert result.log_evidence_sd < 0.01


def test_without_importance_sampling_the_sd_is_that_of_the_elbo():
    problem = make(lambda theta: float(-0.5 * theta @ theta), dimension=D, noise="exact")
    settings = quell.Settings(evidence="elbo")
    result = infer(problem, seed=1, budget=60, progress=False, settings=settings)
    assert result.log_evidence_sd == result.elbo_sd
