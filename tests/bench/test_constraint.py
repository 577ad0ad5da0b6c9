import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.special import comb
from scipy.stats import multinomial

from quell.bench import load
from quell.bench.problems.constraint import COUNTS


def test_the_likelihood_is_that_of_the_counts():
    p = np.array([0.1, 0.2, 0.4, 0.25, 0.05])
    counts = COUNTS[4]
    expected = multinomial(sum(counts), p).logpmf(counts)
    assert load("constraint", 4).exact(p[:-1]) == pytest.approx(expected, rel=1e-10)


def test_evidence_and_mean_by_quadrature():
    problem = load("constraint", 2)
    truth = problem.truth

    def integral(power):
        def f(y, x):
            return 2 * np.exp(problem.exact([x, y])) * x**power

        return dblquad(f, 0, 1, 0, lambda x: 1 - x)[0]

    evidence = integral(0)
    assert np.log(evidence) == pytest.approx(truth.log_evidence, abs=1e-6)
    assert integral(1) / evidence == pytest.approx(truth.mean[0], abs=1e-6)


@pytest.mark.parametrize("dim", [2, 4])
def test_evidence_by_draws_from_the_prior(dim):
    problem, n = load("constraint", dim), 200_000
    counts = COUNTS[dim]
    assert np.exp(-problem.truth.log_evidence) == pytest.approx(comb(sum(counts) + dim, dim))
    draws = np.random.default_rng(3).dirichlet(np.ones(dim + 1), n)[:, :-1]
    likelihood = np.exp(problem.exact(draws))
    error = likelihood.std() / likelihood.mean() / np.sqrt(n)
    assert np.log(likelihood.mean()) == pytest.approx(problem.truth.log_evidence, abs=4.5 * error)
    assert error < 0.05


@pytest.mark.parametrize("dim", [2, 4])
def test_nothing_is_beyond_the_edge_and_much_is_near_it(dim):
    problem = load("constraint", dim)
    prior = problem.as_problem("exact").prior
    edge = problem.truth.mean / problem.truth.mean.sum()
    points = np.stack([0.999 * edge, 1.001 * edge])
    np.testing.assert_array_equal(np.isfinite(problem.exact(points)), [True, False])
    np.testing.assert_array_equal(np.isfinite(prior.log_density(points)), [True, False])
    assert problem.exact(np.full(dim, -0.1)) == -np.inf
    rest = 1 - problem.truth.sample(10_000, np.random.default_rng(4)).sum(1)
    assert np.quantile(rest, 0.75) < 0.05
    # Much of the plausible box is outside.
    box = np.random.default_rng(5).uniform(
        problem.plausible_lower, problem.plausible_upper, (4000, dim)
    )
    assert 0.05 < (box.sum(1) < 1).mean() < 0.8


def test_noise_leaves_the_edge_where_it_is():
    problem = load("constraint")
    target = problem.as_problem("exact", 2.5, rng=problem.noise_stream(2))
    assert np.isfinite(target.evaluate([0.4, 0.599]).value)
    assert problem.noisy(np.array([0.6, 0.6]), np.random.default_rng(1))[0] == -np.inf
