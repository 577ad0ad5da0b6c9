"""Which points are kept of very many."""

import numpy as np
import pytest

from quell.gp import TrainingData
from quell.vbmc.subset import (
    LEARNING_POINTS,
    MOST_POINTS,
    RENEWAL,
    kept_rows,
    learning_part,
    learning_rows,
    neighbourhood_mean,
    spread,
)


def archive(n=3000, dimension=2, width=2.0, seed=0):
    x = np.random.default_rng(seed).normal(0, width, (n, dimension))
    return x, -0.5 * (x**2).sum(axis=1)


def test_up_to_the_limit_all_are_kept():
    x, y = archive(MOST_POINTS)
    assert kept_rows(x, y, noisy=True) is None


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("n", [MOST_POINTS + 1, 3000, 3049])
def test_beyond_it_about_that_many_distinct_ones_in_order(n, noisy):
    rows = kept_rows(*archive(n), noisy)
    assert len(rows) == MOST_POINTS - RENEWAL + n % RENEWAL
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, kept_rows(*archive(n), noisy))


@pytest.mark.parametrize("noisy", [False, True])
def test_new_points_join_those_kept_until_the_choice_is_made_anew(noisy):
    x, y = archive(1000 + RENEWAL)
    first = kept_rows(x[:1000], y[:1000], noisy)
    for more in (1, 7, RENEWAL - 1):
        rows = kept_rows(x[: 1000 + more], y[: 1000 + more], noisy)
        np.testing.assert_array_equal(rows, [*first, *range(1000, 1000 + more)])
    anew = kept_rows(x, y, noisy)
    assert len(anew) == len(first)
    assert not np.isin(first, anew).all()


def test_other_points_and_values_are_another_choice():
    """What was chosen before is remembered, but not for anything else."""
    x, y = archive(1000)
    rows = kept_rows(x, y, noisy=False)
    assert not np.array_equal(kept_rows(x, -y, noisy=False), rows)
    assert not np.array_equal(kept_rows(x * [1.0, 9.0] + x[:, ::-1], y, noisy=False), rows)


def test_the_latest_are_always_kept():
    x, y = archive()
    y[-50:] = -1e6
    assert np.isin(np.arange(len(x) - 50, len(x)), kept_rows(x, y, False)).all()


def test_core_and_shell_but_not_what_is_far_below():
    x, y = archive(width=6.0)
    rows = kept_rows(x, y, False)[: -MOST_POINTS // 8]
    depth = -y[rows]
    assert (depth < 6.7).sum() > 0.3 * MOST_POINTS
    assert (depth > 6.7).sum() > 0.2 * MOST_POINTS
    assert (depth > 31).mean() < 0.05
    assert (-y > 31).mean() > 0.3  # there are many


def test_a_small_core_is_filled_up():
    x, y = archive()
    y = 100 * y  # nearly everything is far below
    assert len(kept_rows(x, y, False)) == MOST_POINTS - RENEWAL


def test_noise_is_not_picked():
    """Points kept in the core have no higher noise than those left out."""
    x, y = archive(8000, width=1.0)
    noise = 2 * np.random.default_rng(1).standard_normal(len(x))
    rows = kept_rows(x, y + noise, True)
    core = rows[-y[rows] < 3]
    assert abs(noise[core].mean()) < 5 * 2 / np.sqrt(len(core))


def test_near_repetitions_are_left_out():
    """A slow chain: neighbours in time are neighbours in space."""
    rng = np.random.default_rng(2)
    x = np.empty((4000, 2))
    x[0] = 0
    for i in range(1, 4000):
        x[i] = 0.995 * x[i - 1] + 0.1 * rng.standard_normal(2)
    rows = kept_rows(x, -0.5 * (x**2).sum(axis=1), False)
    older = rows[rows < 4000 - MOST_POINTS // 8]

    def gaps(points):
        distance = np.sqrt(((points[:, None] - points) ** 2).sum(axis=2))
        return (distance + 9 * np.eye(len(points))).min(axis=1)

    every_fifth = x[: 4000 - MOST_POINTS // 8 : 5][: len(older)]
    assert np.median(gaps(x[older])) > 1.5 * np.median(gaps(every_fifth))


def test_learning_rows():
    x, _ = archive(MOST_POINTS)
    rows = learning_rows(x)
    assert len(np.unique(rows)) == len(rows) == LEARNING_POINTS
    assert np.ptp(x[rows], axis=0) == pytest.approx(np.ptp(x, axis=0), rel=0.1)


def test_up_to_a_limit_all_are_learnt_from():
    x, y = archive(LEARNING_POINTS + 1)
    data = TrainingData.from_arrays(x, y, 0.5)
    few = data.subset(slice(LEARNING_POINTS))
    assert learning_part(few) is few
    assert learning_part(data).size == LEARNING_POINTS


def test_spread_takes_the_farthest():
    z = np.array([[0.0], [1.0], [2.0], [10.0], [5.5]])
    np.testing.assert_array_equal(spread(z, np.array([0]), np.arange(5), 2), [0, 3, 4])
    np.testing.assert_array_equal(np.sort(spread(z, np.array([0]), np.arange(5), 9)), np.arange(5))


def test_neighbourhood_mean_smooths():
    x, y = archive()
    noise = np.random.default_rng(3).standard_normal(len(x))
    near = (x**2).sum(axis=1) < 1
    error = (neighbourhood_mean(x, y + noise) - y)[near]
    assert error.std() < 0.6
