"""Progress: figures of an update, the display, and its silence."""

import io
import logging
import sys
import warnings
from dataclasses import replace
from datetime import datetime
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from helpers.problems import QUICK, make, normal
from rich.console import Console

import quell
from quell import Problem
from quell.evaluations import Evaluations
from quell.interface import Html
from quell.problem.outcome import Outcome
from quell.progress import CampaignDisplay, Progress, Update, clock, render
from quell.progress.lines import Lines
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
    [(0, "0:00"), (59.9, "0:59"), (75, "1:15"), (3600, "1:00:00"), (86399, "23:59:59"),
     (90061, "1 d 1:01"), (1_000_000, "11 d 13:46"),
     (-3, "0:00"), (np.nan, "?"), (np.inf, "?")],
)  # fmt: skip
def test_clock(seconds, text):
    assert clock(seconds) == text


def test_render_shows_the_figures():
    state = with_history(make_state(n_ok=9, n_failed=3), make_iteration())
    shown = text_of(Update.of(state, 48, 30.0, 0.0, 6.0))
    for part in ("12/48 evaluations", "3 failed", "warm-up", "0:30 elapsed", "1:30 left",
                 "ELBO -2.3", "0.12", "K 7", "reliability 0.75", "overhead 20 %"):  # fmt: skip
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


@pytest.mark.parametrize("width", [80, 120, 200])
def test_the_bar_keeps_to_two_lines(width):
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    state = with_history(make_state(n_ok=3), make_iteration(elbo=-1234.5), warmup=False)
    update = replace(Update.of(state, 500, 86_000.0, 0.0, 6.0), n_evaluations=200, n_failed=12)
    console.print(render(update, width=width))
    assert console.file.getvalue().count("\n") == 2


def test_the_clock_goes_on_during_a_long_evaluation():
    update = Update.of(make_state(n_ok=10), 50, 20.0, 0.0, 0.0)
    console = terminal()
    console.print(render(update, 80.0, age=30.0))
    assert "0:50 elapsed, 0:50 left" in console.file.getvalue()


def test_quiet_when_disabled():
    console = terminal()
    with Progress(enabled=False, console=console) as display:
        display.show(Update.of(make_state(n_ok=12), 48, 30.0, 0.0, 0.0))
        display.say("anything")
        display.finishing(3.0)
        display.ended("done", 3.0)
    assert console.file.getvalue() == ""


@pytest.mark.parametrize(
    ("given", "error"), [("bars", ValueError), (None, TypeError), (1, TypeError), ("", ValueError)]
)
def test_what_is_no_mode_is_refused_before_anything_is_evaluated(given, error):
    calls = []
    problem = Problem(
        lambda theta: calls.append(theta), lower=-9, upper=9, plausible_lower=-2,
        plausible_upper=2, noise="exact",
    )  # fmt: skip
    with pytest.raises(error, match='progress must be "auto", "bar", "log" or False, got'):
        quell.infer(problem, budget=20, seed=1, progress=given)
    with pytest.raises(error, match="progress must be"):
        quell.study([problem], folder="never-made", progress=given)
    assert not calls


class TestLines:
    """Plain lines, where there is no terminal."""

    def updates(self, walls, **changes):
        state = with_history(make_state(n_ok=10), make_iteration())
        return [replace(Update.of(state, 50, wall, 0.0, 1.0), **changes) for wall in walls]

    def lines_of(self, updates):
        said = []
        lines = Lines(said.append)
        for update in updates:
            lines.show(update, 5.0)
        return said

    def test_all_figures_are_on_the_line(self):
        (text,) = self.lines_of(self.updates([100.0], n_failed=2))
        assert text == (
            "10/50 evaluations (2 failed), warm-up, ELBO -2.35 ± 0.12, reliability 0.75, K 7, "
            "overhead 1 %, 1:40 elapsed, 0:05 left"
        )

    def test_no_budget_is_known_before_the_noise_is(self):
        (text,) = self.lines_of(self.updates([100.0], budget=0))
        assert text.startswith("10 evaluations, ")

    def test_intervals_grow_with_the_run_up_to_ten_minutes(self):
        assert len(self.lines_of(self.updates(np.arange(0, 61.0)))) == 7  # every 10 s
        an_hour = self.lines_of(self.updates(np.arange(0, 3600.0)))
        assert 40 < len(an_hour) < 90
        a_week = self.lines_of(self.updates(np.arange(0, 7 * 86_400.0, 60)))
        assert 1000 < len(a_week) < 1150

    def test_events_have_a_line_at_once(self):
        first, *_ = self.updates([1.0])
        refining = replace(first, phase="refinement")
        assert len(self.lines_of([first, refining, refining])) == 2
        failures = [replace(first, n_failed=n) for n in range(10)]
        assert len(self.lines_of(failures)) == 4  # none, the first, the third, the seventh
        spent = replace(first, n_evaluations=50)
        assert len(self.lines_of([first, spent, spent])) == 2

    def test_auto_writes_lines_to_a_pipe(self, capsys):
        with Progress() as display:
            display.replaying(1, 3)
            display.replaying(2, 3)
            display.replaying(3, 3)
            display.say("continues\x1b")
            display.show(self.updates([1.0])[0])
            display.finishing(2.0)
            display.ended("stable after 10 evaluations", 3.0)
        captured = capsys.readouterr()
        assert captured.out == ""
        lines = [line.split(" quell: ") for line in captured.err.splitlines()]
        assert all(datetime.fromisoformat(stamp) for stamp, _ in lines)
        assert [text[:40] for _, text in lines] == [
            "replaying the journal: 1/3 evaluations",
            "replaying the journal: 3/3 evaluations",
            "continues\\x1b",
            "10/50 evaluations, warm-up, ELBO -2.35 ±",
            "10/50 evaluations, finishing, ELBO -2.35",
            "stable after 10 evaluations, 0:03 elapse",
        ]

    def test_a_process_without_standard_error_runs_on(self, monkeypatch):
        monkeypatch.setattr("sys.stderr", None)
        with Progress() as display:
            display.show(self.updates([1.0])[0])

    def test_the_time_left_does_not_count_what_was_in_a_journal(self, capsys):
        with Progress() as display:
            display.replaying(40, 40)
            for n, wall in ((40, 5.0), (41, 25.0)):
                display.show(self.updates([wall], n_evaluations=n, phase=str(n))[0])
        first, second = capsys.readouterr().err.splitlines()[1:]
        assert first.endswith("? left")
        assert second.endswith("3:00 left")


class TestLog:
    """Lines for the logging module, which is never set up here."""

    def test_lines_go_to_the_logger(self, caplog, capsys):
        with caplog.at_level("INFO", logger="quell"), Progress(enabled="log") as display:
            display.say("100 % of it")
            display.show(Update.of(make_state(n_ok=3), 50, 1.0, 0.0, 0.0))
        assert [record.name for record in caplog.records] == ["quell", "quell"]
        assert caplog.records[0].getMessage() == "100 % of it"
        assert caplog.records[1].getMessage().startswith("3/50 evaluations, design")
        assert capsys.readouterr().err == ""

    def test_without_any_logging_the_lines_are_on_standard_error(self, capsys, monkeypatch):
        monkeypatch.setattr(logging.Logger, "hasHandlers", lambda _: False)
        logger = logging.getLogger("quell")
        before = list(logger.handlers), logger.level
        with Progress(enabled="log") as display:
            display.say("hello")
        assert capsys.readouterr().err.endswith(" quell: hello\n")
        assert (list(logger.handlers), logger.level) == before


@pytest.fixture
def notebook(monkeypatch):
    """A kernel, as IPython tells of it; the list of all that its browser is sent."""
    sent = []

    class Handle:
        def update(self, page):
            sent.append(page)

    def display(page, *, display_id):
        assert display_id is True
        sent.append(page)
        return Handle()

    shell = SimpleNamespace(kernel=object())
    module = ModuleType("IPython")
    module.get_ipython = lambda: shell
    tools = ModuleType("IPython.display")
    tools.HTML, tools.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", tools)
    return sent


class TestNotebook:
    """The display of a Jupyter kernel."""

    def test_one_piece_of_html_is_replaced(self, notebook, capsys):
        update = Update.of(with_history(make_state(n_ok=12), make_iteration()), 48, 30.0, 0.0, 3.0)
        with Progress() as display:
            display.say("<b>journal</b>")
            for n in range(12, 40):
                display.show(replace(update, n_evaluations=n))
            display.finishing(31.0)
            display.ended("done", 32.0)
        assert "<b>" not in notebook[0]
        assert "&lt;b&gt;journal" in notebook[0]
        assert len(notebook) < 10  # not a message for every evaluation
        assert 'value="39" max="48"' in notebook[-1]
        for part in ("39/48 evaluations", "finished", "K 7", "0:32 elapsed, 0:00 left"):
            assert part in notebook[-1]
        assert capsys.readouterr().err == ""

    def test_the_last_update_is_shown_however_a_run_ends(self, notebook):
        update = Update.of(make_state(n_ok=12), 48, 30.0, 0.0, 0.0)
        with Progress() as display:  # left without a word of its end
            display.show(update)
            display.show(replace(update, n_evaluations=20))
        assert "20/48 evaluations" in notebook[-1]

    def test_a_terminal_with_ipython_is_a_terminal(self, notebook, monkeypatch):
        monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: SimpleNamespace())
        with Progress() as display:
            display.say("a line")
        assert not notebook

    def test_a_campaign(self, notebook):
        with CampaignDisplay(enabled=True, total=20) as display:
            for i in range(12):
                display.advance(f"run {i} <i>")
        assert "12/20 runs" in notebook[-1]
        assert "run 11 &lt;i&gt;" in notebook[-1]
        assert "run 3 " not in notebook[-1]

    def test_with_the_real_ipython(self):
        pytest.importorskip("IPython")
        from quell.progress.notebook import show_html

        assert show_html(Html().text("a"), None) is None  # no kernel: nothing to replace later


class TestCampaign:
    """Many runs."""

    def test_lines_in_a_pipe_say_how_many_and_how_long(self, capsys):
        with CampaignDisplay(enabled=True, total=5, done=2) as display:
            display.advance("a, seed 1: fine\x1b")
        text = capsys.readouterr().err
        assert "quell: a, seed 1: fine\\x1b [3/5 runs, 0:00 elapsed, 0:00 left]" in text

    def test_a_bar_in_a_terminal(self):
        console = terminal()
        with CampaignDisplay(enabled=True, total=5, console=console) as display:
            display.advance("a, seed 1: [red]fine")
        assert "a, seed 1: [red]fine" in console.file.getvalue()
        assert "1/5" in console.file.getvalue()

    def test_the_log_and_silence(self, caplog, capsys):
        with caplog.at_level("INFO", logger="quell"):
            for enabled in ("log", False):
                with CampaignDisplay(enabled=enabled, total=1) as display:
                    display.advance("a")
        assert len(caplog.records) == 1
        assert capsys.readouterr() == ("", "")


def test_a_whole_run_in_a_pipe(capsys, tmp_path):
    problem = make(normal, noise="exact")
    how = {"budget": 14, "seed": 5003, "settings": QUICK, "journal": tmp_path / "a.quelljournal"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quell.BudgetWarning)
        result = quell.infer(problem, **how)
    lines = [line.split(" quell: ")[1] for line in capsys.readouterr().err.splitlines()]
    assert lines[0] == (
        "a run begins: 1 parameter, a budget of 14 evaluations, seed 5003, journal 'a.quelljournal'"
    )
    assert lines[1].startswith("1/14 evaluations, design, overhead")
    assert lines[-2].startswith("14/14 evaluations, finishing, ELBO")
    assert lines[-1].startswith(repr(result))


def test_a_bar_can_be_had_anywhere(capsys):
    with Progress(enabled="bar") as display:
        display.show(Update.of(make_state(n_ok=12), 48, 30.0, 0.0, 0.0))
    assert "\x1b[" in capsys.readouterr().err


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
