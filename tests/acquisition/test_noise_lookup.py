import numpy as np
import pytest
from helpers.acquisition import make_situation, points

from quell.acquisition import NoiseTable, Situation
from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture


def make_gp(sd, lengths=((1.0, 1.0),), weights=None):
    x = [[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]]
    data = TrainingData.from_arrays(x, [0.0, -1.0, -2.0], sd)
    tail = [0.0, -3.0, 0.0, 0.0, 0.0, 0.0, 0.0] + [0.0] * data.has_unknown_noise
    theta = [[*np.log(row), *tail] for row in lengths]
    return GaussianProcess.condition(data, theta, weights)


def test_noise_is_that_of_the_nearest_training_point():
    table = NoiseTable.of(make_gp([0.1, 0.2, 0.3]))
    x = [[0.5, 0.5], [3.0, 0.5], [0.5, 3.0], [9.0, 1.0]]
    np.testing.assert_allclose(table.sd_at(x), [0.1, 0.2, 0.3, 0.2])


def test_distances_are_in_length_scales():
    x = [[2.5, 2.0]]  # nearer to (4, 0) unless the first coordinate counts for little
    assert NoiseTable.of(make_gp([0.1, 0.2, 0.3])).sd_at(x) == pytest.approx(0.2)
    stretched = make_gp([0.1, 0.2, 0.3], lengths=[[0.2, 5.0]])
    assert NoiseTable.of(stretched).sd_at(x) == pytest.approx(0.2)
    stretched = make_gp([0.1, 0.2, 0.3], lengths=[[5.0, 0.2]])
    assert NoiseTable.of(stretched).sd_at([[3.9, 3.0]]) == pytest.approx(0.3)


def test_lengths_are_the_geometric_mean_over_samples():
    gp = make_gp([0.1, 0.2, 0.3], lengths=[[1.0, 2.0], [4.0, 8.0]])
    np.testing.assert_allclose(NoiseTable.of(gp).lengths, [2.0, 4.0])
    gp = make_gp([0.1, 0.2, 0.3], lengths=[[1.0, 2.0], [16.0, 2.0]], weights=[3.0, 1.0])
    np.testing.assert_allclose(NoiseTable.of(gp).lengths, [2.0, 2.0])


def test_unknown_noise_stays_unknown_and_becomes_nu():
    gp = make_gp([np.nan, 0.2, 0.3])
    sd = NoiseTable.of(gp).sd_at([[0.1, 0.1], [4.0, 1.0]])
    assert np.isnan(sd[0])
    assert sd[1] == pytest.approx(0.2)
    # log ν = 0 and σ̄ = e⁻³, per sample
    added = gp.new_observation_variance(sd, 2)
    np.testing.assert_allclose(added[0], np.exp(-6) + np.array([1.0, 0.04]))


def test_noise_of_a_single_evaluation_can_be_given():
    # Two evaluations merged at the first point, each of SD 0.5
    gp = make_gp([0.5 / np.sqrt(2), 0.2, 0.3])
    assert NoiseTable.of(gp, [0.5, 0.2, 0.3]).sd_at([[0.1, 0.1]]) == pytest.approx(0.5)


def test_pending_points_are_not_in_the_table():
    gp = make_gp([0.1, 0.2, 0.3]).append_pending([2.0, 2.0], 7.0)
    assert NoiseTable.of(gp).sd_at([[1.9, 2.0]]) < 1


def test_bad_noise_is_refused():
    with pytest.raises(ValueError, match="all known"):
        NoiseTable.of(make_gp([0.1, 0.2, 0.3]), np.nan)
    with pytest.raises(ValueError, match="noise_sd must be"):
        NoiseTable.of(make_gp([0.1, 0.2, 0.3]), [1.0, 2.0])
    with pytest.raises(ValueError, match=r"x must have shape \(n, 2\)"):
        NoiseTable.of(make_gp(0.1)).sd_at([[1.0]])


def test_situation_checks_dimensions():
    gp = make_gp(0.1)
    with pytest.raises(ValueError, match="mixture has 1 dimensions, the surrogate 2"):
        Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    table = NoiseTable(np.zeros((1, 1)), np.ones(1), np.ones(1))
    mixture = Mixture([1.0], [[0.0, 0.0]], [1.0], [1.0, 1.0])
    with pytest.raises(ValueError, match="noise has 1 dimensions"):
        Situation(gp, mixture, table)


def test_given_noise_reaches_the_scores():
    from quell.acquisition import NoisyProspective

    quiet = make_situation(noise="known")
    loud = Situation.of(quiet.gp, quiet.mixture, 50.0)
    x, rng = points(quiet, 5), np.random.default_rng(0)
    scores = [NoisyProspective().prepare(rng, s).values(x) for s in (quiet, loud)]
    assert np.all(scores[0] > scores[1])
