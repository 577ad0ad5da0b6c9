"""Compiled kernels beside the NumPy formulas that they stand for."""

import sys
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest

from quell.mixture import Mixture
from quell.native import kernels

needs_kernels = pytest.mark.skipif(
    kernels is None, reason="the compiled module is not built: python hatch_build.py builds it"
)
#: What "equal to rounding" means for sums of many terms.
ROUNDING = 1e-12


@contextmanager
def in_numpy(module):
    """While this lasts, the module of that name does without compiled kernels."""
    with mock.patch.object(sys.modules[module], "kernels", None):
        yield


def odd_mixture(n_components, dimension, kind, seed=0):
    """A mixture that makes numbers large, small or zero."""
    rng = np.random.default_rng([seed, n_components, dimension])
    weights = rng.dirichlet(np.ones(n_components))
    means = rng.normal(size=(n_components, dimension))
    scales = np.exp(rng.normal(-0.3, 0.5, n_components))
    lengths = np.exp(rng.normal(0.0, 0.5, dimension))
    if kind == "tiny":
        means, lengths = 1e-9 * means, 1e-9 * lengths
    elif kind == "huge":
        means, lengths = 1e9 * means, 1e9 * lengths
    elif kind == "apart":
        means = 100.0 * means
    elif kind == "light":
        weights[::2] *= 1e-200
        weights /= weights.sum()
    elif kind == "absent":
        weights[1::2] = 0.0
        weights /= weights.sum()
    elif kind == "unequal":
        scales *= 10.0 ** rng.uniform(-3, 1, n_components)
    elif kind == "transposed":
        means = np.asfortranarray(means)
    return Mixture(weights, means, scales, lengths)


KINDS = ("plain", "tiny", "huge", "apart", "light", "absent", "unequal", "transposed")


def units(q):
    """By what a gradient in the free parameters is multiplied to be free of units."""
    spread = (q.scales[:, None] * q.lengths).ravel()
    return np.concatenate([spread, np.ones(2 * q.n_components + q.dimension)])


def assert_same(ours, theirs, q, tolerance=ROUNDING):
    """Values and gradients in the free parameters of ``q`` agree."""
    assert abs(ours[0] - theirs[0]) <= tolerance * max(1.0, abs(theirs[0]))
    scaled = units(q) * theirs[1]
    error = np.abs(units(q) * ours[1] - scaled).max()
    assert error <= tolerance * max(1.0, np.abs(scaled).max())


def wrong_sizes(arguments, n):
    """The arguments with one of the first ``n`` arrays too short, or too long, in turn."""
    for i in range(n):
        flat = np.ravel(arguments[i])
        for wrong in (flat[:-1].copy(), np.append(flat, 1.0)):
            yield i, (*arguments[:i], wrong, *arguments[i + 1 :])
