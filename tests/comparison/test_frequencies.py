"""Frequencies of models in a population: another implementation, and brute force."""

import numpy as np
import pytest
from scipy.special import logsumexp

from quell.comparison.frequencies import exceedance, frequencies

CASES = [(10, 2, 2.0), (20, 3, 1.0), (6, 4, 0.5), (15, 3, 5.0)]


def log_evidences(n_subjects, n_models, spread):
    rng = np.random.default_rng(1)
    return rng.normal(size=(n_subjects, n_models)) * spread + np.linspace(0, 1, n_models)


@pytest.mark.parametrize("case", CASES)
def test_as_another_implementation(case):
    group_bmc = pytest.importorskip("groupBMC.groupBMC")
    log_evidence = log_evidences(*case)
    n_models = case[1]
    # Its null hypothesis takes the concentrations for probabilities, so they have to sum to one.
    ours = frequencies(log_evidence[None], 1 / n_models)
    theirs = group_bmc.GroupBMC(log_evidence.T, tolerance=0.0, max_iter=5000).get_result()
    np.testing.assert_allclose(ours.expected[0], theirs.frequency_mean, atol=1e-7)
    np.testing.assert_allclose(ours.exceedance[0], theirs.exceedance_probability, atol=1e-5)
    np.testing.assert_allclose(
        ours.protected[0], theirs.protected_exceedance_probability, atol=1e-5
    )
    ones = np.ones(n_models)
    theirs = group_bmc.GroupBMC(log_evidence.T, ones, tolerance=0.0, max_iter=5000).get_result()
    np.testing.assert_allclose(frequencies(log_evidence[None]).expected[0], theirs.frequency_mean)


@pytest.mark.parametrize("case", CASES)
def test_close_to_the_exact_posterior(case):
    """By importance weights of draws from the flat prior: no variational approximation.

    Weak evidences are where the approximation is worst: it is too sure of the first among equals.
    """
    log_evidence = log_evidences(*case)
    r = np.random.default_rng(0).dirichlet(np.ones(case[1]), size=100_000)
    likelihood = logsumexp(log_evidence[:, None, :], b=r, axis=2).sum(axis=0)
    weights = np.exp(likelihood - likelihood.max())
    found = frequencies(log_evidence[None])
    tolerance = 0.06 if case[2] >= 1 else 0.12
    np.testing.assert_allclose(found.expected[0], weights @ r / weights.sum(), atol=tolerance)
    log_z = likelihood.max() + np.log(weights.mean())
    equal = (logsumexp(log_evidence, axis=1) - np.log(case[1])).sum()
    # The free energy is a lower bound of the log evidence, so that the risk is an upper one.
    exact_risk = 1 / (1 + np.exp(log_z - equal))
    assert exact_risk - 0.01 < found.omnibus_risk[0] < exact_risk + 0.35


@pytest.mark.parametrize("alpha", [[3.0, 2.0, 1.0], [0.5, 8.0, 7.5], [40.0, 1.0, 1.0]])
def test_exceedance_as_shares_of_draws(alpha):
    draws = np.random.default_rng(0).dirichlet(alpha, size=200_000)
    shares = np.bincount(draws.argmax(axis=1), minlength=3) / len(draws)
    np.testing.assert_allclose(exceedance(np.array([alpha]))[0], shares, atol=0.005)


def test_sets_are_independent_of_each_other():
    one, two = log_evidences(5, 3, 1.0), log_evidences(5, 3, 9.0)[::-1]
    both = frequencies(np.stack([one, two]))
    np.testing.assert_allclose(both.expected[0], frequencies(one[None]).expected[0], atol=1e-6)
    np.testing.assert_allclose(both.protected[1], frequencies(two[None]).protected[0], atol=1e-6)
