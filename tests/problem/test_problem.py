"""Problem: its checks, its noise modes, and what it makes of all that a target can do."""

import functools
import json
import pickle
import re
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import quell
from quell.problem.outcome import Outcome
from quell.problem.target import accepts_rng

INF = np.inf
BOX = {
    "lower": [-10, 0], "upper": [10, 5], "plausible_lower": [-1, 1], "plausible_upper": [1, 3],
    "names": ["a", "b"],
}  # fmt: skip
POINT = [0.5, 2.0]


def quadratic(theta):
    return -0.5 * float(np.sum(theta**2))


def make(target=quadratic, **changes):
    return quell.Problem(target, **{**BOX, **changes})


def returning(value, **changes):
    return make(lambda _: value, **changes)


# ---- what it holds --------------------------------------------------------------------------


def test_attributes():
    problem = make(noise="exact", prior=[stats.norm(), stats.uniform(0, 5)])
    assert problem.names == ("a", "b")
    assert problem.dimension == 2
    assert problem.noise == "exact"
    assert problem.log_likelihood is quadratic
    np.testing.assert_array_equal(problem.lower, [-10, 0])
    np.testing.assert_array_equal(problem.upper, [10, 5])
    np.testing.assert_array_equal(problem.plausible_lower, [-1, 1])
    np.testing.assert_array_equal(problem.plausible_upper, [1, 3])
    assert problem.space.dimension == 2
    assert problem.prior.is_proper
    assert not problem.has_integers


def test_frozen():
    problem = make()
    with pytest.raises(AttributeError, match="cannot be changed"):
        problem.noise = "exact"
    with pytest.raises(AttributeError, match="cannot be changed"):
        del problem.noise
    problem.lower[0] = 3.0  # a copy
    assert problem.lower[0] == -10
    with pytest.raises(ValueError, match="read-only"):
        problem.plausible_lower[0] = 3.0
    with pytest.raises(ValueError, match="read-only"):
        problem.integer[0] = True


def test_dimension_counts_fixed_parameters():
    problem = make(lower=[-10, 2], upper=[10, 2], plausible_lower=[-1, 2], plausible_upper=[1, 2])
    assert problem.dimension == 2
    assert problem.space.dimension == 1
    assert problem.evaluate([0.0, 2.0]).value == -2.0


def test_improper_prior_is_warned_about_at_the_users_line():
    with pytest.warns(UserWarning, match="log_evidence will be nan") as caught:
        problem = make(upper=[INF, 5])
    assert not problem.prior.is_proper
    assert caught[0].filename == __file__
    assert float(problem.log_prior(POINT)) == 0.0


def test_moved_plausible_bounds_are_warned_about_at_the_users_line():
    with pytest.warns(UserWarning, match="plausible_lower of 'b' from 0.0 to 0.005") as caught:
        make(plausible_lower=[-1, 0])
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_with_noise_changes_nothing_else():
    auto = make(lambda _: (1.0, 0.5), noise_guess=0.3)
    auto.evaluate(POINT)
    exact = auto.with_noise("exact")
    assert (auto.noise, exact.noise) == ("auto", "exact")
    assert exact.evaluate(POINT).failed
    assert not auto.evaluate(POINT).failed
    assert exact.noise_guess is None
    assert auto.with_noise("unknown").noise_guess == 0.3
    with pytest.raises(ValueError, match="noise must be one of"):
        auto.with_noise("loud")


def test_pickles_when_the_target_does():
    problem = make(prior=[stats.norm(), stats.uniform(0, 5)], noise="exact")
    again = pickle.loads(pickle.dumps(problem))
    assert again.fingerprint() == problem.fingerprint()
    assert again.evaluate(POINT).value == problem.evaluate(POINT).value


# ---- refused at construction ------------------------------------------------------------------


async def coroutine(theta):
    return theta


def generator(theta):
    yield theta


class AsyncObject:
    async def __call__(self, theta):
        return theta


V, T = ValueError, TypeError
BAD = [
    ({"target": 3}, T, r"log_likelihood must be a function of the parameters, .* type int"),
    ({"target": lambda: 0.0}, T, r"log_likelihood must be callable .* its signature is \(\)"),
    ({"target": lambda a, b: a + b}, T, r"signature is \(a, b\) .*'b'; use functools.partial"),
    ({"target": lambda rng, theta: theta + rng}, T, r"and rng by name, but its signature is"),
    ({"target": coroutine}, T, r"log_likelihood must return .* an async function"),
    ({"target": AsyncObject()}, T, r"an async function"),
    ({"target": generator}, T, r"a generator function"),
    ({"noise": "loud"}, V, r"noise must be one of 'auto', .*'exact', got 'loud'"),
    ({"noise": None}, V, r"noise must be one of .*, got None"),
    ({"noise": 0.5}, V, r"noise must be one of .*, got 0.5"),
    ({"vectorised": 1}, T, r"vectorised must be True or False, got 1"),
    ({"noise_guess": 0.0}, V, r"noise_guess must be a positive, finite SD, got 0.0"),
    ({"noise_guess": np.nan}, V, r"noise_guess must be a positive, finite SD, got nan"),
    ({"noise_guess": "small"}, T, r"noise_guess must be a real number, got 'small'"),
    ({"noise_guess": 1.0, "noise": "exact"}, V, r"noise_guess must be None when noise=\"exact\""),
    ({"noise_guess": 1e300}, V, r"noise_guess must be a positive, finite SD, got 1e\+300"),
    ({"lower": None}, T, r"lower must be a number or an array, got None .*infinite"),
    ({"upper": None}, T, r"upper must be a number or an array, got None"),
    ({"lower": np.ma.array([[-10, 0]], mask=[[1, 0]])}, V, r"lower must be .* masked entries"),
    ({"lower": [0, 6]}, V, r"lower\[1\] \('b'\) must not exceed upper = 5.0 .*got 6"),
    ({"lower": [-10]}, V, r"lower must have shape \(2,\), got \(1,\)"),
    ({"upper": [10, 5, 1]}, V, r"upper must have shape \(2,\)"),
    ({"lower": [-10, np.nan]}, V, r"lower\[1\] \('b'\) must not be nan"),
    ({"lower": ["x", 0]}, V, r"lower must be an array of real numbers"),
    ({"lower": [0, 0j]}, V, r"lower must be an array of real numbers"),
    ({"plausible_lower": [-INF, 1]}, V, r"plausible_lower\[0\] \('a'\) must be finite"),
    ({"plausible_lower": [2, 1]}, V, r"plausible_lower\[0\] \('a'\) must be less than"),
    ({"plausible_upper": [1, 7]}, V, r"plausible_upper\[1\] \('b'\) must not be above upper = 5.0"),
    ({"lower": [10, 5], "plausible_lower": [10, 5], "plausible_upper": [10, 5]}, V, r"nothing is"),
    ({"names": ["a"]}, V, r"names has 1 entries, expected 2"),
    ({"names": ["a", "a"]}, V, r"names must differ .* 'a' appears twice"),
    ({"names": "ab"}, V, r"names must be a sequence of strings, got the single string 'ab'"),
    ({"names": ["a", 3]}, V, r"names must be non-empty strings"),
    ({"bounded": "tanh"}, V, r"bounded for 'a' must be one of .*got 'tanh'"),
    ({"periodic": ["c"]}, V, r"periodic has the unknown name 'c'"),
    ({"periodic": "a"}, V, r"periodic must be a sequence"),
    ({"periodic": ["a"], "upper": [INF, 5]}, V, r"upper\[0\] \('a'\) must be finite because"),
    ({"integer": ["c"]}, V, r"integer has the unknown name 'c'; the names are \['a', 'b'\]"),
    ({"integer": "a"}, V, r"integer must be .* got the single string 'a' \(put it in a list\)"),
    ({"integer": [True]}, V, r"integer has 1 entries, expected 2"),
    ({"integer": [0, 1]}, V, r"integer must be a sequence of coordinate names or a mask"),
    ({"integer": True}, V, r"integer must be a sequence .* got True"),
    ({"integer": ["a"], "periodic": ["a"]}, V, r"integer and periodic both have 'a'"),
    ({"integer": ["b"], "lower": [-10, 0.5]}, V, r"lower\[1\] \('b'\) must be an integer .* 0.5"),
    ({"integer": ["b"], "upper": [10, 4.5]}, V, r"upper\[1\] \('b'\) must be an int.* 4.5"),
    ({"integer": ["a"], "upper": [2.0**60, 5]}, V, r"upper\[0\] \('a'\) must be at most 2\*\*51"),
    ({"integer": ["b"], "plausible_upper": [1, 1.5]}, V, r"plausible_upper\[1\] .* at least 1 "),
    ({"prior": "none"}, V, r"prior must be None .* got the string 'none'"),
    ({"prior": [stats.norm()]}, V, r"prior has 1 entries, expected 2"),
    ({"prior": lambda _: np.nan}, V, r"prior has the log density nan at a=0, b=2"),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "kind", "message"), BAD)
def test_refused(changes, kind, message):
    changes = {"target": quadratic, **changes}
    with pytest.raises(kind, match=message):
        make(changes.pop("target"), **changes)


# ---- what a target may return ---------------------------------------------------------------

ONE = [-1.5, np.float64(-1.5), np.float32(-1.5), np.array(-1.5), np.array([-1.5])]
ONE += [np.array([[-1.5]]), Decimal("-1.5")]


@pytest.mark.parametrize("value", ONE)
@pytest.mark.parametrize(("noise", "sd"), [("auto", np.nan), ("unknown", np.nan), ("exact", 0.0)])
def test_bare_number(value, noise, sd):
    outcome = returning(value, noise=noise).evaluate(POINT)
    assert type(outcome.value) is float
    assert outcome.value == -1.5
    np.testing.assert_equal(outcome.sd, sd)
    assert not outcome.failed
    assert outcome.error is None
    assert outcome.seconds >= 0.0


PAIRS = [(-1.5, 0.2), [-1.5, 0.2], np.array([-1.5, 0.2]), (np.array([-1.5]), np.float32(0.2))]


@pytest.mark.parametrize("value", PAIRS)
@pytest.mark.parametrize("noise", ["auto", "reported"])
def test_pair(value, noise):
    outcome = returning(value, noise=noise).evaluate(POINT)
    assert not outcome.failed
    assert outcome.value == -1.5
    assert outcome.sd == pytest.approx(0.2)


@pytest.mark.parametrize("sd", [np.nan, None, np.array([np.nan])])
@pytest.mark.parametrize("noise", ["auto", "reported"])
def test_missing_sd_is_no_failure(sd, noise):
    outcome = returning((-1.5, sd), noise=noise).evaluate(POINT)
    assert not outcome.failed
    assert np.isnan(outcome.sd)
    assert outcome.reported  # unlike a bare number, which leaves "auto" to find out
    assert not returning(-1.5).evaluate(POINT).reported


@pytest.mark.parametrize("sd", [0, 0.0, None, np.nan])
def test_exact_accepts_a_pair_without_noise(sd):
    outcome = returning((-1.5, sd), noise="exact").evaluate(POINT)
    assert not outcome.failed
    assert outcome.sd == 0.0


@pytest.mark.parametrize("sd", [0.3, -1.0, "x"])
def test_unknown_ignores_the_sd_and_says_so(sd):
    outcome = returning((-1.5, sd), noise="unknown").evaluate(POINT)
    assert not outcome.failed
    assert np.isnan(outcome.sd)
    assert 'ignored because noise="unknown"' in outcome.note
    assert returning((-1.5, None), noise="unknown").evaluate(POINT).note == ""
    assert returning(-1.5, noise="unknown").evaluate(POINT).note == ""


@pytest.mark.parametrize("noise", ["auto", "reported", "unknown", "exact"])
@pytest.mark.parametrize("value", [-INF, (-INF, 0.5), (-INF, np.nan), (-INF, 0.0), [-INF, None]])
def test_minus_infinity_is_zero_density_in_every_mode(noise, value):
    outcome = returning(value, noise=noise).evaluate(POINT)
    assert outcome.failed
    assert outcome.zero_density
    assert outcome.value == -INF
    assert outcome.error.startswith("zero density")
    assert np.isnan(outcome.sd)


class Hostile:
    def __array__(self, dtype=None, copy=None):
        raise RuntimeError("no array for you")


FAILURES = [
    ("auto", np.nan, "bad value", r"the log-likelihood is nan \(return -inf where"),
    ("auto", INF, "bad value", r"the log-likelihood is inf"),
    ("reported", (np.nan, 0.5), "bad value", r"the log-likelihood is nan"),
    ("auto", 1 + 2j, "bad return", r"must be real, got the complex number \(1\+2j\)"),
    ("auto", np.array([1j]), "bad return", r"complex"),
    ("auto", True, "bad return", r"got the truth value True"),
    ("auto", np.bool_(False), "bad return", r"truth value"),
    ("auto", None, "bad return", r"must be a real number, got None"),
    ("auto", "1.5", "bad return", r"must be a real number, got '1.5'"),
    ("auto", np.array("1.5"), "bad return", r"must be a real number"),
    ("auto", {"value": 1}, "bad return", r"object of type dict"),
    ("auto", 10**400, "bad return", r"must be a real number"),
    ("auto", np.ma.masked, "bad return", r"masked"),
    ("auto", np.zeros(3), "bad return", r"must be a single number, got an array of shape \(3,\)"),
    ("auto", np.zeros((2, 2)), "bad return", r"array of shape \(2, 2\)"),
    ("auto", np.zeros(0), "bad return", r"array of shape \(0,\)"),
    ("auto", (1.0, 2.0, 3.0), "bad return", r"returned a tuple of 3 entries \(return the log"),
    ("auto", [1.0], "bad return", r"a list of 1 entries"),
    ("auto", (), "bad return", r"a tuple of 0 entries"),
    ("auto", (np.zeros(2), 0.1), "bad return", r"array of shape \(2,\)"),
    ("auto", Hostile(), "exception", r"RuntimeError: no array for you"),
    ("reported", -1.5, "bad return", r"without an SD .*return the pair .*unknown.* or .*exact"),
    ("reported", (-1.5, 0.0), "bad value", r"SD must be positive and finite, got 0.0 .*exact"),
    ("auto", (-1.5, 0.0), "bad value", r"SD must be positive and finite, got 0.0"),
    ("reported", (-1.5, -0.1), "bad value", r"SD must be positive and finite, got -0.1"),
    ("reported", (-1.5, INF), "bad value", r"SD must be positive and finite, got inf"),
    ("reported", (-1.5, 1j), "bad return", r"the SD must be real"),
    ("reported", (-1.5, "0.1"), "bad return", r"the SD must be a real number"),
    ("reported", (-1.5, np.ones(2)), "bad return", r"the SD must be a single number"),
    ("exact", (-1.5, 0.3), "bad return", r"SD 0.3 although noise=\"exact\" \(choose"),
]  # fmt: skip


@pytest.mark.parametrize(("noise", "value", "kind", "message"), FAILURES)
def test_bad_returns_are_facts_about_the_point(noise, value, kind, message):
    outcome = returning(value, noise=noise).evaluate(POINT)
    assert outcome.failed
    assert outcome.kind == kind
    assert re.search(message, outcome.error), outcome.error
    assert "\n" not in outcome.error
    assert np.isnan(outcome.sd)
    assert outcome.seconds >= 0.0
    assert not outcome.zero_density


def test_value_is_kept_where_only_the_sd_is_bad():
    assert returning((-1.5, -1.0)).evaluate(POINT).value == -1.5
    assert returning(-1.5, noise="reported").evaluate(POINT).value == -1.5


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.integers() | st.complex_numbers() | st.text(),
        lambda inner: st.tuples(inner, inner) | st.lists(inner, max_size=3),
        max_leaves=4,
    ),
    st.sampled_from(["auto", "reported", "unknown", "exact"]),
    st.booleans(),
)
@settings(deadline=None, max_examples=300)
def test_nothing_returned_ever_raises(value, noise, vectorised):
    outcome = returning(value, noise=noise, vectorised=vectorised).evaluate(POINT)
    assert outcome.failed == (outcome.kind is not None) == (outcome.error is not None)
    if not outcome.failed:
        assert np.isfinite(outcome.value)
        assert np.isnan(outcome.sd) or 0.0 <= outcome.sd < INF


# ---- exceptions -----------------------------------------------------------------------------


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError("even this fails")


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("singular\n  matrix"), "ValueError: singular matrix"),
        (ZeroDivisionError(), "ZeroDivisionError"),
        (MemoryError("no room"), "MemoryError: no room"),
        (StopIteration(), "StopIteration"),
        (UserWarning("turned into an error"), "UserWarning: turned into an error"),
        (Unprintable(), "Unprintable: (its message cannot be printed)"),
    ],
)
def test_exceptions_are_facts_about_the_point(error, line):
    def target(_):
        raise error

    outcome = make(target).evaluate(POINT)
    assert outcome.error == line
    assert outcome.kind == "exception"
    assert np.isnan(outcome.value)
    assert "in target" in outcome.traceback
    assert type(error).__name__ in outcome.traceback
    pickle.loads(pickle.dumps(outcome))


def test_long_messages_are_cut_in_the_line_but_not_in_the_traceback():
    def target(_):
        raise ValueError("x" * 5000)

    outcome = make(target).evaluate(POINT)
    assert len(outcome.error) < 400
    assert "x" * 5000 in outcome.traceback


@pytest.mark.parametrize("vectorised", [False, True])
def test_sys_exit_is_a_failure(vectorised):
    """It would end the whole program, with all other runs in it."""

    def target(_):
        raise SystemExit(3)

    outcome = make(target, vectorised=vectorised).evaluate(POINT)
    assert (outcome.kind, outcome.error) == ("exception", "SystemExit: 3")


@pytest.mark.parametrize("vectorised", [False, True])
def test_interrupts_are_not_swallowed(vectorised):
    def target(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make(target, vectorised=vectorised).evaluate(POINT)


def test_target_gets_a_copy_it_may_write_to():
    def target(theta):
        theta[:] = 99.0
        return 0.0

    theta = np.array(POINT)
    make(target).evaluate(theta)
    np.testing.assert_array_equal(theta, POINT)


@pytest.mark.parametrize(
    ("theta", "message"),
    [
        ([0.5], r"theta must have shape \(..., 2\)"),
        ([[0.5, 2.0]], r"theta must have shape \(2,\), got \(1, 2\)"),
        ([0.5, np.nan], r"theta\[1\] \('b'\) must be finite, got nan"),
        ([0.5, 5.5], r"theta\[1\] \('b'\) must lie within \[0.0, 5.0\] .*got 5.5"),
    ],
)
def test_points_out_of_bounds_are_the_callers_mistake(theta, message):
    with pytest.raises(ValueError, match=message):
        make().evaluate(theta)


# ---- random generators --------------------------------------------------------------------------


class Callable_:
    def __call__(self, _theta, *, rng=None):
        return float(rng.random())


class Plain:
    def method(self, _theta, rng):
        return float(rng.random())


@pytest.mark.parametrize(
    ("target", "takes"),
    [
        (quadratic, False),
        (lambda _theta, rng: float(rng.random()), True),
        (lambda _theta, *, rng=None: float(rng.random()), True),
        (functools.partial(lambda _theta, scale, rng: scale * rng.random(), scale=2.0), True),
        (Callable_(), True),
        (Plain().method, True),
        (lambda _theta, **kwargs: float(len(kwargs)), False),
        (np.max, False),
        (max, False),  # no signature
        (np.add.reduce, False),
    ],
)
def test_rng_is_passed_to_targets_that_have_the_parameter(target, takes):
    assert accepts_rng(target) is takes
    problem = make(target)
    assert problem.takes_rng is takes
    outcomes = [problem.evaluate(POINT, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert not any(outcome.failed for outcome in outcomes), outcomes[0].traceback
    values = [outcome.value for outcome in outcomes]
    assert values[0] == values[1]
    assert (values[0] != values[2]) is takes


def test_without_a_generator_one_is_made():
    assert not make(lambda _theta, rng: float(rng.random())).evaluate(POINT).failed


# ---- many points ---------------------------------------------------------------------------

POINTS = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0]])


def fresh(n=3):
    return [np.random.default_rng(i) for i in range(n)]


def test_loop_over_an_ordinary_target():
    def target(theta, rng):
        if theta[0] == 1.0:
            raise ValueError("not here")
        return quadratic(theta) + rng.random(), 0.1

    problem = make(target)
    outcomes = problem.evaluate_many(POINTS, fresh())
    assert [outcome.failed for outcome in outcomes] == [False, True, False]
    single = [problem.evaluate(p, rng) for p, rng in zip(POINTS, fresh(), strict=True)]
    np.testing.assert_equal([o.value for o in outcomes], [o.value for o in single])


def vector_target(thetas, rng):
    assert isinstance(rng, list)
    noise = np.array([r.standard_normal() for r in rng])
    return -0.5 * np.sum(thetas**2, axis=1) + noise, np.full(len(thetas), 0.5)


def test_vectorised_target_is_called_once_and_does_not_depend_on_the_batch():
    calls = []

    def target(thetas, rng):
        calls.append(len(thetas))
        return vector_target(thetas, rng)

    problem = make(target, vectorised=True)
    outcomes = problem.evaluate_many(POINTS, fresh())
    assert calls == [3]
    single = [problem.evaluate(p, rng) for p, rng in zip(POINTS, fresh(), strict=True)]
    assert [o.value for o in outcomes] == [o.value for o in single]
    assert [o.sd for o in outcomes] == [0.5] * 3


@pytest.mark.parametrize(
    ("returned", "noise", "sds"),
    [
        (np.array([1.0, 2.0, 3.0]), "exact", [0.0] * 3),
        ([1.0, 2.0, 3.0], "auto", [np.nan] * 3),
        (np.array([[1.0], [2.0], [3.0]]), "auto", [np.nan] * 3),
        (([1.0, 2.0, 3.0], [0.1, np.nan, 0.3]), "reported", [0.1, np.nan, 0.3]),
        (([1.0, 2.0, 3.0], 0.1), "reported", [0.1] * 3),
        (([1.0, 2.0, 3.0], None), "reported", [np.nan] * 3),
    ],
)
def test_vectorised_returns(returned, noise, sds):
    outcomes = returning(returned, noise=noise, vectorised=True).evaluate_many(POINTS)
    assert [o.error for o in outcomes] == [None] * 3
    assert [o.value for o in outcomes] == [1.0, 2.0, 3.0]
    np.testing.assert_equal([o.sd for o in outcomes], sds)


def test_vectorised_rows_fail_one_by_one():
    returned = (np.array([np.nan, -INF, -1.0]), np.array([0.1, 0.1, -0.1]))
    outcomes = returning(returned, vectorised=True).evaluate_many(POINTS)
    assert [o.kind for o in outcomes] == ["bad value", "zero density", "bad value"]
    masked = np.ma.masked_array([1.0, 2.0, 3.0], mask=[False, True, False])
    outcomes = returning(masked, vectorised=True).evaluate_many(POINTS)
    assert [o.failed for o in outcomes] == [False, True, False]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (np.zeros(2), r"returned 2 values for 3 points \(return an array of shape \(3,\)"),
        (1.0, r"returned 1 values for 3 points"),
        (np.zeros((3, 2)), r"returned 6 values for 3 points"),
        ((np.zeros(3), np.ones(2)), r"returned 2 SDs for 3 points"),
        ((1.0, 2.0, 3.0), r"a tuple of 3 entries for 3 points"),
    ],
)
def test_vectorised_bad_shapes(returned, message):
    outcomes = returning(returned, vectorised=True).evaluate_many(POINTS)
    assert len(outcomes) == 3
    for outcome in outcomes:
        assert outcome.kind == "bad return"
        assert re.search(message, outcome.error), outcome.error


def test_a_batch_that_raises_is_tried_point_by_point_with_untouched_generators():
    def target(thetas, rng):
        values = vector_target(thetas, rng)  # draws before it fails
        if (thetas[:, 0] == 1.0).any():
            raise ValueError("not here")
        return values

    problem = make(target, vectorised=True)
    outcomes = problem.evaluate_many(POINTS, fresh())
    assert [o.failed for o in outcomes] == [False, True, False]
    alone = problem.evaluate(POINTS[2], fresh()[2])
    assert outcomes[2].value == alone.value


def test_a_batch_that_raises_may_have_written_into_its_points():
    def target(thetas):
        thetas += 1.0
        if len(thetas) > 1:
            raise ValueError("one at a time")
        return thetas[:, 0]

    outcomes = make(target, vectorised=True).evaluate_many(POINTS)
    assert [o.value for o in outcomes] == [1.0, 2.0, 3.0]


def test_no_points_and_bad_points():
    for vectorised in (False, True):
        problem = make(vectorised=vectorised)
        assert problem.evaluate_many(np.empty((0, 2))) == []
        with pytest.raises(ValueError, match=r"thetas must have shape \(n, 2\), got \(2,\)"):
            problem.evaluate_many(POINT)
        with pytest.raises(ValueError, match=r"thetas\[1, 0\] \('a'\) must lie within"):
            problem.evaluate_many([[0, 1], [11, 1]])
        with pytest.raises(ValueError, match="rngs has 1 entries, expected 3"):
            problem.evaluate_many(POINTS, fresh(1))


# ---- prior and joint --------------------------------------------------------------------------


def test_log_prior_and_log_joint():
    problem = make(prior=[stats.norm(0, 2), stats.uniform(0, 5)])
    expected = stats.norm.logpdf(POINTS[:, 0], 0, 2) - np.log(5)
    np.testing.assert_allclose(problem.log_prior(POINTS), expected)
    assert problem.log_prior(POINTS[0]).shape == ()
    assert problem.log_prior(POINTS.reshape(3, 1, 2)).shape == (3, 1)
    values = np.array([1.0, 2.0, -INF])
    np.testing.assert_allclose(problem.log_joint(values, POINTS), expected + values)
    assert problem.log_prior([11.0, 1.0]) == -INF
    with pytest.raises(ValueError, match=r"theta must have shape \(..., 2\)"):
        problem.log_prior([1.0])


def test_included_prior_leaves_the_joint_alone():
    problem = make(prior="included")
    assert float(problem.log_joint(-3.0, POINT)) == -3.0
    assert problem.prior.is_included


# ---- integers and circles -----------------------------------------------------------------------


def whole(**changes):
    return make(
        **{"lower": [-10, 0], "upper": [10, 3], "plausible_lower": [-1, 0],
           "plausible_upper": [1, 3], "integer": ["b"], **changes}
    )  # fmt: skip


@pytest.mark.parametrize("integer", [["b"], ("b",), [False, True], np.array([False, True])])
def test_integers_live_in_cells(integer):
    problem = whole(integer=integer)  # and plausible bounds on the hard ones need no move
    np.testing.assert_array_equal(problem.lower, [-10, 0])
    np.testing.assert_array_equal(problem.upper, [10, 3])
    np.testing.assert_array_equal(problem.space.bounds.lower, [-10, -0.5])
    np.testing.assert_array_equal(problem.space.bounds.upper, [10, 3.5])
    np.testing.assert_array_equal(problem.plausible_upper, [1, 3])
    assert problem.has_integers


def test_plausible_box_of_integers_is_measured_against_the_cells():
    # Too near the hard bound 0 for a continuous coordinate, but not for the cell around it.
    with pytest.warns(UserWarning, match="plausible_lower of 'b' from 0.0 to 0.501"):
        whole(upper=[10, 1000], plausible_upper=[1, 1.0])


def test_uniform_prior_gives_each_integer_its_share():
    problem = whole()
    k = np.arange(4.0)
    mass = np.exp(problem.log_prior(np.column_stack([np.zeros(4), k]))) * 20
    np.testing.assert_allclose(mass, 0.25)


def test_prior_is_constant_on_a_cell():
    problem = whole(prior=lambda theta: stats.binom.logpmf(theta[1], 3, 0.3) - np.log(20))
    points = [[0, 1], [0, 0.6], [0, 1.4]]
    np.testing.assert_allclose(
        problem.log_prior(points), stats.binom.logpmf(1, 3, 0.3) - np.log(20)
    )


def test_targets_see_integers_only():
    seen = []

    def target(theta):
        seen.append(theta[1])
        return 0.0

    problem = make(target, **{"upper": [10, 3], "integer": ["b"], "plausible_lower": [-1, 0]})
    for value in (1.3, 1.7, -0.5, 3.5, 3.0):
        problem.evaluate([0.0, value])
    problem.evaluate_many([[0.0, 2.2]])
    assert seen == [1, 2, 0, 3, 3, 2]


@given(st.floats(-0.5, 3.5), st.floats(-10, 10))
@settings(deadline=None)
def test_snap_is_idempotent_and_moves_integers_by_half_at_most(k, a):
    problem = whole()
    snapped = problem.snap([a, k])
    assert snapped[0] == a
    assert snapped[1] in (0, 1, 2, 3)
    assert abs(snapped[1] - k) <= 0.5
    np.testing.assert_array_equal(problem.snap(snapped), snapped)
    assert problem.log_prior([a, k]) > -INF


def test_snap_leaves_points_out_of_bounds_there():
    assert whole().log_prior([0.0, 3.6]) == -INF
    assert whole().log_prior([0.0, -1.0]) == -INF


def test_unbounded_and_fixed_integers():
    with pytest.warns(UserWarning, match="improper"):
        problem = whole(upper=[10, INF])
    np.testing.assert_array_equal(problem.space.bounds.lower, [-10, -0.5])
    assert problem.upper[1] == INF
    assert problem.snap([0.0, 123.4])[1] == 123
    fixed = whole(lower=[-10, 2], upper=[10, 2], plausible_lower=[-1, 2], plausible_upper=[1, 2])
    assert fixed.space.kinds == ("two-sided", "fixed")
    assert fixed.lower[1] == 2
    assert not fixed.has_integers


def test_mass_outside_is_measured_from_the_cells():
    whole(prior=[stats.uniform(-10, 20), stats.uniform(-0.5, 4)])


def test_snap_takes_circles_into_one_period():
    problem = make(periodic=["a"], plausible_lower=[8, 1], plausible_upper=[12, 3])
    a = problem.snap([[10, 1], [-10, 1], [30.5, 1], [-10.5, 1], [3.25, 1]])[:, 0]
    np.testing.assert_array_equal(a, [-10, -10, -9.5, 9.5, 3.25])
    prior = make(periodic=["a"], prior=[stats.uniform(-10, 20), stats.uniform(0, 5)])
    np.testing.assert_allclose(prior.log_prior([[25.0, 1.0], [5.0, 1.0]]), -np.log(100))
    seen = []
    circle = make(lambda theta: seen.append(theta[0]) or 0.0, periodic=["a"])
    circle.evaluate([25.0, 1.0])
    assert seen == [5.0]


@given(st.floats(-1e6, 1e6), st.floats(-1e3, 1e3), st.floats(0.1, 1e3))
@settings(deadline=None)
def test_snapped_circles_stay_in_bounds(theta, low, period):
    problem = quell.Problem(
        quadratic, lower=low, upper=low + period, plausible_lower=low + 0.3 * period,
        plausible_upper=low + 0.6 * period, periodic=[True],
    )  # fmt: skip
    snapped = problem.snap([theta])
    assert problem.lower[0] <= snapped[0] < problem.upper[0]
    turns = (theta - snapped[0]) / (problem.upper[0] - problem.lower[0])
    assert abs(turns - np.rint(turns)) < 1e-6


# ---- texts ------------------------------------------------------------------------------------


def test_fingerprint_is_json_and_tells_problems_apart():
    base = make(prior=[stats.norm(), stats.uniform(0, 5)])
    print_ = base.fingerprint()
    assert json.loads(json.dumps(print_, allow_nan=False)) == print_
    assert print_ == make(prior=[stats.norm(), stats.uniform(0, 5)]).fingerprint()
    others = [
        make(), make(lower=[-9, 0]), make(names=["a", "c"]), make(noise="exact"),
        make(prior=[stats.norm(0, 2), stats.uniform(0, 5)]), make(periodic=["a"]),
        make(integer=["b"]), make(bounded="logit"), make(plausible_upper=[1, 3.5]),
        make(prior="included"), make(prior=lambda theta: -abs(theta[0])),
        make(prior=lambda theta: -abs(theta[1])),
    ]  # fmt: skip
    texts = {json.dumps(problem.fingerprint()) for problem in [base, *others]}
    assert len(texts) == 13


def test_fingerprint_with_infinite_bounds_and_densities_calls_nothing():
    calls = []

    def prior(theta):
        calls.append(theta)
        return -INF

    problem = make(lower=[-INF, 0], prior=prior)
    calls.clear()
    text = json.dumps(problem.fingerprint(), allow_nan=False)
    assert "-inf" in text
    assert calls == []


def test_repr_is_a_table():
    problem = quell.Problem(
        quadratic,
        lower=[-10, 0, 2, -INF], upper=[10, 5, 2, INF],
        plausible_lower=[-1, 1, 2, -1], plausible_upper=[1, 3, 2, 1],
        names=["shift", "k", "c", "z"], integer=["k"], noise="exact",
        prior=[stats.norm(0, 2), stats.uniform(-0.5, 6), None, stats.norm()],
    )  # fmt: skip
    assert repr(problem).splitlines() == [
        'Problem with 4 parameters (1 fixed), noise="exact"',
        "  name   kind       bounds       plausible  prior",
        "  shift  two-sided  [-10, 10]    [-1, 1]    norm(0, 2)",
        "  k      integer    [0, 5]       [1, 3]     uniform(-0.5, 6)",
        "  c      fixed      = 2",
        "  z      unbounded  [-inf, inf]  [-1, 1]    norm()",
    ]


def test_outcome_failure_is_one_line():
    outcome = Outcome.failure("timed\nout", kind="lost", seconds=3.0)
    assert outcome.error == "timed out"
    assert (outcome.failed, outcome.seconds) == (True, 3.0)


class TestPriorsThatEnd:
    """Hard bounds move in to where a parameter's own prior ends."""

    def test_a_scale_is_bounded_below(self):
        problem = make(
            lower=-np.inf, upper=np.inf, plausible_lower=[-1, 1], plausible_upper=[1, 3],
            prior=[stats.norm(), stats.gamma(2)],
        )  # fmt: skip
        assert problem.space.kinds == ("unbounded", "lower")
        np.testing.assert_array_equal(problem.lower, [-np.inf, 0.0])
        theta = [0.3, 1.5]
        expected = stats.norm.logpdf(0.3) + stats.gamma(2).logpdf(1.5)
        assert problem.log_prior(theta) == pytest.approx(expected)
        assert problem.log_prior([0.3, -0.5]) == -np.inf

    def test_bounds_inside_the_support_stay(self):
        problem = make(
            lower=[-5, 0.5], upper=[5, 9], plausible_lower=[-1, 1], plausible_upper=[1, 3],
            prior=[stats.truncnorm(-9, 9), stats.gamma(40, scale=0.1)],
        )  # fmt: skip
        np.testing.assert_array_equal(problem.lower, [-5, 0.5])
        np.testing.assert_array_equal(problem.upper, [5, 9])

    def test_the_plausible_box_must_not_stick_out(self):
        box = {"lower": -9, "upper": 99, "plausible_lower": [-1, -2], "plausible_upper": [1, 3]}
        with pytest.raises(ValueError, match=r"plausible_lower.*below 0.0, beyond which the prior"):
            make(**box, prior=[stats.norm(), stats.gamma(2)])
        with pytest.raises(ValueError, match=r"plausible_upper.*above 2.0, beyond which the prior"):
            make(**box, prior=[stats.norm(), stats.uniform(-3, 5)])

    def test_integers_and_circles_keep_their_bounds(self):
        problem = make(
            lower=[-9, -4], upper=[99, 4], plausible_lower=[1, 1], plausible_upper=[5, 3],
            prior=[stats.gamma(2), stats.uniform(0, 4)],
            integer=[True, False], periodic=[False, True],
        )  # fmt: skip
        np.testing.assert_array_equal(problem.lower, [-9, -4])

    def test_beside_an_integer(self):
        problem = make(
            lower=[0, -9], upper=[9, 99], plausible_lower=[1, 1], plausible_upper=[5, 3],
            prior=[stats.norm(4, 1), stats.gamma(2)], integer=[True, False],
        )  # fmt: skip
        np.testing.assert_array_equal(problem.lower, [0, 0])
        np.testing.assert_array_equal(problem.space.bounds.lower, [-0.5, 0])


def test_a_joint_prior_of_another_dimension():
    box = {"lower": -9, "upper": 99, "plausible_lower": -1, "plausible_upper": 1, "names": ["a"]}
    for prior in (stats.multivariate_normal(np.zeros(3)), stats.multivariate_t(np.zeros(2))):
        with pytest.raises(ValueError, match="parameters, but there are 1"):
            make(**box, prior=prior)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"names": ["a"]}, "names has 1 entries, expected 2"),
        ({"names": {"a", "b"}}, "order counts, got a set"),
        ({"names": (name for name in "ab")}, "order counts, got a generator"),
        ({"lower": [[-10], [-10]]}, r"lower must be a number or .* shape \(2, 1\)"),
        ({"lower": ["-10", "-10"]}, "lower must be an array of real numbers: got the text '-10'"),
        ({"bounded": None}, "bounded must be one of"),
    ],
)
def test_the_message_names_the_culprit(changes, message):
    box = {
        "lower": [-10, -10], "upper": [10, 10], "plausible_lower": [-1, -1],
        "plausible_upper": [1, 1],
    }  # fmt: skip
    with pytest.raises(ValueError, match=message):
        make(**(box | changes))
