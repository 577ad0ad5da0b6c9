"""Faults from outside: kills, full disks, folders that cannot be written to.

The full version, with a hundred kills: `make test-faults`.
"""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import QUICK, make, noisy

from quell import InferenceFailed, JournalError, infer, read_journal

KILLS = os.environ.get("QUELL_KILLS", "5")


def run(path, target=noisy, budget=14):
    return infer(make(target), budget=budget, seed=1, journal=path, progress=False, settings=QUICK)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.quelljournal"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_kills_at_random_moments():
    script = Path(__file__).parent / "kills.py"
    done = subprocess.run(
        [sys.executable, script, "--kills", KILLS], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "none lost, results bit-identical" in done.stdout


@pytest.fixture
def small_files():
    """A limit to the size of files, as if the disk were full beyond it."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)

    def limit(size):
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))

    yield limit
    resource.setrlimit(resource.RLIMIT_FSIZE, before)
    signal.signal(signal.SIGXFSZ, ignored)


def test_a_disk_that_becomes_full(path, small_files):
    """The run stops with what it has; with room again it goes on as if nothing had happened."""
    calls = []

    def target(theta, rng):
        calls.append(1)
        if len(calls) == 12:
            small_files(1000)
        return noisy(theta, rng)

    with pytest.raises(InferenceFailed, match=r"cannot write to the journal .*disk") as caught:
        run(path, target)
    small_files(resource.RLIM_INFINITY)
    assert len(caught.value.evaluations) == 12  # also the one that was not written
    assert caught.value.result is not None
    assert len(read_journal(path).evaluations) == 11
    again = run(path)
    whole = run(None)
    np.testing.assert_array_equal(again.evaluations.value, whole.evaluations.value)
    assert again.elbo == whole.elbo


def test_a_disk_that_is_full_from_the_start(path, small_files):
    calls = []
    small_files(1000)
    with pytest.raises(JournalError, match=r"cannot (open|write to) the journal"):
        run(path, lambda theta, rng: calls.append(1) or noisy(theta, rng))
    small_files(resource.RLIM_INFINITY)
    assert calls == []
    assert run(path).evaluations.n_counted == 14


READ_ONLY = """
import os, sys
sys.path[:0] = sys.argv[2:]
import test_faults
from quell import JournalError, read_journal
path = sys.argv[1]
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
try:
    test_faults.run(path)
except JournalError as error:
    print("refused:", error)
print("readable:", len(read_journal(path).evaluations))
"""


def test_a_folder_that_cannot_be_written_to(tmp_path):
    folder = tmp_path / "archive"
    folder.mkdir()
    path = folder / "run.quelljournal"
    run(path)
    content = path.read_bytes()
    for place in (folder, *folder.parents):
        if place == Path("/tmp") or place.owner() != folder.owner() or place == Path("/"):
            break
        place.chmod(0o755)  # pytest's folders are private; the other user has to get there
    folder.chmod(0o555)
    path.chmod(0o444)
    try:
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(path), *map(str, Path(__file__).parents[:2])],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    finally:
        folder.chmod(0o755)
    assert "refused: cannot write beside the journal" in done.stdout, done.stderr
    assert "readable: 14" in done.stdout
    assert path.read_bytes() == content
