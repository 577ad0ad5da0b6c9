"""Posteriors made by hand to be plotted, targets of small runs, and what is in a figure."""

import numpy as np

from quell.mixture import Mixture
from quell.results import Posterior
from quell.space import InferenceSpace

#: Names that matplotlib would typeset, choke on, or leave out of a legend.
HOSTILE = ("$x", "_b_$\\frac{", "a_b$^$", "k\x1b[2J")


def exact_target(theta):
    """The log-likelihood of the exact run: a share in (0, 1), and a parameter without bounds."""
    logit = np.log(theta[0] / (1 - theta[0]))
    return -0.5 * (logit / 0.7) ** 2 - 0.5 * (theta[1] - logit) ** 2


def noisy_target(theta, rng):
    if theta[1] > 3.5:
        raise ValueError("no luck")
    return -0.5 * float(np.sum(theta**2)) + rng.standard_normal(), 1.0


def kinds_posterior(names=("share", "size", "angle", "count", "fixed", "shift")):
    """One parameter of every kind, correlated; the angle has its mass around its bound."""
    space = InferenceSpace.from_bounds(
        [0, 0, 0, -0.5, 2, -np.inf], [1, np.inf, 360, 9.5, 2, np.inf],
        [0.2, 0.5, 310, 1, 2, -1], [0.8, 3, 400, 6, 2, 3],
        names=names, periodic=[names[2]],
    )  # fmt: skip
    rng = np.random.default_rng(1)
    weights = np.array([0.4, 0.35, 0.25])
    mixture = Mixture(weights, 0.3 * rng.standard_normal((3, 5)), [0.2, 0.3, 0.25], np.ones(5))
    rotation = np.linalg.qr(rng.standard_normal((5, 5)))[0]
    scales = np.array([1.5, 0.7, 1.0, 0.8, 1.2])
    space = InferenceSpace(space.bounds, rotation, scales, space.softness)
    integer = (False, False, False, True, False, False)
    return Posterior(mixture, space, integer)


def normal_posterior(dimension, names=None, *, scale=1.0, support=None):
    """A standard normal, times ``scale``, in every parameter."""
    half = np.full(dimension, 2.0 * scale)
    infinite = np.full(dimension, np.inf)
    space = InferenceSpace.from_bounds(-infinite, infinite, -half, half, names=names)
    one = np.ones(dimension)
    return Posterior(Mixture([1.0], [0 * one], [0.25], one), space, None, support)


def drawn(ax, gid):
    """Artists of an axes with this mark."""
    return [artist for artist in ax.get_children() if artist.get_gid() == gid]


def texts(figure):
    """All text in a figure that is not a number at a tick."""
    import matplotlib.text

    return [t.get_text() for t in figure.findobj(matplotlib.text.Text) if t.get_text()]
