import numpy as np
import pytest
from scipy.special import ndtr

from quell.bench import load
from quell.bench.metrics import (
    bootstrap_interval,
    gskl,
    lml_loss,
    mmtv,
    quantile,
    usable,
)
from quell.calibration.shares import wilson_interval


def test_lml_loss_is_symmetric():
    assert lml_loss(1.0, 3.0) == lml_loss(3.0, 1.0) == 2.0


def test_gskl_of_the_truth_is_zero_and_grows_with_a_shift():
    truth = load("corr").truth
    assert gskl(truth.mean, truth.covariance, truth) == pytest.approx(0, abs=1e-12)
    truth = load("normal", 2).truth
    # Half the squared distance in units of the SD.
    assert gskl(truth.mean + np.array([1.0, 2.0]), truth.covariance, truth) == pytest.approx(1.0)


def test_gskl_of_a_singular_covariance_is_infinite():
    truth = load("normal", 2).truth
    assert gskl(truth.mean, np.zeros((2, 2)), truth) == np.inf
    assert gskl(truth.mean, np.full((2, 2), np.nan), truth) == np.inf


def test_mmtv_of_exact_draws_is_at_the_floor():
    truth = load("normal", 5).truth
    draws = truth.sample(100_000, np.random.default_rng(1))
    assert mmtv(draws, truth.reference) < 0.012


def test_mmtv_of_shifted_normals():
    truth = load("normal", 2).truth
    draws = truth.sample(100_000, np.random.default_rng(1))
    draws[:, 0] += 1.0
    assert mmtv(draws, truth.marginals) == pytest.approx((2 * ndtr(0.5) - 1) / 2, abs=0.01)


def test_usable_needs_all_three():
    assert usable(0.99, 0.99, 0.199)
    assert not usable(1.0, 0.5, 0.1)
    assert not usable(0.5, 1.0, 0.1)
    assert not usable(0.5, 0.5, 0.2)
    assert not usable(np.nan, 0.5, 0.1)


def test_quantile_agrees_with_numpy_and_takes_infinities():
    values = np.random.default_rng(2).random(17)
    assert quantile(values, 0.9) == pytest.approx(np.quantile(values, 0.9))
    assert quantile([0.0, np.inf, np.inf], 0.5) == np.inf
    assert quantile([1.0, 2.0, np.inf], 0.25) == 1.5


def test_bootstrap_interval_covers_the_median():
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(40):
        low, high = bootstrap_interval(rng.standard_normal(60))
        hits += low <= 0 <= high
    assert hits >= 34


def test_bootstrap_interval_of_one_value_and_with_infinities():
    assert bootstrap_interval([2.0]) == (2.0, 2.0)
    low, high = bootstrap_interval([1.0] * 10 + [np.inf])
    assert (low, high) == (1.0, 1.0)


def test_wilson_interval_at_the_ends():
    assert wilson_interval(0, 10)[0] == pytest.approx(0, abs=1e-12)
    assert wilson_interval(10, 10) == pytest.approx((0.722, 1.0), abs=1e-3)
