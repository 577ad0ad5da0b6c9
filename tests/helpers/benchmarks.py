"""The scripts in the folder benchmarks/, which are not part of the package."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

from quell.bench.single import perform
from quell.studies.campaign import perform_all
from quell.workers.inline import InlineExecutor

FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark_module(name: str) -> ModuleType:
    """A module of that folder; skips the test module where only the package is there."""
    if not FOLDER.is_dir():
        pytest.skip("the folder benchmarks/ is not here", allow_module_level=True)
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)


def perform_here(specs, jobs, enough=lambda: False):
    """`quell.bench.workers.perform_all` in this process: starting one costs more than a small run.

    For tests of what is kept of runs, in which order, and when they end; that they have processes
    of their own is tested in test_runner.py.
    """
    del jobs
    each = [(spec, (spec,)) for spec in specs]
    yield from perform_all(
        each, perform, InlineExecutor(), what="the run", attempts=1, enough=enough
    )
