import pickle
import sys

import numpy as np
import pytest

import quell
from quell.likelihoods import ibs

LEVELS = np.linspace(-2, 2, 5)


def probability(theta, x):
    """P(yes) of an observer with a slope and a lapse rate."""
    return 0.02 + 0.96 / (1 + np.exp(-theta[0] * x))


def answer(theta, x, rng):
    return (rng.random(len(x)) < probability(theta, x)).astype(int)


def toss(theta, trials, rng):
    return rng.random(len(trials)) < theta[0]


def never(_theta, trials, _rng):
    return np.full(len(trials), -1)


@pytest.fixture(scope="module")
def experiment():
    """Stimuli and answers of 60 trials."""
    x = np.resize(LEVELS, 60)
    return x, answer([1.5], x, np.random.default_rng(0))


def exact(theta, x, y, weights=1.0):
    p = probability(theta, x)
    return float(np.sum(weights * np.log(np.where(y == 1, p, 1 - p))))


def repeated(estimator, n, theta=(1.0,), seed=1):
    rng = np.random.default_rng(seed)
    return np.array([estimator(theta, rng) for _ in range(n)]).T


@pytest.mark.parametrize(
    "precision", [{"repeats": 1}, {"repeats": 20}, {"target_sd": 2.0}, {"target_sd": 1.0}]
)
def test_unbiased_with_calibrated_sds(experiment, precision):
    x, y = experiment
    value, sd = repeated(ibs(answer, y, trials=x, **precision), 400)
    z = (value - exact([1.0], x, y)) / sd
    assert abs(value.mean() - exact([1.0], x, y)) < 4 * value.std() / np.sqrt(400)
    assert abs(z.mean()) < 0.3  # a skewness of z remains at few repeats
    assert 0.9 < z.std() < 1.1


def test_the_choice_of_repeats_does_not_bias_the_value(monkeypatch):
    """With a first round of a single repeat, which says little, so that the choice varies much."""
    monkeypatch.setattr(sys.modules["quell.likelihoods.ibs"], "FIRST_ROUND", 1)
    estimator, n = ibs(toss, np.ones(2), target_sd=0.8), 1200
    rng = np.random.default_rng(2)
    found = [estimator.estimate([0.3], rng) for _ in range(n)]
    values = np.array([e.value for e in found])
    assert len({e.repeats for e in found}) > 3
    assert abs(values.mean() - 2 * np.log(0.3)) < 4 * values.std() / np.sqrt(n)


@pytest.mark.parametrize("target", [0.5, 1.0, 2.0])
def test_the_target_sd_is_reached(experiment, target):
    x, y = experiment
    _, sd = repeated(ibs(answer, y, trials=x, target_sd=target), 40)
    assert 0.8 * target < np.median(sd) < target
    assert sd.max() < 1.2 * target


def test_the_target_sd_is_reached_where_misses_are_rare():
    _, sd = repeated(ibs(toss, np.ones(100), target_sd=0.1), 40, theta=[0.995])
    assert sd.mean() < 0.11


def test_repeats_that_a_target_may_lead_to_are_limited(experiment):
    x, y = experiment
    estimate = ibs(answer, y, trials=x, target_sd=1e-3, max_repeats=7).estimate(
        [1.0], np.random.default_rng(1)
    )
    assert estimate.repeats == 7
    assert estimate.sd > 1e-3


def test_the_variance_falls_with_the_repeats(experiment):
    x, y = experiment
    sds = [
        ibs(answer, y, trials=x, repeats=r)([1.0], np.random.default_rng(3))[1] for r in (5, 500)
    ]
    assert sds[0] / sds[1] == pytest.approx(10, rel=0.2)


def test_weights(experiment):
    x, y = experiment
    weights = np.resize([0.0, 1.0, 2.5], len(x))
    seen = set()

    def simulate(theta, trials, rng):
        seen.update(trials.tolist())
        return answer(theta, x[trials], rng)

    estimator = ibs(simulate, y, repeats=20, weights=weights)
    value, sd = repeated(estimator, 300)
    assert abs(value.mean() - exact([1.0], x, y, weights)) < 4 * value.std() / np.sqrt(300)
    assert sd.mean() == pytest.approx(value.std(), rel=0.12)
    assert seen == set(np.flatnonzero(weights))
    trial_values = estimator.estimate([1.0], np.random.default_rng(1)).trial_values
    np.testing.assert_array_equal(np.isnan(trial_values), weights == 0)


def test_single_trials_have_their_own_estimates(experiment):
    x, y = experiment
    p = probability([1.0], x)
    estimate = ibs(answer, y, trials=x, repeats=4000).estimate([1.0], np.random.default_rng(1))
    log_p = np.log(np.where(y == 1, p, 1 - p))
    np.testing.assert_allclose(estimate.trial_values, log_p, atol=0.15)
    assert estimate.value == pytest.approx(estimate.trial_values.sum())
    assert (estimate.repeats, estimate.unfinished) == (4000, 0)


def test_all_features_of_a_response_must_be_equal():
    """A choice of two and a bin of five, independent: p = 0.6 · 0.2 and 0.4 · 0.2."""

    def simulate(_theta, trials, rng):
        k = len(trials)
        return np.column_stack([rng.random(k) < 0.6, rng.integers(5, size=k)])

    value, sd = repeated(ibs(simulate, [[1, 3], [0, 0]], repeats=200), 20)
    assert abs(value.mean() - np.log(0.12) - np.log(0.08)) < 4 * sd.mean() / np.sqrt(20)


@pytest.mark.parametrize("kind", [str, object, bool])
def test_responses_may_be_text_objects_and_truth_values(kind):
    names = np.array([False, True]) if kind is bool else np.array(["left", "right"], dtype=kind)

    def simulate(_theta, trials, rng):
        return names[(rng.random(len(trials)) < 0.25).astype(int)]

    value, sd = repeated(ibs(simulate, names[[0, 1, 1]].tolist(), repeats=300), 10)
    assert abs(value.mean() - np.log(0.75) - 2 * np.log(0.25)) < 4 * sd.mean() / np.sqrt(10)


def test_the_design_is_handed_over_by_rows(experiment):
    x, y = experiment
    design = np.column_stack([x, np.arange(len(x))])
    sizes = []

    def simulate(theta, trials, rng):
        sizes.append(len(trials))
        np.testing.assert_array_equal(trials[:, 0], x[trials[:, 1].astype(int)])
        theta[:] = np.nan  # of no consequence
        return answer([1.0], trials[:, 0], rng)

    ibs(simulate, y, trials=design, repeats=30, batch_size=50)([1.0], np.random.default_rng(1))
    assert max(sizes) <= 50


def test_calls_are_few(experiment):
    x, y = experiment
    sizes = []

    def simulate(theta, trials, rng):
        sizes.append(len(trials))
        return answer(theta, trials, rng)

    estimate = ibs(simulate, y, trials=x, repeats=200).estimate([1.0], np.random.default_rng(1))
    assert len(sizes) < 40
    assert estimate.draws == sum(sizes)


def test_the_same_seed_gives_the_same_value_also_after_pickling(experiment):
    x, y = experiment
    estimator = ibs(answer, y, trials=x, target_sd=1.0)
    again = pickle.loads(pickle.dumps(estimator))
    values = [e([1.0], np.random.default_rng(5)) for e in (estimator, estimator, again)]
    assert values[0] == values[1] == values[2]


def test_certain_responses_have_a_positive_sd():
    estimator = ibs(lambda _theta, trials, _rng: np.ones(len(trials)), np.ones(10), repeats=4)
    assert estimator([0.0], np.random.default_rng(1)) == (0.0, 0.25)


@pytest.mark.parametrize("precision", [{"repeats": 100}, {"target_sd": 0.5}])
def test_hopeless_parameters_stop_early(precision):
    n, cap = 400, 50
    estimator = ibs(never, np.ones(n), max_draws=cap, **precision)
    estimate = estimator.estimate([1.0], np.random.default_rng(1))
    assert estimate.unfinished == n
    assert estimate.draws <= cap * n  # one repeat, not 100
    assert estimate.value == pytest.approx(-n * np.sum(1 / np.arange(1, cap + 1)), rel=1e-12)
    assert estimate.sd == pytest.approx(n, rel=0.01)


def test_one_response_that_never_comes():
    """The other trials are as precise as ever, and the SD says that a value is missing."""
    n = 300
    observed = np.ones(n)
    observed[7] = 2
    estimator = ibs(toss, observed, repeats=5, max_draws=100)
    estimate = estimator.estimate([0.5], np.random.default_rng(1))
    assert estimate.unfinished == 1
    assert np.argmin(estimate.trial_values) == 7
    assert estimate.trial_values[7] < -np.log(100 * n) + 1  # all the draws went to it
    assert 1 < estimate.sd < 14


def test_a_limit_out_of_reach_changes_nothing(experiment):
    x, y = experiment
    values = [
        ibs(answer, y, trials=x, repeats=9, max_draws=cap)([1.0], np.random.default_rng(1))
        for cap in (1000, 10**9)
    ]
    assert values[0] == values[1]


def test_in_a_problem(experiment):
    x, y = experiment
    problem = quell.Problem(
        ibs(answer, y, trials=x, target_sd=1.0),
        lower=[0], upper=[10], plausible_lower=[0.5], plausible_upper=[3],
    )  # fmt: skip
    outcome = problem.evaluate([1.5], rng=np.random.default_rng(1))
    assert not outcome.failed
    assert abs(outcome.value - exact([1.5], x, y)) < 4 * outcome.sd


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({}, "either repeats .* or target_sd .*, got neither"),
        ({"repeats": 5, "target_sd": 1.0}, "got both"),
        ({"repeats": 0}, "repeats must be a positive integer, got 0"),
        ({"repeats": 2.0}, "repeats must be a positive integer"),
        ({"repeats": True}, "repeats must be a positive integer"),
        ({"target_sd": 0.0}, "target_sd must be positive"),
        ({"target_sd": np.inf}, "target_sd must be positive and finite"),
        ({"repeats": 5, "weights": [1.0, -1.0, 1.0]}, r"weights\[1\] must be .*not negative"),
        ({"repeats": 5, "weights": [0.0, 0.0, 0.0]}, "not all be 0"),
        ({"repeats": 5, "weights": [1.0]}, r"shape \(3,\)"),
        ({"repeats": 5, "trials": [1.0, 2.0]}, "one row for each of the 3 responses"),
        ({"repeats": 5, "trials": 1.0}, "one row for each"),
        ({"repeats": 5, "max_draws": 0}, "max_draws must be"),
        ({"repeats": 5, "batch_size": 0}, "batch_size must be"),
        ({"repeats": 5, "max_repeats": 0}, "max_repeats must be"),
    ],
)
def test_bad_arguments(arguments, says):
    with pytest.raises(ValueError, match=says):
        ibs(never, [0, 1, 1], **arguments)


@pytest.mark.parametrize(
    ("responses", "error", "says"),
    [
        ([], ValueError, "at least one trial"),
        (3, ValueError, r"shape \(n,\)"),
        (np.zeros((2, 2, 2)), ValueError, r"\(n, features\)"),
        ([1.0, np.nan], ValueError, "nan in trial 1"),
        ([1, "left"], TypeError, "integers, truth values, floats or text"),
        (np.array([1, "left"], dtype=object), TypeError, "integers, truth values, floats or text"),
        ([1, None], TypeError, "integers, truth values"),
        ([1j, 2j], TypeError, "complex"),
        ([[1, 2], [1]], ValueError, "responses must be an array"),
        (np.ma.masked_array([1, 2], [False, True]), ValueError, "masked"),
    ],
)
def test_bad_responses(responses, error, says):
    with pytest.raises(error, match=says):
        ibs(never, responses, repeats=5)


@pytest.mark.parametrize("simulate", [None, "toss", lambda _theta, _rng: 0])
def test_what_cannot_simulate(simulate):
    with pytest.raises(TypeError, match=r"callable as simulate\(theta, trials, rng\)"):
        ibs(simulate, [0, 1], repeats=5)


@pytest.mark.parametrize(
    ("returned", "error", "says"),
    [
        (lambda k: np.zeros(k + 1), ValueError, r"shape \(10,\), but it returned shape \(11,\)"),
        (lambda k: np.zeros((k, 1)), ValueError, r"returned shape \(10, 1\)"),
        (lambda _: 1, ValueError, r"returned shape \(\)"),
        (lambda k: ["yes"] * k, TypeError, "responses are numbers, but simulate returns text"),
        (lambda k: [None] * k, TypeError, "what simulate returns must be integers"),
    ],
)
def test_bad_simulations(returned, error, says):
    estimator = ibs(lambda _theta, trials, _rng: returned(len(trials)), [0, 1], repeats=5)
    with pytest.raises(error, match=says):
        estimator([1.0], np.random.default_rng(1))


def test_bad_points_and_generators():
    estimator = ibs(never, [0, 1], repeats=5, max_draws=2)
    with pytest.raises(ValueError, match="one point at a time"):
        estimator([[1.0]], np.random.default_rng(1))
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random.Generator"):
        estimator([1.0], 5)
