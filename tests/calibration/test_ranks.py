import numpy as np
import pytest

from quell.bench import load
from quell.calibration.ranks import RANK_DRAWS, covered, rank, rank_p_values


def ranks_of(scale, runs=400):
    """Ranks of true parameters under the exact posterior, its draws spread by ``scale``."""
    problem, ranks = load("conjugate", 3), []
    for seed in range(runs):
        one = problem.for_seed(seed)
        draws = one.truth.sample(RANK_DRAWS, np.random.default_rng([seed, 1]))
        ranks.append(rank(one.generating, one.truth.mean + scale * (draws - one.truth.mean)))
    return np.array(ranks)


def test_ranks_count_the_draws_below():
    draws = np.arange(12.0).reshape(2, 3, 2)
    assert rank([[1.0, 1.5], [100.0, 0.0]], draws).tolist() == [[1, 1], [3, 0]]


def test_exact_posteriors_pass_and_wrong_ones_do_not():
    assert rank_p_values(ranks_of(1.0)).min() > 0.01
    assert rank_p_values(ranks_of(0.7)).max() < 1e-4
    assert rank_p_values(ranks_of(1.5)).max() < 1e-4


@pytest.mark.parametrize("runs", [37, 100, 1000])
def test_p_values_of_uniform_ranks_are_uniform(runs):
    rng = np.random.default_rng(2)
    p = rank_p_values(rng.integers(RANK_DRAWS + 1, size=(runs, 2000)))
    assert p.mean() == pytest.approx(0.5, abs=0.03)
    assert (p < 0.05).mean() == pytest.approx(0.05, abs=0.02)


def test_bins_of_unequal_size_get_their_share():
    # Seven ranks in two bins: four and three of them.
    ranks = np.tile(np.arange(7), 2)[:, None]
    assert rank_p_values(ranks, draws=6)[0] == 1.0


def test_too_few_runs_cannot_be_tested():
    assert np.isnan(rank_p_values(np.zeros((9, 2)))).all()


def test_coverage_of_a_calibrated_interval():
    rng = np.random.default_rng(3)
    errors, sds = rng.standard_normal(4000), rng.uniform(0.5, 2, 4000)
    flags = [covered(abs(error * sd), sd) for error, sd in zip(errors, sds, strict=True)]
    assert np.mean(flags) == pytest.approx(0.95, abs=0.015)
    assert not covered(0.1, np.nan)
