"""Baselines that use the SDs of the noise need to know them."""

import numpy as np

from quell.arrays import FloatArray
from quell.problem import Problem


def refuse_unknown_noise(problem: Problem, what: str) -> None:
    """``ValueError`` for a problem whose noise has an unknown size."""
    if problem.noise == "unknown":
        raise ValueError(
            f'{what} needs the SD of the noise, but the problem has noise="unknown" (let the '
            "target return the pair (value, SD), or use quell.infer, which fits its size)"
        )


def known_sds(sd: FloatArray) -> FloatArray:
    """SDs (n,) with those that are missing (nan) replaced by the median of the others.

    >>> known_sds(np.array([1.0, np.nan, 3.0]))
    array([1., 2., 3.])
    """
    missing = np.isnan(sd)
    if missing.all() and len(sd):
        raise ValueError(
            "none of the evaluations has the SD of its noise: let the target return the pair "
            '(value, SD), or choose noise="exact" if there is none'
        )
    return np.where(missing, np.median(sd[~missing]) if len(sd) else 0.0, sd)
