"""Predators and prey; the truth, which comes with the package, by a method of its own."""

import json
from importlib.resources import files

import numpy as np
import pytest
from helpers.benchmarks import benchmark_module
from scipy.integrate import solve_ivp
from scipy.stats import multivariate_t, norm

from quell.bench import load
from quell.bench.problems.lotka import GENERATING, log_populations
from quell.bench.problems.real import simulated_data

THETA = np.array(GENERATING["lotka_volterra"])


def test_populations_are_those_of_the_differential_equations():
    for theta in (THETA, load("lotka_volterra").truth.mean, THETA * 1.3):
        a, b, c, d, *start = theta[:6]
        solution = solve_ivp(
            lambda _, y, a=a, b=b, c=c, d=d: [(a - b * y[1]) * y[0], (d * y[0] - c) * y[1]],
            (0, 20), start, t_eval=np.arange(21), rtol=1e-9, atol=1e-9,
        )  # fmt: skip
        np.testing.assert_allclose(
            log_populations(theta[None])[:, :, 0], np.log(solution.y.T), atol=1e-5
        )


def test_the_likelihood_is_that_of_the_counts():
    logs = log_populations(THETA[None])[:, :, 0]
    expected = norm(logs, THETA[6:]).logpdf(simulated_data("lotka_volterra").log_counts).sum()
    assert load("lotka_volterra").exact(THETA) == pytest.approx(expected, rel=1e-12)


def test_the_target_is_finite_in_all_the_box_and_zero_outside():
    problem = load("lotka_volterra")
    corners = (
        np.array(np.meshgrid(*zip(problem.lower, problem.upper, strict=True))).reshape(8, -1).T
    )
    assert len(corners) == 256
    assert np.isfinite(problem.exact(corners)).all()
    outside = THETA.copy()
    outside[0] = 2.5
    values = problem.exact(np.stack([outside, THETA]))
    assert values[0] == -np.inf
    assert np.isfinite(values[1])


def test_truth_by_importance_sampling_with_a_plain_proposal():
    problem, n = load("lotka_volterra"), 20_000
    truth, rng = problem.truth, np.random.default_rng(7)
    # In logs, where the posterior is closer to a normal.
    proposal = multivariate_t(
        np.log(truth.mean), truth.covariance / np.outer(truth.mean, truth.mean), df=8
    )
    logs = proposal.rvs(n, random_state=rng)
    points = np.exp(logs)
    volume = np.log(problem.upper - problem.lower).sum()
    log_joint = problem.exact(points) - volume + logs.sum(1)
    weights = np.exp(log_joint - proposal.logpdf(logs) - truth.log_evidence)
    error = weights.std() / np.sqrt(n)
    assert error < 0.02
    assert weights.mean() == pytest.approx(1, abs=4.5 * error)
    shares = weights / weights.sum()
    sd = np.sqrt(truth.covariance.diagonal())
    mean = shares @ points
    np.testing.assert_allclose((mean - truth.mean) / sd, 0, atol=0.06)
    covariance = (shares * (points - mean).T) @ (points - mean)
    np.testing.assert_allclose((covariance - truth.covariance) / np.outer(sd, sd), 0, atol=0.12)


def test_two_methods_agree_about_the_evidence():
    path = files("quell.bench.truth").joinpath("lotka_volterra.json")
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["made"]["bridge_log_evidence"] == pytest.approx(
        content["log_evidence"], abs=0.02
    )
    assert content["log_evidence_error"] < 0.005
    assert max(content["made"]["r_hat"]) < 1.01


def test_bridge_sampling_of_a_known_integral():
    bridge = benchmark_module("truth.bridge")
    rng = np.random.default_rng(8)
    target, proposal = norm(0.3, 1.0), norm(0.0, 1.5)

    def log_ratio(x):
        return 2.5 + target.logpdf(x) - proposal.logpdf(x)

    draws = target.rvs(20_000, random_state=rng)
    proposals = proposal.rvs(10_000, random_state=rng)
    value = bridge.bridge_log_evidence(log_ratio(draws), log_ratio(proposals))
    assert value == pytest.approx(2.5, abs=0.02)
