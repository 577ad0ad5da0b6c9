"""Nothing from outside reaches a terminal or a spreadsheet as a command."""

import csv
import io

import numpy as np
import pytest
from helpers.problems import make, normal, run
from rich.console import Console

from quell import InferenceFailed, Sampler, StudyResult
from quell.bench.runner import describe
from quell.bench.single import Spec
from quell.cli import main
from quell.progress import Progress
from quell.studies.result import Row
from quell.text import csv_cell, table

ESCAPE = "\x1b[2J\x07"
NAMES = [f"{ESCAPE}a", "[bold red]b[/]"]


def clean(text):
    return "\x1b" not in text and "\x07" not in text


@pytest.fixture(scope="module")
def result():
    return run(make(normal, dimension=2, names=NAMES, noise="exact"))


def test_names_in_summaries_and_representations(result):
    problem = make(normal, dimension=2, names=NAMES)
    for text in (result.summary(), repr(result), repr(problem), repr(Sampler(problem, seed=1))):
        assert clean(text)
    assert "\\x1b[2J\\x07a" in result.summary()
    assert "[bold red]b[/]" in result.summary()  # not taken for markup: as it is
    assert "\\x1b[2J\\x07a" in repr(problem)


@pytest.mark.parametrize(
    "call",
    [
        lambda r: r.posterior.marginal(ESCAPE),
        lambda _: run(make(normal, 2, names=NAMES), start=[1e9, 0.0]),
        lambda r: run(make(normal, 2), evaluations=r.evaluations),
        lambda r: run(make(normal, 2), start=r),
        lambda _: make(normal, 2, names=[NAMES[0]] * 2),
        lambda _: make(normal, 2, names=NAMES, lower=[20.0, 0.0]),
    ],
)
def test_names_in_error_messages(result, call):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        call(result)
    assert clean(str(caught.value))


class TestErrorsOfTheTarget:
    @staticmethod
    def fails(_theta):
        raise ValueError(f"{ESCAPE}no\nreally")

    def test_in_the_message_and_the_table(self):
        with pytest.raises(InferenceFailed) as caught:
            run(make(self.fails))
        assert clean(str(caught.value))
        assert "no really" in str(caught.value)
        assert all(clean(text) for text in caught.value.evaluations.error)

    def test_told_by_a_user(self):
        sampler = Sampler(make(normal), seed=1)
        sampler.tell(sampler.ask(3), [np.nan] * 3, errors=[ESCAPE] * 3)
        with pytest.raises(InferenceFailed) as caught:
            sampler.result()
        assert clean(str(caught.value))

    def test_of_a_callback(self):
        with pytest.raises(InferenceFailed) as caught:
            run(make(normal, noise="exact"), callback=self.fails)
        assert clean(str(caught.value))


def test_progress_shows_no_markup_of_others():
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120, color_system=None)
    with Progress(console=console) as display:
        run(make(normal, 2, names=NAMES, noise="exact"), callback=display.show)
    assert "\x07" not in screen.getvalue()
    assert "\x1b[2J" not in screen.getvalue()


def test_rows_of_a_benchmark_and_the_command_line(tmp_path, capsys):
    spec = Spec.make("normal", "quell", 1, mode="exact", dim=1, budget=15)
    assert clean(describe(spec, {"error": f"ValueError: {ESCAPE}"}))
    assert main(["bench", "table", str(tmp_path / ESCAPE)]) == 2
    told = capsys.readouterr().err
    assert clean(told)
    assert "\\x1b[2J" in told
    assert clean(table([(ESCAPE, "b")]))


FORMULAS = ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_cell_is_a_formula(text, tmp_path):
    study = StudyResult((Row(text, 1, error=text), Row("fine", 2, -3.5, 0.1)))
    study.to_csv(tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", newline="", encoding="utf-8") as file:
        first, second = csv.DictReader(file)
    for cell in (first["problem"], first["error"]):
        assert not cell.lstrip().startswith(("=", "+", "-", "@"))
        assert clean(cell)
    assert float(second["log_evidence"]) == -3.5  # a number stays one
    assert csv_cell("fine") == "fine"
