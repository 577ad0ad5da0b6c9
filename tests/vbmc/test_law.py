"""The law of squared residuals, beside least squares."""

import numpy as np
import pytest

from quell.space.bounds import check_bounds
from quell.vbmc.law import OUTSIDE, fit_law, n_unknown
from quell.vbmc.plain import Plain

N_OBSERVATIONS = 12
X = np.column_stack([np.ones(N_OBSERVATIONS), np.linspace(50.0, 60.0, N_OBSERVATIONS)])
Y = 7.0 - 0.3 * X[:, 1] + 0.5 * np.cos(np.arange(N_OBSERVATIONS) ** 2)
LEAST_SQUARES = np.linalg.lstsq(X, Y, rcond=None)[0]
SMALLEST = float(np.sum((Y - X @ LEAST_SQUARES) ** 2))

#: What the third parameter may be: the SD as a function of it, its bounds and plausible box, and
#: the parameter of the largest likelihood.
SCALES = {
    "sd": (lambda t: t, (0.0, np.inf), (0.1, 5.0), lambda sd: sd),
    "variance": (np.sqrt, (0.0, np.inf), (0.05, 20.0), lambda sd: sd**2),
    "precision": (lambda t: t**-0.5, (0.0, np.inf), (0.05, 20.0), lambda sd: sd**-2),
    "log sd": (np.exp, (-np.inf, np.inf), (-2.0, 2.0), np.log),
    "log10 sd": (lambda t: 10.0**t, (-np.inf, np.inf), (-1.0, 1.0), np.log10),
    "sd between bounds": (lambda t: t, (0.01, 9.0), (0.1, 5.0), lambda sd: sd),
}


def log_likelihood(theta, sd_of):
    sd = sd_of(theta[:, 2])
    squares = np.sum((Y - theta[:, :2] @ X.T) ** 2, axis=1)
    return -0.5 * squares / sd**2 - N_OBSERVATIONS * np.log(sd)


def problem(scale, n=25, seed=0):
    """Bounds, n points uniform in the plausible box, and the SD as a function of the parameter."""
    sd_of, (low, high), (plausible_low, plausible_high), best = SCALES[scale]
    box = [-90.0, -2.0, plausible_low], [90.0, 2.0, plausible_high]
    bounds = check_bounds([-900, -20, low], [900, 20, high], *box)
    theta = np.random.default_rng(seed).uniform(*box, size=(n, 3))
    return bounds, theta, sd_of, best


def covariance_of(law):
    return law.root @ law.root.T


class TestResidualsOfUnknownScale:
    @pytest.mark.parametrize("scale", SCALES)
    def test_the_mode_is_that_of_least_squares(self, scale):
        bounds, theta, sd_of, best = problem(scale)
        law = fit_law(bounds, theta, log_likelihood(theta, sd_of), np.zeros(len(theta)))
        assert law.plain.scale == 2
        found = law.plain.inverse(law.mode[None])
        # The normal prior of one plausible width moves it by a small part of its SD.
        sds = np.sqrt(covariance_of(law).diagonal()) * law.plain.width
        assert np.all(np.abs(found[0, :2] - LEAST_SQUARES) < 0.1 * sds[:2])
        assert found[0, 2] == pytest.approx(best(np.sqrt(SMALLEST / N_OBSERVATIONS)), rel=0.02)
        assert law.top == pytest.approx(float(log_likelihood(found, sd_of)[0]), abs=1e-3)

    @pytest.mark.parametrize("scale", SCALES)
    def test_it_holds_where_nothing_was_evaluated(self, scale):
        bounds, theta, sd_of, _ = problem(scale)
        law = fit_law(bounds, theta, log_likelihood(theta, sd_of), np.zeros(len(theta)))
        other = problem(scale, seed=1)[1]
        assert np.allclose(law.value(other), log_likelihood(other, sd_of), rtol=1e-5, atol=1e-3)

    def test_the_covariance_is_the_inverse_curvature(self):
        bounds, theta, sd_of, _ = problem("sd")
        law = fit_law(bounds, theta, log_likelihood(theta, sd_of), np.zeros(len(theta)))
        variance = SMALLEST / N_OBSERVATIONS
        expected = np.linalg.inv(X.T @ X / variance)
        width = law.plain.width[:2]
        found = covariance_of(law)[:2, :2] * np.outer(width, width)
        assert np.allclose(found, expected, rtol=0.05)
        assert covariance_of(law)[2, 2] == pytest.approx(1 / (2 * N_OBSERVATIONS), rel=1e-3)
        assert not covariance_of(law)[2, :2].any()

    def test_noise_is_averaged(self):
        bounds, theta, sd_of, _ = problem("sd", n=60)
        noise = np.random.default_rng(3).standard_normal(60)
        law = fit_law(bounds, theta, log_likelihood(theta, sd_of) + noise, np.ones(60))
        assert (law.plain.scale, law.exponent) == (2, 2.0)
        truth = log_likelihood(law.plain.inverse(law.mode[None]), sd_of)[0]
        assert abs(law.top - truth) < 4 * law.error


class TestResidualsOfKnownScale:
    def test_a_quadratic_is_known_from_as_many_points_as_it_has_unknowns(self):
        rng = np.random.default_rng(0)
        bounds = check_bounds([-np.inf] * 4, [np.inf] * 4, [-1] * 4, [1] * 4)
        root = rng.normal(size=(4, 4))
        top = np.array([0.2, -0.3, 0.1, 0.4])
        theta = rng.uniform(-1, 1, size=(n_unknown(4) + 5, 4))
        y = 3.0 - 50.0 * np.sum(((theta - top) @ root) ** 2, axis=1)
        law = fit_law(bounds, theta, y, np.zeros(len(y)))
        assert law.plain.scale is None
        assert law.is_complete
        assert law.top == pytest.approx(3.0, abs=0.1)
        assert np.all(law.distances(top[None]) < 0.1)

    def test_where_the_curvature_is_not_known_it_stays_at_the_best_point(self):
        rng = np.random.default_rng(0)
        bounds = check_bounds([-np.inf] * 2, [np.inf] * 2, [-1, -1], [1, 1])
        theta = rng.uniform(-1, 1, size=(30, 2))
        y = -80.0 * (theta[:, 0] - 0.5) ** 2 + rng.standard_normal(30)
        law = fit_law(bounds, theta, y, np.ones(30))
        found = law.plain.inverse(law.mode[None])[0]
        assert found[0] == pytest.approx(0.5, abs=0.05)
        assert found[1] == pytest.approx(theta[np.argmax(y), 1], abs=0.3)
        assert covariance_of(law)[1, 1] > 0.05
        assert not law.is_complete

    def test_too_few_say_nothing(self):
        bounds = check_bounds([-9] * 2, [9] * 2, [-1] * 2, [1] * 2)
        theta = np.random.default_rng(0).uniform(-1, 1, size=(n_unknown(2) + 1, 2))
        assert fit_law(bounds, theta, -np.sum(theta**2, axis=1), np.zeros(len(theta))) is None

    def test_points_that_tell_nothing_apart_have_no_law(self):
        bounds = check_bounds([-9] * 2, [9] * 2, [-1] * 2, [1] * 2)
        theta = np.repeat(np.random.default_rng(0).uniform(-1, 1, size=(4, 2)), 5, axis=0)
        assert fit_law(bounds, theta, -np.sum(theta**2, axis=1), np.zeros(20)) is None


def test_draws_are_near_the_mode():
    bounds, theta, sd_of, _ = problem("sd")
    law = fit_law(bounds, theta, log_likelihood(theta, sd_of), np.zeros(len(theta)))
    drawn = law.sample(np.random.default_rng(0), 4000)
    assert np.mean(law.distances(drawn)) == pytest.approx(3.0, rel=0.1)
    assert np.mean(~law.is_near(drawn)) == pytest.approx(OUTSIDE, abs=2e-3)
    assert not law.is_near(theta).any()


def test_plain_coordinates_go_back_and_forth():
    bounds = check_bounds([0, -5, -np.inf, 3], [9, 5, np.inf, 3], [1, -1, -1, 3], [4, 1, 1, 3])
    plain = Plain.of(bounds)
    theta = np.array([[2.0, 0.3, -4.0], [0.5, -4.0, 2.0]])
    for scale in (None, 0, 1, 2):
        mixed = Plain(plain.centre, plain.width, plain.positive, scale)
        assert np.allclose(mixed.inverse(mixed.forward(theta)), theta)
    assert plain.positive.tolist() == [True, False, False]


def test_one_parameter_may_be_the_scale_alone():
    rng = np.random.default_rng(0)
    theta = rng.uniform(0.5, 8.0, size=(8, 1))
    y = -6.0 / theta[:, 0] ** 2 - 5 * np.log(theta[:, 0])
    law = fit_law(check_bounds(0, np.inf, 0.5, 8), theta, y, np.zeros(8))
    assert (law.plain.scale, law.exponent) == (0, 2.0)
    assert law.plain.inverse(law.mode[None])[0, 0] == pytest.approx(np.sqrt(12 / 5), rel=1e-3)


def test_units_may_be_of_any_size():
    rng = np.random.default_rng(0)
    bounds = check_bounds([-np.inf] * 2, [np.inf] * 2, [-1e200] * 2, [1e200] * 2)
    theta = 1e200 * rng.uniform(-1, 1, size=(20, 2))
    assert fit_law(bounds, theta, -1e8 * rng.random(20), np.zeros(20)) is not None
