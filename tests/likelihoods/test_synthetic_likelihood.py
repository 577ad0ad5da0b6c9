import pickle

import numpy as np
import pytest

import quell
from quell.likelihoods import synthetic_likelihood

N_DATA, SD = 25, 1.5
DATA = np.linspace(-1.0, 3.0, N_DATA)


def simulate(theta, rng):
    return rng.normal(theta[0], SD, size=N_DATA)


def simulate_many(theta, n, rng):
    return rng.normal(theta[0], SD, size=(n, N_DATA))


def mean(data):
    return [data.mean()]


def means(data):
    return data.mean(axis=1, keepdims=True)


def exact(theta):
    """Log density of the sample mean, which is normal."""
    variance = SD**2 / N_DATA
    return -0.5 * (np.log(2 * np.pi * variance) + (DATA.mean() - theta) ** 2 / variance)


@pytest.mark.parametrize(("vectorised", "theta"), [(False, 1.0), (True, 1.0), (True, 1.4)])
def test_unbiased_with_calibrated_sds(vectorised, theta):
    functions = (simulate_many, means) if vectorised else (simulate, mean)
    estimator = synthetic_likelihood(
        functions[0], DATA, summary=functions[1], vectorised=vectorised,
        n_simulations=200, estimator="unbiased_log",
    )  # fmt: skip
    rng, n = np.random.default_rng(1), 300
    value, sd = np.array([estimator([theta], rng) for _ in range(n)]).T
    assert abs(value.mean() - exact(theta)) < 4 * value.std() / np.sqrt(n)
    z = (value - exact(theta)) / sd
    assert abs(z.mean()) < 0.35  # values that are too low come with larger SDs
    assert 0.9 < z.std() < 1.15


def test_both_ways_to_simulate_agree():
    one = synthetic_likelihood(simulate, DATA, summary=mean, n_simulations=30)
    many = synthetic_likelihood(
        simulate_many, DATA, summary=means, n_simulations=30, vectorised=True
    )
    results = [estimator([1.2], np.random.default_rng(2)) for estimator in (one, many)]
    assert results[0] == pytest.approx(results[1], rel=1e-12)
    np.testing.assert_allclose(
        one.summaries([1.2], np.random.default_rng(3)),
        many.summaries([1.2], np.random.default_rng(3)),
    )


def test_summaries_may_come_from_the_simulator():
    direct = synthetic_likelihood(
        lambda theta, rng: mean(simulate(theta, rng)), [DATA.mean()], n_simulations=30
    )
    scalar = synthetic_likelihood(
        lambda theta, rng: simulate(theta, rng).mean(), DATA.mean(), n_simulations=30
    )
    other = synthetic_likelihood(simulate, DATA, summary=mean, n_simulations=30)
    results = [e([1.2], np.random.default_rng(2)) for e in (direct, scalar, other)]
    assert results[0] == results[1] == results[2]


def test_the_value_alone_is_the_same():
    estimator = synthetic_likelihood(simulate, DATA, summary=mean)
    value, _ = estimator([1.0], np.random.default_rng(1))
    assert estimator.value([1.0], np.random.default_rng(1)) == value


@pytest.mark.parametrize("sd", ["jackknife", "bootstrap"])
def test_far_away_the_floor_is_returned(sd):
    estimator = synthetic_likelihood(simulate, DATA, summary=mean, floor=-500.0, sd=sd)
    assert estimator([100.0], np.random.default_rng(1)) == (-500.0, 50.0)
    assert estimator.value([100.0], np.random.default_rng(1)) == -500.0
    zero = synthetic_likelihood(simulate, DATA, summary=mean, estimator="unbiased", sd=sd)
    assert zero([100.0], np.random.default_rng(1)) == (-10_000.0, 1000.0)


def test_methods_of_the_sd_differ_a_little():
    sds = [
        synthetic_likelihood(simulate, DATA, summary=mean, sd=sd)([1.3], np.random.default_rng(1))[
            1
        ]
        for sd in ("jackknife", "bootstrap")
    ]
    assert sds[0] != sds[1]
    assert sds[0] == pytest.approx(sds[1], rel=0.2)


def test_the_same_seed_gives_the_same_value_also_after_pickling():
    estimator = synthetic_likelihood(simulate, DATA, summary=mean, sd="bootstrap", n_bootstrap=50)
    again = pickle.loads(pickle.dumps(estimator))
    values = [e([1.0], np.random.default_rng(5)) for e in (estimator, estimator, again)]
    assert values[0] == values[1] == values[2]


def test_the_simulator_may_write_into_its_argument():
    def careless(theta, rng):
        theta += 1.0
        return simulate(theta, rng)

    careful = synthetic_likelihood(simulate, DATA, summary=mean)
    assert synthetic_likelihood(careless, DATA, summary=mean).value(
        [0.5], np.random.default_rng(1)
    ) == careful.value([1.5], np.random.default_rng(1))


def test_in_a_problem():
    problem = quell.Problem(
        synthetic_likelihood(simulate, DATA, summary=mean),
        lower=[-10], upper=[10], plausible_lower=[-1], plausible_upper=[3],
    )  # fmt: skip
    outcome = problem.evaluate([1.2], rng=np.random.default_rng(1))
    assert not outcome.failed
    assert abs(outcome.value - exact(1.2)) < 4 * outcome.sd + 0.05
    broken = quell.Problem(
        synthetic_likelihood(lambda *_: np.nan, 0.0),
        lower=[-10], upper=[10], plausible_lower=[-1], plausible_upper=[3],
    )  # fmt: skip
    assert "summary 0 is not finite in 100 of 100" in broken.evaluate([1.2]).error


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"n_simulations": 2}, ValueError, "n_simulations must be at least 3 for 1 summaries"),
        ({"n_simulations": 5, "sd": "bootstrap"}, ValueError, "at least 8 for 1 .*'bootstrap'"),
        ({"n_simulations": 10.0}, ValueError, "n_simulations must be a positive integer"),
        ({"estimator": "biased"}, ValueError, "estimator must be one of 'plain', 'unbiased'"),
        ({"sd": "analytic"}, ValueError, "sd must be one of 'jackknife', 'bootstrap'"),
        ({"shrinkage": 2}, ValueError, "shrinkage must be"),
        ({"shrinkage": "auto", "estimator": "unbiased"}, ValueError, "plain estimator only"),
        ({"floor": -np.inf}, ValueError, "floor must be negative and finite"),
        ({"floor": 0.0}, ValueError, "floor must be negative"),
        ({"jitter": -1.0}, ValueError, "jitter must be 0 or positive"),
        ({"n_bootstrap": 1}, ValueError, "n_bootstrap must be"),
        ({"vectorised": "yes"}, TypeError, "vectorised must be True or False"),
        ({"summary": 3}, TypeError, r"callable as summary\(data\)"),
        ({"summary": lambda _: [np.nan]}, ValueError, "observed summaries.*must be finite"),
        ({"summary": lambda _: []}, ValueError, r"shape \(d,\)"),
        ({"summary": lambda _: ["a"]}, ValueError, "real numbers"),
        ({"vectorised": True}, TypeError, r"simulate\(theta, n, rng\).*\(theta, rng\)"),
    ],
)
def test_bad_arguments(arguments, error, says):
    with pytest.raises(error, match=says):
        synthetic_likelihood(simulate, DATA, **{"summary": mean} | arguments)


def test_a_vectorised_summary_has_rows():
    with pytest.raises(ValueError, match=r"shape \(1, d\), got \(1,\)"):
        synthetic_likelihood(
            simulate_many, DATA, summary=lambda data: data.mean(axis=1), vectorised=True
        )


@pytest.mark.parametrize(
    ("function", "vectorised", "says"),
    [
        (lambda _, __: np.zeros(3), False, r"shape \(2,\), like .*, got \(3,\)"),
        (lambda _, __: "text", False, "real numbers"),
        (lambda _, n, __: np.zeros((n, 3)), True, r"shape \(100, 2\), .*got \(100, 3\)"),
        (lambda *_: np.zeros(2), True, r"got \(2,\)"),
        (lambda *_: [0.0, np.inf], False, "summary 1 is not finite in 100 of 100"),
    ],
)  # fmt: skip
def test_bad_simulations(function, vectorised, says):
    estimator = synthetic_likelihood(function, [0.0, 0.0], vectorised=vectorised)
    with pytest.raises(ValueError, match=says):
        estimator([1.0], np.random.default_rng(1))


def test_bad_points_and_generators():
    estimator = synthetic_likelihood(simulate, DATA, summary=mean)
    with pytest.raises(ValueError, match="one point at a time"):
        estimator([[1.0]], np.random.default_rng(1))
    for method in (estimator, estimator.value, estimator.summaries):
        with pytest.raises(TypeError, match="rng must be"):
            method([1.0], 5)
