"""Variational whitening: a new linear map, and everything that lives in x carried over.

Old and new inference space differ by a linear map only: x_new = x_old A. An axis-aligned
Gaussian of SDs ℓ becomes one of covariance Aᵀ diag(ℓ²) A, whose diagonal is kept.
"""

from dataclasses import replace
from typing import Literal

import numpy as np

from quell.acquisition import SearchBox
from quell.arrays import FloatArray
from quell.gp.model import Layout
from quell.mixture import Mixture
from quell.space import InferenceSpace
from quell.vbmc.state import State

Schedule = Literal["adaptive", "paper"]

#: Iterations between whitenings, times those made so far, and the reliability index below which one
#: is made (paper, supplement B.2).
INTERVAL = 5
LARGEST_RELIABILITY = 3.0
#: Components that the mixture must have by the paper's schedule (reference implementation).
SMALLEST_COMPONENTS = 5
#: Ratios of the longest to the shortest axis: from the first on a whitening is worth its cost
#: when it is due, from the second on it does not wait longer than one interval, and from the
#: third on it does not wait for a reliable solution, and nothing fitted in the old space is a
#: good start in the new (docs/experiments/ridges.md).
LONG, LONGER, LONGEST = 1.1, 1.6, 2.0
#: Points by which the image of the search box is found; it is made wider on every side by its width
#: over the second number (reference implementation).
BOX_POINTS, BOX_MARGINS = 1000, 1000


def may_whiten(state: State) -> bool:
    """Whether there is anything to whiten."""
    return not state.warmup and state.dimension > 1 and state.mixture is not None


def whitening_is_due(state: State, schedule: Schedule, shape: FloatArray) -> bool:
    """Whether it is time for a whitening by this ``shape``, a covariance (D, D).

    By the paper's schedule (supplement B.2) the interval grows with every whitening, the mixture
    must have some components and the solution must be fairly reliable. The adaptive one looks at
    the shape instead: a round one is left alone. A narrow ridge is found bit by bit: each
    whitening turns an axis towards it, along which the surrogate sees a little further. So what
    is longer in one direction is whitened again soon, and what is much longer, reliable or not.
    """
    waited = len(state.history) + 1 - state.last_whitening
    scheduled = waited > INTERVAL * max(1, state.n_whitenings)
    reliable = state.reliability < LARGEST_RELIABILITY
    if schedule == "paper":
        assert state.mixture is not None
        return reliable and scheduled and state.mixture.n_components >= SMALLEST_COMPONENTS
    elongation = axis_ratio(shape)
    if elongation <= (LONG if reliable else LONGEST):
        return False
    return scheduled or (waited > INTERVAL and elongation > LONGER)


def axis_ratio(covariance: FloatArray) -> float:
    """SD along the longest axis of a covariance (D, D), over that along its shortest.

    >>> axis_ratio(np.diag([4.0, 9.0, 36.0]))
    3.0
    """
    variances = np.linalg.eigvalsh(covariance)
    return float(np.sqrt(variances[-1] / max(variances[0], np.finfo(float).tiny)))


def linear_map(old: InferenceSpace, new: InferenceSpace) -> FloatArray:
    """A with x_new = x_old A, shape (D, D)."""
    return ((old.rotation * old.scales).T @ new.rotation) / new.scales


def whiten(rng: np.random.Generator, state: State, covariance: FloatArray) -> State:
    """The state in the space in which ``covariance`` (D, D, of the current x) becomes round."""
    assert state.fit is not None
    assert state.mixture is not None
    space = state.space.whitened(covariance)
    a = linear_map(state.space, space)
    log_volume = float(np.log(space.scales).sum() - np.log(state.space.scales).sum())
    memory = state.fit.memory
    vectors = _map_hyperparameters(memory.vectors, state.fit.gp.layout, a, log_volume)
    return state.with_data(
        space=space,
        fit=None,
        memory=replace(memory, vectors=vectors, root=None),
        mixture=map_mixture(state.mixture, a),
        before=None,
        box=_map_box(rng, state.box, a),
        plausible_range=space.plausible_range(rng),
        n_whitenings=state.n_whitenings + 1,
        last_whitening=len(state.history) + 1,
        full_refit=axis_ratio(covariance) > LONGEST,
    )


def map_mixture(mixture: Mixture, a: FloatArray) -> Mixture:
    """The mixture after x -> x A, its covariances made axis-aligned and of one shape again."""
    spread = mixture.scales[:, None] * mixture.lengths
    variances = spread**2 @ a**2
    shares = variances / variances.sum(axis=1, keepdims=True)
    lengths = np.sqrt(mixture.dimension * shares.mean(axis=0))
    scales = np.exp(np.mean(0.5 * np.log(variances) - np.log(lengths), axis=1))
    return Mixture(mixture.weights, mixture.means @ a, scales, lengths)


def _map_hyperparameters(
    theta: FloatArray, layout: Layout, a: FloatArray, log_volume: float
) -> FloatArray:
    """θ (..., size) in the new space; the log joint gains the change of the log-Jacobian."""
    new = theta.copy()
    for entry in (layout.lengths, layout.mean_scales):
        new[..., entry] = 0.5 * np.log(np.exp(2 * theta[..., entry]) @ a**2)
    new[..., layout.mean_location] = theta[..., layout.mean_location] @ a
    new[..., layout.mean_max] += log_volume
    return new


def _map_box(rng: np.random.Generator, box: SearchBox, a: FloatArray) -> SearchBox:
    """A box around the image of the old one: the range of many mapped points."""
    inside = box.lower + (box.upper - box.lower) * rng.random((BOX_POINTS, len(a)))
    mapped = inside @ a
    low, high = mapped.min(axis=0), mapped.max(axis=0)
    margin = (high - low) / BOX_MARGINS
    return SearchBox(low - margin, high + margin)
