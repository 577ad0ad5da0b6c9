"""Variational whitening: when the space is rotated and rescaled so that the posterior is round."""

from typing import Literal

import numpy as np

from quell.arrays import FloatArray
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


def whitening_is_due(state: State, schedule: Schedule, shape: FloatArray) -> bool:
    """Whether it is time for a whitening by this ``shape``, a covariance (D, D).

    By the paper's schedule (supplement B.2) the interval grows with every whitening, the mixture
    must have some components and the solution must be fairly reliable. The adaptive one looks at
    the shape instead: a round one is left alone. A narrow ridge is found bit by bit: each
    whitening turns an axis towards it, along which the surrogate sees a little further. So what
    is longer in one direction is whitened again soon, and what is much longer, reliable or not.
    """
    waited = len(state.history) + 1 - state.last_whitening
    scheduled = is_scheduled(state)
    reliable = state.reliability < LARGEST_RELIABILITY
    if schedule == "paper":
        assert state.mixture is not None
        return reliable and scheduled and state.mixture.n_components >= SMALLEST_COMPONENTS
    elongation = axis_ratio(shape)
    if elongation <= (LONG if reliable else LONGEST):
        return False
    return scheduled or (waited > INTERVAL and elongation > LONGER)


def is_scheduled(state: State) -> bool:
    """Whether the interval since the last change of coordinates is over; it grows with each."""
    waited = len(state.history) + 1 - state.last_whitening
    return waited > INTERVAL * max(1, state.n_whitenings)


def axis_ratio(covariance: FloatArray) -> float:
    """SD along the longest axis of a covariance (D, D), over that along its shortest.

    >>> axis_ratio(np.diag([4.0, 9.0, 36.0]))
    3.0
    """
    variances = np.linalg.eigvalsh(covariance)
    return float(np.sqrt(variances[-1] / max(variances[0], np.finfo(float).tiny)))
