"""Every example in a docstring runs and gives what it shows."""

import doctest
import importlib
import pkgutil

import pytest

import quell

MODULES = ["quell", *(info.name for info in pkgutil.walk_packages(quell.__path__, "quell."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_module(name):
    result = doctest.testmod(importlib.import_module(name))
    assert result.failed == 0


def test_public_classes_have_examples():
    from quell.gp import GaussianProcess, TrainingData, train
    from quell.mixture import Mixture, entropy
    from quell.quadrature import Quadrature
    from quell.space import InferenceSpace
    from quell.variational import fit_mixture

    public = [
        GaussianProcess, InferenceSpace, Mixture, Quadrature, TrainingData,
        entropy, fit_mixture, train,
    ]  # fmt: skip
    for thing in public:
        assert ">>> " in thing.__doc__, thing
