"""Evaluations that are there at the start: all that follows from them is in the result."""

import numpy as np
import pytest

from quell import Problem, Sampler, Settings, fit, infer

INF = np.inf
#: ∫ exp(banana): the second factor is a normal of SD 1/2 around the square of the first.
TRUE_LOG_EVIDENCE = np.log(2 * np.pi * 0.5)
MOMENTS = {"mean": [0.0, 1.0], "sd": [1.0, np.sqrt(2 + 0.25)]}


def banana(theta):
    return -0.5 * theta[0] ** 2 - 2.0 * (theta[1] - theta[0] ** 2) ** 2


def make(target=banana, **changes):
    box = {"lower": [-INF] * 2, "upper": [INF] * 2, "plausible_lower": [-3] * 2}
    how = {"plausible_upper": [3, 3], "prior": "included", "noise": "exact"}
    return Problem(target, **(box | how | changes))


def good_points(n=150, seed=0):
    """Points like those a run leaves behind: the posterior and a shell around it."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-3.2, 3.2, n)
    points = np.column_stack([x, x**2 + rng.uniform(-1.6, 1.6, n)])
    return points, np.array([banana(p) for p in points])


def error(result):
    return result.log_evidence - TRUE_LOG_EVIDENCE


def check(result):
    """The right answer; with two components the log evidence was 0.03 to 0.6 off."""
    assert abs(error(result)) < 0.02
    np.testing.assert_allclose(result.posterior.mean(), MOMENTS["mean"], atol=0.1)
    np.testing.assert_allclose(result.posterior.sd(), MOMENTS["sd"], rtol=0.12)


@pytest.fixture(scope="module")
def fitted():
    return fit(make(None), good_points(), seed=1)


class TestFit:
    def test_is_right_without_a_target(self, fitted):
        check(fitted)

    def test_claims_no_more_than_it_knows(self, fitted):
        assert not fitted.converged
        assert fitted.reasons[0] == "fitted to 150 given points"
        assert any("would change the solution" in reason for reason in fitted.reasons)
        assert not any("stable" in reason for reason in fitted.reasons)
        assert fitted.evaluations.n_counted == 0

    def test_a_run_with_a_budget_of_nothing_is_the_same(self, fitted):
        result = infer(make(), evaluations=good_points(), seed=1, budget=0, progress=False)
        assert result.log_evidence == fitted.log_evidence
        assert result.reasons[0] == "the budget of 0 evaluations is spent"

    def test_few_points(self):
        points, values = good_points(9)
        with pytest.raises(ValueError, match="at least 10 different points with a value, got 9"):
            fit(make(None), (points, values))
        points, values = good_points(12)
        few = fit(make(None), (points, values), seed=1, settings=Settings(final_components=0))
        assert not few.iterations[-1].warmup

    def test_the_noise_has_to_be_known(self):
        points, values = good_points(20)
        with pytest.raises(ValueError, match='noise="auto" cannot be settled'):
            fit(make(None, noise="auto"), (points, values))
        with pytest.raises(ValueError, match='noise="auto" cannot be settled'):
            infer(make(noise="auto"), evaluations=(points, values), budget=0, progress=False)

    @pytest.mark.parametrize("noise", ["auto", "reported"])
    def test_noisy_ones(self, noise):
        points, values = good_points(120)
        values = values + 0.3 * np.random.default_rng(2).standard_normal(120)
        quick = Settings(hyperparameters="map", final_components=0)
        result = fit(make(None, noise=noise), (points, values, 0.3), seed=1, settings=quick)
        assert abs(error(result)) < 0.4


def test_a_run_goes_on_from_what_is_known():
    result = infer(make(), evaluations=good_points(), seed=1, budget=10, progress=False)
    check(result)
    assert not result.iterations[-1].warmup


@pytest.mark.parametrize("asked_before", [False, True])
def test_a_grid_told_to_a_sampler(asked_before):
    sides = np.linspace(-3.2, 3.2, 15), np.linspace(-1.5, 8.0, 15)
    grid = np.stack(np.meshgrid(*sides), axis=-1).reshape(-1, 2)
    sampler = Sampler(make(None), seed=1)
    if asked_before:
        for _ in range(2):
            points = sampler.ask(8)
            sampler.tell(points, [banana(p) for p in points])
    sampler.tell(grid, [banana(p) for p in grid])
    result = sampler.result()
    assert abs(error(result)) < 0.05  # a coarse grid: its steps are longer than the SD across
    assert not result.iterations[-1].warmup


def test_no_target_no_evaluations():
    with pytest.raises(ValueError, match=r"no log_likelihood.*quell\.fit.*quell\.Sampler"):
        infer(make(None), evaluations=good_points(), progress=False)
    with pytest.raises(ValueError, match="no log_likelihood"):
        make(None).evaluate([0.0, 0.0])
    assert "2 parameters" in repr(make(None))


def test_too_few_to_spend_nothing():
    with pytest.raises(ValueError, match="budget must be at least 4, got 0"):
        infer(make(), evaluations=good_points(6), budget=0, progress=False)


def test_continued_from_a_journal(tmp_path):
    """The work on the head start is a function of the seed, as all the rest."""
    how = {"evaluations": good_points(60), "seed": 3, "progress": False}
    how["settings"] = Settings(hyperparameters="map", final_components=0)
    whole = infer(make(), budget=7, **how)
    path = tmp_path / "run.quelljournal"
    infer(make(), budget=3, journal=path, **how)
    continued = infer(make(), budget=7, journal=path, **how)
    assert continued.log_evidence == whole.log_evidence
    assert [it.settling for it in continued.iterations] == [it.settling for it in whole.iterations]
