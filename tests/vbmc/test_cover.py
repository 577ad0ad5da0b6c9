"""The last fit, which covers what the surrogate says, against quadrature of the surrogate."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.gp import TrainingData
from quell.mixture import Mixture, normal_base_sample
from quell.mixture.divergence import gaussian_skl
from quell.quadrature import Quadrature
from quell.settings import Settings
from quell.space import InferenceSpace
from quell.variational import evaluate_elbo
from quell.vbmc import cover as module
from quell.vbmc.cover import cover, grown, likelier, surely_claimed, truncated_weights
from quell.vbmc.finish import LARGEST_CHANGE
from quell.vbmc.state import Solution

GRID = np.linspace(-12, 16, 2001)


def rng(seed=1):
    return np.random.default_rng(seed)


def skewed(x):
    """The log of a density with one long tail."""
    return -np.logaddexp(0.0, -4 * x) - 0.5 * np.maximum(x, 0.0) - 0.05 * x**2


def solution(mixture, f=skewed, support=None):
    """A surrogate of ``f`` on a line, and a mixture that need not fit it."""
    x = np.linspace(-6, 12, 60)
    data = TrainingData.from_arrays(x[:, None], f(x), 0.0)
    space = InferenceSpace.from_bounds([-np.inf], [np.inf], [-1.0], [1.0])
    theta = np.array([[0.0, 1.5, -6.0, 0.0, 1.0, 1.0]])  # log ℓ, log σ_f, log σ̄, m_0, x_m, log ω
    first = Solution(space, mixture, None, data, theta, np.ones(1), support)
    base = normal_base_sample(4096, 1, rng(0))
    return replace(first, elbo=evaluate_elbo(Quadrature(first.surrogate()), mixture, base))


def of_surrogate(solved):
    """The density of the surrogate's mean on the grid, of integral one."""
    f = solved.surrogate().pooled(GRID[:, None])[0]
    p = np.exp(f - f.max())
    return p / np.trapezoid(p, GRID)


def divergence(solved):
    """KL(p || q) by quadrature."""
    p, log_q = of_surrogate(solved), solved.mixture.log_density(GRID[:, None])
    return float(np.trapezoid(p * (np.log(np.maximum(p, 1e-300)) - log_q), GRID))


def moments(p):
    mean = np.trapezoid(GRID * p, GRID)
    return mean, np.sqrt(np.trapezoid((GRID - mean) ** 2 * p, GRID))


NARROW = Mixture([0.6, 0.4], [[0.3], [1.5]], [0.5, 0.8], [1.0])


def test_a_mixture_that_was_too_narrow_gets_the_surrogates_moments():
    old = solution(NARROW)
    mean, sd = moments(of_surrogate(old))
    assert np.sqrt(old.mixture.covariance()[0, 0]) < 0.8 * sd  # there is something to mend
    new = cover(rng(), old, 2)
    assert new.mixture.mean()[0] == pytest.approx(mean, abs=0.1 * sd)
    assert np.sqrt(new.mixture.covariance()[0, 0]) == pytest.approx(sd, rel=0.1)
    assert divergence(new) < 0.3 * divergence(old)


def test_more_components_come_closer():
    old = solution(Mixture([1.0], [[0.8]], [0.9], [1.0]))
    few, many = (cover(rng(), old, n) for n in (2, 12))
    assert many.mixture.n_components == 12
    assert divergence(many) < 0.6 * divergence(few)


def test_the_bound_is_that_of_the_new_mixture():
    new = cover(rng(), solution(NARROW), 8)
    base = normal_base_sample(4096, 1, rng(0))
    again = evaluate_elbo(Quadrature(new.surrogate()), new.mixture, base)
    assert new.elbo.value == pytest.approx(again.value, abs=0.01)


def test_a_worse_mixture_is_refused(monkeypatch):
    old = solution(cover(rng(), solution(NARROW), 8).mixture)

    def narrower(q, *_):
        return Mixture(q.weights, q.means, 0.9 * q.scales, q.lengths)

    monkeypatch.setattr(module, "likelier", narrower)
    assert cover(rng(), old, 2) is old


def two_peaks(x):
    """The log of a density with two normal peaks of equal mass."""
    return np.logaddexp(-0.5 * ((x + 3) / 0.6) ** 2, -0.5 * ((x - 4) / 0.6) ** 2)


#: All but 2 % of it are at one of the peaks.
ONE_PEAK = Mixture([0.98, 0.02], [[-3.0], [2.0]], [0.6, 1.5], [1.0])


def right_share(solved):
    """The mass of the mixture right of zero."""
    return float(np.mean(solved.mixture.sample(20_000, rng(9)) > 0))


def test_a_mode_that_evaluations_know_of_is_added_though_it_makes_another_posterior():
    old = solution(ONE_PEAK, two_peaks)
    assert right_share(old) < 0.05
    new = cover(rng(), old, 6)
    assert gaussian_skl(
        old.mixture.mean(), old.mixture.covariance(), new.mixture.mean(), new.mixture.covariance()
    ) > LARGEST_CHANGE  # fmt: skip
    assert right_share(new) == pytest.approx(0.5, abs=0.03)
    assert divergence(new) < 0.1 * divergence(old)


def test_a_mode_that_nobody_has_evaluated_is_not():
    """The same surrogate's mean there, but from noise: its SD is as large as what it claims."""
    known = solution(ONE_PEAK, two_peaks)
    noise = np.where(known.data.x[:, 0] > 0.5, 10.0, 0.0)
    unsure = replace(known, data=TrainingData.from_arrays(known.data.x, known.data.y, noise))
    assert right_share(cover(rng(), unsure, 6)) < 0.06


def test_what_is_surely_claimed_is_less_by_three_sds_where_it_is_above():
    gp = solution(NARROW).surrogate()
    x = np.array([[-2.0], [0.0], [3.0], [13.0]])
    mean, variance = gp.pooled(x)
    above = np.array([-1.0, 5.0, 1e-12, 2.0])
    log_q = mean - 0.7 - above  # so that f̄ - log q - log Z is what is above
    found = surely_claimed(gp, 0.7, x, log_q)
    assert 3 * np.sqrt(variance[3]) > 2  # beyond all data
    np.testing.assert_allclose(found, [-1.0, 5 - 3 * np.sqrt(variance[1]), 0.0, 0.0], atol=1e-9)


def test_with_a_support_nothing_changes():
    cut = solution(NARROW, support=lambda theta: theta[:, 0] > 0)
    assert cover(rng(), cut, 8) is cut


def test_the_same_stream_gives_the_same_mixture():
    a, b = (cover(rng(5), solution(NARROW), 6).mixture for _ in range(2))
    np.testing.assert_array_equal(a.to_vector(), b.to_vector())


def test_the_papers_variants_do_without():
    assert Settings().cover
    assert not Settings.variant("paper-viqr").cover


# A step of the climb


def weighted_draws(seed, n=400, dimension=2):
    r = rng(seed)
    x = r.standard_normal((n, dimension)) @ r.standard_normal((dimension, dimension))
    weights = r.random(n)
    return x, weights / weights.sum()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), k=st.integers(1, 6))
def test_a_step_never_makes_the_draws_less_likely(seed, k):
    x, weights = weighted_draws(seed)
    r = rng(seed + 1)
    q = Mixture(
        r.dirichlet(np.ones(k)), r.standard_normal((k, 2)), r.uniform(0.3, 2, k),
        r.uniform(0.5, 2, 2),
    )  # fmt: skip
    before = weights @ q.log_density(x)
    for _ in range(5):
        q = likelier(q, x, weights)
    assert weights @ q.log_density(x) >= before - 1e-9


def test_of_one_component_the_climb_ends_at_the_weighted_moments():
    x, weights = weighted_draws(3, n=20_000)
    q = Mixture([1.0], [[0.0, 0.0]], [1.0], [1.0, 1.0])
    for _ in range(50):
        q = likelier(q, x, weights)
    mean = weights @ x
    np.testing.assert_allclose(q.mean(), mean, atol=1e-12)
    np.testing.assert_allclose(q.covariance().diagonal(), weights @ (x - mean) ** 2, rtol=1e-6)


def test_a_component_without_draws_stays_where_it_is():
    x, weights = weighted_draws(4)
    q = likelier(Mixture([0.5, 0.5], [[0.0, 0.0], [1e4, 0.0]], [1.0, 1.0], [1.0, 1.0]), x, weights)
    assert q.weights[1] == 0
    np.testing.assert_array_equal(q.means[1], [1e4, 0.0])
    assert np.isfinite(q.log_density(x)).all()


def test_new_components_are_where_the_weight_is():
    x = np.linspace(-5, 5, 101)[:, None]
    weights = (x[:, 0] > 3).astype(float)
    weights /= weights.sum()
    q = grown(rng(), Mixture([1.0], [[0.0]], [1.0], [2.0]), x, weights, 6)
    assert (q.means[1:] > 3).all()
    assert len(np.unique(q.means[1:])) == 5
    assert grown(rng(), q, x, weights, 3) is q


def test_no_draw_counts_more_than_the_root_of_their_number_times_the_mean():
    logs = np.append(np.zeros(9999), np.log(1e4))
    weights = truncated_weights(logs)
    assert weights.sum() == pytest.approx(1)
    # Their mean is about 2, so 200 of 9999 + 200.
    assert weights[-1] == pytest.approx(200 / 10_199, rel=0.01)
    np.testing.assert_allclose(truncated_weights(np.zeros(10)), 0.1)


def test_a_promise_far_out_is_not_followed():
    """The surrogate is high at its edge, and a few draws have nearly all the weight."""
    q = Mixture([0.999, 0.001], [[0.5], [12.0]], [1.0, 0.05], [1.0])
    promised = solution(q, lambda x: skewed(x) + np.where(x > 11.5, 40.0, 0.0))
    assert cover(rng(), promised, 4) is promised
