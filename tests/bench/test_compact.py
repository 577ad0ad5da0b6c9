"""A posterior as plain data and back: every kind of parameter, soft edges, old records."""

import json

import numpy as np
import pytest

from quell import Posterior
from quell.bench.compact import compact_posterior, restore_posterior
from quell.mixture import Mixture
from quell.space import InferenceSpace

INF, NAN = np.inf, np.nan
SOFTNESS = [0.1, NAN, 0.3, 1 / 3, NAN, NAN]
TAILS = [[NAN, NAN]] * 4 + [[1 / 3, 2 / 7], [NAN, NAN]]


def make_posterior(softness=None, integer=None, tails=None):
    space = InferenceSpace.from_bounds(
        [0, 0, 0, -INF, 7, -INF, 0], [1, 5, INF, 2, 7, INF, 360],
        [0.2, 1, 1, -3, 7, -2, 300], [0.8, 4, 4, 1, 7, 2, 400],
        names=list("abcdefg"), bounded="probit", periodic=["g"],
    )  # fmt: skip
    if softness is not None:
        space = space.with_softness(softness)
    if tails is not None:
        space = space.with_tails(tails)
    rng = np.random.default_rng(1)
    rotation, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    rotation[:, 0] *= np.sign(np.linalg.det(rotation))
    space = space.with_linear(rotation, rng.uniform(0.5, 2.0, 6))
    means = 0.3 * rng.standard_normal((3, 6))
    mixture = Mixture([0.5, 0.3, 0.2], means, [0.2, 0.3, 0.1], rng.uniform(0.7, 1.3, 6))
    return Posterior(mixture, space, integer)


@pytest.mark.parametrize("softness", [None, SOFTNESS])
@pytest.mark.parametrize("tails", [None, TAILS])
@pytest.mark.parametrize("integer", [None, (False, False, True, False, False, False, False)])
def test_restored_through_a_line_of_json(softness, tails, integer):
    posterior = make_posterior(softness, integer, tails)
    data = json.loads(json.dumps(compact_posterior(posterior), allow_nan=False))
    again = restore_posterior(data)
    np.testing.assert_array_equal(again.space.softness, posterior.space.softness)
    np.testing.assert_array_equal(again.space.tails, posterior.space.tails)
    assert again.integer == integer
    draws = [p.sample(200, np.random.default_rng(0)) for p in (posterior, again)]
    np.testing.assert_allclose(draws[0], draws[1], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(
        again.log_density(draws[0]), posterior.log_density(draws[0]), atol=1e-5
    )


def test_records_from_before_soft_edges_are_restored():
    posterior = make_posterior()
    data = compact_posterior(posterior)
    del data["softness"], data["integer"]
    again = restore_posterior(json.loads(json.dumps(data)))
    assert np.isnan(again.space.softness).all()
    assert again.integer is None
    theta = posterior.sample(50, np.random.default_rng(0))
    np.testing.assert_allclose(again.log_density(theta), posterior.log_density(theta), atol=1e-5)


def test_the_edge_of_a_support_is_not_forgotten():
    def positive(theta):
        return theta[:, 0] > 0.5

    space = InferenceSpace.from_bounds([0.0], [1.0], [0.2], [0.8], names=["p"])
    posterior = Posterior(Mixture([1.0], [[0.0]], [0.5], [1.0]), space, support=positive)
    data = json.loads(json.dumps(compact_posterior(posterior)))
    with pytest.raises(ValueError, match="pass support="):
        restore_posterior(data)
    assert restore_posterior(data, positive).mean() == pytest.approx(posterior.mean(), rel=1e-6)
