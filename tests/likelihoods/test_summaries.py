import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from quell.likelihoods import synthetic_log_likelihood
from quell.likelihoods.summaries import log_density, shrinkage_intensity, shrunk


def normal_sample(n, d, distance, repeats, seed=1):
    """log|C| and q of many samples of n standard normal summaries, observed at a distance."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((repeats, n, d))
    mean = x.mean(1)
    centred = x - mean[:, None]
    covariance = np.einsum("bni,bnj->bij", centred, centred) / (n - 1)
    offset = -mean
    offset[:, 0] += distance
    q = np.einsum("bi,bi->b", offset, np.linalg.solve(covariance, offset[..., None])[..., 0])
    return np.linalg.slogdet(covariance)[1], q


@pytest.mark.parametrize(("n", "d", "distance"), [(8, 1, 0.5), (12, 2, 1.0), (40, 5, 2.0)])
def test_the_corrected_forms_are_unbiased(n, d, distance):
    repeats = 20_000
    log_det, q = normal_sample(n, d, distance, repeats)
    exact = -0.5 * (d * np.log(2 * np.pi) + distance**2)
    values = log_density(log_det, q, n, d, "unbiased_log")
    assert abs(values.mean() - exact) < 4 * values.std() / np.sqrt(repeats)
    densities = np.exp(log_density(log_det, q, n, d, "unbiased") - exact)
    assert abs(densities.mean() - 1) < 4 * densities.std() / np.sqrt(repeats)
    assert densities.std() / np.sqrt(repeats) < 0.015
    plain = log_density(log_det, q, n, d, "plain")
    assert plain.mean() < exact - 4 * plain.std() / np.sqrt(repeats)


@pytest.mark.parametrize("estimator", ["plain", "unbiased", "unbiased_log"])
def test_many_simulations_give_the_density(estimator):
    rng = np.random.default_rng(2)
    covariance = np.array([[2.0, 0.9], [0.9, 1.0]])
    x = rng.multivariate_normal([1.0, -1.0], covariance, size=50_000)
    exact = multivariate_normal([1.0, -1.0], covariance).logpdf([2.0, 0.5])
    value = synthetic_log_likelihood(x, [2.0, 0.5], estimator=estimator)
    assert value == pytest.approx(exact, abs=0.05)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 5), st.integers(0, 2**32))
def test_the_plain_form_is_a_normal_density(d, seed):
    rng = np.random.default_rng(seed)
    x, observed = rng.standard_normal((20, d)) @ rng.standard_normal((d, d)), rng.random(d)
    covariance = np.cov(x.T).reshape(d, d) + 1e-12 * np.eye(d)
    exact = multivariate_normal(x.mean(0), covariance, allow_singular=True).logpdf(observed)
    assert synthetic_log_likelihood(x, observed) == pytest.approx(exact, rel=1e-6)


def test_summaries_of_very_different_size():
    """A condition number of 1e24: only the units differ, and no direction is dropped."""
    rng = np.random.default_rng(3)
    units = 10.0 ** np.array([6, 3, 0, -3])
    x, observed = rng.standard_normal((100, 4)), np.array([0.5, -0.2, 0.1, 1.0])
    value = synthetic_log_likelihood(x * units, observed * units, jitter=0.0)
    expected = synthetic_log_likelihood(x, observed, jitter=0.0) - np.log(units).sum()
    assert value == pytest.approx(expected, abs=1e-9)


def test_a_constant_summary_has_the_variance_of_the_jitter():
    x = np.column_stack([np.random.default_rng(4).standard_normal(50), np.full(50, 3.0)])
    at, off = (synthetic_log_likelihood(x, [0.0, value]) for value in (3.0, 3.1))
    assert at - off == pytest.approx(0.5 * 0.1**2 / 1e-12, rel=1e-3)


def test_the_unbiased_density_may_be_zero():
    x = np.random.default_rng(5).standard_normal((20, 2))
    assert synthetic_log_likelihood(x, [50.0, 0.0], estimator="unbiased") == -np.inf


def test_shrinkage_goes_from_the_covariance_to_its_diagonal():
    rng = np.random.default_rng(6)
    x, observed = rng.multivariate_normal([0, 0], [[1, 0.8], [0.8, 1]], size=40), [1.0, -1.0]
    values = [synthetic_log_likelihood(x, observed, shrinkage=s) for s in (None, 0.0, 0.5, 1.0)]
    assert values[0] == values[1] < values[2] < values[3]
    each = [synthetic_log_likelihood(x[:, [i]], observed[i : i + 1]) for i in (0, 1)]
    assert values[3] == pytest.approx(sum(each))
    np.testing.assert_array_equal(shrunk(np.cov(x.T), 1.0), np.diag(np.diag(np.cov(x.T))))


def test_automatic_shrinkage_follows_the_correlations():
    rng = np.random.default_rng(7)
    independent, common = rng.standard_normal((60, 8)), rng.standard_normal((60, 1))
    assert shrinkage_intensity(independent, "auto") > 0.6
    assert shrinkage_intensity(independent + 3 * common, "auto") < 0.05
    assert shrinkage_intensity(independent[:, :1], "auto") == 1.0
    # The definition, pair by pair, with the unbiased variance of a mean of products.
    z = (independent - independent.mean(0)) / independent.std(0, ddof=1)
    n, top, bottom = len(z), 0.0, 0.0
    for i in range(8):
        for j in range(i):
            w = z[:, i] * z[:, j]
            top += n / (n - 1) ** 3 * np.sum((w - w.mean()) ** 2)
            bottom += (n / (n - 1) * w.mean()) ** 2
    assert shrinkage_intensity(independent, "auto") == pytest.approx(min(1.0, top / bottom))


def test_shrinkage_lowers_the_noise_of_few_simulations():
    rng = np.random.default_rng(8)
    values = {None: [], "auto": []}
    for _ in range(100):
        x = rng.standard_normal((25, 10))
        for shrinkage, list_ in values.items():
            list_.append(synthetic_log_likelihood(x, np.ones(10), shrinkage=shrinkage))
    assert np.std(values["auto"]) < 0.6 * np.std(values[None])
    exact = -0.5 * 10 * (np.log(2 * np.pi) + 1)
    assert abs(np.mean(values["auto"]) - exact) < abs(np.mean(values[None]) - exact)


@pytest.mark.parametrize(
    ("summaries", "observed", "arguments", "says"),
    [
        (np.zeros((5, 2)), [0.0], {}, r"summaries must have shape \(n, 1\), got \(5, 2\)"),
        (np.full((5, 1), np.nan), [0.0], {}, "must be finite"),
        (np.zeros((1, 1)), [0.0], {}, "at least 2 rows"),
        (np.zeros((5, 1)), [np.inf], {}, "observed summaries.* must be finite"),
        (np.zeros((5, 1)), 1.0, {}, r"observed summaries must have shape \(d,\)"),
        (np.zeros((5, 5)), np.zeros(5), {}, "plain estimator needs 6 simulations"),
        (np.zeros((5, 2)), np.zeros(2), {"estimator": "unbiased"}, "needs 6 simulations"),
        (np.zeros((5, 1)), [0.0], {"estimator": "best"}, "estimator must be one of 'plain'"),
        (np.zeros((5, 1)), [0.0], {"shrinkage": 1.5}, "from 0 to 1, got 1.5"),
        (np.zeros((5, 1)), [0.0], {"shrinkage": "much"}, "from 0 to 1, got 'much'"),
        (
            np.zeros((9, 1)), [0.0], {"shrinkage": 0.5, "estimator": "unbiased"},
            "shrinkage is for the plain estimator only",
        ),
    ],
)  # fmt: skip
def test_bad_input(summaries, observed, arguments, says):
    with pytest.raises(ValueError, match=says):
        synthetic_log_likelihood(summaries, observed, **arguments)


def test_summaries_that_follow_from_others():
    x = np.random.default_rng(9).standard_normal((50, 2)) * 1e6
    x = np.column_stack([x, x.sum(1)])
    with pytest.raises(ValueError, match=r"singular: in 50 simulations they vary in 2 directions"):
        synthetic_log_likelihood(x, np.zeros(3), jitter=0.0)
