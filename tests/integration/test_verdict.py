"""What a run says of its own answer: when it is right, too short, or fed with wrong values."""

import warnings

import numpy as np
import pytest
from helpers.problems import QUICK, make, noisy, normal, run

from quell import BudgetWarning, infer

SD = 0.5


def with_noise(change):
    """A noisy target whose value, SD and count of calls ``change`` turns into what it returns."""
    calls = iter(range(10**6))

    def target(theta, rng):
        return change(normal(theta) + SD * rng.standard_normal(), SD, next(calls))

    return target


def test_a_right_answer_is_stable():
    result = run(make(noisy, dimension=2), budget=70)
    assert result.status == "stable"
    assert result.converged
    assert result.reasons == ("the budget of 70 evaluations is spent",)
    assert result.summary().startswith("stable after 70")


def test_outliers_are_seen_and_named():
    wrong = []

    def too_low_where_the_posterior_is(value, sd, i):
        if i >= 50 and not wrong and value > -4.0:
            wrong.append(i)
            return value - 100.0, sd
        return value, sd

    result = run(make(with_noise(too_low_where_the_posterior_is), dimension=2), budget=90)
    assert result.status == "suspect"
    told = [f.text for f in result.findings if f.test in ("largest_residual", "odd_one_out")]
    assert any(f"row {wrong[0]} " in text for text in told)
    assert all(text in result.summary() for text in told)


def test_a_value_far_too_high_is_seen_and_named():
    """The run goes there, and everything rests on one evaluation."""
    target = with_noise(lambda value, sd, i: (value + 100.0 * (i == 31), sd))
    result = run(make(target, dimension=2), budget=90)
    assert result.status == "suspect"
    [told] = [f.text for f in result.findings if f.test == "lone_peak_nats"]
    assert "row 31 " in told
    assert told in result.summary()


@pytest.mark.parametrize("factor", [3, 5])
def test_sds_that_are_too_small_are_seen(factor):
    target = with_noise(lambda value, sd, _: (value, sd / factor))
    result = run(make(target, dimension=2), budget=80)
    assert result.status == "suspect"
    [found] = [f for f in result.findings if f.test == "residual_scale"]
    assert found.figure == pytest.approx(factor, rel=0.4)
    assert f"{found.figure:.1f} times the reported SDs" in result.summary()


class TestTheStart:
    def test_a_budget_that_cannot_suffice_is_warned_about_at_the_users_line(self):
        with pytest.warns(BudgetWarning, match="budget of 20 is too small.*first 10.*30 more") as w:
            result = infer(make(noisy), budget=20, seed=1, progress=False, settings=QUICK)
        assert w[0].filename == __file__
        assert result.status == "too short to tell"
        assert any("of the 30 evaluations needed" in reason for reason in result.reasons)

    def test_one_that_may_is_not(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = run(make(noisy), budget=40, callback=lambda _: True)
        assert not caught
        assert result.status == "too short to tell"  # the callback stopped it

    def test_where_warnings_are_errors_the_run_is_made(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert run(make(noisy), budget=15).evaluations.n_counted == 15


def test_the_verdict_follows_from_the_journal(tmp_path):
    path = tmp_path / "run.quelljournal"
    made = run(make(noisy), budget=25, journal=path)
    again = run(make(noisy), budget=25, journal=path)
    assert str(again.verdict) == str(made.verdict)
    assert again.reasons == made.reasons
    assert np.isfinite(made.diagnostics["effective_draws"])
