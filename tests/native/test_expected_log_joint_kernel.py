import dataclasses

import numpy as np
import pytest
from helpers.native import KINDS, assert_same, in_numpy, needs_kernels, odd_mixture, wrong_sizes
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.gp import GaussianProcess, TrainingData
from quell.native import kernels
from quell.quadrature import Quadrature
from quell.space.edges import Edges

pytestmark = needs_kernels
MODULE = "quell.quadrature"
#: The formula expands squares, and loses digits where points are many length scales apart.
TOLERANCE = 1e-10


def surrogate(dimension, n_samples, n, unit, seed=0, edges=False):
    """A surrogate of points and length scales of the size ``unit``."""
    rng = np.random.default_rng([seed, dimension, n])
    x = unit * rng.normal(size=(n, dimension))
    data = TrainingData.from_arrays(x, rng.normal(size=n), np.full(n, 0.3))
    if edges:
        slopes = rng.normal(size=(3, dimension)) / unit
        data = dataclasses.replace(data, edges=Edges(slopes, rng.normal(size=3)))
    d, log_unit = dimension, np.log(unit)
    theta = 0.3 * rng.normal(size=(n_samples, 3 * d + 3))
    theta[:, :d] += log_unit + 0.5
    theta[:, d + 3 : 2 * d + 3] *= unit
    theta[:, 2 * d + 3 :] += log_unit
    return GaussianProcess.condition(data, theta, rng.dirichlet(np.ones(n_samples)))


@settings(deadline=None, max_examples=60)
@given(
    kind=st.sampled_from(KINDS),
    n_components=st.sampled_from([1, 2, 5, 20, 50]),
    dimension=st.integers(1, 20),
    n_samples=st.integers(1, 8),
    n=st.sampled_from([1, 2, 10, 33, 100]),
    beta=st.sampled_from([0.0, 0.0, 2.0]),
    edges=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_mean_and_gradient_are_those_of_the_formula(
    kind, n_components, dimension, n_samples, n, beta, edges, seed
):
    unit = {"tiny": 1e-9, "huge": 1e9}.get(kind, 1.0)
    quadrature = Quadrature(surrogate(dimension, n_samples, n, unit, seed, edges))
    q = odd_mixture(n_components, dimension, kind, seed)
    ours = quadrature.lower_bound_and_gradient(q, beta)
    with in_numpy(MODULE):
        theirs = quadrature.lower_bound_and_gradient(q, beta)
    assert_same(ours, theirs, q, TOLERANCE)


def test_a_mixture_of_another_dimension_is_refused():
    with pytest.raises(ValueError, match="mixture has 3 dimensions, the surrogate 2"):
        Quadrature(surrogate(2, 1, 5, 1.0)).mean_and_gradient(odd_mixture(2, 3, "plain"))


def arguments():
    quadrature, q = Quadrature(surrogate(2, 4, 6, 1.0)), odd_mixture(3, 2, "plain")
    out = np.zeros(3 * 2 + 3 + 2 + 3 + 4)
    mixture = (q.weights, q.means, q.scales, q.lengths)
    return (out, *mixture, quadrature.gp.weights, *quadrature._packed, *quadrature._known(q))


def test_wrong_sizes_are_refused():
    kernels.expected_log_joint(*arguments())
    tried = 0
    for _, wrong in wrong_sizes(arguments(), 12):
        with pytest.raises(ValueError, match="must hold"):
            kernels.expected_log_joint(*wrong)
        tried += 1
    assert tried == 24


def test_empty_mixtures_are_refused():
    for i in (1, 4):
        given_ = list(arguments())
        given_[i] = np.empty(0)
        with pytest.raises(ValueError, match="must not be empty"):
            kernels.expected_log_joint(*given_)
