"""How far the marginals may be off, for all the surrogate knows."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import SD_IN_X, hyperparameters, make_case, normal, points
from scipy.stats import norm

from quell.diagnostics import marginals
from quell.diagnostics.marginals import _distance, expected_mmtv, unknown_marginals
from quell.mixture import Mixture


def rng(seed=1):
    return np.random.default_rng(seed)


def case_with(noise, n=120):
    theta = points(n=n)
    errors = noise * np.random.default_rng(5).standard_normal(n)
    return make_case(theta, normal(theta) + errors, noise)


def test_a_surrogate_that_knows_leaves_nothing_open():
    found = unknown_marginals(rng(), case_with(0.01))
    assert found.figure < 0.03
    assert not found.against


def test_the_more_noise_the_more_is_open():
    figures = [expected_mmtv(rng(), case_with(noise)) for noise in (0.1, 1.0, 5.0)]
    assert figures[0] < figures[1] < figures[2]


def test_too_much_speaks_against_the_answer():
    theta = points(n=12)
    hyper = hyperparameters(output=2.0)
    found = unknown_marginals(rng(), make_case(theta, normal(theta), 9.0, hyper=hyper))
    assert found.figure > marginals.LARGEST
    assert found.against
    assert f"{found.figure:.2f}" in found.text
    assert "larger budget" in found.text


@pytest.mark.parametrize("shift", [0.5, 1.0])
def test_an_answer_beside_the_surrogate(shift, monkeypatch):
    """The surrogate is sure, and the answer is another one: by the distance of two normals."""
    case = case_with(0.01)
    q = case.solution.mixture
    sd = np.sqrt(np.diag(q.covariance()))
    moved = Mixture(q.weights, q.means + shift * sd, q.scales, q.lengths)
    monkeypatch.setattr(marginals, "N_POINTS", 20_000)
    figure = expected_mmtv(rng(), replace(case, solution=replace(case.solution, mixture=moved)))
    exact = 2 * norm.cdf(shift / 2) - 1  # of normals, before intervals take some of it
    assert figure == pytest.approx(exact, abs=0.05)


def test_outside_of_the_support_there_is_nothing():
    case = case_with(0.01)
    nowhere = replace(case.solution, support=lambda theta: np.zeros(len(theta), dtype=bool))
    assert expected_mmtv(rng(), replace(case, solution=nowhere)) == 1.0
    half = replace(case.solution, support=lambda theta: theta[:, 0] > 0.0)
    assert expected_mmtv(rng(), replace(case, solution=half)) < 0.05


def test_distances_of_weighted_points():
    x = np.linspace(0.0, 1.0, 1001)[:, None]
    order = np.argsort(x, axis=0)
    even = np.full(1001, 1 / 1001)
    left = np.where(x[:, 0] < 0.5, 2.0, 0.0) / 1001
    assert _distance(order, even, even) == 0.0
    assert _distance(order, even, left / left.sum()) == pytest.approx(0.5, abs=0.01)


def test_all_hyperparameter_samples_have_a_say():
    """Two that are sure of themselves, half an SD this and that way from the answer."""
    hyper = hyperparameters(output=-6.0)
    hyper[:, 5:7] = [[-SD_IN_X / 2] * 2, [SD_IN_X / 2] * 2]
    figure = expected_mmtv(rng(), make_case(points(n=3), sds=1e3, hyper=hyper))
    assert figure == pytest.approx(2 * norm.cdf(0.25) - 1, abs=0.04)
