"""What holds for every built-in score: gradients, frozen noise, determinism, pending points."""

import numpy as np
import pytest
from helpers.acquisition import NAMES, make_situation, modest, points, situations
from helpers.numeric import central_differences
from hypothesis import given

from quell.acquisition import SearchBox, Situation, by_name, candidates, maximise
from quell.acquisition import score as score_module

names = pytest.mark.parametrize("name", NAMES)


def prepare(name, situation, seed=0):
    return by_name(name).prepare(np.random.default_rng(seed), situation)


@names
@modest
@given(situations)
def test_gradient_matches_finite_differences(name, arguments):
    situation = make_situation(**arguments)
    score = prepare(name, situation)
    for x in 0.8 * points(situation, 2, arguments["seed"]):
        frozen = score.frozen_at(x)
        value, gradient = frozen.value_and_gradient(x)
        assert value == pytest.approx(score.values(x[None])[0], abs=1e-7)
        assert (value, tuple(gradient)) == (
            score.value_and_gradient(x)[0],
            tuple(score.value_and_gradient(x)[1]),
        )
        slopes = central_differences(lambda p, f=frozen: f.values(p[None])[0], x)
        scale = max(1.0, np.abs(slopes).max())
        np.testing.assert_allclose(gradient, slopes, rtol=2e-5, atol=2e-6 * scale)


@names
def test_frozen_noise_is_that_of_the_place(name):
    situation = make_situation()
    score = prepare(name, situation)
    x = points(situation, 30)
    frozen = score.frozen_at(x[0])
    same = situation.noise.sd_at(x) == situation.noise.sd_at(x[:1])
    assert 0 < same.sum() < len(x)
    np.testing.assert_allclose(frozen.values(x)[same], score.values(x)[same], rtol=1e-9)
    if name != "pro":
        assert not np.isclose(frozen.values(x)[~same], score.values(x)[~same]).any()
    again = frozen.frozen_at(x[0])
    np.testing.assert_array_equal(again.values(x), frozen.values(x))


@names
def test_scores_are_deterministic(name):
    situation = make_situation()
    x = points(situation, 10)
    one, two = prepare(name, situation), prepare(name, situation)
    np.testing.assert_array_equal(one.values(x), two.values(x))
    np.testing.assert_array_equal(one.values(x), one.values(x))
    if name in ("wiqr", "viqr", "imiqr"):
        assert not np.array_equal(one.values(x), prepare(name, situation, 1).values(x))


@names
def test_blocks_do_not_change_values(name, monkeypatch):
    situation = make_situation(pending=1)
    score, x = prepare(name, situation), points(situation, 11)
    whole = score.values(x)
    monkeypatch.setattr(score_module, "BLOCK_ELEMENTS", 40)
    np.testing.assert_allclose(score.values(x), whole, rtol=1e-9)
    assert score.values(np.empty((0, 2))).shape == (0,)


@names
@pytest.mark.parametrize("n_samples", [1, 3])
def test_pending_points_repel(name, n_samples):
    situation = make_situation(2, n_samples)
    box = SearchBox([-3.0, -3.0], [3.0, 3.0])
    rng = np.random.default_rng(0)
    found = maximise(prepare(name, situation), box, candidates(rng, situation, box, 128))
    noise_sd = float(situation.noise.sd_at(found.x[None])[0])
    gp = situation.gp.append_pending(found.x, noise_sd)
    after = prepare(name, Situation.of(gp, situation.mixture))
    # IMIQR scores fractions of the loss, whose integral the pending point has changed as well
    assert after.values(found.x[None])[0] < found.value
    again = maximise(after, box, candidates(rng, situation, box, 128))
    assert np.abs(again.x - found.x).max() > 1e-3


@names
def test_points_of_a_wrong_shape_are_refused(name):
    score = prepare(name, make_situation())
    with pytest.raises(ValueError, match=r"x must have shape \(n, 2\)"):
        score.values([[1.0]])
    with pytest.raises(ValueError, match=r"x must have shape \(2,\)"):
        score.value_and_gradient([[1.0, 2.0]])
    with pytest.raises(ValueError, match=r"x must have shape \(2,\)"):
        score.frozen_at([1.0, 2.0, 3.0])
