"""Can I believe this? What a result says of itself."""

from dataclasses import replace

import pytest

from quell import Problem, Settings, infer
from quell.diagnostics import Finding, Status
from quell.diagnostics.check import ANSWERS, PAGE


@pytest.fixture(scope="module")
def result():
    def log_likelihood(theta, rng):
        return -0.5 * float(theta @ theta) + 0.5 * rng.standard_normal(), 0.5

    problem = Problem(
        log_likelihood, lower=[-10, -10], upper=[10, 10], plausible_lower=[-3, -3],
        plausible_upper=[3, 3],
    )  # fmt: skip
    return infer(problem, budget=40, seed=2, progress=False, settings=Settings(final_components=0))


def test_the_answer_follows_the_status(result):
    assert set(ANSWERS) == set(Status)
    assert result.check().answer == ANSWERS[result.status] == "not yet"
    assert not result.check().usable


def test_what_speaks_against_it_comes_first_with_its_page(result):
    wrong = Finding("residual_scale", 3.0, 1.4, "residuals are 3 times the reported SDs")
    verdict = replace(result.verdict, findings=(wrong, *result.findings))
    check = replace(result, verdict=verdict).check()
    assert check.answer == "no"
    assert check.reasons[0].text == wrong.text
    assert check.reasons[0].page == f"{PAGE}#residual_scale"
    assert "residuals are 3 times" in str(check)
    assert "against the answer" in str(check)


def test_all_tests_are_shown_and_more_evaluations_forecast(result):
    text = str(result.check(more=50))
    for finding in result.findings:
        assert finding.test in text
    assert "50 more evaluations" in text
    assert "noise          SD 0.5" in text
    assert repr(result.check()).startswith("Check(not yet")


def test_a_check_changes_nothing_and_is_always_the_same(result):
    assert str(result.check()) == str(result.check())


def test_bad_numbers_are_refused(result):
    with pytest.raises(ValueError, match="more must be a positive integer, got 0"):
        result.check(more=0)
