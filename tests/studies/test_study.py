"""Studies: many problems and seeds as one campaign, interrupted, continued, with failures."""

import csv
import json
import os
import signal
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import pytest
from helpers.problems import QUICK
from helpers.processes import FORKED
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quell import JournalError, Problem, Settings, infer, read_journal
from quell.studies.folder import file_stem
from quell.study import study
from quell.workers.process_per_call import ProcessDied, ProcessPerCall


class Normal:
    """A noisy normal target about a centre, which counts its calls."""

    def __init__(self, centre=0.0, *, interrupt_at=0, deadly=None):
        self.centre, self.interrupt_at, self.deadly = centre, interrupt_at, deadly
        self.n = 0

    def __call__(self, theta, rng):
        self.n += 1
        if self.n == self.interrupt_at:
            raise KeyboardInterrupt
        if self.deadly is not None and self.n == 4:
            try:
                os.close(os.open(self.deadly, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                pass
            else:
                os.kill(os.getpid(), signal.SIGKILL)
        return -0.5 * float((theta[0] - self.centre) ** 2) + 0.3 * rng.standard_normal(), 0.3


def problem(target, **changes):
    box = {"lower": -10, "upper": 10, "plausible_lower": -3, "plausible_upper": 3}
    return Problem(target, **(box | {"noise": "reported"} | changes))


def broken(_theta, _rng=None):
    raise ValueError("no such thing")


def run(problems, folder, **changes):
    return study(
        problems, folder=folder, **({"budget": 12, "settings": QUICK, "progress": False} | changes)
    )


def test_every_run_is_that_of_infer_and_the_table_has_them_all(tmp_path):
    problems = {"a": problem(Normal()), "b": problem(Normal(1.0))}
    result = run(problems, tmp_path / "new" / "folder", seeds=[3, 1])
    assert [(row.problem, row.seed) for row in result.rows] == [
        ("a", 3), ("a", 1), ("b", 3), ("b", 1),
    ]  # fmt: skip
    alone = infer(problems["b"], seed=1, budget=12, settings=QUICK, progress=False)
    row = result.rows[-1]
    assert (row.log_evidence, row.elbo) == (alone.log_evidence, alone.elbo)
    assert (row.evaluations, row.failed, row.error) == (12, 0, "")
    assert result.result("b", 1).elbo == alone.elbo
    assert result.failed == ()
    assert "4 of 4 runs finished" in result.table()
    assert f"{alone.log_evidence:.3f} ± {alone.log_evidence_sd:.3f}" in str(result)
    result.to_csv(tmp_path / "runs.csv")
    with open(tmp_path / "runs.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert [float(line["log_evidence"]) for line in lines] == [
        row.log_evidence for row in result.rows
    ]
    with pytest.raises(KeyError, match=r"seeds \[3, 1\]"):
        result.result("a")
    with pytest.raises(KeyError, match="problems 'a', 'b'"):
        result.result("c")


def test_what_is_finished_is_not_made_again(tmp_path):
    target = Normal()
    first = run([problem(target)], tmp_path)
    assert target.n == 12
    again = run([problem(target)], tmp_path, journal_check=False)
    assert target.n == 12
    assert again.rows == first.rows
    assert again._results == {}  # nothing was replayed
    assert again.result("problem 1").elbo == first.rows[0].elbo
    assert target.n == 12
    compared = run([problem(target)], tmp_path)
    assert compared.rows == first.rows
    assert target.n == 13
    more = run([problem(target)], tmp_path, budget=14)
    assert target.n == 16  # one more to compare the target with the journal
    assert more.rows[0].evaluations == 14
    summary = next(tmp_path.glob("*.json"))
    summary.write_text('{"budget": 14, "row"')  # torn: made again from the journal
    repaired = run([problem(target)], tmp_path, budget=14)
    assert repaired.rows[0].elbo == more.rows[0].elbo
    assert target.n == 17
    assert json.loads(summary.read_text())["row"]["elbo"] == more.rows[0].elbo


def test_a_run_that_fails_costs_no_other_and_is_tried_again(tmp_path):
    problems = {"bad": problem(broken), "good": problem(Normal())}
    result = run(problems, tmp_path)
    bad, good = result.rows
    assert "InferenceFailed" in bad.error
    assert "no such thing" in bad.error
    assert np.isnan(bad.elbo)
    assert good.error == ""
    assert result.failed == (bad,)
    assert "FAILED: InferenceFailed" in result.table()
    with pytest.raises(KeyError, match="no such thing"):
        result.result("bad")
    again = run({"bad": problem(broken), "good": problem(Normal())}, tmp_path)
    assert again.failed == (bad,)
    assert again.rows[1] == good


def test_ctrl_c_returns_what_there_is_and_the_same_call_goes_on(tmp_path):
    whole = run({"a": problem(Normal()), "b": problem(Normal())}, tmp_path / "whole")
    for interrupt_at in (6, 12):  # before and after there is a posterior
        folder = tmp_path / str(interrupt_at)
        problems = {"a": problem(Normal(interrupt_at=interrupt_at)), "b": problem(Normal())}
        result = run(problems, folder)
        assert all("interrupted by the user" in row.error for row in result.rows)
        assert not list(folder.glob("*.json"))
        target = Normal()
        result = run({"a": problem(target), "b": problem(Normal())}, folder)
        assert [row.elbo for row in result.rows] == [row.elbo for row in whole.rows]
        assert target.n == 12 - (interrupt_at - 1) + 1  # one to compare


def test_on_processes_one_of_which_dies(tmp_path):
    problems = {
        "a": problem(Normal(deadly=str(tmp_path / "died"))),
        "b": problem(Normal(1.0)),
    }
    whole = run({name: problem(Normal(c)) for name, c in (("a", 0.0), ("b", 1.0))}, tmp_path / "w")
    with ProcessPoolExecutor(2, FORKED) as executor:
        result = run(problems, tmp_path / "study", executor=executor)
    assert (tmp_path / "died").exists()
    assert [row.error for row in result.rows] == ["", ""]
    assert [row.elbo for row in result.rows] == [row.elbo for row in whole.rows]
    for name in problems:
        saved = read_journal(tmp_path / "study" / f"{name}-seed0.quelljournal")
        assert sorted(saved.evaluations.index.tolist()) == list(range(12))


def test_evaluations_as_the_unit(tmp_path):
    target = Normal()
    with ThreadPoolExecutor(3) as executor:
        result = run({"a": problem(target)}, tmp_path, executor=executor, unit="evaluation")
    assert result.rows[0].evaluations == target.n == 12


def test_names_become_safe_files_and_safe_text(tmp_path):
    folder = tmp_path / "study"
    name = "../x\x1b[2J/ü"
    result = run({name: problem(broken)}, folder)
    assert {path.parent for path in folder.iterdir()} == {folder}
    assert sorted(os.listdir(tmp_path)) == ["study"]
    assert "\x1b" not in result.table()
    assert "../x\\x1b[2J/ü" in result.table()


NAMES = st.text(min_size=1, max_size=12) | st.text("/.%~ é", min_size=1, max_size=12)
#: Names too long for a file, which differ at their ends.
LONG = ["ü" * 300 + end for end in ("", "a", "/")]


@settings(max_examples=60)
@given(st.lists(st.tuples(NAMES, st.integers(0, 20)), unique=True, max_size=4))
@example([(name, seed) for name in LONG for seed in (1, 11)])
@example([("a", 1), ("a-seed1", 1), (".", 0), ("..", 0), ("CON", 0), ("%2E", 0)])
def test_file_names_are_safe_and_distinct(runs):
    runs = [(name, seed) for name, seed in runs if not any(0xD800 <= ord(c) < 0xE000 for c in name)]
    stems = [file_stem(*run) for run in runs]
    assert len(set(stems)) == len(stems)
    for stem in stems:
        assert stem.isascii()
        assert len(stem) < 150
        assert not set(stem) & set('/\\:*?"<>|\0 ')
        assert not stem.startswith(".")


def test_another_problem_is_refused_before_anything_runs(tmp_path):
    run({"a": problem(Normal())}, tmp_path)
    target = Normal()
    with pytest.raises(JournalError, match=r"problem\.upper\[0\]: 10\.0 in the journal, 9\.0 now"):
        run({"new": problem(target), "a": problem(Normal(), upper=9)}, tmp_path)
    with pytest.raises(JournalError, match=r"settings\.batch"):
        run({"a": problem(Normal())}, tmp_path, settings=Settings(final_components=0, batch=3))
    assert target.n == 0


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"problems": {}}, ValueError, "empty"),
        ({"problems": problem(broken)}, TypeError, "single"),
        ({"problems": {"a": 3}}, TypeError, "problems"),
        ({"problems": {"": problem(broken)}}, ValueError, "non-empty"),
        ({"problems": {"a": problem(broken), "A": problem(broken)}}, ValueError, "case"),
        ({"problems": {"\ud800": problem(broken)}}, ValueError, "no valid text"),
        ({"seeds": 3}, TypeError, "range"), ({"seeds": []}, ValueError, "seeds"),
        ({"seeds": [1, None]}, ValueError, "seeds"), ({"seeds": [-1]}, ValueError, "seed"),
        ({"budget": 0}, ValueError, "budget"), ({"settings": "fast"}, TypeError, "settings"),
        ({"executor": 3}, TypeError, "executor"), ({"workers": 2}, ValueError, "executor="),
        ({"timeout": "1"}, ValueError, "timeout"), ({"retries": -1}, ValueError, "retries"),
        ({"problems": None}, TypeError, "got NoneType"),
        ({"unit": "job"}, ValueError, "unit"), ({"folder": 3}, TypeError, "folder"),
    ],
)  # fmt: skip
def test_bad_arguments(tmp_path, changes, error, match):
    how = {"problems": {"a": problem(broken)}, "folder": tmp_path / "study"} | changes
    with pytest.raises(error, match=match):
        study(**how)
    assert not (tmp_path / "study").exists()


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(JournalError, match="cannot make"):
        run({"a": problem(broken)}, tmp_path / "file" / "study")


class TestOwnProcesses:
    def test_answers_errors_and_deaths(self):
        executor = ProcessPerCall(2)
        futures = [
            executor.submit(pow, 2, 3), executor.submit(pow, 0, -1), executor.submit(os._exit, 3),
        ]  # fmt: skip
        assert futures[0].result() == 8
        with pytest.raises(ZeroDivisionError):
            futures[1].result()
        with pytest.raises(ProcessDied, match="exit code 3"):
            futures[2].result()
        with pytest.raises((TypeError, AttributeError), match="pickle"):
            executor.submit(lambda: 0).result()
        executor.shutdown()
        with pytest.raises(RuntimeError, match="shut down"):
            executor.submit(pow, 2, 3)

    def test_kill(self):
        import multiprocessing
        import time

        executor = ProcessPerCall(1)
        running, waiting = executor.submit(time.sleep, 60), executor.submit(pow, 2, 3)
        executor.kill()
        assert waiting.cancelled()
        assert running.cancelled() or isinstance(running.exception(), ProcessDied)
        assert not multiprocessing.active_children()
