"""The evidence by importance sampling, against quadrature of functions drawn from the surrogate."""

from dataclasses import replace

import numpy as np
import pytest

from quell.gp import TrainingData
from quell.gp.model import Layout, kernel, mean_function
from quell.mixture import Mixture, normal_base_sample
from quell.quadrature import Quadrature
from quell.space import InferenceSpace
from quell.variational import evaluate_elbo
from quell.vbmc.evidence import (
    LARGEST_CORRECTION,
    Draws,
    _borne_out,
    _common,
    _convexity,
    _second_order,
    evidence,
    truncated,
)
from quell.vbmc.state import Solution


def rng(seed=1):
    return np.random.default_rng(seed)


def solution(mixture, theta, y=None, noise_sd=0.0, n=17):
    """A surrogate of one coordinate with data on [-4, 4], and a mixture that need not fit it."""
    x = np.linspace(-4, 4, n)
    data = TrainingData.from_arrays(x[:, None], -0.5 * x**2 if y is None else y, noise_sd)
    space = InferenceSpace.from_bounds([-np.inf], [np.inf], [-1.0], [1.0])
    theta = np.atleast_2d(theta)
    first = Solution(space, mixture, None, data, theta, np.full(len(theta), 1 / len(theta)))
    elbo = evaluate_elbo(
        Quadrature(first.surrogate()), mixture, normal_base_sample(4096, 1, rng(0))
    )
    return replace(first, elbo=elbo)


GRID = np.linspace(-12, 12, 401)[:, None]


def log_integral(f):
    """log ∫ exp f over the grid, for values f (..., 401)."""
    return np.log(np.trapezoid(np.exp(f), GRID[:, 0], axis=-1))


def log_integral_of_the_mean(solved):
    return float(log_integral(solved.surrogate().pooled(GRID)[0]))


def expected_log_integral(solved, n=4000):
    """The mean of log Z over functions drawn from the surrogate, a sample of θ at a time."""
    gp = solved.surrogate()
    means, _ = gp.predict(GRID)
    found = []
    for mean, covariance in zip(means, gp.covariance(GRID, GRID), strict=True):
        values, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        f = mean + rng(3).standard_normal((n, len(GRID))) @ root.T
        found.append(log_integral(f))
    return float(np.mean(found))


# log ℓ, log σ_f, log σ̄, m_0, x_m, log ω
THETAS = [[0.0, 1.0, -5.0, 0.0, 0.0, 0.0], [0.5, 1.5, -5.0, 0.0, 0.3, 0.1]]


@pytest.mark.parametrize("scale", [0.9, 1.0, 1.3])
def test_it_is_the_integral_of_the_surrogate_whatever_the_mixture(scale):
    solved = solution(Mixture([1.0], [[0.1]], [scale], [1.0]), THETAS)
    found = evidence(rng(), solved, importance=True)
    assert found.method == "importance sampling"
    assert found.value == pytest.approx(log_integral_of_the_mean(solved), abs=0.02)
    assert solved.elbo.sd <= found.sd < solved.elbo.sd + 0.05


@pytest.mark.parametrize("noise_sd", [1.0, 3.0])
@pytest.mark.parametrize("theta", [THETAS[:1], THETAS])
def test_convexity_is_what_the_expectation_over_functions_adds(noise_sd, theta):
    """Against draws of whole functions; the expansion is to second order."""
    solved = solution(Mixture([1.0], [[0.0]], [1.0], [1.0]), theta, noise_sd=noise_sd)
    found = evidence(rng(), solved, importance=True)
    of_mean = log_integral_of_the_mean(solved)
    gain = expected_log_integral(solved) - of_mean
    assert gain > 0.05
    assert found.of_mean == pytest.approx(of_mean, abs=0.02)
    assert found.convexity == pytest.approx(gain, abs=0.02 + 0.2 * gain)
    assert found.sd >= np.hypot(solved.elbo.sd, 0.7 * gain)


def errors_over_worlds(theta, noise_sd, *, wiggles, n=41, runs=60):
    """Errors (runs, 3) of log Z(f̄), with the whole convexity, and of the estimate.

    In each run f is drawn from the prior of the surrogate, or with ``wiggles=False`` it is the
    mean function, and is observed with noise.
    """
    x, draws = np.linspace(-4, 4, n)[:, None], rng(11)
    hyper = Layout(1).unpack(np.array(theta))
    points = np.concatenate([x, GRID])
    values, vectors = np.linalg.eigh(kernel(hyper, points, points))
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    errors = []
    for _ in range(runs):
        f = mean_function(hyper, points)
        if wiggles:
            f = f + root @ draws.standard_normal(len(points))
        y = f[:n] + noise_sd * draws.standard_normal(n)
        wide = Mixture([1.0], [[0.0]], [1.2], [1.0])
        solved = solution(wide, theta, y=y, noise_sd=noise_sd, n=n)
        found = evidence(draws, solved, importance=True)
        whole = found.of_mean + found.convexity
        errors.append(np.array([found.of_mean, whole, found.value]) - log_integral(f[n:]))
    return np.array(errors)


def test_where_the_function_departs_from_its_mean_it_has_no_bias():
    # log ℓ, log σ_f, log σ̄, m_0, x_m, log ω
    errors = errors_over_worlds([-2.0, 0.2, -5.0, 0.0, 0.0, 0.0], 1.0, wiggles=True)
    of_mean, _, reported = errors.mean(axis=0)
    standard_error = errors[:, 2].std() / np.sqrt(len(errors))
    assert of_mean < -0.15
    assert reported == pytest.approx(0.0, abs=0.05 + 2 * standard_error)


def test_where_it_does_not_what_the_surrogate_only_says_is_hardly_counted():
    """Departures so short, and so small beside the noise, that no data could show them."""
    errors = errors_over_worlds([-3.0, 0.0, -5.0, 0.0, 0.0, 0.0], 3.0, wiggles=False)
    of_mean, whole, reported = errors.mean(axis=0)
    assert whole - of_mean > 0.4
    assert reported - of_mean < 0.25 * (whole - of_mean)


def test_departures_that_explain_misreported_noise_are_not_believed():
    """Noise of SD 2.5 that is said to have 0.2: it can only be f, if that has no smoothness."""
    y = -0.5 * np.linspace(-4, 4, 41) ** 2 + 2.5 * rng(5).standard_normal(41)
    wide = Mixture([1.0], [[0.0]], [1.2], [1.0])
    solved = solution(wide, [-4.0, 1.0, -5.0, 0.0, 0.0, 0.0], y=y, noise_sd=0.2, n=41)
    found = evidence(rng(), solved, importance=True)
    assert _borne_out(solved.surrogate())[0] > 0.5
    assert found.convexity > LARGEST_CORRECTION
    assert found.value == found.of_mean
    assert found.sd > LARGEST_CORRECTION


@pytest.mark.parametrize("departs", [0.0, 1.0, 3.0])
def test_what_the_data_bear_out_against_the_formula(departs):
    """ρ̂ and its variance from dense matrices, as in the module's docstring."""
    n, noise_sd = 23, 1.5
    x = np.linspace(-4, 4, n)[:, None]
    hyper = Layout(1).unpack(np.array(THETAS[0]))
    k = kernel(hyper, x, x)
    draws = rng(8)
    f = mean_function(hyper, x) + departs * (np.linalg.cholesky(k + 1e-9 * np.eye(n))
                                             @ draws.standard_normal(n))  # fmt: skip
    y = f + noise_sd * draws.standard_normal(n)
    gp = solution(Mixture([1.0], [[0.0]], [1.0], [1.0]), THETAS[:1], y, noise_sd, n).surrogate()
    a = np.linalg.inv(k + (noise_sd**2 + hyper.base_variance) * np.eye(n))
    h = np.column_stack([np.ones(n), x, x**2])
    p = a - a @ h @ np.linalg.inv(h.T @ a @ h) @ h.T @ a
    r = y - mean_function(hyper, x)
    information = np.trace(p @ k @ p @ k)
    rho = 1 + (r @ p @ k @ p @ r - np.trace(p @ k)) / information
    expected = np.clip(rho / (1 + 2 / information), 0, 1)
    np.testing.assert_allclose(_borne_out(gp), expected, atol=1e-8)


def test_too_few_data_bear_out_nothing():
    """With no more data than terms of the mean function there is nothing left to look at."""
    gp = solution(Mixture([1.0], [[0.0]], [1.0], [1.0]), THETAS, n=3).surrogate()
    np.testing.assert_allclose(_borne_out(gp), 0.0, atol=1e-6)


def test_the_elbo_is_lower_by_the_divergence():
    solved = solution(Mixture([1.0], [[0.0]], [1.3], [1.0]), THETAS)
    found = evidence(rng(), solved, importance=True)
    assert found.value > solved.elbo.value + 0.03


def test_without_importance_sampling_it_is_the_elbo():
    solved = solution(Mixture([1.0], [[0.1]], [1.3], [1.0]), THETAS)
    found = evidence(rng(), solved, importance=False)
    assert (found.value, found.sd, found.method) == (solved.elbo.value, solved.elbo.sd, "elbo")


@pytest.mark.parametrize(
    "mixture",
    [
        Mixture([1.0], [[0.0]], [0.3], [1.0]),  # far too narrow: few draws carry all weight
        Mixture([1.0], [[2.5]], [0.5], [1.0]),  # beside the mass
    ],
)
def test_weights_that_cannot_be_trusted_leave_the_elbo(mixture):
    solved = solution(mixture, THETAS)
    assert log_integral_of_the_mean(solved) - solved.elbo.value > min(LARGEST_CORRECTION, 0.5)
    found = evidence(rng(), solved, importance=True)
    assert found.method == "corrected elbo"
    assert found.of_mean == solved.elbo.value
    assert 0 <= found.value - found.of_mean <= LARGEST_CORRECTION
    # What the weights would have added is part of the SD.
    assert 2 * found.sd > log_integral_of_the_mean(solved) - found.of_mean


def test_much_is_believed_where_the_surrogate_knows():
    """A mixture so wide that its ELBO is nats too low, but all of it among evaluations."""
    solved = solution(Mixture([1.0], [[0.0]], [8.0], [1.0]), THETAS)
    assert log_integral_of_the_mean(solved) - solved.elbo.value > LARGEST_CORRECTION
    found = evidence(rng(), solved, importance=True)
    assert found.method == "importance sampling"
    assert found.of_mean == pytest.approx(log_integral_of_the_mean(solved), abs=0.05)


def test_much_is_not_believed_where_it_knows_less():
    """Values that rise towards the last evaluation, and a mean function that goes on rising."""
    x = np.linspace(-4, 4, 17)
    theta = [0.5, 1.0, -5.0, 4.0, 9.0, 1.0]
    solved = solution(Mixture([1.0], [[2.0]], [3.5], [1.0]), theta, y=1.2 * x)
    found = evidence(rng(), solved, importance=True)
    assert log_integral_of_the_mean(solved) - solved.elbo.value > LARGEST_CORRECTION
    assert found.method == "corrected elbo"
    assert found.sd > LARGEST_CORRECTION


def with_far_draws(log_width, share=0.002, scale=4.0):
    """A few draws lie beyond the data, where f is known to e^3 nats and is as high as m says.

    Among the data f departs from m, so that what the surrogate says of f is borne out.
    """
    mixture = Mixture([1 - share, share], [[0.0], [0.0]], [1.0, scale], [1.0])
    x = np.linspace(-4, 4, 17)
    y = -0.5 * x**2 + 0.3 * np.sin(3 * x)
    return solution(mixture, [0.0, 3.0, -5.0, 0.0, 0.0, log_width], y=y)


def among_the_data(solved):
    """log Z(f̄) without what is beyond the data."""
    near = abs(GRID[:, 0]) <= 4.5
    f = solved.surrogate().pooled(GRID[near])[0]
    return float(np.log(np.trapezoid(np.exp(f), GRID[near, 0])))


@pytest.mark.parametrize("log_width", [0.6, 0.8, 1.0, 1.3, 2.0, 3.0])
def test_a_few_draws_where_the_surrogate_knows_nothing_do_not_rule(log_width):
    """Neither by its variance nor by its mean, whichever draws there happen to be."""
    solved = with_far_draws(log_width)
    found = [evidence(rng(seed), solved, importance=True) for seed in range(12)]
    values, sds, convexities = np.array([(f.value, f.sd, f.convexity) for f in found]).T
    np.testing.assert_allclose(values, among_the_data(solved), atol=0.08)
    assert sds.max() < 0.1
    assert convexities.max() < 0.06


def test_one_draw_with_most_of_the_weight_is_not_part_of_it():
    """It is at a place that is not known; log Z(f̄) is then bounded from below by what is."""
    solved = with_far_draws(3.0)
    x = rng().normal(size=(4096, 1))
    found = []
    for last in (0.0, 9.0):
        x[-1] = last
        draws = Draws(x, solved.mixture.log_density(x), 0.0)
        log_weights = solved.surrogate().pooled(x)[0] - draws.log_density
        of_all = solved.elbo.value - log_weights.mean() + np.log(np.mean(np.exp(log_weights)))
        found.append(evidence(rng(), solved, importance=True, draws=draws))
        assert solved.elbo.value < found[-1].of_mean <= of_all + 1e-9
    assert of_all - solved.elbo.value > LARGEST_CORRECTION
    known, with_one = found
    assert with_one.method == "importance sampling"
    assert with_one.value == pytest.approx(known.value, abs=0.01)
    # It counts as one of √n, in the SD.
    assert known.sd < with_one.sd < known.sd + 2 / np.sqrt(4096)


@pytest.mark.parametrize("variance", [0.01, 1.0, 30.0])
def test_convexity_of_a_variance_that_is_the_same_everywhere(variance):
    """Half of it, whatever its size, less what is common to all."""
    solved = solution(Mixture([1.0], [[0.0]], [1.0], [1.0]), THETAS[:1], noise_sd=1.0)
    weights = rng().dirichlet(np.ones(50))
    common = solved.elbo.expected_log_joint.sample_variances
    found = _convexity(solved, np.full((1, 50), variance), weights)
    np.testing.assert_allclose(found, np.maximum(0.5 * (variance - common), 0.0), rtol=1e-9)


def test_convexity_of_a_place_is_no_more_than_its_weight():
    solved = solution(Mixture([1.0], [[0.0]], [1.0], [1.0]), THETAS[:1])
    weights = np.append(np.full(99, 0.97 / 99), 0.03)
    small, large = np.full((1, 100), 1e-3), np.full((1, 100), 1e-3)
    small[0, -1], large[0, -1] = 1e-2, 1e5
    common = solved.elbo.expected_log_joint.sample_variances
    second_order = 0.5 * (small @ weights - common)
    np.testing.assert_allclose(_convexity(solved, small, weights), second_order, rtol=1e-2)
    assert _convexity(solved, large, weights)[0] <= -np.log(0.97) + 0.5e-3


def test_the_second_order_is_that_of_many_draws():
    """The mean as it is where many draws make it, and without the one that does not."""
    solved = solution(Mixture([1.0], [[0.0]], [1.0], [1.0]), THETAS)
    departures, weights = rng().gamma(2.0, size=(2, 2500)), rng(2).dirichlet(np.full(2500, 9.0))
    by_sample = 0.5 * (departures @ weights - _common(solved))
    found = _second_order(solved, departures, weights)
    assert found == pytest.approx(solved.weights @ by_sample, rel=1e-9)
    departures[:, 0] = 1e9
    assert _second_order(solved, departures, weights) == pytest.approx(found, rel=0.03)


def test_what_is_not_known_at_many_places_is_not_added():
    """Much of q is beyond the data: T is less than a nat, but more than that is claimed."""
    x = np.linspace(-4, 4, 161)
    y = -0.5 * x**2 + 1.6 * np.sin(9 * x)
    mixture = Mixture([0.6, 0.4], [[0.0], [9.0]], [1.0, 1.5], [1.0])
    solved = solution(mixture, [-2.0, 0.8, -5.0, 0.0, 4.5, 1.3], y=y, n=161)
    found = evidence(rng(), solved, importance=True)
    assert _borne_out(solved.surrogate())[0] > 0.05
    assert 0.4 < found.convexity < 0.8
    assert found.value == found.of_mean
    assert found.sd > LARGEST_CORRECTION


@pytest.mark.parametrize("n", [1, 2, 5, 100, 1000])
@pytest.mark.parametrize("spread", [0.0, 1.0, 10.0])
def test_no_truncated_weight_is_more_than_its_share(n, spread):
    """Against cutting at √n times the mean, again and again."""
    logs = spread * rng(n).standard_normal(n)
    expected = logs
    for _ in range(2000):
        limit = np.logaddexp.reduce(expected) - 0.5 * np.log(n)
        expected = np.minimum(logs, limit)
    found = truncated(logs)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert found.max() <= np.logaddexp.reduce(found) - 0.5 * np.log(n) + 1e-9


def test_draws_of_a_wide_mixture_are_held_against_the_better_bound():
    """A mixture that covers more than there is has a low ELBO, but its draws are good ones."""
    wide, close = (
        solution(Mixture([1.0], [[0.0]], [scale], [1.0]), THETAS) for scale in (5.0, 1.0)
    )
    assert log_integral_of_the_mean(wide) - wide.elbo.value > LARGEST_CORRECTION
    found = evidence(rng(), wide, importance=True, bound=close.elbo)
    assert found.method == "importance sampling"
    assert found.of_mean == pytest.approx(log_integral_of_the_mean(wide), abs=0.05)
    assert found.bound is close.elbo


def test_where_weights_cannot_be_trusted_the_better_bound_is_left():
    wide, close = (
        solution(Mixture([1.0], [[0.0]], [scale], [1.0]), THETAS) for scale in (0.2, 1.0)
    )
    found = evidence(rng(), wide, importance=True, bound=close.elbo)
    assert found.method == "corrected elbo"
    assert found.of_mean == pytest.approx(close.elbo.value)
    assert evidence(rng(), close, importance=True, bound=wide.elbo).bound is close.elbo
    assert evidence(rng(), wide, importance=False, bound=close.elbo).value == close.elbo.value


def test_it_is_a_function_of_the_generator():
    solved = solution(Mixture([1.0], [[0.1]], [1.2], [1.0]), THETAS)
    first, second = (evidence(rng(7), solved, importance=True) for _ in range(2))
    assert first == second
