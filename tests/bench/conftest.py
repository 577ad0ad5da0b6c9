import json
import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def stored():
    """What the data folder has about the synthetic problems."""
    folder = os.environ.get("QUELL_DATA")
    if not folder:
        pytest.skip("QUELL_DATA is not set, so there are no reference values to compare with")
    with open(Path(folder) / "synthetic.json", encoding="utf-8") as file:
        return json.load(file)
