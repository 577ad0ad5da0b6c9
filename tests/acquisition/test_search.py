import numpy as np
import pytest
from helpers.acquisition import NAMES, heavy_tailed_draws, make_situation
from scipy import stats

from quell.acquisition import SearchBox, Situation, by_name, candidates, expand_box, maximise
from quell.acquisition.situation import training_box


class Hills:
    """Two hills, the higher one at (1, 1, ...); no gradient, no noise."""

    def __init__(self):
        self.calls = 0

    def values(self, x):
        self.calls += len(x)
        near, far = (((x - c) ** 2).sum(axis=1) for c in (-1.0, 1.0))
        return np.logaddexp(-2 * near, 1 - 2 * far)


class HillsWithGradient(Hills):
    def value_and_gradient(self, x):
        value = float(self.values(x[None])[0])
        near, far = (((x - c) ** 2).sum() for c in (-1.0, 1.0))
        gradient = np.exp(-2 * near - value) * -4 * (x + 1)
        gradient += np.exp(1 - 2 * far - value) * -4 * (x - 1)
        return value, gradient


def square(dimension=2, half=3.0):
    return SearchBox(np.full(dimension, -half), np.full(dimension, half))


def quiet_situation(*arguments, **options):
    """One noise everywhere: no jumps at the borders of cells."""
    situation = make_situation(*arguments, **options)
    return Situation.of(situation.gp, situation.mixture, 0.5)


def spread(n=60, dimension=2, seed=0, half=3.0):
    return np.random.default_rng(seed).uniform(-half, half, (n, dimension))


# Candidates


@pytest.mark.parametrize("n", [1, 2, 7, 64, 513])
def test_candidates_are_as_many_as_asked_and_in_the_box(n):
    situation = make_situation(2)
    box = SearchBox([-0.5, -1.0], [0.7, 0.2])
    x = candidates(np.random.default_rng(0), situation, box, n)
    assert x.shape == (n, 2)
    assert np.all((x >= box.lower) & (x <= box.upper))


def test_candidates_come_a_quarter_from_each_source():
    situation = make_situation(1)
    x = candidates(np.random.default_rng(0), situation, square(1, 1e6), 4096)[:, 0]
    heavy, normal, uniform, plain = np.split(x, 4)
    q = situation.mixture
    sd = np.sqrt(q.covariance()[0, 0])
    assert stats.kstest(normal, "norm", args=(q.mean()[0], sd)).pvalue > 0.1
    lower, upper = training_box(situation.gp, q)
    assert stats.kstest(uniform, "uniform", args=(lower[0], (upper - lower)[0])).pvalue > 0.1
    direct = q.sample(20000, np.random.default_rng(1))[:, 0]
    assert stats.ks_2samp(plain, direct).pvalue > 0.1
    tails = heavy_tailed_draws(q, 20000, np.random.default_rng(1))[:, 0]
    assert stats.ks_2samp(heavy, tails).pvalue > 0.1


def test_uniform_candidates_are_limited_by_the_box():
    situation = make_situation(1)
    box = SearchBox([-0.5], [50.0])
    uniform = candidates(np.random.default_rng(0), situation, box, 400)[200:300]
    assert uniform.min() >= -0.5
    assert uniform.max() <= training_box(situation.gp, situation.mixture)[1][0]


def test_candidates_are_deterministic():
    situation, box = make_situation(3), square(3)
    one, two = (candidates(np.random.default_rng(5), situation, box, 99) for _ in range(2))
    np.testing.assert_array_equal(one, two)


def test_bad_numbers_of_candidates():
    with pytest.raises(ValueError, match="n must be at least 1"):
        candidates(np.random.default_rng(0), make_situation(2), square(), 0)
    with pytest.raises(ValueError, match="at least one row"):
        maximise(Hills(), square(), np.empty((0, 2)))


# The search


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("n_samples", [1, 3])
def test_search_reaches_the_optimum_of_a_dense_grid_in_one_dimension(name, n_samples):
    situation, box = quiet_situation(1, n_samples), square(1)
    rng = np.random.default_rng(0)
    score = by_name(name).prepare(rng, situation)
    found = maximise(score, box, candidates(rng, situation, box, 64))
    grid = np.linspace(-3, 3, 2001)[:, None]
    assert found.value > score.values(grid).max() - 1e-4
    assert found.value == pytest.approx(score.values(found.x[None])[0])


@pytest.mark.parametrize("name", ["viqr", "eig", "npro"])
def test_search_reaches_the_optimum_of_a_dense_grid_in_two_dimensions(name):
    situation, box = quiet_situation(2), square(2)
    rng = np.random.default_rng(0)
    score = by_name(name).prepare(rng, situation)
    found = maximise(score, box, candidates(rng, situation, box, 256))
    axis = np.linspace(-3, 3, 121)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    assert found.value > score.values(grid).max() - 1e-3


def test_local_search_improves_on_candidates_in_more_dimensions():
    situation, box = quiet_situation(5, 2, size=25), square(5)
    rng = np.random.default_rng(0)
    score = by_name("viqr").prepare(rng, situation)
    x = candidates(rng, situation, box, 128)
    found = maximise(score, box, x)
    more = candidates(rng, situation, box, 4096)
    assert found.value > score.values(x).max() + 0.01
    assert found.value > score.values(more).max()


@pytest.mark.parametrize("kind", [Hills, HillsWithGradient])
def test_search_climbs_with_and_without_gradient(kind):
    for dimension in (1, 2, 6):
        score = kind()
        found = maximise(score, square(dimension), spread(60, dimension))
        np.testing.assert_allclose(found.x, 1.0, atol=0.01)
        assert score.calls < 60 + 2 * 60 * (2 * dimension + 1)


def test_gradient_set_to_none_is_no_gradient():
    score = Hills()
    score.value_and_gradient = None
    np.testing.assert_allclose(maximise(score, square(), spread()).x, 1.0, atol=0.01)


def test_second_start_finds_the_other_hill():
    # The best candidate is on the lower hill
    x = np.array([[-1.0, -1.0], [-1.05, -1.0], [-0.95, -1.0], [0.3, 0.3]])
    assert Hills().values(x).argmax() == 0
    assert maximise(Hills(), square(), x, n_starts=1).x[0] < 0
    assert maximise(Hills(), square(), x, n_starts=2).x[0] > 0.9
    best = maximise(Hills(), square(), x, n_starts=0)
    np.testing.assert_array_equal(best.x, x[0])


def test_search_is_deterministic():
    one, two = (maximise(Hills(), square(), spread()) for _ in range(2))
    np.testing.assert_array_equal(one.x, two.x)
    assert one.value == two.value


def test_search_stays_in_the_box_or_with_its_candidates():
    found = maximise(Hills(), square(half=0.4), spread(half=0.4))
    np.testing.assert_allclose(found.x, 0.4, atol=1e-6)
    # a candidate outside enlarges the box for its own search
    found = maximise(Hills(), square(half=0.4), np.array([[0.2, 0.7]]))
    np.testing.assert_allclose(found.x, [0.4, 0.7 + 0.0], atol=1e-6)


def test_noise_is_held_fixed_and_then_looked_up():
    class Cells(HillsWithGradient):
        """Beyond 0.5 the noise is so high that nothing is worth measuring."""

        def __init__(self, noise=None):
            super().__init__()
            self.noise = noise

        def cost(self, x):
            return np.where(x[:, 0] > 0.5, 100.0, 0.0) if self.noise is None else self.noise

        def values(self, x):
            return super().values(x) - self.cost(x)

        def value_and_gradient(self, x):
            free = HillsWithGradient().value_and_gradient(x)
            return free[0] - float(self.cost(x[None])), free[1]

        def frozen_at(self, x):
            assert self.noise is None
            return Cells(float(self.cost(x[None])[0]))

    found = maximise(Cells(), square(), spread(), n_starts=1)
    assert found.x[0] <= 0.5
    assert found.value > -10
    assert found.value >= Cells().values(spread()).max()


def test_real_noise_jumps_are_judged_by_the_true_noise():
    situation = make_situation(1, 1, size=12)
    sd = np.where(np.arange(12) % 2, 0.05, 30.0)
    situation = Situation.of(situation.gp, situation.mixture, sd)
    score = by_name("viqr").prepare(np.random.default_rng(0), situation)
    grid = np.linspace(-3, 3, 4001)[:, None]
    found = maximise(score, square(1), grid[::10])
    assert found.value == pytest.approx(score.values(found.x[None])[0])
    assert found.value > score.values(grid).max() - 0.05


# Vetoes, snapping, bad scores


def test_vetoed_points_are_never_returned():
    found = maximise(Hills(), square(), spread(), allowed=lambda x: x[:, 0] < 0.2)
    assert found.x[0] < 0.2
    assert found.value == Hills().values(found.x[None])[0]
    only = spread()
    one = maximise(Hills(), square(), only, allowed=lambda x: x[:, 0] <= only[:, 0].min())
    assert one.x[0] <= only[:, 0].min()


def test_vetoed_points_are_not_scored():
    class Fussy(Hills):
        def values(self, x):
            assert np.all(x[:, 0] < 0.2)
            return super().values(x)

    fussy = Fussy()
    fussy.value_and_gradient = HillsWithGradient().value_and_gradient
    maximise(fussy, square(), spread(), allowed=lambda x: x[:, 0] < 0.2)


def test_all_vetoed_is_a_clear_error():
    with pytest.raises(ValueError, match=r"none of the 60 candidates is allowed.*box from"):
        maximise(Hills(), square(), spread(), allowed=lambda x: np.zeros(len(x), bool))


def test_snapped_points():
    def snap(x):
        return np.column_stack([np.round(x[:, 0] / 0.4) * 0.4, x[:, 1]])

    found = maximise(Hills(), square(), spread(), snap=snap)
    assert found.x[0] in (0.8, 1.2, 0.4 * 3)
    assert found.x[1] == pytest.approx(1.0, abs=0.02)
    assert found.value == Hills().values(found.x[None])[0]


def test_snapping_must_keep_the_points():
    with pytest.raises(ValueError, match="as many points as it is given, 60"):
        maximise(Hills(), square(), spread(), snap=lambda x: x[:3])


def test_snapping_comes_before_the_veto():
    found = maximise(
        Hills(), square(), spread(), snap=np.round, allowed=lambda x: (x == np.round(x)).all(axis=1)
    )
    np.testing.assert_array_equal(found.x, [1.0, 1.0])


def test_non_finite_scores_lose():
    class Broken(Hills):
        def values(self, x):
            values = super().values(x)
            values[x[:, 0] > 0.5] = np.nan
            values[x[:, 1] > 1.2] = np.inf
            return values

    found = maximise(Broken(), square(), spread())
    assert found.x[0] <= 0.5
    assert found.x[1] <= 1.2
    assert np.isfinite(found.value)


def test_an_allowed_point_is_returned_even_if_no_score_is_finite():
    class Hopeless:
        def values(self, x):
            return np.full(len(x), np.nan)

    found = maximise(Hopeless(), square(), spread(), allowed=lambda x: x[:, 0] > 1.0)
    assert found.x[0] > 1.0
    assert np.isneginf(found.value)


def test_users_own_acquisition_works_like_the_built_in_ones():
    class MostUncertain:
        def prepare(self, _, situation):
            class Uncertainty:
                def values(self, x):
                    return situation.gp.pooled(x)[1]

            return Uncertainty()

    situation, box, rng = make_situation(1), square(1, 2.0), np.random.default_rng(0)
    score = MostUncertain().prepare(rng, situation)
    found = maximise(score, box, candidates(rng, situation, box, 64))
    grid = np.linspace(-2, 2, 1001)[:, None]
    assert found.value > score.values(grid).max() - 1e-4


def test_one_candidate_and_identical_candidates():
    for x in (np.array([[0.8, 0.9]]), np.full((5, 2), 0.9)):
        np.testing.assert_allclose(maximise(Hills(), square(), x).x, 1.0, atol=0.01)


# The box


def test_box_expands_only_where_the_point_is_close():
    box = SearchBox([0.0, -10.0, 0.0], [1.0, 10.0, 4.0])
    wider = expand_box(box, [0.04, 9.5, 2.0])
    np.testing.assert_allclose(wider.lower, [-0.05, -10.0, 0.0])
    np.testing.assert_allclose(wider.upper, [1.0, 11.0, 4.0])
    same = expand_box(box, [0.5, 0.0, 2.0])
    np.testing.assert_array_equal(same.lower, box.lower)
    np.testing.assert_array_equal(same.upper, box.upper)


def test_the_box_reaches_beyond_a_point_far_outside():
    wider = expand_box(SearchBox([0.0, 0.0], [1.0, 2.0]), [-7.0, 9.0])
    np.testing.assert_allclose(wider.lower, [-7.05, 0.0])
    np.testing.assert_allclose(wider.upper, [1.0, 9.1])


@pytest.mark.parametrize(
    ("lower", "upper", "message"),
    [
        ([0.0], [0.0], "below"),
        ([0.0, 1.0], [2.0], "one length"),
        ([-np.inf], [1.0], "finite"),
        ([np.nan], [1.0], "finite"),
        (0.0, 1.0, "vectors"),
    ],
)
def test_bad_boxes_are_refused(lower, upper, message):
    with pytest.raises(ValueError, match=message):
        SearchBox(lower, upper)
