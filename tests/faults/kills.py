"""Kill a run with SIGKILL at random moments, over and over, and compare what comes out.

    python tests/faults/kills.py [--kills 100] [--budget 20] [--seed 0]

Runs are forked from this process, which never runs one itself. Every run is killed and continued
until it is finished, then another one begins, until there were enough kills. After every kill the
journal has to hold at least what it held before; in the end every run must have made the very
evaluations of the run nobody killed, and give its result, bit for bit.
"""

import argparse
import hashlib
import os
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path

import numpy as np

from quell import JournalError, Problem, Settings, infer, read_journal


def target(theta, rng):
    time.sleep(0.002)
    if rng.random() < 0.1:
        raise ValueError("bad luck")
    return -0.5 * float(np.sum(np.square(theta))) + 0.5 * rng.standard_normal(), 0.5


def fingerprint(result):
    table = result.evaluations
    parts = (
        table.theta, table.value, table.sd, table.index, result.posterior.mixture.to_vector(),
        np.array([result.elbo, result.elbo_sd]),
    )  # fmt: skip
    text = repr((table.error, table.origin))
    return hashlib.sha256(b"".join(part.tobytes() for part in parts) + text.encode()).hexdigest()


def run(journal, budget, answer):
    """What a script of a user does; its last act is to write down the result."""
    problem = Problem(
        target, lower=[-10.0], upper=[10.0], plausible_lower=[-3.0], plausible_upper=[3.0]
    )
    result = infer(
        problem, budget=budget, seed=3, journal=journal, progress=False,
        settings=Settings(final_components=0),
    )  # fmt: skip
    answer.with_suffix(".tmp").write_text(fingerprint(result))
    os.replace(answer.with_suffix(".tmp"), answer)


def fork(*arguments):
    """A run in a process of its own; returns its id."""
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            run(*arguments)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return child


def kill_after(child, seconds):
    """Whether the process was killed before it ended; an error if it failed by itself."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            assert status == 0, "the run failed"
            return False
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    assert status in (0, signal.SIGKILL), "the run failed"
    return status != 0


def n_recorded(journal):
    try:
        return len(read_journal(journal).evaluations)
    except JournalError:
        return 0  # killed before the journal was begun


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--budget", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        started = time.monotonic()
        reference = fork(folder / "whole.quelljournal", given.budget, folder / "whole")
        assert os.waitpid(reference, 0)[1] == 0
        seconds = time.monotonic() - started
        expected = (folder / "whole").read_text()
        n_kills = n_runs = 0
        while n_kills < given.kills:
            journal, answer = folder / f"{n_runs}.quelljournal", folder / f"{n_runs}"
            recorded = n_tries = 0
            while not answer.exists():
                # Most kills come soon, but later and later, so that a run ends on any machine.
                n_tries += 1
                patience = seconds * rng.exponential(0.3 + 0.03 * n_tries)
                killed = kill_after(fork(journal, given.budget, answer), patience)
                now = n_recorded(journal)
                assert now >= recorded, f"{recorded} evaluations became {now}"
                recorded, n_kills = now, n_kills + killed
            assert answer.read_text() == expected, "another result"
            assert recorded == given.budget
            n_runs += 1
        print(f"{n_kills} kills, {n_runs} runs of {given.budget} evaluations: none lost, "
              "results bit-identical")  # fmt: skip


if __name__ == "__main__":
    main()
