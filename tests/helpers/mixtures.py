"""Random mixtures, base samples, and derivatives and comparisons of mixtures."""

import numpy as np

from helpers import numeric
from quell.mixture import Mixture, normal_base_sample


def random_mixture(n_components, dimension, seed=0, spread=1.5):
    """Components of very different sizes, far apart."""
    rng = np.random.default_rng([seed, n_components, dimension])
    return Mixture(
        rng.dirichlet(np.full(n_components, 2.0)),
        spread * rng.normal(size=(n_components, dimension)),
        np.exp(rng.normal(-0.3, 0.5, n_components)),
        np.exp(rng.normal(0.0, 0.5, dimension)),
    )


def make_mixture(n_components, dimension, seed=0):
    """Components that overlap."""
    rng = np.random.default_rng([seed, n_components, dimension])
    return Mixture(
        rng.dirichlet(np.full(n_components, 3.0)),
        0.3 + rng.normal(size=(n_components, dimension)),
        np.exp(rng.normal(-0.5, 0.4, n_components)),
        np.exp(rng.normal(0.0, 0.4, dimension)),
    )


def base_sample(n, dimension, seed=0):
    return normal_base_sample(n, dimension, np.random.default_rng(seed))


def central_differences(function, q, step=1e-5):
    """Gradient of function(mixture) over the free vector."""
    size = (q.n_components, q.dimension)
    return numeric.central_differences(
        lambda free: function(Mixture.from_vector(free, *size)), q.to_vector(), step
    )


def assert_same_mixture(a, b):
    """Bitwise the same."""
    for name in ("weights", "means", "scales", "lengths"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))
