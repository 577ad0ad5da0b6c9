"""What is returned: the choice among iterations, and the last improvement."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from helpers.vbmc import (
    elbo_of,
    fitted_state,
    hand_theta,
    make_history,
    solution_of,
    unbounded_problem,
)

from quell import Settings
from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture
from quell.vbmc import Solution, best_iteration, boost, finish


class TestBestIteration:
    def test_the_last_if_stable(self):
        history = make_history(8, elbo=np.arange(8.0)[::-1], stable=[False] * 7 + [True])
        assert best_iteration(history).index == 8

    def test_else_the_best_since_the_last_stable_one(self):
        stable = [False, False, True, False, False, False, False, False]
        elbo = [99.0, 99.0, 1.0, 2.0, 5.0, 3.0, 4.0, 0.0]
        assert best_iteration(make_history(8, elbo=elbo, stable=stable)).index == 5
        elbo[2] = 6.0  # the stable one itself is in the choice
        assert best_iteration(make_history(8, elbo=elbo, stable=stable)).index == 3

    def test_else_the_best_of_the_recent_ones(self):
        elbo = np.r_[np.full(20, 50.0), np.zeros(20)]
        elbo[36] = 1.0
        assert best_iteration(make_history(40, elbo=elbo)).index == 37

    def test_best_counts_the_error_bar(self):
        elbo, sd = [0.0, 0.0, 0.0, 1.0], [0.1, 0.1, 0.1, 5.0]
        stable = [True, False, False, False]
        assert best_iteration(make_history(4, elbo=elbo, elbo_sd=sd, stable=stable)).index != 4

    @pytest.mark.parametrize(("gain", "chosen"), [(4.9, 1), (5.1, 2)])
    def test_by_five_standard_deviations(self, gain, chosen):
        history = make_history(2, elbo=[0.0, gain], elbo_sd=[0.0, 1.0], stable=[True, False])
        assert best_iteration(history).index == chosen

    def test_never_one_that_promises_more_than_was_seen_if_there_is_another(self):
        """Once an ELBO of 2e7 was returned where the largest value seen was −1900."""
        elbo = [-1903.0, -1902.0, -1901.0, 2e7, 2e7]
        believable = [True, True, True, False, False]
        for stable in ([False] * 5, [False, False, True, True, True]):
            history = make_history(5, elbo=elbo, believable=believable, stable=stable)
            assert best_iteration(history).index == 3

    @pytest.mark.parametrize("sane", range(4))
    def test_also_if_the_only_other_one_is_old_and_bad(self, sane):
        believable = np.arange(4) == sane
        elbo = np.where(believable, -1e6, 2e7)
        assert best_iteration(make_history(4, elbo=elbo, believable=believable)).index == sane + 1

    def test_the_best_of_those_that_are_all_lost(self):
        history = make_history(4, elbo=[1.0, 3.0, 2.0, 5.0], believable=False)
        assert best_iteration(history).index == 4

    @pytest.mark.parametrize("n", [1, 2, 3])
    def test_of_a_short_history_the_last(self, n):
        assert best_iteration(make_history(n, elbo=np.zeros(n))).index == n


def normal_mixture(sd):
    """Five components on the peak of the surrogate in `fitted_state`, where SD 0.23 is best."""
    return Mixture(np.full(5, 0.2), np.full((5, 2), 0.125), np.full(5, sd), [1.0, 1.0])


@pytest.fixture(scope="module")
def solution():
    return solution_of(fitted_state(mixture=normal_mixture(0.23)))


def test_surrogate_is_rebuilt_as_it_was(solution):
    state = fitted_state()
    x = np.random.default_rng(0).normal(size=(10, 2))
    for a, b in zip(solution.surrogate().predict(x), state.fit.gp.predict(x), strict=True):
        np.testing.assert_allclose(a, b)


class TestBoost:
    def replaced(self, monkeypatch, mixture):
        monkeypatch.setattr(
            finish, "fit_mixture", lambda *_, **__: SimpleNamespace(mixture=mixture)
        )

    @pytest.mark.parametrize("seed", [0, 1])
    def test_never_lowers_the_bound(self, solution, seed):
        settings = Settings(final_components=8)
        new, taken = boost(np.random.default_rng(seed), solution, settings)
        before = elbo_of(solution.surrogate(), solution.mixture).lower_confidence_bound(3)
        after = elbo_of(solution.surrogate(), new.mixture).lower_confidence_bound(3)
        assert after >= before - 0.02  # two base samples of the entropy
        assert taken == (new.mixture is not solution.mixture)
        assert new.mixture.n_components >= solution.mixture.n_components

    def test_other_fields_stay(self, solution):
        new, _ = boost(np.random.default_rng(0), solution, Settings(final_components=6))
        for field in ("space", "data", "theta", "weights"):
            assert getattr(new, field) is getattr(solution, field)

    def test_elbo_belongs_to_the_returned_mixture(self, solution, monkeypatch):
        for mixture in (solution.mixture, far_off(solution.mixture)):
            self.replaced(monkeypatch, mixture)
            new, _ = boost(np.random.default_rng(0), solution, Settings())
            check = elbo_of(solution.surrogate(), new.mixture)
            assert new.elbo.value == pytest.approx(check.value, abs=0.05)
            assert new.elbo.sd == pytest.approx(check.sd, rel=1e-6)

    def test_a_worse_mixture_is_refused(self, solution, monkeypatch):
        self.replaced(monkeypatch, normal_mixture(0.28))
        new, taken = boost(np.random.default_rng(0), solution, Settings())
        assert not taken
        assert new.mixture is solution.mixture

    def test_a_better_mixture_is_taken(self, solution, monkeypatch):
        self.replaced(monkeypatch, solution.mixture)
        worse = normal_mixture(0.28)
        start = replace(solution, mixture=worse, elbo=elbo_of(solution.surrogate(), worse))
        new, taken = boost(np.random.default_rng(0), start, Settings())
        assert taken
        assert new.mixture is solution.mixture
        assert new.elbo.value > start.elbo.value

    def test_a_mixture_that_wandered_off_is_refused_even_if_better(self, solution, monkeypatch):
        good = solution.mixture
        bad = far_off(good)
        before = elbo_of(solution.surrogate(), bad)
        after = elbo_of(solution.surrogate(), good)
        assert after.lower_confidence_bound(3) > before.lower_confidence_bound(3) + 5
        self.replaced(monkeypatch, good)
        start = replace(solution, mixture=bad, elbo=before)
        new, taken = boost(np.random.default_rng(0), start, Settings())
        assert not taken
        assert new.mixture is bad

    def test_a_mixture_that_promises_more_than_was_seen_is_refused_even_if_better(
        self, monkeypatch
    ):
        """Observations on a ring: inside, the surrogate expects more than any of them."""
        angle = np.linspace(0, 2 * np.pi, 13)[:-1]
        x = 0.12 + 0.45 * np.column_stack([np.cos(angle), np.sin(angle)])
        omega = np.exp(-1.4)
        data = TrainingData.from_arrays(x, np.full(12, -0.5 * (0.45 / omega) ** 2))
        theta, base = hand_theta(2, 1), Mixture([1.0], [[0.12, 0.12]], [1.0], [1.0, 1.0])
        theta[0, 2] = np.log(0.05)  # it is sure of it
        gp = GaussianProcess.condition(data, theta)
        wide, better = (
            replace(base, scales=np.array([0.35])),
            replace(base, scales=np.array([0.25])),
        )
        lower, higher = elbo_of(gp, wide), elbo_of(gp, better)
        assert higher.lower_confidence_bound(3) > lower.lower_confidence_bound(3) + 0.1
        assert higher.expected_log_joint.mean > data.y.max() > lower.expected_log_joint.mean
        self.replaced(monkeypatch, better)
        space = unbounded_problem(2).space
        start = Solution(space, wide, lower, data, theta, gp.weights)
        new, taken = boost(np.random.default_rng(0), start, Settings())
        assert not taken
        assert new.mixture is wide

    def test_asks_for_enough_components_and_never_fewer_than_there_are(self, solution, monkeypatch):
        asked = []

        def fit(*_, n_components, **__):
            asked.append(n_components)
            return SimpleNamespace(mixture=solution.mixture)

        monkeypatch.setattr(finish, "fit_mixture", fit)
        for wanted, most in ((2, 5), (50, 50)):
            asked.clear()
            boost(np.random.default_rng(0), solution, Settings(final_components=wanted))
            assert min(asked) >= 5
            assert max(asked) == most

    def test_reproducible(self, solution):
        settings = Settings(final_components=6)
        a, b = (boost(np.random.default_rng(7), solution, settings)[0] for _ in range(2))
        np.testing.assert_array_equal(a.mixture.to_vector(), b.mixture.to_vector())
        assert a.elbo.value == b.elbo.value


def far_off(mixture):
    return Mixture(mixture.weights, mixture.means + 5.0, mixture.scales, mixture.lengths)
