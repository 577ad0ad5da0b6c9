"""What is drawn of a posterior agrees with its draws and its closed forms."""

import numpy as np
import pytest
from helpers.plots import kinds_posterior, normal_posterior
from scipy.interpolate import RegularGridInterpolator

from quell.mixture import Mixture
from quell.plots.densities import Densities, peak
from quell.plots.ranges import range_of
from quell.results import Posterior
from quell.space import InferenceSpace

FREE = ("share", "size", "angle", "count", "shift")


@pytest.fixture(scope="module")
def kinds_and_draws():
    posterior = kinds_posterior()
    return posterior, posterior.sample(20_000, np.random.default_rng(2))


@pytest.mark.parametrize("name", FREE)
def test_a_curve_has_the_probabilities_of_draws(kinds_and_draws, name):
    posterior, draws = kinds_and_draws
    shown = range_of([posterior], name)
    x, density = Densities(posterior).alone(shown)
    values = shown.place(draws[:, posterior.names.index(name)])
    width = 1.0 if shown.integer else x[1] - x[0]
    assert np.sum(density) * width == pytest.approx(1.0, abs=0.01)
    for cut in np.quantile(values, [0.2, 0.5, 0.8]):
        cut = np.floor(cut) if shown.integer else cut
        below = float(np.sum(density[x <= cut]) * width)
        assert below == pytest.approx(float(np.mean(values <= cut)), abs=0.015)


def test_a_curve_is_the_closed_form(kinds_and_draws):
    posterior, _ = kinds_and_draws
    x, density = Densities(posterior).alone(range_of([posterior], "shift"))
    np.testing.assert_allclose(density, posterior.marginal("shift").density(x), rtol=1e-2)


@pytest.mark.parametrize(
    ("first", "second"),
    [("share", "size"), ("share", "angle"), ("angle", "shift"), ("share", "count"),
     ("count", "shift"), ("size", "shift")],
)  # fmt: skip
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_regions_hold_their_share_of_the_draws(kinds_and_draws, first, second, share):
    posterior, draws = kinds_and_draws
    across, down = range_of([posterior], first), range_of([posterior], second)
    x, y, density, [level] = Densities(posterior).pair(across, down, [share])
    at = RegularGridInterpolator((y, x), density, bounds_error=False, fill_value=0.0)
    places = np.stack(
        [r.place(draws[:, posterior.names.index(r.name)]) for r in (down, across)], axis=1
    )
    # Cells of integers are taken or left as a whole, so the region may hold more.
    tolerance = 0.06 if "count" in (first, second) else 0.02
    assert np.mean(at(places) >= level) == pytest.approx(share, abs=tolerance)


def test_the_density_of_two_is_the_posterior_where_there_are_no_others():
    turned = np.array([[0.8, -0.6], [0.6, 0.8]])
    bounds = InferenceSpace.from_bounds([0, -9], [1, np.inf], [0.3, -2], [0.7, 4]).bounds
    space = InferenceSpace(bounds, turned, np.array([2.0, 0.5]), np.full(2, np.nan))
    mixture = Mixture([0.6, 0.4], [[0.0, 0.2], [0.3, -0.4]], [0.2, 0.4], [1.0, 1.5])
    posterior = Posterior(mixture, space)
    first, second = (range_of([posterior], name) for name in posterior.names)
    x, y, density, _ = Densities(posterior).pair(first, second, [0.5])
    inside = (x > 0.01) & (x < 0.99)
    theta = np.stack(np.meshgrid(x[inside], y), axis=-1)
    wanted = np.exp(posterior.log_density(theta)) * first.width * second.width
    np.testing.assert_allclose(density[:, inside], wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("first", "second"), [("share", "size"), ("angle", "shift")])
def test_the_density_of_two_has_the_others_integrated_out(kinds_and_draws, first, second):
    posterior, draws = kinds_and_draws
    ranges = [range_of([posterior], name) for name in (first, second)]
    x, y, density, _ = Densities(posterior).pair(*ranges, [0.5])
    at = [r.place(draws[:, posterior.names.index(r.name)]) for r in ranges]
    fine = [np.linspace(p[0], p[-1], 400) for p in (x, y)]
    surface = RegularGridInterpolator((y, x), density)
    mass = surface(tuple(np.meshgrid(fine[1], fine[0], indexing="ij")))
    mass /= mass.sum()
    for p in (0.3, 0.7):  # a corner of the map has as much as of the draws: its tilt is right
        cut = [np.quantile(values, p) for values in at]
        wanted = np.mean((at[0] < cut[0]) & (at[1] < cut[1]))
        assert mass[fine[1] < cut[1]][:, fine[0] < cut[0]].sum() == pytest.approx(wanted, abs=0.015)


def test_two_narrow_modes_far_apart_are_both_found():
    space = InferenceSpace.from_bounds([-1e3] * 2, [1e3] * 2, [-500] * 2, [500] * 2)
    centres = space.to_inference([[-400.0, 0.0], [400.0, 300.0]])
    posterior = Posterior(Mixture([0.5, 0.5], centres, [1e-4, 0.1], [1.0, 1.0]), space)
    ranges = [range_of([posterior], name) for name in posterior.names]
    densities = Densities(posterior)
    for i, shown in enumerate(ranges):
        x, density = densities.alone(shown)
        narrow = np.abs(x - [-400.0, 0.0][i]) < 10
        assert np.sum(density[narrow]) * (x[1] - x[0]) > 0.45
    x, _, density, [level] = densities.pair(*ranges, [0.9])
    high = density >= level
    assert high[:, x < 0].any()
    assert high[:, x > 0].any()


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scales_of_any_size(scale):
    posterior = normal_posterior(2, scale=scale)
    ranges = [range_of([posterior], name) for name in posterior.names]
    _, _, density, levels = Densities(posterior).pair(*ranges, [0.5, 0.9])
    assert np.isfinite(density).all()
    # The regions of a normal: their borders are where the density is 1 - share of its top.
    np.testing.assert_allclose(levels / density.max(), [0.1, 0.5], atol=0.03)


def test_orders_of_magnitude_have_a_logarithmic_axis():
    space = InferenceSpace.from_bounds([0, -9], [np.inf, 9], [0.1, -2], [10, 2])
    posterior = Posterior(Mixture([1.0], [[0.0, 0.0]], [0.5], [1.0, 0.5]), space)
    draws = posterior.sample(20_000, np.random.default_rng(0))
    ranges = [range_of([posterior], name) for name in posterior.names]
    assert [shown.log for shown in ranges] == [True, False]
    x, density = Densities(posterior).alone(ranges[0])
    cell = np.log(x[1] / x[0])
    assert np.sum(density) * cell == pytest.approx(1.0, abs=0.01)
    half = np.sum(density[x < 1.0]) * cell
    assert half == pytest.approx(np.mean(draws[:, 0] < 1.0), abs=0.02)
    assert x[np.argmax(density)] == pytest.approx(1.0, rel=0.1)  # normal in log, so the median
    x, y, density, [level] = Densities(posterior).pair(*ranges, [0.9])
    at = RegularGridInterpolator((y, np.log(x)), density, bounds_error=False, fill_value=0.0)
    inside = at(np.stack([draws[:, 1], np.log(draws[:, 0])], axis=1)) >= level
    assert inside.mean() == pytest.approx(0.9, abs=0.02)


def test_an_integer_with_very_many_values_is_drawn_as_a_curve():
    space = InferenceSpace.from_bounds(-0.5, 9999.5, 2000, 7000)
    posterior = Posterior(Mixture([1.0], [[0.0]], [0.2], [1.0]), space, (True,))
    shown = range_of([posterior], "x1")
    assert not shown.integer
    x, density = Densities(posterior).alone(shown)
    assert len(x) < 1000
    assert np.sum(density) * (x[1] - x[0]) == pytest.approx(1.0, abs=0.01)


def below_diagonal(theta):
    return theta[:, 0] < theta[:, 1]


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_constraint_cuts_regions_and_curves(dimension):
    posterior = normal_posterior(dimension, support=below_diagonal)
    draws = posterior.sample(20_000, np.random.default_rng(3))
    ranges = [range_of([posterior], name) for name in posterior.names]
    densities = Densities(posterior)
    x, y, density, _ = densities.pair(ranges[0], ranges[1], [0.9])
    beyond = x > y[:, None] + 0.5
    assert density[beyond].max() < 0.05 * density.max()
    for i, shown in enumerate(ranges):
        x, curve = densities.alone(shown)
        mean = float(np.sum(x * curve) / np.sum(curve))
        assert mean == pytest.approx(draws[:, i].mean(), abs=0.03)


def test_a_spike_at_a_bound_does_not_hide_the_rest():
    space = InferenceSpace.from_bounds(0, 1, 0.3, 0.7)
    piled = Posterior(Mixture([0.97, 0.03], [[0.0], [8.0]], [0.3, 1.0], [1.0]), space)
    shown = range_of([piled], "x1")
    x, density = Densities(piled).alone(shown)
    middle = float(density[(x > 0.2) & (x < 0.8)].max())
    assert peak(x, density, shown) < 1.7 * middle
    assert density[-1] > 2 * middle  # the mass at the bound is there, as high as it is


@pytest.mark.parametrize("name", FREE)
def test_a_range_has_the_posterior_and_stays_near_the_bounds(kinds_and_draws, name):
    posterior, draws = kinds_and_draws
    shown = range_of([posterior], name)
    values = shown.place(draws[:, posterior.names.index(name)])
    assert np.mean((values > shown.low) & (values < shown.high)) > 0.99
    assert shown.width < 2.5 * np.ptp(values)
    if not shown.period:
        assert shown.low > shown.lower - 0.2 * shown.width


def test_a_range_on_a_circle_goes_past_the_bound(kinds_and_draws):
    posterior, _ = kinds_and_draws
    shown = range_of([posterior], "angle")
    assert shown.low < 360 < shown.high
    assert shown.bounds_in_sight() == [360]
    assert shown.place(np.array([350.0, 10.0, 370.0])) == pytest.approx([350.0, 370.0, 370.0])
