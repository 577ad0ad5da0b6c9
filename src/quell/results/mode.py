"""The point of highest density in the user's parameters."""

from collections.abc import Callable, Sequence

import numpy as np

from quell.arrays import FloatArray
from quell.space import InferenceSpace

#: Points from which the mode is searched, the densest first.
MODE_STARTS = 3
#: The mode takes the slope dθ/dv of a map as at least this share of its mean over the central 68 %:
#: it is less next to a bound, where any tail of the mixture is squeezed into a spike.
MODE_RESOLUTION, CENTRAL = 0.1, (0.16, 0.84)


def highest(
    space: InferenceSpace,
    log_density: Callable[[FloatArray], float],
    mean_slopes: FloatArray,
    starts: Sequence[FloatArray],
    snapped: Callable[[FloatArray], FloatArray] = lambda x: x,
) -> FloatArray:
    """The point x (D,) whose density in the user's parameters is highest, found by search.

    ``log_density`` is that in x, ``mean_slopes`` (D,) the averages of dθ/dv over the `CENTRAL` part
    of each free parameter, and ``starts`` are points (D,). ``snapped`` moves a point to where it
    counts: to whole numbers of integers.

    >>> space = InferenceSpace.from_bounds(-np.inf, np.inf, -1, 1)
    >>> peak = highest(space, lambda x: -float((x[0] - 0.3) ** 2), np.ones(1), [np.zeros(1)])
    >>> peak.round(3)
    array([0.3])
    """
    from scipy.optimize import minimize  # slow to import

    shallowest = np.maximum(MODE_RESOLUTION * mean_slopes, np.finfo(np.float64).tiny)

    def loss(x: FloatArray) -> float:
        x = snapped(x)
        slopes = np.maximum(space.raw_slopes(x), shallowest)
        return float(np.log(slopes).sum() - log_density(x))

    starts = sorted(starts, key=loss)[:MODE_STARTS]
    ends = [minimize(loss, start, method="Nelder-Mead").x for start in starts]
    return np.asarray(min([*starts, *ends], key=loss))
