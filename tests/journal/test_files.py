"""The files of a journal: what is in them when, links, locks, logs of earlier versions."""

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import QUICK, box, noisy

from quell import JournalError, Problem, Sampler, infer, read_journal
from quell.journal.lock import Lock
from quell.journal.write_ahead import ignored_frames

PROBLEM = Problem(lambda _: 0.0, **box(), noise="exact")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.quelljournal"


def tell(sampler, n):
    for _ in range(n):
        points = np.linspace(-1, 1, 5)[:, None] + 0.005 + 0.01 * len(sampler.evaluations)
        sampler.tell(points, -(points[:, 0] ** 2))


KILLED = """
import sys, os, signal
from quell import Problem, infer
from helpers.problems import QUICK, box, noisy

calls = []
def target(theta, rng):
    calls.append(1)
    if len(calls) == 9:
        os.kill(os.getpid(), signal.SIGKILL)
    return noisy(theta, rng)

infer(Problem(target, **box()), journal=sys.argv[1], settings=QUICK, progress=False)
"""


def test_after_a_kill_the_one_file_has_everything(path, tmp_path):
    done = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False,
                          env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})  # fmt: skip
    assert done.returncode == -signal.SIGKILL
    moved = shutil.copy(path, tmp_path / "moved")
    found = read_journal(moved)
    assert len(found.evaluations) == 8
    result = infer(Problem(noisy, **box()), budget=10, journal=moved, settings=QUICK,
                   progress=False)  # fmt: skip
    assert result.seed == found.seed
    np.testing.assert_array_equal(result.evaluations.value[:8], found.evaluations.value)


def test_nothing_is_left_beside_a_closed_one(path):
    with Sampler(PROBLEM, seed=1, journal=path) as sampler:
        tell(sampler, 2)
        assert len(read_journal(shutil.copy(path, path.with_name("copy"))).evaluations) == 10
    assert sorted(os.listdir(path.parent)) == ["copy", "run.quelljournal"]


class TestLogsOfEarlierVersions:
    @pytest.fixture
    def old(self, tmp_path, monkeypatch):
        """A journal of an earlier version that was killed: most of its rows are in its log."""

        def connect(path):
            connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            connection.execute("PRAGMA journal_mode = WAL")
            return connection

        monkeypatch.setattr("quell.journal.store._connect", connect)
        (tmp_path / "first").mkdir()
        path = tmp_path / "first" / "old"
        with Sampler(PROBLEM, seed=1, journal=path) as sampler:
            tell(sampler, 6)
            for side in ("", "-wal"):
                shutil.copy(f"{path}{side}", f"{tmp_path}/killed{side}")
        monkeypatch.undo()
        return tmp_path / "killed"

    def test_are_taken_over(self, old):
        assert old.stat().st_size == 4096
        assert len(read_journal(old).evaluations) == 30
        with Sampler(PROBLEM, journal=old) as sampler:
            assert (len(sampler.evaluations), sampler.seed) == (30, 1)
        assert not Path(f"{old}-wal").exists()
        assert len(read_journal(shutil.copy(old, f"{old}-moved")).evaluations) == 30

    def test_that_are_missing_are_missed(self, old):
        os.remove(f"{old}-wal")
        for _ in range(2):
            with pytest.raises(JournalError, match=r"rows are in a second file.*missing"):
                Sampler(PROBLEM, journal=old)
        with pytest.raises(JournalError, match=r"killed-wal', which is missing"):
            read_journal(old)

    @pytest.mark.parametrize("place", [24, 500])  # in its header, in its first page
    def test_that_are_damaged_at_once(self, old, place):
        flip(f"{old}-wal", place)
        damaged = Path(f"{old}-wal").read_bytes()
        told = pytest.warns(UserWarning, match="pages of the latest")
        with pytest.raises(JournalError, match="missing or damaged"), told:
            Sampler(PROBLEM, journal=old)
        assert Path(f"{old}.damaged-wal").read_bytes() == damaged

    def test_that_are_damaged_late(self, old):
        size = Path(f"{old}-wal").stat().st_size
        flip(f"{old}-wal", size - 3000)
        with pytest.warns(UserWarning, match="pages of the latest"):
            n = len(read_journal(old).evaluations)
        assert 0 < n < 30
        with pytest.warns(UserWarning, match="evaluated again"), Sampler(PROBLEM, journal=old) as s:
            assert len(s.evaluations) == n

    def test_that_end_in_the_middle_are_no_damage(self, old):
        log = Path(f"{old}-wal")
        log.write_bytes(log.read_bytes()[:-1000])
        assert ignored_frames(old) == 0
        assert len(read_journal(old).evaluations) == 25

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs another user")
    def test_in_a_folder_that_cannot_be_written_to(self, old):
        """Nothing is left out without a word."""
        folder = old.parent
        for place in (folder, *folder.parents):
            if place in (Path("/tmp"), Path("/")) or place.owner() != folder.owner():
                break
            place.chmod(0o755)
        folder.chmod(0o555)
        text = (
            "import os, sys\nfrom quell import read_journal\n"
            "if os.geteuid() == 0:\n    os.setgid(65534)\n    os.setuid(65534)\n"
            "print(len(read_journal(sys.argv[1]).evaluations))"
        )
        try:
            done = subprocess.run(
                [sys.executable, "-c", text, str(old)], capture_output=True, text=True, check=False
            )
        finally:
            folder.chmod(0o755)
        assert done.stdout == "30\n", done.stderr


def flip(path, place, bit=1):
    content = bytearray(Path(path).read_bytes())
    content[place] ^= bit
    Path(path).write_bytes(content)


def test_a_transaction_that_was_cut_short_is_undone_for_readers_too(path):
    """A killed process leaves the file in the middle of a change, with a second one to undo it."""
    with Sampler(PROBLEM, seed=1, journal=path) as sampler:
        tell(sampler, 4)
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA cache_size = 1")  # pages are written before the transaction ends
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("UPDATE events SET value = 7, note = hex(randomblob(5000))")
    shutil.copy(path, f"{path}-killed")
    shutil.copy(f"{path}-journal", f"{path}-killed-journal")
    connection.execute("ROLLBACK")
    connection.close()
    assert len(read_journal(f"{path}-killed").evaluations) == 20
    assert Path(f"{path}-killed-journal").exists()
    with Sampler(PROBLEM, journal=f"{path}-killed") as sampler:
        assert len(sampler.evaluations) == 20


class TestPaths:
    def test_a_target_that_changes_the_working_folder(self, tmp_path, monkeypatch):
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path)

        def target(theta, rng):
            os.chdir(tmp_path / "elsewhere")
            return noisy(theta, rng)

        infer(Problem(target, **box()), budget=10, seed=1, journal="run.quelljournal",
              settings=QUICK, progress=False)  # fmt: skip
        assert os.listdir(tmp_path / "elsewhere") == []
        assert len(read_journal(tmp_path / "run.quelljournal").evaluations) == 10
        assert not (tmp_path / "run.quelljournal.lock").exists()

    def test_a_link_and_its_file_share_a_lock(self, path, tmp_path):
        (tmp_path / "other").mkdir()
        link = tmp_path / "other" / "link"
        link.symlink_to(path)
        with Sampler(PROBLEM, seed=1, journal=link) as sampler:
            tell(sampler, 1)
            with pytest.raises(JournalError, match="in use by this process"):
                Sampler(PROBLEM, journal=path)
        assert len(read_journal(path).evaluations) == 5
        assert os.listdir(tmp_path / "other") == ["link"]

    @pytest.mark.parametrize("name", [":memory:", "file:run?mode=memory", "a\0b", "", "loop"])
    def test_names_that_are_no_path(self, name, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "loop").symlink_to(tmp_path / "loop")
        with pytest.raises(JournalError, match="must be the path of a file"):
            Sampler(PROBLEM, journal=name)
        assert os.listdir(tmp_path) == ["loop"]

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs fifos")
    def test_no_regular_file(self, path):
        os.mkfifo(path)
        with pytest.raises(JournalError, match="no regular file"):
            Sampler(PROBLEM, journal=path)


class TestLock:
    @pytest.mark.parametrize("make", [os.symlink, os.link])
    def test_what_it_points_at_is_not_emptied(self, path, tmp_path, make):
        precious = tmp_path / "thesis.txt"
        precious.write_text("chapter 1")
        make(precious, f"{path}.lock")
        with pytest.raises(JournalError, match=r"thesis|no lock of a journal"):
            Sampler(PROBLEM, journal=path)
        assert precious.read_text() == "chapter 1"
        assert Path(f"{path}.lock").read_text() == "chapter 1"

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs fifos")
    def test_no_regular_file(self, path):
        os.mkfifo(f"{path}.lock")
        with pytest.raises(JournalError, match="no lock of a journal"):
            Sampler(PROBLEM, journal=path)

    def test_one_that_was_left_is_no_obstacle(self, path):
        for text in ("", '{"proc', '{"process": "host:1", "since": "2026-01-01"}'):
            Path(f"{path}.lock").write_text(text)
            Sampler(PROBLEM, journal=path).close()
            assert not Path(f"{path}.lock").exists()

    def test_a_full_disk_leaves_none_behind(self, path, monkeypatch):
        def full(_descriptor, _data):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("quell.journal.lock.os.write", full)
        lock = Lock(path)
        with pytest.raises(JournalError, match="in use by this process"):
            Lock(path)
        lock.release()
        monkeypatch.undo()
        Lock(path).release()
