import numpy as np
import pytest
from helpers.acquisition import make_situation, modest, points, situations
from hypothesis import given

from quell.acquisition import NoisyProspective, Prospective, Situation


def parts(situation, x):
    mean, variance = situation.gp.pooled(x)
    noise = situation.gp.new_observation_variance(situation.noise.sd_at(x), len(x))
    return mean, variance, situation.gp.weights @ noise, np.exp(situation.mixture.log_density(x))


@modest
@given(situations)
def test_scores_are_the_logarithms_of_the_formulas(arguments):
    situation = make_situation(**arguments)
    x = points(situation, 9)
    mean, v, noise, q = parts(situation, x)
    rng = np.random.default_rng(0)
    pro = Prospective().prepare(rng, situation).values(x)
    npro = NoisyProspective().prepare(rng, situation).values(x)
    np.testing.assert_allclose(np.exp(pro), v * q * np.exp(mean), rtol=1e-8)
    np.testing.assert_allclose(np.exp(npro), v / (v + noise) * v * q * np.exp(mean), rtol=1e-8)


def test_noise_adjusted_variance_is_the_reduction_at_the_point():
    situation = make_situation(n_samples=1)
    gp, x = situation.gp, points(situation, 1)
    noise_sd = float(situation.noise.sd_at(x)[0])
    _, ((before,),) = gp.predict(x)
    _, ((after,),) = gp.append(x[0], 0.0, noise_sd).predict(x)
    mean, _, _, q = parts(situation, x)
    score = NoisyProspective().prepare(np.random.default_rng(0), situation).values(x)
    np.testing.assert_allclose(np.exp(score), (before - after) * q * np.exp(mean), rtol=1e-8)


def test_npro_becomes_pro_without_noise():
    situation = make_situation(noise="known")
    x, rng = points(situation, 6), np.random.default_rng(0)
    theta = situation.gp.theta.copy()
    theta[:, situation.gp.layout.base_noise] = -20.0
    gp = type(situation.gp).condition(situation.gp.data, theta, situation.gp.weights)
    pro = Prospective().prepare(rng, Situation.of(gp, situation.mixture)).values(x)
    gaps = [
        np.abs(
            NoisyProspective().prepare(rng, Situation.of(gp, situation.mixture, sd)).values(x) - pro
        ).max()
        for sd in (1.0, 0.1, 0.01, 0.0)
    ]
    assert gaps[0] > gaps[1] > gaps[2] > gaps[3]
    assert gaps[3] < 1e-9


def test_no_variance_left_is_minus_infinity_without_a_warning(monkeypatch):
    situation = make_situation()
    score = Prospective().prepare(np.random.default_rng(0), situation)
    x = points(situation, 2)
    zeros = np.zeros((situation.gp.n_samples, 2))
    monkeypatch.setattr(type(situation.gp), "predict", lambda _, __: (zeros, zeros))
    assert np.all(np.isneginf(score.values(x)))


def test_far_away_points_have_finite_scores():
    situation = make_situation()
    x = np.full((1, 2), 1e3)
    for acquisition in (Prospective(), NoisyProspective()):
        score = acquisition.prepare(np.random.default_rng(0), situation)
        assert np.isfinite(score.values(x)).all()
        assert np.isfinite(score.value_and_gradient(x[0])[1]).all()


def test_users_can_tell_the_two_apart():
    assert not isinstance(Prospective(), NoisyProspective)
    with pytest.raises(TypeError):
        Prospective(3)
