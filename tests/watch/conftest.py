"""Journals to watch: finished, stopped in the middle, and one whose run goes on."""

import os
import subprocess
import sys
import time
import warnings

import pytest
from helpers.problems import QUICK
from helpers.watching import problem

import quell


@pytest.fixture(scope="session")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("watch") / "done.quelljournal"
    how = {"budget": 24, "seed": 5005, "settings": QUICK, "progress": False, "journal": path}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quell.BudgetWarning)
        quell.infer(problem(), start=[2.5, 0.0], **how)
    return path


@pytest.fixture
def stopped(tmp_path):
    """One with three answers and a point not answered, that no process has open."""
    path = tmp_path / "stopped.quelljournal"
    with quell.Sampler(problem(), seed=1, journal=path) as sampler:
        points = sampler.ask(4)
        sampler.tell(points[:3], [-1.0, -2.0, -3.0])
    return path


SLOW_RUN = """
import sys, time
import quell

def target(theta):
    time.sleep(0.02)
    return -0.5 * float(theta @ theta)

problem = quell.Problem(target, lower=[-9, -9], upper=[9, 9], plausible_lower=[-2, -2],
                        plausible_upper=[2, 2], noise="exact")
quell.infer(problem, budget=2000, seed=1, journal=sys.argv[1], progress=False,
            settings=quell.Settings(stop_early=False))
"""


@pytest.fixture
def running(tmp_path):
    """The journal of a run in another process, which is ended after the test."""
    path = tmp_path / "running.quelljournal"
    process = subprocess.Popen([sys.executable, "-c", SLOW_RUN, str(path)], env=os.environ)
    try:
        for _ in range(1200):
            if path.exists() and path.stat().st_size and not process.poll():
                break
            time.sleep(0.05)
        yield path
    finally:
        process.kill()
        process.wait()
