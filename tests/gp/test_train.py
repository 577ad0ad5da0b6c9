from dataclasses import replace

import numpy as np
import pytest
from helpers.gp import make_data, naive_covariance, naive_kernel, naive_mean

from quell.gp import GaussianProcess, HyperparameterPrior, TrainingData, refresh, retrain, train
from quell.gp.hyperposterior import Hyperposterior, laplace_approximation
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import SCOUTING_DATA, Memory, climb, find_mode, maximise, search_modes


def rng(seed=1):
    return np.random.default_rng(seed)


def wavy(x):
    return -((x - 0.3) ** 2).sum(axis=1) + 2 * np.sin(1.5 * x[:, 0])


def wavy_data(seed, size=80, sd=1.0, reported=None):
    draw = np.random.default_rng([seed, size])
    x = 1.5 * draw.normal(size=(size, 2))
    y = wavy(x) + sd * draw.normal(size=size)
    return TrainingData.from_arrays(x, y, sd if reported is None else reported)


def target_of(data, **options):
    return Hyperposterior(MarginalLikelihood(data), HyperparameterPrior.for_data(data, **options))


def mode_value(data, fit):
    target = target_of(data)
    return target(target.prior.unconstrain(fit.mode))[0]


@pytest.fixture(scope="module")
def fits():
    """Data and a fit of eight samples, for six data sets."""
    return [(data, train(rng(3), data)) for data in map(wavy_data, range(6))]


# Calibration


def test_held_out_predictions_are_calibrated_on_a_wavy_quadratic(fits):
    x = 1.2 * rng(9).normal(size=(200, 2))
    z = []
    for _, fit in fits:
        mean, variance = fit.gp.pooled(x)
        z.append((wavy(x) - mean) / np.sqrt(variance))
        assert np.abs(mean - wavy(x)).mean() < 1.0
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.5


def test_held_out_predictions_are_calibrated_on_draws_of_the_model():
    theta = np.array([-0.2, 0.3, 1.0, -3.0, 5.0, 0.2, -0.2, 0.3, 0.5])
    z = []
    for seed in range(6):
        draw = rng(seed)
        x = draw.normal(size=(140, 2))
        root = np.linalg.cholesky(naive_kernel(theta, x, x) + 1e-9 * np.eye(140))
        f = naive_mean(theta, x) + root @ draw.normal(size=140)
        y = f[:80] + np.hypot(0.3, np.exp(-3.0)) * draw.normal(size=80)
        fit = train(rng(seed), TrainingData.from_arrays(x[:80], y, 0.3))
        mean, variance = fit.gp.pooled(x[80:])
        z.append((f[80:] - mean) / np.sqrt(variance))
    assert 0.6 < np.sqrt(np.mean(np.square(z))) < 1.5


def test_samples_lie_where_the_hyperposterior_is_high(fits):
    for data, fit in fits:
        target = target_of(data)
        best = mode_value(data, fit)
        values = [target(target.prior.unconstrain(theta))[0] for theta in fit.gp.theta]
        # Minus twice a log density ratio is about χ² with as many degrees as θ has entries.
        assert max(values) <= best + 0.1
        assert np.mean(values) > best - 2 * len(fit.mode)
        assert len(np.unique(fit.gp.theta, axis=0)) > 1


def test_samples_are_as_wide_as_the_hyperposterior(fits):
    data, fit = fits[0]
    target = target_of(data)
    many = train(rng(0), data, n_samples=150, previous=fit)
    u = target.prior.unconstrain(many.gp.theta)
    sd = np.sqrt((many.root**2).sum(axis=1))
    ratio = u.std(axis=0) / sd
    assert 0.5 < np.median(ratio) < 3.0
    assert (ratio > 0.3).all()
    # Wider than the curvature at the mode they may be, where the density is flat: not lower.
    values = [target(state)[0] for state in u]
    assert np.mean(values) > mode_value(data, fit) - len(fit.mode)


def test_a_pure_quadratic_is_found_by_the_mean_function():
    x = rng(0).normal(size=(40, 2))
    data = TrainingData.from_arrays(x, 7 - 0.5 * ((x - 0.5) ** 2 / [1.0, 4.0]).sum(axis=1))
    gp = train(rng(1), data).gp
    far = np.array([[3.0, 3.0], [-3.0, 2.0]])
    mean, _ = gp.pooled(far)
    np.testing.assert_allclose(
        mean, 7 - 0.5 * ((far - 0.5) ** 2 / [1.0, 4.0]).sum(axis=1), atol=0.5
    )


# Noise of unknown size


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("kind", ["unknown", "partly", "guessed"])
def test_unknown_noise_is_recovered_within_a_factor_of_two(seed, kind):
    reported = np.where(np.arange(150) % 2, 2.0, np.nan) if kind == "partly" else np.nan
    data = wavy_data(seed, 150, sd=2.0, reported=reported)
    guess = 1.0 if kind == "guessed" else None
    fit = train(rng(3), data, prior=HyperparameterPrior.for_data(data, noise_guess=guess))
    assert 2.0 < np.exp(fit.mode[-1]) < 8.0
    assert 2.0 < np.exp(fit.gp.theta[:, -1].mean()) < 8.0


# Mode


@pytest.mark.parametrize("noise", ["exact", "known", "unknown", "partly"])
def test_the_gradient_vanishes_at_the_mode(noise):
    data = make_data(2, 40, noise)
    fit = train(rng(), data, n_samples=0)
    target = target_of(data)
    u = target.prior.unconstrain(fit.mode)
    _, gradient = target(u)
    root = laplace_approximation(target, u).root
    assert np.linalg.norm(gradient @ root) < 0.2


def test_a_warm_start_reaches_the_mode_of_a_cold_search(fits):
    for data, cold in fits:
        half = train(rng(1), data.subset(np.arange(40)))
        warm = train(rng(2), data, n_samples=0, previous=half)
        assert warm.evaluations > 0
        assert mode_value(data, warm) > mode_value(data, cold) - 0.3
        assert mode_value(data, half) < mode_value(data, warm)


def stale(fit, data, seed=0):
    """The fit with its memory replaced by one random vector of poor density."""
    target = target_of(data)
    design = target.prior.draw(rng(seed), 50)
    worst = design[np.argmin([target.score(theta) for theta in design])]
    gp = GaussianProcess.condition(data, worst[None])
    return replace(fit, gp=gp, mode=worst)


def test_a_search_leaves_a_stale_mode(fits):
    data, cold = fits[0]
    again = train(rng(4), data, n_samples=0, previous=stale(cold, data), search=True)
    assert mode_value(data, again) > mode_value(data, cold) - 0.3


@pytest.fixture
def starts(monkeypatch):
    """Collects the vectors u from which the mode is sought."""
    seen = []

    def spy(target, start, *args, **options):
        seen.append(start)
        return climb(target, start, *args, **options)

    monkeypatch.setattr("quell.gp.mode.climb", spy)
    return seen


def test_a_warm_start_begins_at_the_best_remembered_vector(fits, starts):
    data, cold = fits[0]
    bad = stale(cold, data).mode
    target = target_of(data)
    for remembered in (
        replace(cold, mode=bad),
        replace(cold, gp=GaussianProcess.condition(data, np.stack([bad, bad]))),
    ):
        starts.clear()
        warm = train(rng(4), data, n_samples=0, previous=remembered, search=False)
        values = [target.score(t) for t in (remembered.mode, *remembered.gp.theta)]
        first = target.score(target.prior.constrain(starts[0]))
        assert first == pytest.approx(max(values), abs=1e-6)
        assert mode_value(data, warm) > mode_value(data, cold) - 0.3


def test_a_search_begins_at_the_default_and_at_good_random_vectors(fits, starts):
    data, _ = fits[0]
    target = target_of(data)
    default = target.prior.unconstrain(target.prior.start)
    train(rng(4), data, n_samples=0)
    others = [u for u in starts if not np.allclose(u, default)]
    assert 0 < len(others) < len(starts)
    scores = [target.score(theta) for theta in target.prior.draw(rng(0), 50)]
    for u in others:
        assert target.score(target.prior.constrain(u)) > np.quantile(scores, 0.9)


def test_the_same_maximum_with_and_without_a_root(fits):
    data, fit = fits[1]
    target = target_of(data)
    start = target.prior.unconstrain(fit.mode) + 0.1
    (plain, plain_value), (scaled, scaled_value) = (
        climb(target, start, root) for root in (None, fit.root)
    )
    assert plain_value == pytest.approx(scaled_value, abs=0.1)
    assert plain_value == pytest.approx(target(plain)[0], abs=1e-9)
    assert scaled_value == pytest.approx(target(scaled)[0], abs=1e-9)
    assert plain_value > target(start)[0]


def test_a_search_along_the_curvature_ends_no_lower_than_a_plain_one():
    for seed in range(4):
        target = target_of(wavy_data(seed, 60))
        start = target.prior.unconstrain(target.prior.start)
        u, value = maximise(target, start)
        assert value == pytest.approx(target(u)[0], abs=1e-9)
        assert value > climb(target, climb(target, start)[0])[1] - 0.5


def test_a_search_stays_at_a_mode_that_nothing_overtakes(fits, starts):
    data, fit = fits[1]
    target = target_of(data)
    known = maximise(target, target.prior.unconstrain(fit.mode))
    starts.clear()
    assert search_modes(rng(), target, known) is known
    assert len(starts) == 3  # the default, the best of a design, and the known one


def test_a_search_leaves_a_mode_that_is_overtaken(fits):
    data, fit = fits[0]
    target = target_of(data)
    u = target.prior.unconstrain(stale(fit, data).mode)
    found = search_modes(rng(), target, (u, target(u)[0]))
    assert found[1] > mode_value(data, fit) - 0.3


def test_many_data_are_searched_by_a_part_of_them(monkeypatch):
    data = wavy_data(3, 200)
    sizes = []
    original = Hyperposterior.score

    def spy(self, theta):
        sizes.append(self.marginal.data.size)
        return original(self, theta)

    monkeypatch.setattr(Hyperposterior, "score", spy)
    searched = find_mode(rng(4), target_of(data))
    assert set(sizes) == {SCOUTING_DATA}
    target = target_of(data)
    local = maximise(target, target.prior.unconstrain(target.prior.start))
    assert target(searched)[0] > local[1] - 0.3


def test_a_mode_needs_a_previous_fit_or_a_search():
    with pytest.raises(ValueError, match="search=True"):
        find_mode(rng(), target_of(make_data(1, 10)), search=False)


# What a fit holds


@pytest.mark.parametrize("noise", ["known", "unknown"])
def test_a_fit_of_no_samples_is_the_mode(noise):
    data = make_data(2, 20, noise)
    fit = train(rng(), data, n_samples=0)
    assert fit.gp.n_samples == 1
    np.testing.assert_array_equal(fit.gp.theta[0], fit.mode)
    assert np.isnan(fit.acceptance)
    assert fit.step > 0
    warm = train(rng(), data, n_samples=3, previous=fit)
    assert warm.gp.n_samples == 3


def test_a_fit_conditions_on_the_data_with_equal_weights_inside_the_bounds(fits):
    for data, fit in fits:
        prior = HyperparameterPrior.for_data(data)
        assert fit.gp.data is data
        np.testing.assert_allclose(fit.gp.weights, 1 / 8)
        assert ((prior.lower < fit.gp.theta) & (fit.gp.theta < prior.upper)).all()
        assert fit.root.shape == (9, 9)
        assert 0.3 < fit.acceptance <= 1.0
        assert fit.evaluations > 8
        theta = fit.gp.theta[2]
        residual = data.y - naive_mean(theta, data.x)
        expected = np.linalg.solve(naive_covariance(theta, data.x, data.variance), residual)
        np.testing.assert_allclose(fit.gp.alpha[2], expected, atol=1e-7)


def test_training_repeats_with_the_generator():
    data = make_data(2, 25)
    first, second, other = (train(rng(seed), data, n_samples=3) for seed in (5, 5, 6))
    np.testing.assert_array_equal(first.gp.theta, second.gp.theta)
    np.testing.assert_array_equal(first.mode, second.mode)
    assert not np.array_equal(first.gp.theta, other.gp.theta)


def test_a_prior_of_ones_own_is_used():
    data = make_data(2, 20)
    default = HyperparameterPrior.for_data(data)
    upper = default.upper.copy()
    upper[0] = -2.0
    fit = train(rng(), data, n_samples=4, prior=replace(default, upper=upper))
    assert (fit.gp.theta[:, 0] < -2.0).all()
    assert fit.mode[0] < -2.0


def test_the_plausible_range_reaches_the_prior():
    data = make_data(1, 6)
    near, far = (HyperparameterPrior.for_data(data, plausible_range=width) for width in (1e-2, 1e2))
    modes = [train(rng(), data, n_samples=0, prior=prior).mode[0] for prior in (near, far)]
    assert modes[0] < modes[1]


@pytest.mark.parametrize("size", [2, 3, 5])
def test_very_few_points_can_be_fitted(size):
    fit = train(rng(), make_data(2, size), n_samples=3)
    assert np.isfinite(fit.gp.pooled(np.zeros((1, 2)))).all()


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ([[0.0, 3.0], [1.0, 3.0], [2.0, 3.0], [4.0, 3.0]], [0.0, -1.0, -4.0, -16.0]),
        ([[0.0, 3.0], [1.0, 4.0], [2.0, 7.0], [3.0, 1.0]], [-5.0, -5.0, -5.0, -5.0]),
        ([[0.0, 3.0], [0.0, 3.0], [0.0, 3.0], [1.0, 1.0]], [-5.0, -5.1, -4.9, -1e6]),
    ],
    ids=["constant coordinate", "constant y", "triplicate and -1e6"],
)
def test_degenerate_data_can_be_fitted(x, y):
    fit = train(rng(), TrainingData.from_arrays(x, y), n_samples=3)
    mean, variance = fit.gp.pooled(x)
    assert np.isfinite(mean).all()
    assert (variance >= 0).all()


# Known and unknown noise in turn


def test_a_previous_fit_of_another_model_is_left_aside():
    known, unknown = make_data(2, 20, "known"), make_data(2, 20, "unknown")
    previous = train(rng(), known, n_samples=2)
    fit = train(rng(), unknown, n_samples=2, previous=previous)
    assert fit.mode.shape == (10,)


def test_a_previous_fit_of_another_model_makes_a_search_necessary():
    known, unknown = make_data(2, 20, "known"), make_data(2, 20, "unknown")
    previous = train(rng(), known, n_samples=0)
    assert train(rng(), unknown, n_samples=0, previous=previous, search=False).gp.n_samples == 1


# Refresh


def test_refresh_keeps_samples_and_weights_and_takes_the_new_data(fits):
    data, fit = fits[0]
    weights = np.arange(1.0, 9.0) / 36
    weighted = replace(fit, gp=replace(fit.gp, weights=weights))
    more = data.append(wavy_data(77, 5))
    new = refresh(rng(), weighted, more)
    prior = HyperparameterPrior.for_data(more)
    assert new.gp.n_samples == 8
    assert new.gp.data is more
    np.testing.assert_allclose(new.gp.weights, weights)
    assert ((prior.lower < new.gp.theta) & (new.gp.theta < prior.upper)).all()
    assert 0 <= new.acceptance <= 1
    assert not np.array_equal(new.gp.theta, fit.gp.theta)
    x = 1.2 * rng(9).normal(size=(200, 2))
    mean, variance = new.gp.pooled(x)
    assert 0.4 < np.sqrt(np.mean((mean - wavy(x)) ** 2 / variance)) < 2.5


def test_refreshed_samples_stay_in_the_hyperposterior(fits):
    data, fit = fits[2]
    target = target_of(data)
    best = mode_value(data, fit)
    for step in range(10):
        fit = refresh(rng(step), fit, data)
    values = [target(target.prior.unconstrain(theta))[0] for theta in fit.gp.theta]
    assert best - 2 * len(fit.mode) < np.mean(values) < best


def test_refresh_repeats_with_the_generator_and_feeds_the_next_fit(fits):
    data, fit = fits[0]
    first, second = (refresh(rng(5), fit, data) for _ in range(2))
    np.testing.assert_array_equal(first.gp.theta, second.gp.theta)
    again = train(rng(6), data, n_samples=4, previous=first)
    assert again.gp.n_samples == 4
    assert mode_value(data, again) > mode_value(data, fit) - 0.3


# Retrain


def test_retrain_follows_growing_data_at_a_fraction_of_the_price(fits):
    data, fit = fits[0]
    more = data.append(wavy_data(77, 5))
    new = retrain(rng(), fit, more)
    cold = train(rng(), more)
    assert new.gp.data is more
    assert new.gp.n_samples == 8
    assert new.evaluations < cold.evaluations / 2
    assert mode_value(more, new) > mode_value(more, cold) - 0.3


def test_retrain_from_a_memory_without_a_metric(fits):
    data, fit = fits[0]
    turned = Memory(fit.memory.vectors + 0.2, None, fit.step)
    new = retrain(rng(), turned, data)
    assert mode_value(data, new) > mode_value(data, fit) - 0.3
    target = target_of(data)
    values = [target(target.prior.unconstrain(theta))[0] for theta in new.gp.theta]
    assert mode_value(data, fit) - 2 * len(fit.mode) < np.mean(values) < mode_value(data, fit) + 0.3
    metric = laplace_approximation(target, target.prior.unconstrain(new.mode)).root
    np.testing.assert_allclose(new.root @ new.root.T, metric @ metric.T, rtol=1e-3, atol=1e-6)


def test_retrain_starts_a_new_chain_where_the_samples_are_stale(fits):
    data, fit = fits[0]
    far = stale(fit, data)
    lost = replace(far, gp=GaussianProcess.condition(data, np.stack([far.mode] * 8)))
    new = retrain(rng(), lost, data, search=True)
    target = target_of(data)
    values = [target(target.prior.unconstrain(theta))[0] for theta in new.gp.theta]
    assert min(values) > mode_value(data, fit) - 4 * len(fit.mode)
    assert len(np.unique(new.gp.theta[:, 0])) > 1


# Errors


def test_a_negative_number_of_samples_is_refused():
    with pytest.raises(ValueError, match=r"n_samples must be 0 .* got -1"):
        train(rng(), make_data(2, 10), n_samples=-1)


def test_one_observation_is_refused():
    with pytest.raises(ValueError, match="at least 2 observations"):
        train(rng(), make_data(2, 1))


def test_a_prior_for_another_model_is_refused():
    prior = HyperparameterPrior.for_data(make_data(2, 10, "unknown"))
    with pytest.raises(ValueError, match="prior is for"):
        train(rng(), make_data(2, 10, "known"), prior=prior)


def test_refresh_refuses_data_of_another_model_by_name():
    fit = train(rng(), make_data(2, 10, "known"), n_samples=1)
    with pytest.raises(ValueError, match="data"):
        refresh(rng(), fit, make_data(2, 10, "unknown"))


@pytest.mark.parametrize("seed", range(4))
def test_one_unknown_sd_among_many_data(seed):
    """A search that looks at a part of the data may miss it."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(160, 2))
    sd = np.full(160, 0.5)
    sd[3] = np.nan
    data = TrainingData.from_arrays(x, -0.5 * (x**2).sum(axis=1) + rng.normal(size=160) / 2, sd)
    fit = train(rng, data, n_samples=0)
    assert fit.gp.layout.unknown_noise
