"""What part of an axis is worth looking at: of the ELBO along a run, and of the values seen."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quell.evaluations import Evaluations
from quell.plots.style import Z95
from quell.vbmc.low_values import resolved_depth

#: Iterations by which the axis of the ELBO is chosen, if warm-up never ended: the last half.
LATER_SHARE = 0.5


def elbo_limits(history: Sequence[dict[str, Any]], chosen: int) -> tuple[float, float] | None:
    """From where to where the ELBO's axis goes: the iterations after warm-up, with their bands.

    ``chosen`` is the place of the iteration that is returned, from 0; it is always in sight. None
    where there is nothing finite.
    """
    elbo = np.array([row["elbo"] for row in history])
    half = Z95 * np.array([row["elbo_sd"] for row in history])
    later = ~np.array([row["warmup"] for row in history])
    if not later.any():
        later[int(LATER_SHARE * len(history)) :] = True
    later[chosen] = True
    low, high = float(np.nanmin((elbo - half)[later])), float(np.nanmax((elbo + half)[later]))
    if not (np.isfinite(low) and np.isfinite(high)):
        return None
    room = 0.12 * max(high - low, 0.1)
    return low - room, high + room


def value_limits(table: Evaluations, dimension: int) -> tuple[float, float] | None:
    """From where to where the axis of log joints goes; None where all evaluations failed.

    A normal posterior in so many dimensions has nothing further down; above is room for noise.
    """
    if not table.ok.any():
        return None
    value = table.log_joint
    best = float(np.nanmax(value))
    bottom = best - min(2.0 * resolved_depth(dimension), 1.1 * (best - float(np.nanmin(value))))
    top = best + 0.08 * (best - bottom) + float(np.median(np.nan_to_num(table.sd)[table.ok]))
    return min(bottom, top - 1.0), top
