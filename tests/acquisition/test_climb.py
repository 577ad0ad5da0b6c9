"""The way up: its score, when it is used, and what it is for."""

import numpy as np
import pytest
from helpers.acquisition import make_situation

import quell
from quell.acquisition import Climb, Situation
from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture
from quell.settings import Settings


def test_the_gradient_agrees_with_differences():
    situation = make_situation()
    score = Climb(beta=1.5).prepare(np.random.default_rng(0), situation)
    x = np.full(situation.gp.dimension, 0.3)
    value, gradient = score.value_and_gradient(x)
    assert value == pytest.approx(float(score.values(x[None])[0]))
    for i, step in enumerate(1e-5 * np.eye(len(x))):
        above, below = score.values(np.stack([x + step, x - step]))
        assert gradient[i] == pytest.approx((above - below) / 2e-5, rel=1e-4, abs=1e-6)


def test_it_is_the_mean_and_so_many_sds_of_one_sample():
    situation = make_situation()
    x = np.random.default_rng(1).normal(size=(5, situation.gp.dimension))
    mean, variance = situation.gp.predict(x)
    of_samples = mean + 2.0 * np.sqrt(variance)
    chosen = set()
    for seed in range(40):
        values = Climb(beta=2.0).prepare(np.random.default_rng(seed), situation).values(x)
        (which,) = np.flatnonzero(np.isclose(of_samples, values).all(axis=1))
        chosen.add(int(which))
    assert chosen == set(range(situation.gp.n_samples))


def test_samples_that_disagree_about_how_low_a_place_is_do_not_make_it_high():
    """Their quadratics differ by thousands of nats far out, where each is sure of a low value."""
    data = TrainingData.from_arrays([[-1.0], [0.0], [1.0]], [-2.0, 0.0, -2.0])
    widths = np.log([0.1, 5.0, 5.0])
    gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, width] for width in widths])
    situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    far = np.array([[300.0]])
    mean, variance = gp.pooled(far)
    assert mean + np.sqrt(variance) > 1e4  # all samples together would go there
    for seed in range(10):
        score = Climb().prepare(np.random.default_rng(seed), situation)
        assert score.values(far)[0] < score.top - 1e3


def test_the_top_is_that_of_the_evaluated_points():
    situation = make_situation()
    score = Climb().prepare(np.random.default_rng(0), situation)
    assert score.top == score.gp.predict_mean(score.gp.data.x).max()
    assert score.gp.n_samples == 1


def test_the_paper_does_not_climb():
    assert Settings().climb
    assert not Settings.variant("paper-viqr").climb


@pytest.mark.parametrize("seed", [1, 3, 4])
def test_a_narrow_ridge_far_from_the_start_is_found(seed):
    """A regression far from its intercept: a ridge a thousand times longer than wide, askew."""
    x = np.linspace(1000, 1010, 30)
    y = 3.0 - 0.5 * x

    def log_likelihood(theta):
        return -0.5 * float(np.sum((y - theta[0] - theta[1] * x) ** 2))

    problem = quell.Problem(
        log_likelihood, lower=[-2000, -2], upper=[2000, 2], plausible_lower=[-500, -1],
        plausible_upper=[500, 1], noise="exact",
    )  # fmt: skip
    columns = np.stack([np.ones(30), x])
    covariance = np.linalg.inv(columns @ columns.T)
    log_z = np.log(2 * np.pi) + 0.5 * np.linalg.slogdet(covariance)[1] - np.log(4000 * 4)
    result = quell.infer(problem, budget=80, seed=seed, progress=False)
    assert result.log_evidence == pytest.approx(log_z, abs=0.1)
    assert np.allclose(result.posterior.sd(), np.sqrt(covariance.diagonal()), rtol=0.1)
