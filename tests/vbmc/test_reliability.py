"""Reliability index, stability, growth of the mixture, noise near the mode: by hand."""

from types import SimpleNamespace

import numpy as np
import pytest
from helpers.vbmc import elbo_of, fitted_state, hand_theta, make_history, make_iteration
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture
from quell.variational import Elbo
from quell.vbmc.reliability import (
    STABLE_EVALUATIONS,
    is_believable,
    is_stable,
    next_component_count,
    noise_near_mode,
    reliability_index,
)

property_test = settings(max_examples=50, deadline=None)


class TestIndex:
    def test_by_hand(self):
        previous = make_iteration(elbo=-3.0)
        # ΔSD = √(0.1 · 0.4) = 0.2, ΔKL = 0.01 √4 = 0.02: (0.3/0.2 + 0.1/0.2 + 0.06/0.02)/3
        index = reliability_index(-3.3, 0.1, 0.06, previous, 5, 4, 0.4)
        assert index == pytest.approx((1.5 + 0.5 + 3.0) / 3)

    @pytest.mark.parametrize(("noise", "tolerance"), [(0.0, 0.1), (1e-4, 0.1), (10.0, 1.0),
                                                      (400.0, 1.0), (2.5, 0.5)])  # fmt: skip
    def test_tolerance_of_the_elbo_grows_with_the_noise_within_limits(self, noise, tolerance):
        index = reliability_index(0.0, 0.3, 0.0, make_iteration(), 5, 1, noise)
        assert index == pytest.approx(0.3 / tolerance / 3)

    @pytest.mark.parametrize(("n_before", "finite"), [(0, False), (1, False), (2, True)])
    def test_infinite_for_the_first_two_iterations(self, n_before, finite):
        previous = make_iteration() if n_before else None
        index = reliability_index(0.0, 0.0, 0.0, previous, n_before, 1, 0.0)
        assert np.isfinite(index) == finite

    @property_test
    @given(st.floats(-5, 5), st.floats(0, 5), st.floats(0, 5))
    def test_sign_of_the_change_does_not_matter(self, change, sd, gskl):
        previous = make_iteration(elbo=0.0)
        up = reliability_index(change, sd, gskl, previous, 3, 2, 1.0)
        assert up == pytest.approx(reliability_index(-change, sd, gskl, previous, 3, 2, 1.0))
        assert up >= 0


def stable_length(noisy, batch):
    return int(np.ceil(STABLE_EVALUATIONS[noisy] / batch))


@pytest.mark.parametrize("noisy", [False, True])
@pytest.mark.parametrize("batch", [5, 7])
class TestStability:
    def check(self, history, noisy, batch, *, r=0.5, bound=0.0):
        n = (history[-1].n_evaluations if history else 5) + batch
        return is_stable(history, n, bound, r, noisy=noisy, batch=batch)

    def test_calm_for_long_enough(self, noisy, batch):
        n = stable_length(noisy, batch)
        assert self.check(make_history(n - 1), noisy, batch)
        assert not self.check(make_history(n - 2), noisy, batch)
        assert self.check(make_history(3 * n), noisy, batch)

    @pytest.mark.parametrize("r", [1.0, 2.0, np.inf, np.nan])
    def test_not_while_unreliable_itself(self, noisy, batch, r):
        history = make_history(stable_length(noisy, batch))
        assert not self.check(history, noisy, batch, r=r)

    def test_a_fifth_may_be_unreliable(self, noisy, batch):
        n = stable_length(noisy, batch)
        allowed = int(0.2 * n)
        for bad, expected in ((allowed, True), (allowed + 1, False)):
            # the last n - 1 count; older ones do not
            r = np.r_[np.full(4, 9.0), np.full(bad, 2.0), np.full(n - 1 - bad, 0.5)]
            history = make_history(n + 3, reliability=r)
            assert self.check(history, noisy, batch) == expected

    def test_not_while_the_elbo_rises(self, noisy, batch):
        n = stable_length(noisy, batch)
        counts = 10 + 5 * np.arange(n - 1)
        for slope, expected in ((0.02, False), (0.005, True), (-1.0, True)):
            history = make_history(n - 1, elbo=slope * counts, n_evaluations=counts)
            bound = slope * (counts[-1] + batch)
            assert self.check(history, noisy, batch, bound=bound) == expected

    def test_only_the_last_half_of_the_rise_counts(self, noisy, batch):
        n = stable_length(noisy, batch)
        elbo = np.r_[np.linspace(-50, 0, n - int(np.ceil(n / 2))), np.zeros(int(np.ceil(n / 2)))]
        assert self.check(make_history(n, elbo=elbo), noisy, batch)

    def test_a_wide_error_bar_counts_as_low(self, noisy, batch):
        """ELCBO, not ELBO: a falling SD is a rise."""
        n = stable_length(noisy, batch)
        sd = np.linspace(10, 0.1, n - 1)
        assert not self.check(make_history(n - 1, elbo_sd=sd), noisy, batch)

    def test_iterations_without_new_evaluations_are_no_problem(self, noisy, batch):
        n = stable_length(noisy, batch)
        history = make_history(n, n_evaluations=50)
        assert is_stable(history, 50, 0.0, 0.5, noisy=noisy, batch=batch)


@pytest.mark.parametrize("batch", [60, 90, 200])
def test_stability_with_large_batches(batch):
    """What happened long ago does not count."""
    history = make_history(6, elbo=np.linspace(-5000, 0, 6), n_evaluations=np.arange(1, 7) * batch)
    assert is_stable(history, 7 * batch, 0.0, 0.5, noisy=True, batch=batch)
    assert not is_stable(history, 7 * batch, 0.0, 1.5, noisy=True, batch=batch)


def mixture_of(k):
    return Mixture(np.full(k, 1 / k), np.zeros((k, 1)), np.ones(k), [1.0])


def count(history, k=2, n_training=1000, *, noisy=True, full_refit=False, batch=5):
    return next_component_count(
        history, mixture_of(k), n_training, noisy=noisy, batch=batch, full_refit=full_refit
    )


class TestComponents:
    rising = np.arange(12.0)

    def test_one_more_while_improving(self):
        history = make_history(12, elbo=self.rising, reliability=2.0)
        assert count(history) == 3

    @pytest.mark.parametrize("batch", [10, 30, 60])
    def test_also_with_large_batches(self, batch):
        assert count(make_history(12, elbo=self.rising, reliability=2.0), batch=batch) == 3
        falling = np.append(self.rising[:-1], 0.0)
        assert count(make_history(12, elbo=falling, reliability=2.0), batch=batch) == 2

    def test_two_further_when_reliable_too(self):
        assert count(make_history(12, elbo=self.rising)) == 5
        assert count(make_history(12, elbo=self.rising), full_refit=True) == 3

    def test_no_more_when_not_improving(self):
        elbo = self.rising.copy()
        elbo[-1] = elbo[-3]
        assert count(make_history(12, elbo=elbo), k=4) == 4
        assert count(make_history(12, elbo=np.append(self.rising[:-1], -np.inf))) == 2

    def test_only_recent_values_have_to_be_beaten(self):
        elbo = np.append(1e6, self.rising[1:])
        assert count(make_history(12, elbo=elbo)) == 5

    def test_the_lower_bound_counts_not_the_elbo(self):
        sd = np.zeros(12)
        sd[-1] = 10.0
        assert count(make_history(12, elbo=self.rising, elbo_sd=sd)) == 2

    def test_pruning_slows_growth(self):
        pruned = np.zeros(12, dtype=int)
        pruned[-1] = 1
        assert count(make_history(12, elbo=self.rising, n_pruned=pruned)) == 2
        pruned = np.roll(pruned, -2)
        assert count(make_history(12, elbo=self.rising, n_pruned=pruned)) == 3
        pruned = np.roll(pruned, -7)
        assert count(make_history(12, elbo=self.rising, n_pruned=pruned)) == 5

    def test_warmup_and_two_more_iterations_are_ignored(self):
        for n_after, expected in ((0, 2), (1, 2), (2, 2), (3, 5)):
            warmup = np.arange(6) < 6 - n_after
            history = make_history(6, elbo=np.arange(6.0), warmup=warmup)
            assert count(history) == expected, n_after

    def test_cap_by_the_training_set_but_never_fewer(self):
        history = make_history(12, elbo=self.rising)
        assert count(history, k=8, n_training=27) == 9  # 27^(2/3)
        assert count(history, k=8, n_training=28) == 10
        assert count(history, k=20, n_training=27) == 20


class TestNoiseNearMode:
    def test_median_over_the_best_fifth(self):
        n = 20
        x = np.linspace(-1, 1, n)[:, None]
        y = -np.arange(n, dtype=float)
        sd = np.full(n, 9.0)
        sd[:4] = [1.0, 2.0, 3.0, 5.0]
        gp = GaussianProcess.condition(TrainingData.from_arrays(x, y, sd), hand_theta(1))
        base = np.mean(np.exp(2 * hand_theta(1)[:, 2]))
        assert noise_near_mode(gp) == pytest.approx(np.sqrt(np.median(sd[:4] ** 2) + base))

    def test_of_few_points_and_of_exact_ones(self):
        x = np.array([[0.0], [1.0]])
        gp = GaussianProcess.condition(TrainingData.from_arrays(x, [0.0, -1.0]), hand_theta(1))
        assert 0 < noise_near_mode(gp) < 0.1

    def test_unknown_noise_is_the_fitted_one(self):
        x = np.linspace(-1, 1, 10)[:, None]
        data = TrainingData.from_arrays(x, -(x[:, 0] ** 2), np.full(10, np.nan))
        theta = np.append(hand_theta(1, 1), [[np.log(4.0)]], axis=1)
        gp = GaussianProcess.condition(data, theta)
        assert noise_near_mode(gp) == pytest.approx(np.sqrt(4 + np.exp(-8)), rel=1e-6)


class TestBelievable:
    """The expected log joint of a posterior is below the largest value there is."""

    def promise(self, excess, sd=0.1, entropy=1.0):
        data = fitted_state().fit.gp.data
        joint = SimpleNamespace(mean=data.y.max() + excess, sd=sd)
        return is_believable(Elbo(joint, entropy), data)

    @pytest.mark.parametrize(
        ("excess", "believable"),
        [(-10.0, True), (0.0, True), (1e-6, False), (2e7, False), (np.nan, False), (np.inf, False),
         (-np.inf, False)],
    )  # fmt: skip
    def test_no_more_than_was_seen(self, excess, believable):
        assert self.promise(excess) == believable

    @pytest.mark.parametrize("bad", [{"sd": np.nan}, {"sd": np.inf}, {"entropy": np.nan}])
    def test_nothing_that_is_no_number(self, bad):
        assert not self.promise(-1.0, **bad)

    def test_of_an_honest_fit(self):
        state = fitted_state()
        assert is_believable(elbo_of(state.fit.gp, state.mixture), state.fit.gp.data)
