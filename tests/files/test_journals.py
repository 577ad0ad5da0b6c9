"""Journals have the result: the finished one at once, the one so far for whoever looks on."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.files import (
    assert_equal,
    constrained_result,
    fails_now_and_then,
    noisy_problem,
    noisy_result,
    ordered,
)
from helpers.problems import QUICK, make, noisy, normal, run, same

import quell
import quell.run.engine
from quell import FileError, JournalError, Sampler, read_journal
from quell.journal.snapshots import ABOUT, BYTES, read_about, read_snapshot
from quell.run import session

OLD = Path(__file__).parents[1] / "journal" / "data" / "before-events-infer.quelljournal"


def small(**changes):
    return noisy_result(**({"budget": 20} | changes))


@pytest.fixture(scope="module")
def whole():
    """The run that nobody interrupted, without a journal."""
    return small()


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The journal of a finished run, and its result."""
    path = tmp_path_factory.mktemp("journal") / "run.quelljournal"
    return path, small(journal=path)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.quelljournal"


@pytest.fixture
def no_replay(monkeypatch):
    """The algorithm must not be needed."""

    def refuse(*_, **__):
        raise AssertionError("the run was replayed")

    monkeypatch.setattr(quell.run.engine, "absorb", refuse)


def execute(path, statement, *values):
    with sqlite3.connect(path) as connection:
        connection.execute(statement, values)
    connection.close()


class TestAFinishedRun:
    @pytest.mark.usefixtures("no_replay")
    def test_returns_at_once_what_it_returned(self, finished, whole, points):
        path, first = finished
        again = small(journal=path)
        assert "continues the journal" in again.journal
        for other in (first, whole):
            assert_equal_but_for_times(again, other)
        np.testing.assert_array_equal(again.log_prior(points), first.log_prior(points))
        before = path.read_bytes()
        small(journal=path, journal_check=False)
        assert path.read_bytes() == before

    def test_also_without_a_budget_that_is_the_default(self, path, monkeypatch):
        problem = make(normal, noise="exact")
        first = run(problem, journal=path, budget=150)
        assert "stable" in first.reasons[0]
        monkeypatch.setattr(quell.run.engine, "absorb", None)
        for budget in (None, 150, 300, 20):  # it is stable, whatever the budget
            same(run(problem, journal=path, budget=budget), first)

    @pytest.mark.usefixtures("no_replay")
    def test_a_changed_target_is_still_refused(self, finished):
        def shifted(theta, rng):
            value, sd = fails_now_and_then(theta, rng)
            return value + 1.0, sd

        problem = noisy_problem()
        other = quell.Problem(
            shifted, lower=problem.lower, upper=problem.upper, names=problem.names,
            plausible_lower=problem.plausible_lower, plausible_upper=problem.plausible_upper,
            prior=list(problem.prior.density.marginals),
        )  # fmt: skip
        how = {"budget": 20, "seed": 5001, "progress": False, "settings": QUICK}
        with pytest.raises(JournalError, match="is of another target"):
            quell.infer(other, journal=finished[0], **how)
        kept = quell.infer(other, journal=finished[0], journal_check=False, **how)
        assert kept.evaluations.n_counted == 20

    def test_another_problem_is_still_refused(self, finished):
        with pytest.raises(JournalError, match="belongs to another run"):
            small(journal=finished[0], seed=5002)

    def test_a_larger_budget_replays_and_gives_what_an_uninterrupted_run_does(self, finished, path):
        shutil.copy(finished[0], path)
        more = small(journal=path, budget=24)
        same(more, small(budget=24))
        assert len(more.iterations) == len(more.history)
        same(small(journal=path, budget=24), more)

    def test_a_result_that_is_damaged_is_made_again(self, finished, path):
        shutil.copy(finished[0], path)
        execute(path, "UPDATE meta SET value = ? WHERE key = ?", b"not a result", BYTES)
        assert read_snapshot(path) is None
        same(small(journal=path), finished[1])
        assert read_snapshot(path) is not None  # and kept again

    def test_a_result_of_other_events_is_made_again(self, path):
        """As where an earlier version has gone on with the run, or the journal was mended."""

        def counted(theta, rng):
            counted.n += 1
            return noisy(theta, rng)

        first = run(make(noisy), budget=12, journal=path)
        execute(path, "DELETE FROM events WHERE id > (SELECT max(id) - 2 FROM events)")
        counted.n = 0
        same(run(make(counted), budget=12, journal=path), first)
        assert counted.n == 2  # one to compare the target with the journal

    def test_a_callback_is_called_again(self, finished):
        seen = []
        same(small(journal=finished[0], callback=seen.append), finished[1])
        assert len(seen) == 1

    def test_a_callback_that_stopped_it_leaves_an_unfinished_run(self, path):
        first = small(journal=path, callback=lambda update: update.iteration == 1)
        assert first.evaluations.n_counted < 20
        assert small(journal=path).evaluations.n_counted == 20

    def test_with_a_constraint(self, path, constrained):
        constrained_result(journal=path)
        again = constrained_result(journal=path)
        assert_equal_but_for_times(again, constrained)
        assert again.posterior.log_density([2.0, 1.0]) == -np.inf


def assert_equal_but_for_times(one, other):
    """Of two runs that were the same."""
    times = ("cpu_seconds", "wall_seconds", "target_seconds", "journal")
    changed = {name: getattr(other, name) for name in times}
    pairs = zip(one.history, other.history, strict=True)
    rows = [a | {"cpu_seconds": b["cpu_seconds"]} for a, b in pairs]
    evaluations = replace(one.evaluations, seconds=other.evaluations.seconds)
    assert_equal(replace(one, history=rows, evaluations=evaluations, **changed), other)


class TestLoading:
    def test_a_finished_journal_without_the_problem(self, finished, points):
        path, first = finished
        before = path.read_bytes()
        result = quell.load(path)
        assert_equal_but_for_times(result, first)
        assert "from the journal 'run.quelljournal', as of" in result.summary()
        np.testing.assert_array_equal(result.log_prior(points), first.log_prior(points))
        assert path.read_bytes() == before
        assert [p.name for p in path.parent.iterdir()] == [path.name]

    def test_a_run_under_way(self, path):
        """Read in between, by the process of the run as well, and nothing is disturbed."""
        seen = []

        def look(update):
            if update.iteration > 1:
                seen.append(quell.load(path))

        result = small(journal=path, callback=look, budget=30)
        counts = [so_far.evaluations.n_counted for so_far in seen]
        assert counts == sorted(counts)
        assert len(set(counts)) > 2
        last = seen[-1]
        assert last.status == "suspect"
        assert any("the run is not finished" in reason for reason in last.reasons)
        assert last.evidence_method == "elbo"
        assert abs(last.log_evidence - result.log_evidence) < 1.0
        assert last.solution.surrogate().n_samples > 0
        assert "evaluations since then not used" in last.journal or last.journal
        assert not quell.load(path).reasons[0].startswith("the run is not finished")

    def test_a_support_under_way_has_fewer_draws(self, path):
        seen = []

        def look(update):
            if update.iteration > 1:
                seen.append(quell.load(path, constraint=ordered).posterior.mean())
                seen.append(quell.load(path).posterior.mean())
                seen.append(read_snapshot(path).data)

        constrained_result(journal=path, callback=look)
        exact, from_draws, data = seen[-3:]
        np.testing.assert_allclose(from_draws, exact, atol=0.2)
        assert len(data) < 100_000

    def test_a_sampler(self, path):
        with Sampler(make(normal, noise="exact"), seed=1, settings=QUICK, journal=path) as sampler:
            with pytest.raises(FileError, match=r"no result yet: quell.infer\(problem, journal="):
                quell.load(path)
            for _ in range(3):
                points = sampler.ask(5)
                sampler.tell(points, [normal(point) for point in points])
            sampler.ask()
            assert quell.load(path).evaluations.n_counted == 15
            assert quell.load(path).evidence_method == "elbo"
            full = sampler.result()
            assert_equal_but_for_times(quell.load(path), full)

    def test_a_run_that_was_interrupted(self, path):
        def interrupted(theta, rng):
            interrupted.n += 1
            if interrupted.n == 18:
                raise KeyboardInterrupt
            return noisy(theta, rng)

        interrupted.n = 0
        result = run(make(interrupted), budget=20, journal=path)
        assert "interrupted by the user" in result.reasons
        assert_equal_but_for_times(quell.load(path), result)
        assert run(make(noisy), budget=20, journal=path).evaluations.n_counted == 20

    def test_a_run_that_was_killed(self, path):
        program = (
            "import os, sys, quell\n"
            "def target(theta, rng):\n"
            "    target.n += 1\n"
            "    if target.n == 22:\n"
            "        os.kill(os.getpid(), 9)\n"
            "    return -0.5 * theta[0]**2 + rng.standard_normal(), 1.0\n"
            "target.n = 0\n"
            "problem = quell.Problem(target, lower=-9, upper=9, plausible_lower=-2,"
            " plausible_upper=2)\n"
            "settings = quell.Settings(final_components=0)\n"
            "quell.infer(problem, budget=30, seed=1, progress=False, settings=settings,"
            " journal=sys.argv[1])\n"
        )
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", program, path], timeout=120)
        assert done.returncode == -signal.SIGKILL
        result = quell.load(path)
        assert result.evaluations.n_counted in (15, 20)
        assert "not used" in result.journal or result.evaluations.n_counted == 20

    def test_in_a_folder_that_cannot_be_written_to(self, finished, tmp_path):
        folder = tmp_path / "archive"
        folder.mkdir()
        shutil.copy(finished[0], folder)
        folder.chmod(0o500)
        try:
            assert quell.load(folder / finished[0].name).seed == 5001
        finally:
            folder.chmod(0o700)

    def test_one_of_an_earlier_version(self):
        with pytest.raises(FileError, match=r"no result yet: .* quell.fit\(problem, quell.read_jo"):
            quell.load(OLD)
        assert sorted(path.suffix for path in OLD.parent.iterdir()) == [".quelljournal"] * 2

    def test_one_with_changed_bytes(self, finished, path):
        """A `FileError`, or what is in it, perhaps with a warning: nothing else."""
        whole, first = finished[0].read_bytes(), quell.load(finished[0])
        rng = np.random.default_rng(1)
        for place in [*range(0, 100, 9), *rng.integers(100, len(whole), 25)]:
            data = bytearray(whole)
            data[place] ^= 1 << rng.integers(8)
            path.write_bytes(data)
            try:
                result = quell.load(path)
            except FileError:
                continue
            assert_equal(replace(result, journal=first.journal), first)

    def test_made_with_another_version(self, finished, path):
        shutil.copy(finished[0], path)
        with closing(sqlite3.connect(path)) as connection:
            [about] = connection.execute(
                "SELECT value FROM meta WHERE key = ?", (ABOUT,)
            ).fetchone()
        about = json.dumps(json.loads(about) | {"version": "0.0.1"})
        execute(path, "UPDATE meta SET value = ? WHERE key = ?", about, ABOUT)
        assert "the result made with quell 0.0.1" in small(journal=path).summary()

    @pytest.mark.parametrize("cut", [50, 3000, 9000])
    def test_one_that_is_cut_off(self, finished, path, cut):
        path.write_bytes(finished[0].read_bytes()[:cut])
        with pytest.raises(FileError):
            quell.load(path)

    def test_another_database(self, path):
        execute(path, "CREATE TABLE recipes (name TEXT)")
        with pytest.raises(FileError, match="journal"):
            quell.load(path)


class TestSnapshots:
    def test_what_they_are_of_can_be_read_without_them(self, finished):
        about = read_about(finished[0])
        assert (about.evaluations, about.budget) == (20, 20)
        assert about.ended == "the budget of 20 evaluations is spent"
        assert about.iterations == len(finished[1].history)
        assert abs(about.at - time.time()) < 3600
        assert read_about(OLD) is None

    @pytest.mark.parametrize("about", ["", "[]", "{}", '{"evaluations": "a"}', None, 3])
    def test_damaged_words_about_them(self, finished, path, about):
        shutil.copy(finished[0], path)
        if about is None:
            execute(path, "DELETE FROM meta WHERE key = ?", ABOUT)
        else:
            execute(path, "UPDATE meta SET value = ? WHERE key = ?", about, ABOUT)
        assert read_snapshot(path) is None
        assert read_about(path) is None
        assert len(read_journal(path).evaluations) == 20

    def test_one_that_cannot_be_made_does_not_end_the_run(self, path, monkeypatch, finished):
        def broken(_):
            raise ValueError("no")

        monkeypatch.setattr(session, "snapshot_of", broken)
        same(small(journal=path), finished[1])

    def test_a_result_that_cannot_be_kept_is_returned_all_the_same(
        self, path, monkeypatch, finished
    ):
        def broken(_):
            raise JournalError("the disk is full")

        monkeypatch.setattr(session, "result_bytes", broken)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = small(journal=path)
        assert "not kept in the journal (the disk is full)" in str(caught[-1].message)
        same(result, finished[1])

    def test_no_more_syncs_than_without(self, path, monkeypatch):
        """They go with the next events; only the last one is a write of its own."""
        writes = []
        append = quell.journal.store.Store.append

        def counted(self, rows, entries=None):
            writes.append((len(rows), set(entries or ())))
            append(self, rows, entries)

        monkeypatch.setattr(quell.journal.store.Store, "append", counted)
        small(journal=path)
        alone = [entries for n_rows, entries in writes if not n_rows]
        assert alone == [{"snapshot", "snapshot_about"}]
        assert sum("snapshot" in entries for _, entries in writes) == 3
        assert [i for i, (_, entries) in enumerate(writes) if "plan" in entries] == [0]


def small_study(folder, **changes):
    problems = {"b": make(normal, noise="exact"), "a/1": make(noisy)}
    how = {"budget": 12, "seeds": [5001], "settings": QUICK, "progress": False}
    return quell.study(problems, folder=folder, **(how | changes))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    small_study(folder)
    return folder


class TestStudies:
    def test_a_folder(self, folder):
        before = sorted(path.name for path in folder.iterdir())
        study = quell.load(folder)
        assert [(row.problem, row.evaluations) for row in study.rows] == [("a/1", 12), ("b", 12)]
        same(study.result("b"), small_study(folder).result("b"))
        assert sorted(path.name for path in folder.iterdir()) == before

    def test_a_folder_with_a_run_that_is_not_finished(self, folder, tmp_path):
        copy = shutil.copytree(folder, tmp_path / "copy")
        next(copy.glob("a*.json")).unlink()
        study = quell.load(copy)
        assert [row.error for row in study.rows] == ["not finished: 12 evaluations so far", ""]
        assert study.rows[0].problem == "a/1"
        assert "12 evaluations so far" in study.table()

    def test_journals_of_other_runs_are_not_the_studys(self, folder, tmp_path):
        one = next(folder.glob("b*.quelljournal"))
        shutil.copy(one, tmp_path / "mine.quelljournal")
        with pytest.raises(FileError, match="a folder without runs of a study: give the path of"):
            quell.load(tmp_path)
        copy = shutil.copytree(folder, tmp_path / "copy")
        shutil.copy(one, copy / "mine.quelljournal")
        assert len(quell.load(copy).rows) == 2

    def test_other_folders(self, tmp_path):
        with pytest.raises(FileError, match="a folder without runs of a study"):
            quell.load(tmp_path)

    @pytest.mark.usefixtures("no_replay")
    def test_results_come_from_the_journals(self, folder):
        assert small_study(folder).result("b").evaluations.n_counted == 12

    def test_a_file(self, folder, tmp_path):
        study = small_study(folder)
        path = tmp_path / "study.quell"
        study.save(path)
        again = quell.load(path)
        assert again.rows == study.rows
        assert_equal(again.result("a/1"), study.result("a/1"))
        again.save(path)
        assert quell.load(path).rows == study.rows
        with pytest.raises(FileError, match="exists"):
            study.save(path, overwrite=False)
        with pytest.raises(TypeError, match="not for a study"):
            quell.load(path, constraint=ordered)

    def test_a_damaged_file(self, folder, tmp_path):
        path = tmp_path / "study.quell"
        small_study(folder).save(path)
        whole = path.read_bytes()
        rng = np.random.default_rng(1)
        for place in rng.integers(0, len(whole), 60):
            data = bytearray(whole)
            data[place] ^= 4
            path.write_bytes(data)
            try:
                quell.load(path).result("b")
                quell.load(path).result("a/1")
            except FileError:
                continue
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(FileError, match="cut off"):
            quell.load(path)

    def test_runs_that_failed_stay_failed(self, tmp_path):
        def broken(_):
            raise OSError("no licence")

        problems = {"good": make(normal, noise="exact"), "bad": make(broken)}
        how = {"budget": 12, "seeds": [5001], "settings": QUICK, "progress": False}
        study = quell.study(problems, folder=tmp_path / "runs", **how)
        study.save(tmp_path / "study.quell")
        again = quell.load(tmp_path / "study.quell")
        assert "no licence" in json.dumps(again.to_dicts())
        assert os.path.exists(tmp_path / "runs")
        with pytest.raises(KeyError, match="has no result"):
            again.result("bad")
