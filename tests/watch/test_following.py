"""Following a journal: nothing is written, everything new is seen, damage and all."""

import json
import os
import shutil
import sys

import numpy as np
import pytest
from helpers.watching import HOSTILE, problem, until

import quell
from quell.errors import JournalError
from quell.journal.lock import holder
from quell.journal.plan import Plan
from quell.watch.following import Follower
from quell.watch.state import _pace


def look(path):
    follower = Follower(path)
    follower.look()
    return follower.state()


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_finished_run(finished):
    before = contents(finished.parent)
    state = look(finished)
    result = quell.load(finished)
    assert (state["status"], state["words"]) == (
        "finished",
        "the budget of 24 evaluations is spent",
    )
    assert (state["evaluations"], state["budget"], state["phase"]) == (24, 24, "finished")
    assert state["failed"] == result.evaluations.n_failed >= 1
    assert state["failures"][0]["error"] == "ValueError: " + HOSTILE.replace("\x1b", "\\x1b")
    assert state["answer"]["log_evidence"] == result.log_evidence
    assert [row["n"] for row in state["trace"]] == [row["n_evaluations"] for row in result.history]
    assert [one["name"] for one in state["marginals"]] == [HOSTILE, "b"]
    for one, mean in zip(state["marginals"], result.posterior.mean(), strict=True):
        assert one["mean"] == mean
        area = np.trapezoid(one["y"], one["x"]) if hasattr(np, "trapezoid") else 1.0
        assert 0.97 < area < 1.03
    assert (state["pending"], state["left"], state["notes"]) == ([], None, [])
    assert sum(worker["evaluations"] for worker in state["workers"]) == 24
    json.dumps(state, allow_nan=False)
    assert contents(finished.parent) == before  # not a byte, not a file


def test_a_run_that_was_stopped(stopped):
    state = look(stopped)
    assert state["status"] == "stopped"
    assert "quell.infer goes on with it" in state["words"]
    assert (state["evaluations"], state["phase"], state["budget"]) == (3, "design", None)
    assert len(state["pending"]) == 1
    assert len(state["pending"][0]["theta"]) == 2
    assert (state["marginals"], state["trace"], state["answer"]) == ([], [], {})


def test_a_journal_that_is_being_written(running):
    follower = Follower(running)
    assert until(lambda: _looked(follower)["trace"])
    state = follower.state()
    assert state["status"] == "running"
    assert state["budget"] == 2000
    assert state["left"] > 0
    n, epoch = state["evaluations"], follower.epoch
    assert until(lambda: _looked(follower)["evaluations"] > n)
    assert follower.epoch == epoch  # only new rows were read
    indices = [row.index for row in follower.rows if row.kind == "tell"]
    assert indices == sorted(set(indices))


def _looked(follower):
    follower.look()
    return follower.state()


def test_nothing_is_read_while_nothing_is_new(finished, monkeypatch):
    follower = Follower(finished)
    assert follower.look()
    monkeypatch.setattr("quell.watch.following.read_news", None)  # calling it would raise
    assert not follower.look()
    monkeypatch.setattr("quell.watch.following.DISTRUST", 0.0)
    with pytest.raises(TypeError):
        follower.look()


def test_the_run_goes_on_in_the_same_process(stopped):
    follower = Follower(stopped)
    follower.look()
    with quell.Sampler(problem(), seed=1, journal=stopped) as sampler:
        assert follower.look()
        assert follower.state()["status"] == "running"
        sampler.ask(2)
        assert follower.look()
        assert len(follower.state()["pending"]) == 3
        with pytest.raises(JournalError, match="in use"):  # its lock has survived the looks
            quell.Sampler(problem(), seed=1, journal=stopped)
    assert follower.look()
    assert follower.state()["status"] == "stopped"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot ask for locks")
def test_whose_lock_it_is(running, stopped):
    assert until(lambda: holder(running))
    assert holder(running).rpartition(":")[2].isdigit()
    assert holder(stopped) == ""
    stopped.with_name(stopped.name + ".lock").write_text('{"process": "left by a kill"}')
    assert holder(stopped) == ""


@pytest.mark.parametrize("share", [0.05, 0.3, 0.6, 0.9])
def test_a_truncated_journal_shows_what_can_be_read(finished, tmp_path, share):
    path = tmp_path / "cut.quelljournal"
    data = finished.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    before = contents(tmp_path)
    try:
        seen = look(path)["notes"][0]
    except JournalError as error:  # nothing is left of it
        seen = str(error)
    assert "damaged" in seen or "nothing of it can be read" in seen
    assert contents(tmp_path) == before


def test_a_journal_without_its_last_page_has_its_evaluations(finished, tmp_path):
    path = tmp_path / "cut.quelljournal"
    path.write_bytes(finished.read_bytes()[:-4096])
    state = look(path)
    assert "damaged" in state["notes"][0]
    assert 0 < state["evaluations"] <= 24
    json.dumps(state, allow_nan=False)


def test_a_changed_row_is_left_out_and_said(finished, tmp_path):
    import sqlite3

    path = tmp_path / "changed.quelljournal"
    shutil.copy(finished, path)
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE events SET value = 5.0 WHERE kind = 'tell' AND error = ''"
                           " AND id = (SELECT max(id) - 3 FROM events)")  # fmt: skip
        changed = connection.total_changes
    connection.close()
    state = look(path)
    assert state["evaluations"] == 24 - changed
    if changed:
        assert "1 rows in between are lost" in state["notes"][-1]


def test_a_journal_that_vanishes_is_a_note_and_comes_back(finished, tmp_path):
    path = tmp_path / "a.quelljournal"
    shutil.copy(finished, path)
    follower = Follower(path)
    follower.look()
    path.rename(tmp_path / "away")
    assert follower.look()
    assert "cannot be read just now" in follower.state()["notes"][0]
    (tmp_path / "away").rename(path)
    follower.look()
    assert follower.state()["notes"] == []
    # Another journal in its place is read from the beginning.
    other = tmp_path / "b"
    shutil.copy(finished, other)
    os.replace(other, path)
    epoch = follower.epoch
    follower.look()
    assert follower.epoch > epoch
    assert follower.state()["evaluations"] == 24


def test_what_is_no_journal(tmp_path, finished):
    path = tmp_path / "thing"
    with pytest.raises(JournalError, match="there is no journal"):
        Follower(path)
    path.write_bytes(b"thesis")
    with pytest.raises(JournalError, match="no journal"):
        Follower(path)
    with pytest.raises(JournalError, match="folder"):
        Follower(tmp_path)
    quell.load(finished).save(tmp_path / "fit.quell")
    with pytest.raises(JournalError, match="quell show prints it"):
        Follower(tmp_path / "fit.quell")
    import sqlite3

    with sqlite3.connect(tmp_path / "other.db") as connection:
        connection.execute("CREATE VIEW events AS SELECT 1")
    connection.close()
    with pytest.raises(JournalError):
        Follower(tmp_path / "other.db").look()


def test_pauses_do_not_count_as_time_of_evaluations():
    from quell.journal.rows import Row

    times = [*range(0, 40, 2), *range(90_000, 90_040, 2)]
    rows = [Row("tell", i, i, (0.0,), "search", -1.0, at=float(t)) for i, t in enumerate(times)]
    assert _pace(rows) == pytest.approx(2.0)
    assert _pace(rows[:2]) is None


def test_the_default_budget_is_known_once_the_noise_is(finished, monkeypatch):
    from dataclasses import replace

    follower = Follower(finished)
    follower.look()
    about = replace(follower.news.about, ended="", budget=0)
    monkeypatch.setattr(follower, "news", replace(follower.news, about=about, plan=Plan(0)))
    assert follower.state()["budget"] == 50 * (2 + 2)


def test_a_baseline_has_evaluations_and_no_answer(tmp_path):
    from quell.baselines import wsabi

    path = tmp_path / "b.quelljournal"
    wsabi(problem(), budget=14, seed=1, journal=path, progress=False)
    state = look(path)
    assert state["algorithm"]
    assert (state["evaluations"], state["budget"], state["answer"]) == (14, 14, {})


def test_a_constraint_that_the_journal_does_not_have(tmp_path):
    from helpers.files import constrained_result

    path = tmp_path / "c.quelljournal"
    constrained_result(journal=path)
    state = look(path)
    assert len(state["marginals"]) == 2
    assert state["notes"] == []
