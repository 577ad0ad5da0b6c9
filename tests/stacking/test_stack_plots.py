"""Plots of a stacked posterior: its densities are those of the mixture of the runs'."""

import numpy as np
import pytest

import quell
from quell.pages.densities import densities_of as densities_for_a_page
from quell.plots.ranges import range_of
from quell.plots.stacked import densities_of

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture
def close():
    yield
    plt.close("all")


def maps(posterior, kind=densities_of):
    ranges = [range_of([posterior], name) for name in ("a", "b")]
    x, y, density, levels = kind(posterior).pair(*ranges, (0.5, 0.9))
    # From units of the ranges to those of the parameters.
    return x, y, density / (ranges[0].width * ranges[1].width), levels


@pytest.mark.parametrize("name", ["stacked", "constrained"])
def test_a_map_of_two_is_the_density(name, request):
    """With two free parameters there is nothing to integrate over."""
    posterior = request.getfixturevalue(name).posterior
    x, y, density, _ = maps(posterior)
    points = np.stack([*np.meshgrid(x, y), np.full((len(y), len(x)), 3.0)], axis=-1)
    exact = posterior.pdf(points)
    inside = exact > 1e-3 * exact.max()
    np.testing.assert_allclose(density[inside], exact[inside], rtol=0.03)


def test_levels_hold_their_shares(stacked):
    posterior = stacked.posterior
    ranges = [range_of([posterior], name) for name in ("a", "b")]
    _, _, _, levels = densities_of(posterior).pair(*ranges, (0.5, 0.9))
    draws = posterior.sample(20_000, np.random.default_rng(5002))
    at = posterior.pdf(draws) * ranges[0].width * ranges[1].width
    np.testing.assert_allclose([np.mean(at > level) for level in levels], [0.9, 0.5], atol=0.03)


def test_a_page_draws_one_without_its_support_from_draws(constrained, tmp_path):
    constrained.save(tmp_path / "all.quell")
    again = quell.load(tmp_path / "all.quell").posterior
    x, y, density, levels = maps(again, densities_for_a_page)
    i, j = np.unravel_index(np.argmax(density), density.shape)
    assert y[i] > 0.5 * x[j]
    assert (np.diff(levels) > 0).all()


@pytest.mark.usefixtures("close")
class TestFigures:
    def test_corner(self, stacked, runs):
        figure = stacked.plot(other=runs[0], evaluations=True)
        assert len(figure.axes) == 3

    def test_marginals(self, stacked):
        assert len(stacked.plot("marginals").axes) == 2

    def test_there_is_no_run_to_trace(self, stacked):
        with pytest.raises(ValueError, match="kind must be one of"):
            stacked.plot("trace")
