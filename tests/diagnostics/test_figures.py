"""Figures about an answer that have a meaning of their own: regions, tails, reach."""

import numpy as np
import pytest
from helpers.cases import make_case, normal, points, rounded
from scipy import stats

from quell.diagnostics.places import mass_beyond
from quell.diagnostics.regions import core_errors, regions, shell_errors
from quell.diagnostics.tails import pareto_shape, pareto_tail


def noisy_case(extra=0.0, n=200, **changes):
    """Evaluations of a normal with noise of SD 0.3, and ``extra`` where it is above −2."""
    theta = points(n=n, spread=2.0)
    noise = np.random.default_rng(5).standard_normal(n)
    height = normal(theta)
    scale = np.where(height > -2, 0.3 + extra, 0.3)
    return make_case(theta, height + scale * noise, 0.3, **changes)


class TestRegions:
    def test_core_and_shell_are_apart_and_above_what_cannot_matter(self):
        theta = np.vstack([points(n=100), [[60.0, 0.0]]])
        case = make_case(theta, normal(theta))
        core, shell = regions(case)
        assert not (core & shell).any()
        assert core.sum() > 50
        assert not core[-1]
        assert not shell[-1]  # 1800 nats down
        assert normal(theta[core]).min() > normal(theta[shell]).max() - 1.0

    def test_errors_are_those_of_the_region(self):
        plain, rough = noisy_case(), noisy_case(extra=0.9)
        assert 0.7 < core_errors(plain).figure < 1.3
        assert 0.5 < shell_errors(plain).figure < 1.5
        assert core_errors(rough).figure > 2 * core_errors(plain).figure
        assert core_errors(rough).figure > 1.5 * shell_errors(rough).figure

    def test_of_few_evaluations_nothing_can_be_told(self):
        theta = points(n=10)
        assert np.isnan(core_errors(make_case(theta, normal(theta))).figure)


class TestTails:
    @pytest.mark.parametrize("k", [0.1, 0.5, 1.0, 1.5])
    def test_shape_of_a_pareto_distribution(self, k):
        """Against the shape they were drawn with, and SciPy's maximum of the likelihood."""
        rng = np.random.default_rng(3)
        draws = stats.genpareto(k).rvs(size=100_000, random_state=rng)
        found = pareto_shape(np.log(draws))
        assert found == pytest.approx(k, abs=0.12)
        tail = np.sort(draws)[-949:]
        likeliest, _, _ = stats.genpareto.fit(tail[1:] - tail[0], floc=0)
        assert found == pytest.approx(likeliest, abs=0.05)

    def test_light_tails_are_no_worry(self):
        rng = np.random.default_rng(4)
        assert pareto_shape(rng.random(5000)) < 0.3
        assert pareto_shape(np.zeros(1000)) == -np.inf
        assert np.isnan(pareto_shape(np.zeros(50)))

    def test_too_narrow_a_posterior_has_heavy_tails(self):
        right, narrow = noisy_case(), noisy_case(mixture=rounded(scale=0.4))
        assert pareto_tail(right).figure < 0.3
        assert pareto_tail(narrow).figure > 0.4  # of 1024 draws: what is missing is hardly drawn


def test_mass_beyond_the_evaluations():
    inside = points(n=200, spread=3.0)
    assert mass_beyond(make_case(inside, normal(inside))).figure < 0.02
    left = inside[inside[:, 0] < 0]
    share = mass_beyond(make_case(left, normal(left))).figure
    assert 0.4 < share < 0.6
