import pickle

import numpy as np
import pytest

import quell
from quell.likelihoods import emulated


def log_likelihood(theta):
    return -0.5 * np.sum(theta**2)


def test_unbiased_with_calibrated_sds():
    noisy, rng = emulated(log_likelihood, 2.0), np.random.default_rng(1)
    value, sd = np.array([noisy([1.0, 1.0], rng) for _ in range(2000)]).T
    assert (sd == 2.0).all()
    z = (value + 1.0) / sd
    assert abs(z.mean()) < 4 / np.sqrt(2000)
    assert 0.94 < z.std() < 1.06


def test_jitter_spreads_the_sd_that_is_reported_and_not_the_noise():
    noisy, exact = emulated(log_likelihood, 2.0, jitter=0.3), emulated(log_likelihood, 2.0)
    rng, same = np.random.default_rng(1), np.random.default_rng(1)
    value, sd = np.array([noisy([1.0], rng) for _ in range(2000)]).T
    errors = np.log(sd / 2.0)
    assert abs(errors.mean()) < 4 * 0.3 / np.sqrt(2000)
    assert errors.std() == pytest.approx(0.3, rel=0.07)
    assert abs(np.corrcoef(errors, value)[0, 1]) < 4 / np.sqrt(2000)
    assert [exact([1.0], same)[0] for _ in range(2000)] == value.tolist()


def test_zero_density_stays():
    value, sd = emulated(lambda _: -np.inf, 1.0)([0.0], np.random.default_rng(1))
    assert (value, sd) == (-np.inf, 1.0)


def test_in_a_problem_and_after_pickling():
    noisy = pickle.loads(pickle.dumps(emulated(log_likelihood, 0.5)))
    problem = quell.Problem(noisy, lower=[-9], upper=[9], plausible_lower=[-1], plausible_upper=[1])
    outcome = problem.evaluate([0.5], rng=np.random.default_rng(1))
    assert outcome.sd == 0.5
    assert abs(outcome.value + 0.125) < 2.5


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ((log_likelihood, 0.0), ValueError, "sd must be positive"),
        ((log_likelihood, -1.0), ValueError, "sd must be positive"),
        ((log_likelihood, np.nan), ValueError, "sd must be positive and finite"),
        ((log_likelihood, "2"), TypeError, "sd must be a real number"),
        ((3.0, 1.0), TypeError, r"callable as log_likelihood\(theta\)"),
        ((lambda: 0.0, 1.0), TypeError, r"callable as log_likelihood\(theta\)"),
    ],
)
def test_bad_arguments(arguments, error, says):
    with pytest.raises(error, match=says):
        emulated(*arguments)


def test_bad_jitter_values_and_generators():
    with pytest.raises(ValueError, match="jitter must be 0 or positive"):
        emulated(log_likelihood, 1.0, jitter=-0.1)
    with pytest.raises(ValueError, match="what log_likelihood returns must be a single number"):
        emulated(lambda theta: (0.0, 1.0), 1.0)([0.0], np.random.default_rng(1))  # noqa: ARG005
    with pytest.raises(TypeError, match="rng must be"):
        emulated(log_likelihood, 1.0)([0.0], None)
