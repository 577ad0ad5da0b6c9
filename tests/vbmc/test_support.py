"""Planes beside a region where the density is known to be zero, and runs beside one."""

import numpy as np
import pytest
from scipy.special import gammaln

import quell
from quell.distances import squared_distances
from quell.mixture import Mixture
from quell.space import InferenceSpace
from quell.space.edges import Edges
from quell.vbmc.support import BEYOND, cutting_planes

SPACE = InferenceSpace.from_bounds([-np.inf] * 2, [np.inf] * 2, [-0.5] * 2, [0.5] * 2)
#: Correlated, so that the planes are not those of a round posterior.
WIDE = Mixture([0.5, 0.5], [[-0.5, -0.5], [0.5, 0.5]], [0.4, 0.4], [1.0, 1.0])

REGIONS = {
    "half-plane": lambda theta: theta.sum(axis=1) < 0.3,
    "disc": lambda theta: (theta**2).sum(axis=1) < 0.5,
    "outside of a disc": lambda theta: (theta**2).sum(axis=1) > 0.25,
    "wedge": lambda theta: (theta[:, 0] < theta[:, 1]) & (theta[:, 1] < 0.3),
}


def planes(region, *, before=None, seed=0):
    known = np.random.default_rng(1).uniform(-1, 1, (200, 2))
    known = known[region(known)][:20]
    return cutting_planes(np.random.default_rng(seed), region, SPACE, WIDE, known, before), known


@pytest.mark.parametrize("name", REGIONS)
def test_nothing_known_to_be_inside_is_cut_off(name):
    region = REGIONS[name]
    found, known = planes(region)
    assert found is not None
    assert found.at(known).min() > -0.02 * len(found.offsets)
    # Nor what lies between: at most the rim of a convex region, which the draws leave open.
    draws = WIDE.sample(5000, np.random.default_rng(2))
    within = draws[region(draws)]
    assert np.mean(found.at(within) < -1.0) < 0.005


@pytest.mark.parametrize("name", ["half-plane", "disc", "wedge"])
def test_what_is_far_outside_a_convex_region_is_cut_off(name):
    region = REGIONS[name]
    found, _ = planes(region)
    assert found is not None
    x = 2 * WIDE.sample(1000, np.random.default_rng(3))
    grid = np.stack(np.meshgrid(*[np.linspace(-3, 3, 121)] * 2), axis=-1).reshape(-1, 2)
    distances = squared_distances(x, grid[region(grid)]).min(axis=1)
    far = distances > 1.0  # about an SD
    assert far.sum() > 20
    assert np.mean(found.at(x[far]) < -2.0) > 0.95


def test_a_flat_edge_is_found_as_it_is_and_kept():
    found, _ = planes(REGIONS["half-plane"])
    assert found is not None
    normals = found.slopes / np.linalg.norm(found.slopes, axis=1, keepdims=True)
    assert np.allclose(normals[0], -np.sqrt(0.5), atol=1e-6)
    on_edge = np.array([[0.15, 0.15]])
    assert np.allclose(on_edge @ found.slopes[0] + found.offsets[0], BEYOND, atol=1e-6)
    again, _ = planes(REGIONS["half-plane"], before=found, seed=5)
    assert again is not None
    assert np.array_equal(again.slopes[0], found.slopes[0])


def test_a_plane_that_cuts_into_the_region_is_dropped():
    wrong = Edges(np.array([[10.0, 0.0]]), np.array([BEYOND]))  # x1 > 0
    found, _ = planes(REGIONS["half-plane"], before=wrong)
    assert found is not None
    assert not any(np.allclose(slope, wrong.slopes[0]) for slope in found.slopes)


def test_no_planes_where_nothing_is_outside():
    everywhere, _ = planes(lambda theta: np.ones(len(theta), dtype=bool))
    assert everywhere is None


def truncated_normal(**how):
    return quell.Problem(
        lambda theta: -0.5 * np.sum(theta**2), lower=-9, upper=9, plausible_lower=[-3, -3],
        plausible_upper=[3, 3], noise="exact", **how,
    )  # fmt: skip


@pytest.mark.parametrize("given", ["constraint", "prior"])
def test_a_posterior_that_ends_at_a_sloping_edge(given):
    def allowed(theta):
        return bool(theta[0] + theta[1] > 1.0)

    def log_prior(theta):
        return -2 * np.log(18) if allowed(theta) else -np.inf

    how = {"constraint": allowed} if given == "constraint" else {"prior": log_prior}
    result = quell.infer(truncated_normal(**how), budget=60, seed=1, progress=False)
    assert all(allowed(theta) for theta in result.evaluations.theta)
    draws = result.posterior.sample(2000, np.random.default_rng(0))
    assert all(allowed(theta) for theta in draws)
    # Along (1, 1)/√2 a normal above 1/√2, of which the rest is 0.2398.
    above, log_z = 0.23975, np.log(2 * np.pi * 0.23975 / 18**2)
    assert result.log_evidence == pytest.approx(log_z, abs=0.1)
    height = np.exp(-0.25) / np.sqrt(2 * np.pi) / above
    assert np.allclose(result.posterior.mean(), height / np.sqrt(2), atol=0.05)


def test_a_plane_from_when_the_posterior_was_wider_is_laid_again():
    """A soft plane does not hold a density that rises behind it, and hid the edge from new ones."""
    region = REGIONS["half-plane"]
    soft, known = planes(region)
    narrow = Mixture([1.0], [[0.15, 0.15]], [0.02], [1.0, 1.0])
    rng = np.random.default_rng(0)
    found = cutting_planes(rng, region, SPACE, narrow, known, soft)
    assert found is not None
    beyond = np.array([[0.3, 0.3]])  # 0.2 from the edge, ten of the narrow posterior's SDs
    assert found.at(beyond)[0] < 2 * soft.at(beyond)[0]
    assert found.at(known).min() > -0.02 * len(found.offsets)


@pytest.mark.parametrize("seed", [103, 104])
def test_a_posterior_that_rises_towards_its_edge(seed):
    """Proportions with none of the last category: the density is largest where they add up to 1."""
    problem = quell.Problem(
        lambda p: float(9 * np.log(p[0]) + 22 * np.log(p[1])), lower=[0, 0], upper=[1, 1],
        plausible_lower=[0.05, 0.05], plausible_upper=[0.75, 0.75], noise="exact",
        constraint=lambda p: p[0] + p[1] < 1,
    )  # fmt: skip
    result = quell.infer(problem, budget=120, seed=seed, progress=False)
    # ∫ p₁⁹ p₂²² over the triangle is 9! 22! / 33!
    truth = float(gammaln(10) + gammaln(23) - gammaln(34))
    assert result.log_evidence == pytest.approx(truth, abs=0.05)
    assert result.elbo < result.log_evidence + 0.01
    assert result.posterior.share_in_support > 0.2
    np.testing.assert_allclose(result.posterior.mean(), [10 / 34, 23 / 34], atol=0.01)
