"""Which parameters get a map for heavy tails: by how normal it makes the draws."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from quell.mixture import Mixture
from quell.space import InferenceSpace
from quell.vbmc.heavy import LEAST_GAIN, N_DRAWS, better_tails, distance, proposed_tails

INF, NAN = np.inf, np.nan
LINEAR = np.full(2, NAN)
PROBABILITIES = (np.arange(N_DRAWS) + 0.5) / N_DRAWS


def quantiles(distribution):
    return distribution.ppf(PROBABILITIES)


@pytest.mark.parametrize(
    "distribution",
    [stats.norm(3.0, 20.0), stats.uniform(-1, 2), stats.norm(1e6, 1e-3), stats.beta(2, 2)],
)
def test_light_tails_are_left_alone(distribution):
    assert better_tails(quantiles(distribution), LINEAR) is None


def test_draws_that_are_one_number_have_no_tails():
    assert better_tails(np.full(100, 3.0), LINEAR) is None


@pytest.mark.parametrize(
    "distribution",
    [
        stats.t(2.5), stats.t(2.5, -40.0, 1e-3), stats.laplace(1e3, 50.0), stats.gumbel_r(),
        stats.lognorm(0.8), stats.chi2(3),
    ],
)  # fmt: skip
def test_as_normal_as_any_map_on_a_fine_grid_makes_them(distribution):
    """Brute force over centre and scale."""
    draws = quantiles(distribution)
    low, middle, high = np.quantile(draws, [0.25, 0.5, 0.75])
    unit = (high - low) / 1.349
    centre, scale = better_tails(draws, LINEAR)
    grid = [
        distance(draws, middle + unit * c, unit * s)
        for c in np.linspace(-3, 3, 13) for s in np.geomspace(0.3, 20, 12)
    ]  # fmt: skip
    found = distance(draws, centre, scale)
    assert found < min(grid) + 0.02
    assert found < np.log(draws.std()) - LEAST_GAIN


def test_a_symmetric_one_is_centred_and_a_skewed_one_is_not():
    centre, scale = better_tails(quantiles(stats.t(2.5)), LINEAR)
    assert abs(centre) < 0.05
    assert 0.5 < scale < 3
    left, _ = better_tails(quantiles(stats.lognorm(0.8)), LINEAR)
    right, _ = better_tails(-quantiles(stats.lognorm(0.8)), LINEAR)
    assert left < 0.7  # below its median, 1: a logarithm above
    assert right > -0.7


def test_the_distance_is_that_of_a_normal_with_the_same_moments_in_t():
    """KL from the draws to the normal in t = cost + ½ log 2πe − their entropy."""
    p = stats.t(2.5)
    gain = np.log(quantiles(p).std()) - distance(quantiles(p), 0.0, 1.5)
    kl_before = np.log(quantiles(p).std()) + 0.5 * np.log(2 * np.pi * np.e) - float(p.entropy())
    assert 0 < gain < kl_before


def test_what_suits_already_stays():
    draws = quantiles(stats.t(2.5))
    best = np.array(better_tails(draws, LINEAR))
    assert better_tails(draws, best) is None
    assert better_tails(draws, np.array([3.0, 30.0])) == pytest.approx(best, abs=0.05)


def heavy_solution():
    """A wide and a narrow component: heavy tails in the first two of four parameters."""
    space = InferenceSpace.from_bounds(
        [-INF, 0.0, 5.0, -INF], [INF, 1.0, 5.0, INF], [-1, 0.2, 5, -1], [1, 0.8, 5, 1],
        names=list("abcd"),
    )  # fmt: skip
    mixture = Mixture([0.8, 0.2], [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [0.1, 1.0], [1.0, 1.0, 1.0])
    return SimpleNamespace(space=space, mixture=mixture)


def test_only_parameters_without_bounds_are_proposed_for():
    solution = heavy_solution()
    now = np.full((3, 2), NAN)
    tails, n_new = proposed_tails(np.random.default_rng(0), solution, now)
    assert n_new == 2
    assert np.isfinite(tails[[0, 2]]).all()
    assert np.isnan(tails[1]).all()
    assert np.isnan(now).all()  # not changed in place
    again = proposed_tails(np.random.default_rng(0), solution, tails)
    assert again is None


def test_nothing_is_proposed_without_such_parameters():
    space = InferenceSpace.from_bounds([0.0], [1.0], [0.2], [0.8])
    solution = SimpleNamespace(space=space, mixture=Mixture([1.0], [[0.0]], [0.1], [1.0]))
    assert proposed_tails(np.random.default_rng(0), solution, np.full((1, 2), NAN)) is None
