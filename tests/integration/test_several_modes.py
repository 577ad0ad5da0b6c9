"""Whole runs on posteriors of several modes: none that can be seen is lost."""

import numpy as np
import pytest

import quell
from quell.bench import load


def share_right_of_zero(result):
    draws = result.posterior.sample(4000, np.random.default_rng(0))
    return float(np.mean(draws[:, 0] > 0))


@pytest.mark.parametrize("noise", [None, 1.0])
def test_both_modes_in_one_dimension(noise):
    benchmark = load("two_modes", 1)
    for seed in (5000, 5003):
        problem = benchmark.as_problem(mode="exact", noise=noise)
        result = quell.infer(problem, budget=80, seed=seed, progress=False)
        assert 0.3 < share_right_of_zero(result) < 0.7
        assert abs(result.log_evidence) < 0.45
        assert result.diagnostics["unseen_share"] < 0.1


def test_both_modes_in_two_dimensions():
    problem = load("two_modes", 2).as_problem(mode="exact")
    result = quell.infer(problem, budget=90, seed=5001, progress=False)
    assert 0.3 < share_right_of_zero(result) < 0.7
    assert abs(result.log_evidence) < 0.2


def test_runs_that_know_one_mode_each_know_both_together():
    benchmark = load("two_modes", 2)
    problem = benchmark.as_problem(mode="exact")
    rng = np.random.default_rng(1)
    tables = []
    for side in (-6.0, 6.0):
        points = np.array([side, 0.0]) + rng.normal(size=(25, 2))
        tables.append(quell.Evaluations.from_arrays(points, benchmark.exact(points), 0.0))
    both = quell.join_evaluations(tables)
    result = quell.infer(problem, evaluations=both, budget=20, seed=5002, progress=False)
    assert 0.3 < share_right_of_zero(result) < 0.7
    assert abs(result.log_evidence) < 0.2


def test_the_papers_variants_neither_look_nor_spread_their_points():
    problem = load("two_modes", 1).as_problem(mode="exact")
    settings = quell.Settings.variant("paper-viqr")
    result = quell.infer(problem, budget=25, seed=1, settings=settings, progress=False)
    assert result.diagnostics["looks"] == 0
    parts = np.floor(10 * (result.evaluations.theta[:10, 0] + 10) / 20)
    assert len(set(parts)) < 10
