"""For how long an answer has been the same, and the status that follows."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import make_case, rounded
from helpers.vbmc import make_iteration, make_table, unbounded_problem

from quell.diagnostics import Finding, Verdict
from quell.diagnostics.stability import Stability, difference, evaluations_needed, stability

NEEDED = evaluations_needed(2)


@pytest.fixture(scope="module")
def solution():
    return make_case().solution


def run_of(solution, n=20, odd=(), chosen=-1, broken=None, after=np.nan, **changes):
    """The stability after n iterations of five evaluations; ``odd`` ones have another solution.

    From evaluation ``broken`` on all have the value ``after``.
    """
    elsewhere = replace(solution, mixture=rounded((2.0, 0.0)))
    history = [
        make_iteration(i, solution=elsewhere if i in odd else solution, **changes.get(str(i), {}))
        for i in range(1, n + 1)
    ]
    values = np.zeros(5 + 5 * n)
    if broken is not None:
        values[broken:] = after
    table = make_table(unbounded_problem(2), np.zeros((len(values), 2)), values)
    return stability(history[chosen], history, table)


def test_all_the_same(solution):
    found = run_of(solution)
    assert found == Stability(NEEDED, NEEDED, 95, 0.0, 0.0)
    assert found.is_stable
    assert not found.is_too_short


def test_too_short(solution):
    found = run_of(solution, n=NEEDED // 5)
    assert not found.is_stable
    assert found.is_too_short
    assert found.evaluations == found.possible == NEEDED - 5
    assert run_of(solution, n=NEEDED // 5 + 1).is_stable


def test_failed_evaluations_do_not_count(solution):
    """A simulator that has broken down moves no answer."""
    found = run_of(solution, broken=30)
    assert found == Stability(20, NEEDED, 20, 0.0, 0.0)
    assert found.is_too_short
    assert run_of(solution, broken=30, after=-np.inf).is_stable  # zero density is an answer


def test_it_moved_some_time_ago(solution):
    found = run_of(solution, odd=[15])
    assert found.evaluations == 20
    assert not found.is_stable
    assert not found.is_too_short
    assert found.gskl == pytest.approx(2.0)  # a shift by two SDs
    assert run_of(solution, odd=[11]).is_stable


def test_later_iterations_count_too(solution):
    """An answer from before the last ones went elsewhere is not stable."""
    found = run_of(solution, odd=[20], chosen=-2)
    assert found.evaluations == 0
    assert not found.is_stable


def test_what_promises_too_much_does_not_count(solution):
    assert run_of(solution, odd=[15], **{"15": {"believable": False}}).is_stable


@pytest.mark.parametrize(("change", "stable"), [(0.4, True), (0.6, False), (np.nan, False)])
def test_the_elbo_counts(solution, change, stable):
    found = run_of(solution, **{"15": {"elbo": change}})
    assert found.is_stable == stable


@pytest.mark.parametrize(
    ("change", "sd", "stable"),
    [(0.8, 0.35, False), (0.8, 0.45, True), (1.1, 5.0, False)],
)
def test_an_elbo_may_move_within_its_error_bars_but_never_by_a_nat(solution, change, sd, stable):
    found = run_of(solution, **{"15": {"elbo": change, "elbo_sd": sd}})
    assert found.is_stable == stable


def test_difference_does_not_depend_on_coordinates(solution):
    space = solution.space.with_linear(np.eye(2), np.array([2.0, 0.5]))
    mixture = rounded((2.0, 0.0))
    there = replace(
        solution, space=space,
        mixture=replace(mixture, means=mixture.means / space.scales * solution.space.scales,
                        lengths=mixture.lengths / space.scales * solution.space.scales),
    )  # fmt: skip
    one, other = make_iteration(solution=there), make_iteration(solution=solution)
    assert difference(one, other)[1] == pytest.approx(2.0, rel=1e-6)


SHORT = Stability(30, 40, 35, 0.7, 0.1)
MOVED = Stability(20, 40, 95, 0.72, 1.3)
STILL = Stability(40, 40, 95, 0.1, 0.1)
AGAINST = Finding("x", 2.0, 1.0, "something is wrong")


@pytest.mark.parametrize(
    ("found", "findings", "status", "words"),
    [
        (STILL, (Finding("x", 0.0, 1.0),), "stable", ()),
        (SHORT, (), "too short to tell", ("stable for 30 of the 40 evaluations", "5 more")),
        (MOVED, (), "unstable", ("stable for 20 of the 40", "0.72 nats and a gsKL of 1.3")),
        (STILL, (AGAINST,), "suspect", ("something is wrong",)),
        (MOVED, (AGAINST,), "suspect", ("something is wrong", "stable for 20")),
    ],
)
def test_status_and_reasons(found, findings, status, words):
    verdict = Verdict(found, findings)
    assert verdict.status == status
    told = " / ".join(verdict.reasons)
    assert all(word in told for word in words)
    assert bool(told) == bool(words)
    assert verdict.figures()["stable_evaluations"] == found.evaluations
