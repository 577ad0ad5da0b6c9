"""Points to keep away from: where the surrogate is already certain, and where none may go.

The paper multiplies an acquisition function by b_var (Eqs. S10 and S11), which falls to zero
where the surrogate's pooled variance v is below V_reg, and by b_bnd (Eq. S12), which is zero
too close to the bounds. Scores here are logarithms: b_var becomes an added penalty and b_bnd
a veto. (For the negative losses VIQR and IMIQR the product, read literally, would attract; the
addition to the logarithm is what is meant.)
"""

from collections.abc import Callable

import numpy as np

from quell.acquisition.situation import Score
from quell.arrays import BoolArray, FloatArray

#: Which of the points (n, D) may be evaluated, a mask (n,).
Allowed = Callable[[FloatArray], BoolArray]

#: Pooled variance below which a point is penalised, V_reg (paper, supplement).
V_REG = 1e-4
# Keeps penalty and slope finite where rounding has left no variance at all.
_TINY = 1e-100


def variance_penalty(variance: FloatArray) -> FloatArray:
    """log b_var = -(V_reg/v - 1) where v < V_reg, else 0, for pooled variances of any shape.

    >>> variance_penalty(np.array([1.0, 1e-4, 5e-5]))
    array([-0., -0., -1.])
    """
    return -np.maximum(V_REG / np.maximum(variance, _TINY) - 1, 0.0)


def variance_penalty_slope(variance: float) -> float:
    """Derivative of :func:`variance_penalty` in v, at one v."""
    return V_REG / max(variance, _TINY) ** 2 if variance < V_REG else 0.0


def vetoed_scores(
    score: Score, x: FloatArray, allowed: Allowed | None = None
) -> tuple[FloatArray, BoolArray]:
    """Scores (n,) of points (n, D), and which of them are ``allowed`` (n,).

    A point that is not allowed is not scored and gets -inf, like a non-finite score.

    >>> class Height:
    ...     def values(self, x):
    ...         return np.where(x[:, 0] > 5, np.nan, x[:, 0])
    >>> vetoed_scores(Height(), np.array([[1.0], [-1.0], [9.0]]), lambda x: x[:, 0] > 0)
    (array([  1., -inf, -inf]), array([ True, False,  True]))
    """
    mask = np.ones(len(x), dtype=bool)
    if allowed is not None:
        mask = np.asarray(allowed(x), dtype=bool)
        if mask.shape != (len(x),):
            raise ValueError(f"allowed must return shape ({len(x)},), got {mask.shape}")
    out = np.full(len(x), -np.inf)
    if mask.any():
        values = np.asarray(score.values(x[mask]), dtype=np.float64)
        if values.shape != (mask.sum(),):
            raise ValueError(
                f"a score's values must have shape ({mask.sum()},), got {values.shape}"
            )
        out[mask] = np.where(np.isfinite(values), values, -np.inf)
    return out, mask
