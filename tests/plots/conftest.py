"""Results to plot: two small runs, and posteriors made by hand."""

import warnings

import numpy as np
import pytest
import scipy.stats
from helpers.plots import exact_target, kinds_posterior, noisy_target

import quell


@pytest.fixture(scope="session")
def exact_result():
    problem = quell.Problem(
        exact_target, lower=[0, -np.inf], upper=[1, np.inf], plausible_lower=[0.2, -2],
        plausible_upper=[0.8, 2], noise="exact", names=["share", "_b"],
        prior=[scipy.stats.beta(2, 3), scipy.stats.norm(0, 2)],
    )  # fmt: skip
    settings = quell.Settings(final_components=0)
    return quell.infer(problem, budget=40, seed=5100, progress=False, settings=settings)


@pytest.fixture(scope="session")
def noisy_result():
    """A run in three dimensions with failures, starts, and one parameter fixed."""
    problem = quell.Problem(
        noisy_target, lower=[-9, -9, 2], upper=[9, 9, 2], plausible_lower=[-3, -2, 2],
        plausible_upper=[3, 4, 2], names=["a", "$b", "fixed"], prior="included",
    )  # fmt: skip
    settings = quell.Settings(final_components=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", quell.BudgetWarning)
        return quell.infer(
            problem, budget=40, seed=5101, start=[0.5, 0.5, 2.0], progress=False, settings=settings
        )


@pytest.fixture
def kinds():
    return kinds_posterior()


@pytest.fixture(autouse=True)
def tidy_figures(monkeypatch):
    """No plot shows itself or changes matplotlib's settings, and figures are closed."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    before = dict(matplotlib.rcParams)

    def show(*_, **__):
        raise AssertionError("a plot must not show itself")

    monkeypatch.setattr(plt, "show", show)
    yield
    assert dict(matplotlib.rcParams) == before
    plt.close("all")
