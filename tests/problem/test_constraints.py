"""Constraints across parameters: what a problem makes of them."""

import numpy as np
import pytest

import quell


def problem(constraint, **how):
    box = {"lower": [0, 0], "upper": [1, 1], "plausible_lower": 0.1, "plausible_upper": 0.9}
    return quell.Problem(sum, constraint=constraint, **(box | how))


def test_the_prior_is_zero_where_it_does_not_hold():
    p = problem(lambda theta: theta[0] + theta[1] < 1)
    assert p.log_prior([[0.2, 0.3], [0.8, 0.7]]).tolist() == [0.0, -np.inf]
    assert p.support(np.array([[0.2, 0.3], [0.8, 0.7]])).tolist() == [True, False]
    assert "a constraint" in repr(p)


def test_problems_without_one_have_no_support_of_their_own():
    p = problem(None)
    assert p.support is None
    assert "constraint" not in p.fingerprint()
    assert problem(lambda theta: bool(theta[0] < 2)).fingerprint()["constraint"] is True


@pytest.mark.parametrize(
    ("constraint", "error", "message"),
    [
        ("a < b", TypeError, "must be a function"),
        (lambda theta: theta[0] - theta[1], TypeError, "must return True or False"),
        (lambda theta: theta < 1, TypeError, "must return True or False"),
        (lambda theta: bool(theta[0] > 2), ValueError, "move the box"),
        (lambda theta: theta[2] > 0, ValueError, r"failed at theta = \[.* with IndexError"),
    ],
)
def test_what_cannot_be_a_constraint_is_refused(constraint, error, message):
    with pytest.raises(error, match=message):
        problem(constraint)


def test_where_a_prior_cannot_be_computed_nothing_is_proposed():
    def fragile(theta):
        if theta[0] > 0.95:
            raise RuntimeError("not here")
        return 0.0

    with pytest.warns(UserWarning, match="failed at .*not here"):
        p = problem(None, prior=fragile)
    assert p.support(np.array([[0.5, 0.5], [0.99, 0.5]])).tolist() == [True, False]
