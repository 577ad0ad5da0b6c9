import json
import os
from pathlib import Path

import pytest
from helpers.benchmarks import perform_here


@pytest.fixture(scope="session")
def data_folder():
    """The folder with the benchmark's real data and stored truths."""
    folder = os.environ.get("QUELL_DATA")
    if not folder:
        pytest.skip("QUELL_DATA is not set, so there are no reference values to compare with")
    return Path(folder)


@pytest.fixture(scope="session")
def stored(data_folder):
    """What the data folder has about the synthetic problems."""
    with open(data_folder / "synthetic.json", encoding="utf-8") as file:
        return json.load(file)


@pytest.fixture
def in_this_process(monkeypatch):
    """Runs of the benchmark are made in this process, where that makes no difference."""
    monkeypatch.setattr("quell.bench.runner.perform_all", perform_here)
