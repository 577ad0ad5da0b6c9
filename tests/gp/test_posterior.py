import numpy as np
import pytest
from helpers.gp import (
    NOISES,
    make_data,
    make_theta,
    naive_covariance,
    naive_kernel,
    naive_mean,
    naive_noise,
    theta_size,
)
from helpers.numeric import assert_near
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from quell.gp import GaussianProcess, TrainingData

dimensions = pytest.mark.parametrize("dimension", [1, 2, 5])
noises = pytest.mark.parametrize("noise", NOISES)
WEIGHTS = np.array([0.2, 0.5, 0.3])


def make_gp(dimension=2, noise="known", size=15, n_samples=3, **options):
    data = make_data(dimension, size, noise)
    return GaussianProcess.condition(data, make_theta(data, n=n_samples), **options)


def points(dimension, n, seed=0):
    return 0.5 + np.random.default_rng([seed, n]).normal(size=(n, dimension))


def test_one_sample_alone():
    gp = make_gp(weights=WEIGHTS)
    x = points(2, 7)
    mean, variance = gp.predict(x)
    for s in range(3):
        one = gp.only(s)
        np.testing.assert_array_equal(one.predict(x), (mean[s : s + 1], variance[s : s + 1]))
        np.testing.assert_array_equal(one.pooled(x)[0], mean[s])


def test_some_samples_keep_their_weights_in_proportion():
    gp = make_gp(weights=WEIGHTS)
    x = points(2, 7)
    some = gp.select(np.array([0, 2]))
    np.testing.assert_allclose(some.weights, gp.weights[[0, 2]] / gp.weights[[0, 2]].sum())
    np.testing.assert_array_equal(some.predict(x)[0], gp.predict(x)[0][[0, 2]])
    more = some.append(x[0], 1.0, 0.5)
    anew = GaussianProcess.condition(more.data, some.theta, some.weights)
    np.testing.assert_allclose(more.pooled(x), anew.pooled(x), rtol=1e-9)


def test_solving_in_two_halves():
    gp = make_gp()
    columns = points(15, 4).T
    for s in range(3):
        halves = gp.unwhiten(s, gp.whiten(s, columns))
        np.testing.assert_allclose(halves, gp.solve(s, columns), rtol=1e-9)


def naive_posterior(data, theta, a, b, x=None, variance=None):
    """Mean at ``a`` and covariance of ``a`` and ``b``; (x, variance) add pending points."""
    x = data.x if x is None else x
    variance = data.variance if variance is None else variance
    alpha = np.linalg.solve(
        naive_covariance(theta, data.x, data.variance), data.y - naive_mean(theta, data.x)
    )
    mean = naive_mean(theta, a) + naive_kernel(theta, a, data.x) @ alpha
    reduction = naive_kernel(theta, a, x) @ np.linalg.solve(
        naive_covariance(theta, x, variance), naive_kernel(theta, x, b)
    )
    return mean, naive_kernel(theta, a, b) - reduction


def assert_same_process(actual, expected, tolerance=1e-9, at=None):
    np.testing.assert_array_equal(actual.x, expected.x)
    np.testing.assert_allclose(actual.variance, expected.variance, rtol=1e-14)
    np.testing.assert_array_equal(actual.theta, expected.theta)
    np.testing.assert_array_equal(actual.weights, expected.weights)
    np.testing.assert_array_equal(actual.data.y, expected.data.y)
    assert_near(np.triu(actual.factors), np.triu(expected.factors), tolerance)
    assert_near(actual.alpha, expected.alpha, tolerance)
    at = points(actual.dimension, 7, seed=9) if at is None else at
    for one, other in zip(actual.predict(at), expected.predict(at), strict=True):
        assert_near(one, other, tolerance)


# Predictions


@dimensions
@noises
def test_mean_variance_and_covariance_match_the_formulas(dimension, noise):
    gp = make_gp(dimension, noise)
    a, b = points(dimension, 6), points(dimension, 4, seed=1)
    mean, variance = gp.predict(a)
    covariance = gp.covariance(a, b)
    assert (mean.shape, covariance.shape) == ((3, 6), (3, 6, 4))
    for s, theta in enumerate(gp.theta):
        expected_mean, between = naive_posterior(gp.data, theta, a, b)
        _, within = naive_posterior(gp.data, theta, a, a)
        assert_near(mean[s], expected_mean, 1e-9)
        assert_near(covariance[s], between, 1e-9)
        assert_near(variance[s], within.diagonal(), 1e-9)
    assert_near(gp.predict_mean(a), mean, 1e-12)


@dimensions
@noises
def test_predictions_agree_with_scikit_learn(dimension, noise):
    gp = make_gp(dimension, noise, n_samples=1)
    theta, data = gp.theta[0], gp.data
    shape = ConstantKernel(np.exp(2 * theta[dimension]), "fixed") * RBF(
        np.exp(theta[:dimension]), "fixed"
    )
    peer = GaussianProcessRegressor(
        shape, alpha=naive_noise(theta, data.variance, dimension), optimizer=None
    ).fit(data.x, data.y - naive_mean(theta, data.x))
    a = points(dimension, 8)
    expected_mean, expected_covariance = peer.predict(a, return_cov=True)
    mean, variance = gp.predict(a)
    assert_near(mean[0], expected_mean + naive_mean(theta, a), 1e-8)
    assert_near(gp.covariance(a, a)[0], expected_covariance, 1e-8)
    assert_near(variance[0], expected_covariance.diagonal(), 1e-8)


def test_far_from_the_data_only_the_mean_function_is_left():
    gp = make_gp(1)
    mean, variance = gp.predict([[1e3]])
    for s, theta in enumerate(gp.theta):
        assert mean[s, 0] == pytest.approx(naive_mean(theta, np.array([[1e3]]))[0])
        assert variance[s, 0] == pytest.approx(np.exp(2 * theta[1]))


def test_pooling_weighs_the_samples_and_adds_the_variance_between_them():
    gp = make_gp(weights=10 * WEIGHTS)
    a = points(2, 5)
    np.testing.assert_allclose(gp.weights, WEIGHTS)
    mean, variance = gp.pooled(a)
    means, variances = gp.predict(a)
    expected = sum(w * m for w, m in zip(WEIGHTS, means, strict=True))
    between = sum(w * (m - expected) ** 2 for w, m in zip(WEIGHTS, means, strict=True))
    within = sum(w * v for w, v in zip(WEIGHTS, variances, strict=True))
    np.testing.assert_allclose(mean, expected, rtol=1e-12)
    np.testing.assert_allclose(variance, within + between / (1 - sum(WEIGHTS**2)), rtol=1e-12)


def test_equal_weights_are_the_default_and_one_sample_pools_to_itself():
    np.testing.assert_allclose(make_gp().weights, 1 / 3)
    gp = make_gp(n_samples=1)
    a = points(2, 5)
    for pooled, single in zip(gp.pooled(a), gp.predict(a), strict=True):
        np.testing.assert_allclose(pooled, single[0], rtol=1e-14)


def test_factors_alpha_whiten_and_solve_belong_to_the_training_covariance():
    gp = make_gp(2, "partly")
    columns = points(15, 4).T
    for s, theta in enumerate(gp.theta):
        covariance = naive_covariance(theta, gp.x, gp.variance)
        lower = np.tril(gp.lower(s))
        assert_near(lower @ lower.T, covariance, 1e-12)
        assert_near(covariance @ gp.alpha[s], gp.data.y - naive_mean(theta, gp.x), 1e-10)
        assert_near(lower @ gp.whiten(s, columns), columns, 1e-11)
        assert_near(covariance @ gp.solve(s, columns), columns, 1e-10)
        assert_near(covariance @ gp.solve(s, columns[:, 0]), columns[:, 0], 1e-10)


def test_no_points_give_empty_predictions():
    gp = make_gp()
    none = np.empty((0, 2))
    mean, variance = gp.predict(none)
    assert mean.shape == variance.shape == (3, 0)
    assert gp.predict_mean(none).shape == (3, 0)
    assert gp.covariance(none, points(2, 2)).shape == (3, 0, 2)


def test_predicting_does_not_change_the_process():
    gp = make_gp()
    kept = [part.copy() for part in (gp.factors, gp.alpha, gp.x)]
    a = points(2, 5)
    first = gp.pooled(a)
    gp.covariance(a, a)
    gp.append([0.0, 0.0], 1.0)
    gp.append_pending([0.0, 0.0])
    for one, other in zip(kept, (gp.factors, gp.alpha, gp.x), strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(first, gp.pooled(a), strict=True):
        np.testing.assert_array_equal(one, other)


# One more observation


@noises
@pytest.mark.parametrize("place", ["new", "duplicate"])
def test_append_is_conditioning_on_all_data(noise, place):
    gp = make_gp(2, noise, weights=WEIGHTS)
    x = gp.x[4] if place == "duplicate" else np.array([0.3, -0.7])
    for sd in (0.0, 0.8) if noise in ("exact", "known") else (0.0, 0.8, np.nan):
        grown = gp.append(x, 1.7, sd)
        data = gp.data.append(TrainingData.from_arrays([x], [1.7], sd))
        assert_same_process(grown, GaussianProcess.condition(data, gp.theta, WEIGHTS))
        assert (grown.data.size, grown.n_pending) == (16, 0)


def test_many_appends_drift_nowhere():
    gp = make_gp(2)
    data = gp.data
    for x in points(2, 20, seed=3):
        gp = gp.append(x, float(x.sum()), 0.1)
        data = data.append(TrainingData.from_arrays([x], [x.sum()], 0.1))
    assert_same_process(gp, GaussianProcess.condition(data, gp.theta))


@noises
def test_several_points_appended_at_once_are_conditioned_on_like_one_after_the_other(noise):
    gp = make_gp(2, noise, weights=WEIGHTS)
    x, y = points(2, 5, seed=3), np.arange(5.0)
    one_by_one = pending_one_by_one = gp
    for place, value in zip(x, y, strict=True):
        one_by_one = one_by_one.append(place, value, 0.3)
        pending_one_by_one = pending_one_by_one.append_pending(place, 0.3)
    assert_same_process(gp.append(x, y, 0.3), one_by_one)
    pending = gp.append_pending(x, 0.3)
    assert_same_process(pending, pending_one_by_one)
    assert (pending.n_pending, gp.append(x, y, 0.3).data.size) == (5, 20)


def test_nothing_appended_changes_nothing():
    gp = make_gp(2)
    assert_same_process(gp.append_pending(np.empty((0, 2))), gp)


def test_the_same_point_appended_twice_at_once_counts_twice():
    gp = make_gp(2)
    twice = gp.append_pending([[0.3, -0.7], [0.3, -0.7]], 0.0)
    assert_same_process(twice, gp.append_pending([0.3, -0.7], 0.0).append_pending([0.3, -0.7], 0.0))


def test_append_rebuilds_where_the_bordered_update_fails(monkeypatch):
    gp = make_gp(2)
    expected = gp.append([0.1, 0.2], 0.5, 0.3)
    monkeypatch.setattr("quell.gp.posterior.extend_factor", lambda *_: None)
    assert_same_process(gp.append([0.1, 0.2], 0.5, 0.3), expected)
    monkeypatch.undo()
    pending = gp.append_pending([0.1, 0.2], 0.3).append_pending([0.4, 0.4], 0.2)
    monkeypatch.setattr("quell.gp.posterior.extend_factor", lambda *_: None)
    rebuilt = gp.append_pending([0.1, 0.2], 0.3).append_pending([0.4, 0.4], 0.2)
    assert_same_process(rebuilt, pending)
    assert rebuilt.n_pending == 2


# Pending points


@noises
def test_a_pending_point_changes_variances_as_its_value_would_and_no_mean(noise):
    gp = make_gp(2, noise)
    a, x = points(2, 6), [0.3, -0.7]
    for sd in (0.0, 0.6) if noise in ("exact", "known") else (0.6, np.nan):
        pending = gp.append_pending(x, sd)
        assert (pending.n_pending, pending.data.size) == (1, 15)
        np.testing.assert_allclose(
            pending.predict_mean(a), gp.predict_mean(a), rtol=1e-13, atol=1e-13
        )
        assert (pending.predict(a)[1] < gp.predict(a)[1]).all()
        for y in (-50.0, 3.0):
            grown = gp.append(x, y, sd)
            assert_near(pending.predict(a)[1], grown.predict(a)[1], 1e-11)
            assert_near(pending.covariance(a, a), grown.covariance(a, a), 1e-11)


def test_pending_points_one_by_one_or_at_once_match_the_formulas():
    gp = make_gp(2, "partly", weights=WEIGHTS)
    places, sds = points(2, 3, seed=5), [0.0, 0.4, np.nan]
    step_by_step = gp
    for x, sd in zip(places, sds, strict=True):
        step_by_step = step_by_step.append_pending(x, sd)
    at_once = GaussianProcess.condition(gp.data, gp.theta, WEIGHTS, pending=places, pending_sd=sds)
    assert at_once.n_pending == 3
    assert_same_process(step_by_step, at_once)
    a = points(2, 4)
    all_x = np.concatenate([gp.x, places])
    all_variance = np.concatenate([gp.variance, np.square(sds)])
    mean, variance = at_once.predict(a)
    for s, theta in enumerate(gp.theta):
        expected, covariance = naive_posterior(gp.data, theta, a, a, all_x, all_variance)
        assert_near(mean[s], expected, 1e-9)
        assert_near(variance[s], covariance.diagonal(), 1e-9)


@pytest.mark.parametrize("noise", ["known", "partly"])
def test_a_value_behind_pending_points_keeps_them_pending(noise):
    gp = make_gp(2, noise, weights=WEIGHTS)
    places, sds = points(2, 2, seed=5), [0.4, 0.2 if noise == "known" else np.nan]
    waiting = gp.append_pending(places[0], sds[0]).append_pending(places[1], sds[1])
    grown = waiting.append([0.3, -0.7], 1.7, 0.5)
    data = gp.data.append(TrainingData.from_arrays([[0.3, -0.7]], [1.7], 0.5))
    expected = GaussianProcess.condition(data, gp.theta, WEIGHTS, pending=places, pending_sd=sds)
    assert_same_process(grown, expected)
    assert grown.n_pending == 2
    np.testing.assert_array_equal(grown.alpha[:, data.size :], 0.0)


# What a new observation adds


@noises
def test_a_new_observation_adds_base_and_reported_noise(noise):
    gp = make_gp(2, noise)
    sds = np.array([0.0, 0.5] if noise in ("exact", "known") else [np.nan, 0.5])
    added = gp.new_observation_variance(sds, 2)
    expected = [naive_noise(theta, sds**2, 2) + 1e-13 * np.exp(2 * theta[2]) for theta in gp.theta]
    np.testing.assert_allclose(added, expected, rtol=1e-13)


# Ill-conditioned data


def hard_data():
    """Twelve places, each seen twice with different noise; values down to -1e6."""
    rng = np.random.default_rng(8)
    places = rng.normal(size=(12, 2))
    x = np.concatenate([places, places])
    low = -np.array([0.0, 1, 3, 8, 20, 50, 200, 1e3, 5e3, 2e4, 1e5, 1e6])
    sd = np.concatenate([np.full(12, 1.0), np.full(12, 0.5)])
    y = np.concatenate([low, low]) + sd * rng.normal(size=24)
    return TrainingData.from_arrays(x, y, sd)


def hard_theta(data, log_base_noise=-5.7):
    theta = np.zeros(theta_size(data))
    theta[:2], theta[2], theta[3] = -0.5, np.log(1e6), log_base_noise
    return theta[None]


def test_duplicates_with_very_low_values_are_fitted_by_their_weighted_mean():
    data = hard_data()
    gp = GaussianProcess.condition(data, hard_theta(data))
    precision = 1 / data.variance
    total = precision[:12] + precision[12:]
    expected = (precision[:12] * data.y[:12] + precision[12:] * data.y[12:]) / total
    mean, variance = gp.predict(data.x[:12])
    np.testing.assert_allclose(mean[0], expected, atol=0.3)
    assert (variance >= 0).all()
    assert (variance < 1.0).all()


def test_no_jitter_is_needed_for_exact_duplicates_on_the_noise_floor():
    data = hard_data()
    exact = TrainingData(data.x, data.y, np.zeros(24))
    gp = GaussianProcess.condition(exact, hard_theta(exact))
    assert (gp.jitter == 0).all()
    assert np.isfinite(gp.alpha).all()


def test_jitter_is_reported_and_part_of_the_model(monkeypatch):
    monkeypatch.setattr("quell.gp.pairs.NUGGET", 0.0)
    monkeypatch.setattr("quell.gp.posterior.NUGGET", 0.0)
    x = np.array([[0.0], [0.0], [1.0], [1.0], [3.0]])
    data = TrainingData.from_arrays(x, [1.0, 3.0, -1.0, -2.0, -5.0])
    theta = np.array([0.0, 0.0, -40.0, 0.0, 0.0, 0.0])
    gp = GaussianProcess.condition(data, [theta])
    assert 0 < gp.jitter[0] <= 1e-8
    lower = np.tril(gp.lower(0))
    assert_near(lower @ lower.T, naive_kernel(theta, x, x) + gp.jitter[0] * np.eye(5), 1e-15)
    np.testing.assert_allclose(gp.predict([[0.0], [1.0]])[0][0], [2.0, -1.5], atol=1e-3)

    grown = gp.append([3.0], -5.5)
    lower = np.tril(grown.lower(0))
    grown_kernel = naive_kernel(theta, grown.x, grown.x)
    assert_near(lower @ lower.T, grown_kernel + grown.jitter[0] * np.eye(6), 1e-15)
    np.testing.assert_allclose(grown.predict([[3.0]])[0][0], [-5.25], atol=1e-3)


def test_a_triplicate_with_almost_no_noise_can_be_appended():
    data = hard_data()
    exact = TrainingData(data.x, data.y, np.zeros(24))
    gp = GaussianProcess.condition(exact, hard_theta(exact, log_base_noise=-20.0))
    grown = gp.append(data.x[0], data.y[0]).append_pending(data.x[0])
    mean, variance = grown.predict(data.x)
    assert np.isfinite(mean).all()
    assert ((variance >= 0) & (variance < 1e4)).all()


# Errors


THETA = np.zeros((2, 9))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda gp: gp.predict([[0.0]]), r"x must have shape \(n, 2\), got \(1, 1\)"),
        (lambda gp: gp.predict([0.0, 0.0]), r"x must have shape \(n, 2\)"),
        (lambda gp: gp.predict([[0.0, np.nan]]), r"x\[0, 1\] must be finite"),
        (lambda gp: gp.predict_mean([[0.0]]), r"x must have shape"),
        (lambda gp: gp.pooled([[0.0, np.inf]]), r"x\[0, 1\] must be finite"),
        (lambda gp: gp.covariance([[0.0]], [[0.0, 0.0]]), r"a must have shape"),
        (lambda gp: gp.covariance([[0.0, 0.0]], [[0.0]]), r"b must have shape"),
        (lambda gp: gp.new_observation_variance([0.1], 2), "noise_sd must be"),
        (lambda gp: gp.append([0.0, np.nan], 0.0), r"x\[1\] must not be nan"),
        (lambda gp: gp.append([0.0, 0.0], np.nan), r"y\[0\] must be finite"),
        (lambda gp: gp.append([0.0, 0.0], 0.0, -1.0), r"noise_sd\[0\] must be non-negative"),
        (lambda gp: gp.append([0.0, 0.0], 0.0, np.nan), "noise_sd is nan"),
        (lambda gp: gp.append_pending([0.0]), r"x must have shape"),
        (lambda gp: gp.append_pending([0.0, np.nan]), r"x\[1\] must not be nan"),
        (lambda gp: gp.append_pending([0.0, 0.0], np.nan), "noise_sd is nan"),
        (lambda gp: gp.append_pending([0.0, 0.0], -2.0), r"noise_sd\[0\].*got -2"),
        (lambda gp: gp.condition(gp.data, THETA[:, :8]), r"theta must have shape \(n, 9\), got"),
        (lambda gp: gp.condition(gp.data, THETA[0]), r"theta must have shape \(n, 9\), got \(9,\)"),
        (lambda gp: gp.condition(gp.data, THETA * np.nan), r"theta\[0, 0\] \('log ell_1'\)"),
        (lambda gp: gp.condition(gp.data, THETA, [1.0]), r"weights must have shape \(2,\)"),
        (lambda gp: gp.condition(gp.data, THETA, [1.0, -1.0]), "weights must be non-negative"),
        (lambda gp: gp.condition(gp.data, THETA, [0.0, 0.0]), "weights .* positive sum"),
        (lambda gp: gp.condition(gp.data, THETA, [np.nan, 1.0]), "weights must be non-negative"),
        (lambda gp: gp.condition(gp.data, THETA, pending=[[0.0]]), "pending must have shape"),
        (
            lambda gp: gp.condition(gp.data, THETA, pending=[[0.0, 0.0]], pending_sd=np.nan),
            "pending_sd is nan",
        ),
    ],
)
def test_bad_arguments_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call(make_gp())


def test_append_names_x_when_its_columns_are_wrong():
    with pytest.raises(ValueError, match=r"x must have shape"):
        make_gp().append([0.0], 0.0)


def test_a_new_observation_of_unknown_noise_is_refused_where_all_is_known():
    with pytest.raises(ValueError, match="noise_sd is nan"):
        make_gp().new_observation_variance(np.nan, 1)


def test_a_negative_pending_sd_is_named():
    gp = make_gp()
    with pytest.raises(ValueError, match=r"pending_sd\[0\]"):
        gp.condition(gp.data, gp.theta, pending=[[0.0, 0.0]], pending_sd=-1.0)


def test_no_hyperparameter_samples_are_refused():
    with pytest.raises(ValueError, match="theta"):
        GaussianProcess.condition(make_data(2, 5), np.empty((0, 9)))
