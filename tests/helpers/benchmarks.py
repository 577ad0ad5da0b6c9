"""The scripts in the folder benchmarks/, which are not part of the package."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


def benchmark_module(name: str) -> ModuleType:
    """A module of that folder; skips the test module where only the package is there."""
    if not FOLDER.is_dir():
        pytest.skip("the folder benchmarks/ is not here", allow_module_level=True)
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module(name)
