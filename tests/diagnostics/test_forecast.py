"""What more evaluations would buy."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import make_case, rounded
from helpers.vbmc import make_iteration

from quell.diagnostics.forecast import forecast, since_half


def rows(power, n=range(50, 201, 5), **changes):
    return [
        {"n_evaluations": k, "elbo_sd": 3.0 * k**-power, "warmup": False, "believable": True}
        | changes
        for k in n
    ]


@pytest.mark.parametrize("power", [0.25, 0.5, 0.8])
def test_the_sd_falls_as_it_has_fallen(power):
    found = forecast(rows(power), sd=0.2, since_half=0.3, more=100)
    assert found.sd == pytest.approx(0.2 * (2 / 3) ** power)
    assert found.gskl == pytest.approx(0.3 * 2 / 3)
    assert (found.sd_now, found.gskl_now, found.more) == (0.2, 0.3, 100)


def test_never_worse_and_never_faster_than_one_over_n():
    assert forecast(rows(-0.5), 0.2, 0.1).sd == 0.2
    assert forecast(rows(3.0), 0.2, 0.1, more=200).sd == pytest.approx(0.1)


def test_a_run_that_shows_nothing_is_taken_for_a_usual_one():
    for history in (rows(2.0, warmup=True), rows(2.0, believable=False), rows(2.0, n=(190, 200))):
        assert forecast(history, 0.2, 0.1, more=200).sd == pytest.approx(0.2 / np.sqrt(2))


def test_a_short_run_does_not_know_its_error():
    assert "too short" in str(forecast(rows(0.5), 0.2, np.nan))


class TestSinceHalf:
    def history(self, **of_the_first):
        """Twenty iterations up to 105 evaluations; until the tenth the posterior is elsewhere."""
        case = make_case()
        there = replace(case.solution, mixture=rounded((1.0, 0.0)))
        return [
            make_iteration(i, solution=there if i <= 10 else case.solution, **of_the_first)
            if i <= 10
            else make_iteration(i, solution=case.solution)
            for i in range(1, 21)
        ]

    def test_is_the_distance_to_the_posterior_of_half_as_many(self):
        assert since_half(make_case(history=self.history())).figure == pytest.approx(0.5, rel=1e-6)

    def test_warmup_says_nothing(self):
        assert np.isnan(since_half(make_case(history=self.history(warmup=True))).figure)
