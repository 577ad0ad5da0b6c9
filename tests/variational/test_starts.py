import numpy as np
import pytest
from helpers.mixtures import assert_same_mixture, make_mixture

from quell.mixture import Mixture
from quell.variational.starts import candidates, from_points, grow, jitter


def generator(seed=0):
    return np.random.default_rng(seed)


def make_points(n, dimension, seed=0):
    return np.random.default_rng([seed, n]).normal(size=(n, dimension)) * np.linspace(
        1, 4, dimension
    )


def is_equal(weights):
    return np.allclose(weights, 1 / len(weights), rtol=1e-14)


def rows_of(means, points):
    """Index of the point that each mean lies on; -1 where there is none."""
    return [next((i for i, p in enumerate(points) if np.array_equal(p, m)), -1) for m in means]


# Growing


@pytest.mark.parametrize("n_components", [1, 3])
@pytest.mark.parametrize("wanted", [3, 4, 10])
def test_grow_adds_components_and_keeps_the_means_of_the_old(n_components, wanted):
    q = make_mixture(n_components, 2)
    grown = grow(generator(), q, wanted)
    assert grown.n_components == wanted
    assert grown.weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert (grown.weights > 0).all()
    np.testing.assert_array_equal(grown.means[:n_components], q.means)
    np.testing.assert_array_equal(grown.scales[:n_components], q.scales)
    np.testing.assert_array_equal(grown.lengths, q.lengths)


def test_grow_to_the_same_size_changes_nothing():
    q = make_mixture(3, 2)
    assert_same_mixture(grow(generator(), q, 3), q)


def test_grow_takes_the_new_weight_and_place_from_the_parent():
    q = make_mixture(3, 2)
    parents, shares, offsets, factors = set(), [], [], []
    for seed in range(300):
        grown = grow(generator(seed), q, 4)
        loss = q.weights - grown.weights[:3]
        parent = int(np.argmax(loss))
        parents.add(parent)
        assert np.count_nonzero(np.abs(loss) > 1e-12) == 1
        assert grown.weights[3] == pytest.approx(loss[parent], rel=1e-9)
        shares.append(grown.weights[3] / q.weights[parent])
        offsets.append((grown.means[3] - q.means[parent]) / (q.scales[parent] * q.lengths))
        factors.append(np.log(grown.scales[3] / q.scales[parent]))
    assert parents == {0, 1, 2}
    assert 0.25 <= min(shares) < 0.28
    assert 0.47 < max(shares) <= 0.5
    # Means half an SD away in every coordinate, log scales jittered by 0.2; ±25 % is 5 errors.
    np.testing.assert_allclose(np.std(offsets, axis=0), 0.5, rtol=0.25)
    assert np.std(factors) == pytest.approx(0.2, rel=0.25)
    np.testing.assert_allclose(np.mean(offsets, axis=0), 0.0, atol=5 * 0.5 / np.sqrt(300))


# Jitter


@pytest.mark.parametrize("weights", [True, False])
def test_jitter_moves_everything_but_fixed_weights(weights):
    q = make_mixture(4, 3)
    moved = jitter(generator(), q, weights=weights)
    assert (moved.n_components, moved.dimension) == (4, 3)
    assert moved.weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert (moved.means != q.means).all()
    assert (moved.scales != q.scales).all()
    assert (moved.lengths != q.lengths).all()
    assert np.array_equal(moved.weights, q.weights) != weights


def test_jitter_has_the_size_it_says():
    q = make_mixture(2, 2)
    draws = [jitter(generator(seed), q, weights=True) for seed in range(400)]
    offsets = np.stack([(p.means - q.means) / (q.scales[:, None] * q.lengths) for p in draws])
    np.testing.assert_allclose(offsets.std(axis=0), 1.0, rtol=0.2)
    np.testing.assert_allclose(offsets.mean(axis=0), 0.0, atol=0.25)
    for name in ("scales", "lengths"):
        ratio = np.log([getattr(p, name) / getattr(q, name) for p in draws])
        np.testing.assert_allclose(ratio.std(axis=0), 0.2, rtol=0.2)
    odds = np.log([p.weights[0] / p.weights[1] for p in draws])
    assert odds.std() == pytest.approx(0.2 * np.sqrt(2), rel=0.2)


# Starts from points


def test_from_points_puts_the_components_on_the_first_points():
    points = make_points(10, 2)
    q = from_points(generator(), points, 4, best=True)
    np.testing.assert_array_equal(q.means, points[:4])
    assert is_equal(q.weights)


def test_from_points_puts_the_components_on_different_random_points():
    points = make_points(10, 2)
    chosen = set()
    for seed in range(50):
        q = from_points(generator(seed), points, 4, best=False)
        rows = rows_of(q.means, points)
        assert -1 not in rows
        assert len(set(rows)) == 4
        chosen.update(rows)
    assert chosen == set(range(10))


@pytest.mark.parametrize("best", [True, False])
@pytest.mark.parametrize(("n", "n_components"), [(1, 1), (1, 5), (3, 1), (3, 3), (3, 8)])
def test_from_points_uses_points_again_where_there_are_too_few(n, n_components, best):
    points = make_points(n, 2)
    q = from_points(generator(), points, n_components, best=best)
    assert q.n_components == n_components
    assert is_equal(q.weights)
    counts = np.bincount(rows_of(q.means, points), minlength=n)
    assert counts.sum() == n_components
    if n_components % n == 0:
        np.testing.assert_array_equal(counts, n_components // n)
    elif best:
        assert counts.max() - counts.min() <= 1


@pytest.mark.parametrize("best", [True, False])
def test_from_points_scales_as_the_points_are_spread(best):
    points = make_points(400, 2)
    q = from_points(generator(), points, 100, best=best)
    widths = q.scales[:, None] * q.lengths
    # The spread of the points over √K, and a common jitter of 20 % on each.
    np.testing.assert_allclose(
        np.exp(np.log(widths).mean(axis=0)), points.std(axis=0) / 10, rtol=0.25
    )
    assert np.log(q.scales).std() == pytest.approx(0.2, rel=0.4)
    assert q.lengths @ q.lengths == pytest.approx(2.0)
    assert q.lengths[1] / q.lengths[0] == pytest.approx(points[:, 1].std() / points[:, 0].std())


@pytest.mark.parametrize(
    "points", [np.zeros((1, 2)), np.zeros((5, 2)), np.column_stack([np.arange(5.0), np.ones(5)])]
)
@pytest.mark.parametrize("n_components", [1, 3])
def test_from_points_without_spread_is_still_a_mixture(points, n_components):
    q = from_points(generator(), points, n_components, best=True)
    assert (q.scales > 0).all()
    assert (q.lengths > 0).all()


# All candidates


@pytest.mark.parametrize("from_data", [True, False])
@pytest.mark.parametrize("weights", [True, False])
@pytest.mark.parametrize("n_components", [3, 5])
def test_candidates_have_the_wanted_number_of_components(n_components, weights, from_data):
    near, fresh = candidates(
        generator(), make_mixture(3, 2), make_points(20, 2), n_components, 12,
        from_data=from_data, weights=weights,
    )  # fmt: skip
    assert (len(near), len(fresh)) == ((4, 8) if from_data else (12, 0))
    for q in [*near, *fresh]:
        assert q.n_components == n_components
        assert q.weights.sum() == pytest.approx(1.0, abs=1e-14)
        assert weights or is_equal(q.weights)
    assert not weights or not is_equal(near[1].weights)


@pytest.mark.parametrize("from_data", [True, False])
def test_without_a_current_mixture_all_candidates_come_from_the_data(from_data):
    points = make_points(20, 2)
    near, fresh = candidates(generator(), None, points, 4, 10, from_data=from_data, weights=True)
    assert (len(near), len(fresh)) == (0, 10)
    np.testing.assert_array_equal(fresh[0].means, points[:4])
    assert len({q.means.tobytes() for q in fresh}) == 10


def test_first_candidate_is_the_current_mixture():
    current = make_mixture(3, 2)
    near, _ = candidates(
        generator(), current, make_points(20, 2), 3, 10, from_data=False, weights=True
    )
    assert_same_mixture(near[0], current)
    assert len({q.means.tobytes() for q in near}) == 10


def test_first_candidate_grown_keeps_the_current_components():
    current = make_mixture(3, 2)
    near, _ = candidates(
        generator(), current, make_points(20, 2), 6, 10, from_data=True, weights=True
    )
    np.testing.assert_array_equal(near[0].means[:3], current.means)


def test_equal_weights_leave_the_first_candidate_in_place():
    current = make_mixture(3, 2)
    assert not is_equal(current.weights)
    near, _ = candidates(
        generator(), current, make_points(20, 2), 3, 10, from_data=True, weights=False
    )
    assert_same_mixture(
        near[0], Mixture(np.full(3, 1 / 3), current.means, current.scales, current.lengths)
    )


def test_candidates_from_the_data_are_near_the_best_or_near_random_points():
    # The best four points are far from the others, so that each kind is known by its place.
    points = make_points(60, 2)
    points[:4] += 1000.0
    _, fresh = candidates(generator(), None, points, 4, 20, from_data=True, weights=True)
    shares = np.array([(q.means[:, 0] > 400).mean() for q in fresh])
    assert (shares[::2] == 1.0).sum() >= 5  # an SD of jitter can take a mean elsewhere
    assert shares[1::2].mean() < 0.5


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_candidates_are_still_at_least_one_of_each_kind(n):
    near, fresh = candidates(
        generator(), make_mixture(2, 2), make_points(9, 2), 2, n, from_data=True, weights=True
    )
    assert len(near) == 1
    assert len(fresh) == 2


def test_candidates_are_determined_by_the_generator():
    sets = [
        candidates(
            generator(3), make_mixture(2, 2), make_points(9, 2), 4, 9, from_data=True, weights=True
        )
        for _ in range(2)
    ]
    for a, b in zip(sets[0][0] + sets[0][1], sets[1][0] + sets[1][1], strict=True):
        assert_same_mixture(a, b)
