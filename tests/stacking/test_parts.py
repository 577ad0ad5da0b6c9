"""The parts of stacking, each beside brute force."""

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import norm

from quell.gp import GaussianProcess
from quell.stacking import surrogate as module
from quell.stacking.components import Components
from quell.stacking.evidence import stacked_evidence
from quell.stacking.surrogate import Observations, PooledSurrogate, gather
from quell.stacking.weights import Draws, Objective, elbo_weights


class TestComponents:
    def test_densities_are_those_of_the_posteriors(self, runs):
        components = Components(runs)
        theta = runs[0].posterior.sample(50, np.random.default_rng(0))
        logs = components.log_densities(theta)
        for j, run in enumerate(runs):
            own = logsumexp(logs[:, components.run == j], b=run.posterior.mixture.weights, axis=1)
            np.testing.assert_allclose(own, run.posterior.log_density(theta), atol=1e-9)

    def test_draws_follow_the_weights(self, runs):
        components = Components(runs)
        weights = components.first_weights * np.array([0.0, 1.0, 3.0])[components.run]
        weights /= weights.sum()
        theta, owner = components.draw(4000, np.random.default_rng(0), weights)
        assert np.bincount(owner, minlength=3).tolist() == [0, 1000, 3000]
        mean = theta[owner == 1].mean(axis=0)
        np.testing.assert_allclose(mean, runs[1].posterior.mean(), atol=0.1)


@pytest.fixture(scope="module")
def observations(runs):
    return gather(runs, runs[0].solution.space)


class TestSurrogate:
    def theta(self, runs):
        return runs[1].posterior.sample(30, np.random.default_rng(0))

    def exact(self, observations, runs, rows, theta):
        """The process conditioned on some rows, without inducing points, in θ."""
        solution, space = runs[0].solution, observations.space
        gp = GaussianProcess.condition(
            observations.data.subset(rows), solution.theta, solution.weights
        )
        x = space.to_inference(theta)
        return solution.weights @ gp.predict_mean(x) - space.log_jacobian(x)

    def pooled(self, observations, runs):
        solution = runs[0].solution
        rng = np.random.default_rng(0)
        return PooledSurrogate(rng, observations, solution.theta, solution.weights)

    def test_exact_with_all_points_inducing(self, observations, runs):
        theta = self.theta(runs)
        pooled = self.pooled(observations, runs)
        every = np.ones(observations.data.size, dtype=bool)
        expected = self.exact(observations, runs, every, theta)
        np.testing.assert_allclose(pooled.at(theta), expected, atol=1e-4)

    def test_leaving_out_a_run(self, observations, runs):
        theta = self.theta(runs)
        both = self.pooled(observations, runs).without_each(theta, [None, 2])
        expected = self.exact(observations, runs, observations.run != 2, theta)
        np.testing.assert_allclose(both[1], expected, atol=1e-3)
        assert np.abs(both[0] - both[1]).max() > 0.01

    def test_fewer_inducing_points_are_nearly_as_good(self, observations, runs, monkeypatch):
        theta = self.theta(runs)
        full = self.pooled(observations, runs).at(theta)
        monkeypatch.setattr(module, "MOST_INDUCING", observations.data.size // 2)
        few = self.pooled(observations, runs).at(theta)
        np.testing.assert_allclose(few, full, atol=0.3)
        assert np.abs(few - full).max() > 0

    def test_an_evaluation_of_two_runs_counts_once(self, runs):
        space = runs[0].solution.space
        once, twice = gather(runs[:1], space), gather([runs[0], runs[0]], space)
        assert twice.data.size == once.data.size

    def test_far_values_are_left_out(self, observations):
        data = observations.data
        assert isinstance(observations, Observations)
        assert data.y.min() > data.y.max() - 60
        assert set(observations.run) == {0, 1, 2}


class TestWeights:
    """Four normals on a line; the surrogate's log joint is a mixture of three of them."""

    MEANS, TRUE = np.array([-3.0, 0.0, 2.0, 9.0]), np.array([0.2, 0.5, 0.3, 0.0])

    def draws(self, n=20_000, inside=None):
        rng = np.random.default_rng(0)
        start = np.full(4, 0.25)
        theta = rng.choice(self.MEANS, size=(n, 1)) + rng.standard_normal((n, 1))
        logs = norm.logpdf(theta, self.MEANS, 1.0)
        log_joint = logsumexp(logs, b=self.TRUE, axis=1) + 1.5
        if inside is not None:
            log_joint[~inside(theta[:, 0])] = -np.inf
        return Draws(theta, logs, logsumexp(logs, b=start, axis=1), log_joint), start

    def test_the_mixture_is_found(self):
        draws, start = self.draws()
        np.testing.assert_allclose(elbo_weights(draws, start), self.TRUE, atol=0.02)

    def test_also_inside_a_support(self):
        draws, start = self.draws(inside=lambda x: x > -3)
        np.testing.assert_allclose(elbo_weights(draws, start), self.TRUE, atol=0.04)

    @pytest.mark.parametrize("inside", [None, lambda x: x > -3.3])
    def test_gradient_by_finite_differences(self, inside):
        draws, _ = self.draws(n=500, inside=inside)
        objective = Objective(draws, np.arange(4))
        logits = np.array([0.3, -0.2, 0.5, -1.0])
        step = 1e-6
        slopes = [
            (objective(logits + step * e)[0] - objective(logits - step * e)[0]) / (2 * step)
            for e in np.eye(4)
        ]
        np.testing.assert_allclose(objective(logits)[1], slopes, rtol=1e-5, atol=1e-8)

    def test_elbo_of_a_mixture_that_is_cut_off(self):
        """Beside an integral over a grid."""
        draws, _ = self.draws(inside=lambda x: x > -3)
        weights = np.array([0.4, 0.3, 0.2, 0.1])
        value, _ = Objective(draws, np.arange(4))(np.log(weights))
        x = np.linspace(-3, 16, 20_001)[:, None]
        logs = norm.logpdf(x, self.MEANS, 1.0)
        log_q = logsumexp(logs, b=weights, axis=1)
        q = np.exp(log_q) / np.exp(log_q).sum()
        cut_off = log_q - np.log(np.exp(log_q).sum() * (x[1, 0] - x[0, 0]))
        joint = logsumexp(logs, b=self.TRUE, axis=1) + 1.5
        assert value == pytest.approx(q @ (joint - cut_off), abs=0.15)

    def test_components_without_a_weight_stay_out(self):
        draws, _ = self.draws()
        found = elbo_weights(draws, np.array([0.5, 0.5, 0.0, 0.0]))
        assert found[2:].tolist() == [0.0, 0.0]
        assert found.sum() == pytest.approx(1.0)

    def test_evidence(self):
        draws, _ = self.draws()

        class Fixed:
            n_runs = 2

            def without_each(self, theta, _left_out):
                logs = norm.logpdf(theta, TestWeights.MEANS, 1.0)
                joint = logsumexp(logs, b=TestWeights.TRUE, axis=1) + 1.5
                return joint + np.array([[-0.3], [0.3]])

        found = stacked_evidence(draws, self.TRUE, Fixed(), np.array([0.0, 0.0]))
        assert found.value == pytest.approx(1.5, abs=0.03)
        assert found.elbo == pytest.approx(1.5, abs=1e-9)
        assert found.sd == pytest.approx(0.3, abs=0.02)  # the jackknife of two: half the difference
        wider = stacked_evidence(draws, self.TRUE, Fixed(), np.array([1.0, 1.0]))
        assert wider.sd > 0.4
