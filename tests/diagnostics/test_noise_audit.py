"""Are reported SDs honest?"""

import numpy as np
import pytest
from helpers.cases import make_case, normal, points

from quell import Evaluations
from quell.diagnostics.noise_audit import audit_noise, repeats


def case_with(true, reported, n=150):
    theta = points(n=n)
    noise = np.random.default_rng(7).standard_normal(n) * true
    return make_case(theta, normal(theta) + noise, reported)


def test_honest_sds_have_residuals_of_one_sd():
    sds = np.where(np.arange(150) % 2, 0.2, 0.6)
    audit = audit_noise(case_with(sds, sds), 0.4, 0.1)
    assert [group.n for group in audit.groups] == [50, 50, 50]
    assert (audit.groups[0].low, audit.groups[-1].high) == (0.2, 0.6)
    for group in audit.groups:
        assert 0.4 < group.scale < 1.6
    assert audit.enough
    assert audit.n_outliers == 0
    assert "0.2 to 0.2" in str(audit)


def test_sds_that_are_too_small_are_found_in_their_group():
    reported = np.where(np.arange(150) % 2, 0.2, 0.6)
    true = np.where(reported == 0.2, 1.0, 0.6)
    audit = audit_noise(case_with(true, reported), 0.4, 0.1)
    assert audit.groups[0].scale > 2 * audit.groups[-1].scale


def test_too_much_noise_for_the_budget():
    audit = audit_noise(case_with(0.3, 0.3), 5.0, 1.4)
    assert not audit.enough
    assert "too much noise" in str(audit)


def test_exact_targets_have_nothing_to_audit():
    theta = points()
    audit = audit_noise(make_case(theta, normal(theta), 0.0), 0.0, 0.01)
    assert audit.groups == ()
    assert str(audit).endswith("none")


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_repeats(factor):
    rng = np.random.default_rng(2)
    theta = np.repeat(rng.standard_normal((40, 2)), 3, axis=0)
    sds = rng.uniform(0.5, 2.0, 120)
    values = normal(theta) + factor * sds * rng.standard_normal(120)
    n, scale = repeats(Evaluations.from_arrays(theta, values, sds))
    assert n == 80
    assert scale == pytest.approx(factor, rel=0.25)


def test_too_few_repeats_tell_nothing():
    theta = np.array([[0.0], [0.0], [1.0]])
    n, scale = repeats(Evaluations.from_arrays(theta, [0.0, 1.0, 2.0], 1.0))
    assert n == 1
    assert np.isnan(scale)
