"""The first points: even, apart from what is known, and where the prior is positive."""

import numpy as np
import pytest
from helpers.vbmc import make_problem
from scipy.stats import uniform

from quell.vbmc.design import even_points, first_points


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("dimension", [1, 2, 6])
def test_every_point_has_its_own_part_of_every_coordinate(dimension):
    points = even_points(rng(), 10, np.empty((0, dimension)))
    cells = np.floor(10 * (points + 0.5)).astype(int)
    for column in cells.T:
        assert sorted(column) == list(range(10))


def test_no_hole_is_left_in_one_dimension():
    for seed in range(20):
        points = np.sort(even_points(rng(seed), 10, np.empty((0, 1))).ravel())
        assert np.diff(np.r_[-0.5, points, 0.5]).max() < 0.2


def test_points_keep_away_from_known_ones():
    known = np.array([[0.0, 0.0], [0.3, -0.2]])

    def nearest(points):
        return min(np.linalg.norm(points - place, axis=1).min() for place in known)

    apart = [nearest(even_points(rng(seed), 10, known)) for seed in range(20)]
    unaware = [nearest(even_points(rng(seed), 10, np.empty((0, 2)))) for seed in range(20)]
    assert np.median(apart) > 1.3 * np.median(unaware)


def test_no_points():
    assert even_points(rng(), 0, np.empty((0, 3))).shape == (0, 3)


def test_points_are_where_the_prior_is_positive():
    problem = make_problem(2, prior=lambda t: 0.0 if t[0] > 0 else -np.inf)
    theta = first_points(rng(), problem, problem.space, 10, np.empty((0, 2)))
    assert theta.shape == (10, 2)
    assert (theta[:, 0] > 0).all()
    assert (np.abs(theta) <= 2).all()


def test_uniform_priors_keep_all_of_them():
    problem = make_problem(2, prior=[uniform(-10, 20)] * 2)
    theta = first_points(rng(), problem, problem.space, 8, np.empty((0, 2)))
    x = problem.space.to_inference(theta)
    np.testing.assert_allclose(x, even_points(rng(), 8, np.empty((0, 2))), atol=1e-12)
