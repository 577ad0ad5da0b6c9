"""Results to be saved, and their comparison with what is loaded."""

from dataclasses import fields

from scipy import stats

from helpers.problems import QUICK
from quell import Problem, Result, infer
from quell.archive.npy import to_npy
from quell.results.writing import result_members
from quell.text import jsonable

BOX = {
    "lower": [-10.0, 0.0], "upper": [10.0, 8.0], "plausible_lower": [-3.0, 1.0],
    "plausible_upper": [3.0, 3.0], "names": ["shift", "scale"],
}  # fmt: skip


def fails_now_and_then(theta, rng):
    if theta[0] > 2.5:
        raise ValueError("too large: ü\x1b")
    return -0.5 * float(theta @ theta) + 0.5 * rng.standard_normal(), 0.5


def exact(theta):
    return -0.5 * float(theta @ theta)


def ordered(theta):
    return bool(theta[0] < theta[1] - 1.0)


def noisy_problem():
    """A noisy target that fails at times, with a prior that a file can have."""
    prior = [stats.norm(0, scale=3), stats.gamma(2.0, scale=0.8)]
    return Problem(fails_now_and_then, prior=prior, **BOX)


def noisy_result(**changes):
    how = {"budget": 40, "seed": 5001, "start": [2.8, 2.0], "progress": False, "settings": QUICK}
    return infer(noisy_problem(), **(how | changes))


def constrained_result(**changes):
    """Of an exact target with a constraint, and so with a support."""
    problem = Problem(exact, noise="exact", constraint=ordered, **BOX)
    how = {"budget": 20, "seed": 5002, "progress": False, "settings": QUICK}
    return infer(problem, **(how | changes))


#: Fields of a result that are compared by what is saved of them; all others as text, too.
BY_MEMBERS = {"posterior", "solution", "log_prior", "iterations", "verdict", "evaluations"}


def assert_equal(one: Result, other: Result) -> None:
    """Bit for bit, in every field."""
    a, b = result_members(one), result_members(other)
    assert list(a) == list(b)
    for name in a:
        if name.endswith(".npy"):
            assert to_npy(a[name]) == to_npy(b[name]), name
    assert jsonable(a["result.json"]) == jsonable(b["result.json"])
    for field in fields(Result):
        if field.name not in BY_MEMBERS:
            values = getattr(one, field.name), getattr(other, field.name)
            assert str(values[0]) == str(values[1]), field.name
    assert one.evaluations.error == other.evaluations.error
    assert one.evaluations.origin == other.evaluations.origin
