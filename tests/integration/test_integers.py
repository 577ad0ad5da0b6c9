"""Runs with integer parameters: answers beside sums over them."""

import numpy as np
import pytest

import quell

LOW, HIGH = -10.0, 10.0


def run(log_density, top, *, seed=1, budget=100, plausible=None, **more):
    """A run with an integer from 0 to ``top``, and a number."""
    problem = quell.Problem(
        lambda theta: float(log_density(*theta)), lower=[0, LOW], upper=[top, HIGH],
        plausible_lower=[0, -3], plausible_upper=[plausible or top, 4], names=["k", "x"],
        integer=["k"], noise="exact", **more,
    )  # fmt: skip
    return quell.infer(problem, budget=budget, seed=seed, progress=False)


def truth(log_density, top, inside=None):
    """Log evidence and probabilities of the integer, by sums."""
    x = np.linspace(LOW, HIGH, 4001)
    mass = np.array([
        sum(np.exp(log_density(k, value)) for value in x if not inside or inside(k, value))
        for k in range(top + 1)
    ])  # fmt: skip
    volume = (top + 1) * (HIGH - LOW)
    return np.log(mass.sum() * (x[1] - x[0]) / volume), mass / mass.sum()


def two_values(k, x):
    return -1.0 * k - 0.5 * ((x - 1.5 * k) / 0.5) ** 2


def cliffs(k, x):
    """A smooth line through the values at 2, 3, 4 and 5 has a peak of 100 nats between them."""
    return -1000.0 * (abs(k - 3.5) - 0.5) - 0.1 * (k == 4) - 0.5 * x**2


def test_two_values():
    """From two values a surrogate cannot tell a width, and need not."""
    log_evidence, probabilities = truth(two_values, 1)
    result = run(two_values, 1)
    assert result.log_evidence == pytest.approx(log_evidence, abs=0.1)
    assert result.elbo == pytest.approx(log_evidence, abs=0.2)
    assert result.log_evidence_sd < 0.1
    found = result.posterior.marginal("k").density([0, 1])
    np.testing.assert_allclose(found, probabilities, atol=0.06)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_peak_between_whole_numbers_does_not_count(seed):
    log_evidence, probabilities = truth(cliffs, 9)
    result = run(cliffs, 9, plausible=7, budget=150, seed=seed)
    assert abs(result.posterior.log_mass) > 1  # what a run without it would be off by
    assert result.log_evidence == pytest.approx(log_evidence, abs=0.1)
    found = result.posterior.marginal("k").density(np.arange(10))
    np.testing.assert_allclose(found, probabilities, atol=0.15)


def test_with_a_constraint():
    def inside(k, x):
        return x > 1.2 * k - 0.5

    log_evidence, probabilities = truth(two_values, 1, inside)
    result = run(two_values, 1, constraint=lambda theta: bool(inside(*theta)))
    assert result.log_evidence == pytest.approx(log_evidence, abs=0.15)
    found = result.posterior.marginal("k").density([0, 1])
    np.testing.assert_allclose(found, probabilities, atol=0.08)
    assert all(inside(*draw) for draw in result.posterior.sample(200))


def test_the_answer_of_a_saved_result_is_the_same(tmp_path):
    result = run(two_values, 1, budget=40)
    result.save(tmp_path / "two.quell")
    again = quell.load(tmp_path / "two.quell")
    np.testing.assert_array_equal(again.posterior.sample(100), result.posterior.sample(100))
    assert again.posterior.log_mass == result.posterior.log_mass
    assert again.check().answer == result.check().answer


def test_runs_that_are_stacked():
    log_evidence, probabilities = truth(two_values, 1)
    runs = [run(two_values, 1, seed=seed, budget=60) for seed in (1, 2, 3)]
    for pair in (runs[:2], runs[1:]):
        stacked = quell.stack(pair)
        assert stacked.log_evidence == pytest.approx(log_evidence, abs=0.05)
        found = stacked.posterior.marginal("k").density([0, 1])
        np.testing.assert_allclose(found, probabilities, atol=0.03)
        assert stacked.posterior.mode()[0] == 0.0
