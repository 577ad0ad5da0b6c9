"""Ctrl-C, or another signal, while the journal is written: the disk and the run still agree."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from helpers.problems import QUICK, make, noisy

import quell
from quell import InferenceInterrupted, Sampler, read_journal
from quell.journal import store


class Interrupted:
    """A connection that is interrupted as this statement returns, for the ``n``-th time."""

    def __init__(self, connection, statement, n):
        self.connection, self.statement, self.n = connection, statement, n

    def __getattr__(self, name):
        return getattr(self.connection, name)

    def execute(self, statement, *arguments):
        found = self.connection.execute(statement, *arguments)
        if statement == self.statement:
            self.n -= 1
            if self.n == 0:
                raise KeyboardInterrupt
        return found


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.quelljournal"


@pytest.fixture
def interrupt(monkeypatch):
    """Interrupts the journals opened from now on at the n-th of these statements."""
    connect = store._connect

    def at(n, statement="COMMIT"):
        monkeypatch.setattr(store, "_connect", lambda p: Interrupted(connect(p), statement, n))

    return at


def run(path, executor=None):
    return quell.infer(
        make(noisy), budget=14, seed=1, settings=QUICK, progress=False, journal=path,
        executor=executor,
    )  # fmt: skip


@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "COMMIT"])
@pytest.mark.parametrize("n", [3, 24, 25, 26])
def test_a_run_with_workers_ends_as_by_any_interrupt(path, interrupt, monkeypatch, n, statement):
    interrupt(n, statement)
    with ThreadPoolExecutor(2) as executor:
        try:
            table = run(path, executor).evaluations
        except InferenceInterrupted as error:
            table = error.evaluations
    assert read_journal(path).evaluations.value.tolist() == table.value.tolist()
    monkeypatch.undo()
    again = run(path)
    assert sorted(again.evaluations.index.tolist()) == list(range(14))


def test_a_sampler_goes_on(path, interrupt):
    interrupt(3)  # after the journal is set up, and a point asked for
    with Sampler(make(noisy), seed=1, journal=path) as sampler:
        point = sampler.ask()
        with pytest.raises(KeyboardInterrupt):
            sampler.tell(point, [-1.0], [0.5])
        assert len(sampler.evaluations) == 1
        sampler.ask()
    assert len(read_journal(path).evaluations) == 1
