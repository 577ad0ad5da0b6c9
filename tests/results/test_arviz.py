"""Results for ArviZ: one tree for its versions, and for files."""

import warnings

import numpy as np
import pytest
from helpers.problems import make, normal, run
from scipy import stats

from quell import Problem
from quell.results.arviz_tree import variable_names

xarray = pytest.importorskip("xarray")
NAMES = ["a", "km/h", "draw", "fixed"]


@pytest.fixture(scope="module")
def result():
    problem = Problem(
        lambda theta: normal(theta[:3]), noise="exact", names=NAMES,
        lower=[-9, 0, -9, 2], upper=[9, np.inf, 9, 2], plausible_lower=[-2, 0.5, -2, 2],
        plausible_upper=[2, 2, 2, 2],
        prior=[stats.norm(0, 2), stats.expon(), stats.norm(0, 2), None],
    )  # fmt: skip
    return run(problem, budget=30)


@pytest.fixture(scope="module")
def tree(result):
    return result.to_arviz(250, chains=2, rng=3)


def test_draws(result, tree):
    draws = result.posterior.sample(500, 3)
    posterior = tree["posterior"].dataset
    assert dict(posterior.sizes) == {"chain": 2, "draw": 250}
    assert list(posterior.data_vars) == ["a", "km_h", "draw_", "fixed"]
    np.testing.assert_array_equal(posterior["km_h"].values.ravel(), draws[:, 1])
    assert posterior["km_h"].attrs["long_name"] == "km/h"


def test_what_is_known_of_each_draw(result, tree):
    draws, known = result.posterior.sample(500, 3), tree["sample_stats"].dataset
    np.testing.assert_array_equal(known["log_q"].values.ravel(), result.posterior.log_pdf(draws))
    log_prior = known["log_prior"].values.ravel()
    np.testing.assert_allclose(log_prior, result.log_prior(draws))
    # The surrogate knows the log joint, and so where it is sure.
    exact = np.array([normal(theta[:3]) for theta in draws]) + log_prior
    error = known["lp"].values.ravel() - exact
    assert np.median(np.abs(error)) < 0.3
    assert (np.abs(error) < 5 * known["lp_sd"].values.ravel() + 0.1).mean() > 0.8


def test_evaluations_and_attributes(result, tree):
    evaluations = tree["evaluations"].dataset
    assert dict(evaluations.sizes) == {"evaluation": len(result.evaluations)}
    np.testing.assert_array_equal(evaluations["log_likelihood"], result.evaluations.value)
    np.testing.assert_array_equal(evaluations["draw_"], result.evaluations.theta[:, 2])
    assert tree.attrs["log_evidence"] == result.log_evidence
    assert tree.attrs["status"] == result.status
    assert tree["posterior"].attrs["inference_library"] == "quell"


def test_through_a_file(tree, tmp_path):
    pytest.importorskip("h5netcdf")
    tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    with xarray.open_datatree(tmp_path / "fit.nc", engine="h5netcdf") as again:
        xarray.testing.assert_identical(
            again["posterior"].dataset.load(), tree["posterior"].dataset
        )
        stats_again = again["sample_stats"].dataset.load()
        xarray.testing.assert_identical(stats_again, tree["sample_stats"].dataset)
        assert again["evaluations"]["origin"].values[0] == "design"
        assert again.attrs == tree.attrs


def test_the_surrogate_at_the_edge_of_a_support():
    """What it knows of the edge is not part of the log joint within."""
    problem = make(normal, 2, noise="exact", constraint=lambda theta: theta[0] < 0.5)
    result = run(problem, budget=40)
    tree = result.to_arviz(1000, chains=1)
    draws = result.posterior.sample(1000)
    near = draws[:, 0] > 0.4
    exact = np.array([normal(theta) for theta in draws[near]]) - 2 * np.log(20)
    error = np.abs(tree["sample_stats"]["lp"].values[0, near] - exact)
    edge = result.solution.data.edges.at(result.solution.space.to_inference(draws[near]))
    assert error.max() < 0.5 * np.abs(edge).max()


def test_arviz_takes_it(tree):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arviz = pytest.importorskip("arviz")
        if hasattr(arviz, "from_datatree"):
            data = arviz.from_datatree(tree)
            pytest.importorskip("matplotlib").use("Agg")
            table = arviz.summary(data, var_names=["a", "km_h"])
            assert len(arviz.plot_posterior(data, var_names=["a"]).get_title()) > 0
            arviz.plot_pair(data, var_names=["a", "km_h"])
            import matplotlib.pyplot as plt

            plt.close("all")
        else:
            table = arviz.summary(tree, var_names=["a", "km_h"])
    mean = tree["posterior"]["a"].values.mean()
    assert float(table.loc["a", "mean"]) == pytest.approx(mean, abs=0.01)


@pytest.mark.parametrize("arguments", [{"draws": 0}, {"draws": 1.5}, {"chains": 0}])
def test_what_is_no_number_of_draws(result, arguments):
    with pytest.raises(ValueError, match="must be a positive integer"):
        result.to_arviz(**arguments)


def test_without_xarray(result, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xarray", None)
    with pytest.raises(ImportError, match=r'to_arviz needs xarray.*pip install "quell\[arviz\]"'):
        result.to_arviz()


def test_names_of_variables():
    names = variable_names(("/", "", " ", "chain", "chain_", "\x1b", "ß", "-x"))
    assert len(set(names)) == 8
    assert not any("/" in name for name in names)
    assert "ß" in names
