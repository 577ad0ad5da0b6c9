"""Problems taken together: the product of their posteriors."""

import numpy as np
import pytest

from quell.bench import BenchError, load
from quell.bench.problems.multisensory import same_probability
from quell.bench.problems.real import data_of
from quell.bench.problems.together import together


@pytest.fixture(scope="module")
def both():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("QUELL_DATA", raising=False)
        return load("multisensory_both")


@pytest.fixture(scope="module")
def parts():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("QUELL_DATA", raising=False)
        return [load(f"multisensory_{subject}") for subject in ("s1", "s2")]


def points(problem, n, seed=1):
    u = np.random.default_rng(seed).random((n, problem.dimension))
    return problem.plausible_lower + u * (problem.plausible_upper - problem.plausible_lower)


def test_twelve_parameters_with_the_bounds_of_their_subjects(both, parts):
    assert both.dimension == 12
    assert both.names[0] == "sigma_vis_1_s1"
    assert both.names[-1] == "kappa_s2"
    for side in ("lower", "upper", "plausible_lower", "plausible_upper"):
        assert (getattr(both, side) == np.tile(getattr(parts[0], side), 2)).all()
    assert both.default_budget == 700
    assert both.data == "simulated"


def test_exact_value_is_the_sum_over_all_trials_of_both_subjects(both, monkeypatch):
    """From the probabilities of single trials, without the grouping of the model."""
    monkeypatch.delenv("QUELL_DATA", raising=False)
    theta = points(both, 2)
    expected = np.zeros(2)
    for row, point in enumerate(theta):
        for subject, piece in zip(("s1", "s2"), np.split(point, 2), strict=True):
            data = data_of(f"multisensory_{subject}")
            p = same_probability(piece, data.condition, data.s_vest - data.s_vis)
            expected[row] += np.log(np.where(data.response == 1, p, 1 - p)).sum()
    assert both.exact(theta) == pytest.approx(expected, rel=1e-12)
    outside = theta[0].copy()
    outside[7] = 100.0
    assert both.exact(outside) == -np.inf


def test_noise_of_both_subjects_adds_up(both, parts):
    theta = both.truth.mean
    assert both.emulated_sd == pytest.approx(1.3 * np.sqrt(2))
    rng = np.random.default_rng(2)
    found = np.array([both.noisy(theta, rng, fast=True) for _ in range(200)])
    sd = found[:, 1].mean()
    separate = [part.noisy(x, rng, fast=True)[1] for part, x in zip(parts, np.split(theta, 2),
                                                                    strict=True)]  # fmt: skip
    assert sd == pytest.approx(np.hypot(*separate), rel=0.05)
    z = (found[:, 0] - both.exact(theta)) / sd
    assert abs(z.mean()) < 4 / np.sqrt(200)
    assert 0.8 < z.std() < 1.2


def test_its_own_simulation_agrees_with_the_shortcut(both):
    value, sd = both.noisy(both.truth.mean, np.random.default_rng(3))
    assert abs(value - both.exact(both.truth.mean)) < 4 * sd
    assert 1.5 < sd < 2.5


def test_truth_by_importance_sampling_of_the_joint_density(both, parts):
    """Of all twelve parameters at once, which knows nothing of the parts."""
    truth = both.truth
    assert truth.log_evidence == pytest.approx(sum(part.truth.log_evidence for part in parts))
    assert not truth.covariance[:6, 6:].any()
    rng, n, df = np.random.default_rng(4), 20_000, 10
    spread = np.linalg.cholesky(1.3 * truth.covariance)
    normal = rng.standard_normal((n, 12))
    scale = np.sqrt(rng.chisquare(df, n) / df)
    draws = truth.mean + normal / scale[:, None] @ spread.T
    from scipy.stats import multivariate_t

    log_q = multivariate_t(truth.mean, 1.3 * truth.covariance, df=df).logpdf(draws)
    log_volume = np.log(both.upper - both.lower).sum()
    log_w = both.exact(draws) - log_volume - log_q
    w = np.exp(log_w - log_w.max())
    assert w.sum() ** 2 / (w**2).sum() > 300
    assert np.log(w.mean()) + log_w.max() == pytest.approx(truth.log_evidence, abs=0.25)
    w /= w.sum()
    mean = w @ draws
    sds = np.sqrt(truth.covariance.diagonal())
    assert np.abs((mean - truth.mean) / sds).max() < 0.25


def test_with_the_real_data(data_folder):  # noqa: ARG001
    both = load("multisensory_both")
    assert both.data == "real"
    parts = [load(f"multisensory_{subject}").truth for subject in ("s1", "s2")]
    truth = both.truth
    assert truth.log_evidence == pytest.approx(sum(part.log_evidence for part in parts))
    assert truth.log_evidence_checked == pytest.approx(
        sum(part.log_evidence_checked for part in parts)
    )
    assert truth.log_evidence_error > max(part.log_evidence_error for part in parts)
    assert truth.on_box
    assert len(truth.marginals) == 12


def test_truth_of_problems_that_can_be_sampled():
    whole = together("three", {"a": load("normal", 2), "b": load("banana", 2)})
    draws = whole.truth.sample(50_000, np.random.default_rng(5))
    assert np.cov(draws.T) == pytest.approx(whole.truth.covariance, abs=0.4)
    point = np.array([0.3, -1.0, 2.0, 0.0])
    assert whole.exact(point) == load("normal", 2).exact(point[:2]) + load("banana", 2).exact(
        point[2:]
    )
    assert whole.emulated_sd == pytest.approx(np.sqrt(2))


def test_parts_of_different_kinds_are_refused(parts):
    with pytest.raises(BenchError, match="same kind of data"):
        together("mixed", {"a": load("normal", 2), "b": parts[0]})
