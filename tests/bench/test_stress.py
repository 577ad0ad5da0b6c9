"""What all the problems of awkward kinds have in common; each has tests of its own beside these."""

import numpy as np
import pytest
from scipy.stats import multivariate_t

from quell.bench import PROBLEMS, BenchError, load
from quell.bench.density import trapezoid
from quell.bench.metrics import gskl, mmtv
from quell.bench.problems.stress import STRESS

CASES = [(name, dim) for name, entry in STRESS.items() for dim in entry.dims or (entry.dimension,)]
#: Those with one mode and no long tails, for which one wide proposal is good enough.
NORMAL_LIKE = ("regression",)
#: Those of whose covariance no reasonable number of draws is enough for an estimate.
LONG_TAILS = ("logwide",)


def log_joint(problem, theta):
    """Log-likelihood and log prior (n,) at points (n, D), as the algorithm adds them up."""
    theta = np.atleast_2d(theta)
    return problem.exact(theta) + problem.as_problem("exact").prior.log_density(theta)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_the_problem_as_the_algorithm_gets_it(name, dim):
    problem = load(name, dim)
    assert (problem.name, problem.dimension, len(problem.names)) == (name, dim, dim)
    assert (problem.lower <= problem.plausible_lower).all()
    assert (problem.plausible_lower < problem.plausible_upper).all()
    assert (problem.plausible_upper <= problem.upper).all()
    given = problem.as_problem("exact")
    np.testing.assert_array_equal(given.lower, problem.lower)
    np.testing.assert_array_equal(given.upper, problem.upper)
    outcome = given.evaluate(problem.truth.mean)
    assert np.isfinite(outcome.value)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_targets_are_vectorised(name, dim):
    problem = load(name, dim)
    points = np.stack([problem.start(seed) for seed in range(6)]).reshape(2, 3, dim)
    values = problem.exact(points)
    assert values.shape == (2, 3)
    assert not np.isnan(values).any()
    np.testing.assert_allclose(problem.exact(points[1, 2]), values[1, 2], rtol=1e-12)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_marginals_have_unit_mass_and_match_moments(name, dim):
    problem = load(name, dim)
    truth = problem.truth
    slack = 2e-4 if truth.on_box else 1e-6
    # Marginals on a box of 8192 points are half of a step to the left.
    steps = (problem.upper - problem.lower) / 8191 if truth.on_box else np.zeros(dim)
    for i, density in enumerate(truth.marginals):
        x, p = density.grid, density(density.grid)
        sd = np.sqrt(truth.covariance[i, i])
        assert trapezoid(p, x) == pytest.approx(1, abs=slack)
        mean = trapezoid(x * p, x)
        assert mean == pytest.approx(truth.mean[i], abs=20 * slack * sd + steps[i])
        assert trapezoid((x - mean) ** 2 * p, x) == pytest.approx(sd**2, rel=500 * slack)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_draws_follow_the_marginals_and_the_covariance(name, dim):
    problem = load(name, dim)
    truth, n = problem.truth, 50_000
    if truth.sample is None:
        pytest.skip("its truth has no sampler")
    draws = truth.sample(n, np.random.default_rng(8))
    assert ((draws >= problem.lower) & (draws <= problem.upper)).all()
    assert np.isfinite(problem.exact(draws)).all()
    for i, density in enumerate(truth.marginals):
        x = density.grid
        cdf = np.concatenate(
            [[0.0], np.cumsum(np.diff(x) * 0.5 * (density(x)[1:] + density(x)[:-1]))]
        )
        ranks = np.sort(np.interp(draws[:, i], x, cdf))
        distance = np.abs(ranks - (np.arange(n) + 0.5) / n).max()
        assert distance * np.sqrt(n) < 2  # Kolmogorov's statistic: p = 0.0007
    if name in LONG_TAILS:
        return
    # Each product of two deviations, in units of its own error.
    centred = draws - truth.mean
    products = centred[:, :, None] * centred[:, None, :]
    z = (products.mean(0) - truth.covariance) / (products.std(0) / np.sqrt(n))
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_draws_from_the_truth_are_a_good_answer(name, dim):
    """What an exact method would score, for the metrics' own limits."""
    problem = load(name, dim)
    truth = problem.truth
    if truth.sample is None:
        pytest.skip("its truth has no sampler")
    draws = truth.sample(50_000, np.random.default_rng(9))
    bounds = {"lower": problem.lower, "upper": problem.upper}
    score = mmtv(draws, truth.reference, **bounds, estimator=truth.estimator)
    assert score < 0.03
    assert gskl(truth.mean, truth.covariance, truth) == pytest.approx(0, abs=1e-6)


@pytest.mark.parametrize(("name", "dim"), [case for case in CASES if case[0] in NORMAL_LIKE])
def test_evidence_and_moments_by_importance_sampling(name, dim):
    problem, n = load(name, dim), 40_000
    truth, rng = problem.truth, np.random.default_rng(20)
    # In units of the SDs: raw ones look singular to SciPy.
    sd = np.sqrt(truth.covariance.diagonal())
    proposal = multivariate_t(shape=truth.covariance / np.outer(sd, sd), df=5)
    scaled = proposal.rvs(n, random_state=rng)
    points = truth.mean + sd * scaled
    log_q = proposal.logpdf(scaled) - np.log(sd).sum()
    weights = np.exp(log_joint(problem, points) - log_q - truth.log_evidence)
    error = weights.std() / np.sqrt(n)
    assert error < 0.05
    assert weights.mean() == pytest.approx(1, abs=4.5 * error)
    centred = (points - truth.mean) * weights[:, None]
    assert np.abs(centred.mean(0) / (centred.std(0) / np.sqrt(n))).max() < 4.5


@pytest.mark.parametrize("name", list(STRESS))
def test_noise_is_of_the_sd_that_is_reported(name):
    problem, rng = load(name), np.random.default_rng(9)
    theta = problem.truth.mean
    pairs = np.array([problem.noisy(theta, rng) for _ in range(150)])
    assert set(pairs[:, 1]) == {problem.emulated_sd}
    z = (pairs[:, 0] - problem.exact(theta)) / problem.emulated_sd
    assert z.mean() == pytest.approx(0, abs=0.35)
    assert z.std() == pytest.approx(1, abs=0.25)
    outcome = problem.as_problem("exact", 2.5, rng=problem.noise_stream(1)).evaluate(theta)
    assert outcome.sd == 2.5


@pytest.mark.parametrize("name", list(STRESS))
def test_the_list_tells_the_noise_and_the_dimensions(name):
    entry = PROBLEMS[name]
    assert entry.noise == f"emulated, SD {load(name).emulated_sd:g}"
    assert load(name).dimension == entry.dimension
    assert entry.dims == () or entry.dimension in entry.dims
    with pytest.raises(BenchError, match=f"{name} exists in .* dimensions.*, got 77"):
        load(name, 77)


def test_dimensions_that_do_not_exist_are_told():
    with pytest.raises(BenchError, match="regression exists in 3, 5 or 8 dimensions, got 4"):
        load("regression", 4)
