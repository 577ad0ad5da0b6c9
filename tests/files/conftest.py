"""Small runs that the tests of files share."""

import numpy as np
import pytest
from helpers.files import constrained_result, noisy_result


@pytest.fixture(scope="session")
def result():
    return noisy_result()


@pytest.fixture(scope="session")
def constrained():
    return constrained_result()


@pytest.fixture
def saved(result, tmp_path):
    path = tmp_path / "fit.quell"
    result.save(path)
    return path


@pytest.fixture
def points():
    return np.random.default_rng(0).uniform([-3, 0.1], [3, 5], (40, 2))
