"""Progress: figures of an update, the display, and its silence."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from quell import Problem
from quell.evaluations import Evaluations
from quell.problem.outcome import Outcome
from quell.progress import Progress, Update, clock, render
from quell.vbmc import Iteration, initial_state


def make_state(n_ok=0, n_failed=0, n_given=0):
    problem = Problem(
        lambda _: 0.0, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3, names=["a"]
    )
    table = Evaluations.empty(problem.names)
    if n_given:
        given = np.linspace(-1, 1, n_given)[:, None]
        table = Evaluations.from_arrays(given, np.zeros(n_given), problem=problem)
    for i in range(n_ok + n_failed):
        outcome = Outcome(-1.0, 0.1) if i < n_ok else Outcome.failure("boom", kind="exception")
        table = table.append([0.1 * i], outcome, log_prior=-3.0, origin="search", index=i)
    none = np.empty((0, 1))
    return initial_state(np.random.default_rng(0), problem, none, table, noisy=True)


def make_iteration(**changes):
    figures = {
        "index": 1, "action": "", "n_evaluations": 10, "n_training": 10, "elbo": -2.345,
        "elbo_sd": 0.12, "gskl": 0.1, "reliability": 0.75, "stable": False, "n_components": 7,
        "n_pruned": 0, "n_samples": 8, "noise_sd": 1.0, "warmup": True,
        "cpu_seconds": 0.1, "solution": None,
    }  # fmt: skip
    return Iteration(**(figures | changes))


def with_history(state, *iterations, **changes):
    return replace(state, history=iterations, **changes)


def terminal():
    return Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)


def text_of(update):
    console = terminal()
    console.print(render(update))
    return console.file.getvalue()


def test_update_before_the_first_iteration():
    update = Update.of(make_state(n_ok=3, n_failed=2), 50, 10.0, 4.0, 5.0)
    assert (update.n_evaluations, update.n_failed, update.budget) == (5, 2, 50)
    assert (update.iteration, update.phase, update.n_components) == (0, "design", 0)
    assert np.isnan([update.elbo, update.elbo_sd, update.reliability]).all()
    assert (update.wall_seconds, update.target_seconds, update.cpu_seconds) == (10.0, 4.0, 5.0)


def test_update_reads_the_last_iteration_and_the_phase():
    state = make_state(n_ok=4, n_given=7)
    first, last = make_iteration(), make_iteration(index=2, elbo=-1.5, n_components=9)
    update = Update.of(with_history(state, first, last), 50, 1.0, 0.0, 0.0)
    assert (update.iteration, update.elbo, update.n_components) == (2, -1.5, 9)
    assert update.phase == "warm-up"
    assert update.n_evaluations == 4  # a head start does not count
    refined = with_history(state, first, last, warmup=False)
    assert Update.of(refined, 50, 1.0, 0.0, 0.0).phase == "refinement"


def test_time_left_goes_by_the_evaluations_so_far():
    assert Update.of(make_state(n_ok=10), 50, 20.0, 0.0, 0.0).seconds_left == pytest.approx(80.0)
    assert np.isnan(Update.of(make_state(), 50, 20.0, 0.0, 0.0).seconds_left)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0:00"), (59.9, "0:59"), (75, "1:15"), (3600, "1:00:00"), (90061, "25:01:01"),
     (-3, "0:00"), (np.nan, "?"), (np.inf, "?")],
)  # fmt: skip
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_render_shows_the_figures():
    state = with_history(make_state(n_ok=9, n_failed=3), make_iteration())
    shown = text_of(Update.of(state, 48, 30.0, 0.0, 0.0))
    for part in ("12/48 evaluations", "3 failed", "warm-up", "0:30 elapsed", "1:30 left",
                 "iteration 1", "-2.3", "0.12", "K 7", "0.75"):  # fmt: skip
        assert part in shown


def test_render_of_the_design_and_of_an_infinite_index():
    shown = text_of(Update.of(make_state(n_ok=1), 48, 30.0, 0.0, 0.0))
    assert "design" in shown
    assert "ELBO" not in shown
    assert "failed" not in shown
    state = with_history(make_state(n_ok=1), make_iteration(reliability=np.inf))
    assert "inf" not in text_of(Update.of(state, 48, 30.0, 0.0, 0.0))


def test_display_in_a_terminal():
    console = terminal()
    with Progress(console=console) as display:
        display.show(Update.of(make_state(n_ok=12), 48, 30.0, 0.0, 0.0))
    assert "12/48 evaluations" in console.file.getvalue()


def test_display_ends_with_an_exception():
    console = terminal()
    display = Progress(console=console)
    with pytest.raises(RuntimeError, match="mine"), display:
        raise RuntimeError("mine")
    shown = console.file.getvalue()
    display.show(Update.of(make_state(n_ok=12), 48, 30.0, 0.0, 0.0))
    assert console.file.getvalue() == shown
    with display:  # and can be used again
        display.show(Update.of(make_state(n_ok=12), 48, 30.0, 0.0, 0.0))


@pytest.mark.parametrize(("enabled", "is_terminal"), [(False, True), (True, False)])
def test_quiet_when_disabled_or_not_in_a_terminal(enabled, is_terminal):
    console = Console(file=io.StringIO(), force_terminal=is_terminal, width=120)
    with Progress(enabled=enabled, console=console) as display:
        display.show(Update.of(make_state(n_ok=12), 48, 30.0, 0.0, 0.0))
    assert console.file.getvalue() == ""


def test_a_line_that_stays():
    console = terminal()
    with Progress(console=console) as display:
        display.say("continues the journal 'a' [of] 2026")
        display.say("")
    assert "continues the journal 'a' [of] 2026" in console.file.getvalue()


def test_a_baseline_shows_its_evidence_or_nothing():
    state = make_state(n_ok=3)
    for elbo, shown in ((-2.345, True), (np.nan, False)):
        last = make_iteration(n_components=0, elbo=elbo)
        text = text_of(Update.of(with_history(state, last), 50, 10.0, 4.0, 5.0))
        assert ("log evidence -2.3" in text) == shown
        assert "reliability" not in text
        assert "nan" not in text
