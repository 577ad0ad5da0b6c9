"""What more evaluations would buy."""

import numpy as np
import pytest

from quell.diagnostics.forecast import forecast


def rows(power, n=range(50, 201, 5), **changes):
    return [
        {"n_evaluations": k, "elbo_sd": 3.0 * k**-power, "warmup": False, "believable": True}
        | changes
        for k in n
    ]


@pytest.mark.parametrize("power", [0.25, 0.5, 0.8])
def test_the_sd_falls_as_it_has_fallen(power):
    found = forecast(rows(power), sd=0.2, error=0.3, more=100)
    assert found.sd == pytest.approx(0.2 * (2 / 3) ** power)
    assert found.error == pytest.approx(0.3 * 2 / 3)
    assert (found.sd_now, found.error_now, found.more) == (0.2, 0.3, 100)


def test_never_worse_and_never_faster_than_one_over_n():
    assert forecast(rows(-0.5), 0.2, 0.1).sd == 0.2
    assert forecast(rows(3.0), 0.2, 0.1, more=200).sd == pytest.approx(0.1)


def test_a_run_that_shows_nothing_is_taken_for_a_usual_one():
    for history in (rows(2.0, warmup=True), rows(2.0, believable=False), rows(2.0, n=(190, 200))):
        assert forecast(history, 0.2, 0.1, more=200).sd == pytest.approx(0.2 / np.sqrt(2))
