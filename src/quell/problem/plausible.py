"""A plausible box where none is given: the central 68 % of each parameter's prior.

===============================  ================================================================
prior                            plausible box
===============================  ================================================================
a distribution per parameter     its 16 % and 84 % quantiles, within the hard bounds
a multivariate normal            those of its marginals
an earlier posterior             those of its marginals
None                             those of the uniform prior, if the hard bounds are finite
a function, "included", another  none: the box has to be given
===============================  ================================================================
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from quell.arrays import FloatArray
from quell.checks import as_floats, coordinate_mask, coordinate_names, vector
from quell.problem.as_density import make_density
from quell.problem.densities import Independent, Joint, is_one_dimensional
from quell.space.bounds import Bounds

#: Shares of the prior's probability below the two ends of the box: ± 1 SD of a normal one.
SHARES = np.array([0.16, 0.84])

Box = tuple[ArrayLike, ArrayLike, ArrayLike, ArrayLike]


def without_leading_axis(box: Sequence[ArrayLike | None]) -> list[ArrayLike | None]:
    """Bounds as they were given, those of shape (1, D) as (D,).

    >>> without_leading_axis([[[1, 2]], 3.0, None])
    [array([1, 2]), 3.0, None]
    """

    def flat(side: ArrayLike | None) -> ArrayLike | None:
        array = np.asanyarray(side)
        return array[0] if array.ndim == 2 and len(array) == 1 else side

    return [flat(side) for side in box]


def with_plausible_box(
    box: Sequence[ArrayLike | None],
    prior: Any,
    names: Sequence[str] | None,
    integer: Any,
) -> Box:
    """Lower, upper and plausible bounds; the latter from the prior where both are None.

    >>> from scipy import stats
    >>> lower, upper, low, high = with_plausible_box(
    ...     [-np.inf, np.inf, None, None], [stats.norm(0, 1), stats.norm(5, 2)], None, None)
    >>> np.round(low, 1), np.round(high, 1)
    (array([-1.,  3.]), array([1., 7.]))
    """
    lower, upper, low, high = without_leading_axis(box)
    if lower is None or upper is None:
        raise TypeError(
            f"{'lower' if lower is None else 'upper'} must be a number or an array, got None "
            "(for a parameter without a bound it is infinite)"
        )
    if low is not None and high is not None:
        return lower, upper, low, high
    if (low is None) != (high is None):
        given = "plausible_upper" if low is None else "plausible_lower"
        raise TypeError(
            f"{given} is given without the other end of the plausible box (give both, or leave "
            "out both to have the central 68 % of the prior)"
        )
    size = _dimension((lower, upper), prior, names)
    names = coordinate_names(names, size)
    first, last = (
        vector(key, side, size, names=names) for key, side in (("lower", lower), ("upper", upper))
    )
    ends = _quantiles(prior, first, last, names)
    fixed = first == last
    ends = np.where(fixed, first, ends)
    bad = ~np.isfinite(ends).all(axis=0) | (~fixed & ~(ends[0] < ends[1]))
    if bad.any():
        raise ValueError(
            f"plausible_lower and plausible_upper must be given: {_why(prior)} has no central 68 % "
            f"within the bounds for {names[int(np.argmax(bad))]!r} (say where you expect most of "
            "the posterior)"
        )
    whole = coordinate_mask("integer", integer, names) & ~fixed
    short = np.where(whole, np.maximum(0.0, 1.0 - (ends[1] - ends[0])), 0.0)
    ends = np.stack([ends[0] - 0.5 * short, ends[1] + 0.5 * short])  # at least a cell wide
    return lower, upper, ends[0], ends[1]


def _dimension(sides: tuple[ArrayLike, ...], prior: Any, names: Sequence[str] | None) -> int:
    """Number of parameters, by whatever tells it."""
    for key, side in zip(("lower", "upper"), sides, strict=True):
        array = as_floats(key, side)
        if array.ndim > 1:
            raise ValueError(
                f"{key} must be a number or have one entry for each parameter, got an array of "
                f"shape {array.shape}"
            )
        if array.ndim == 1:
            return len(array)
    if names is not None:
        return len(tuple(names))
    if isinstance(prior, Sequence | np.ndarray) and not isinstance(prior, str):
        return len(prior)
    size = getattr(prior, "dim", None)
    return int(size) if isinstance(size, int | np.integer) else 1


def _quantiles(
    prior: Any, lower: FloatArray, upper: FloatArray, names: tuple[str, ...]
) -> FloatArray:
    """The two ends (2, D); nan where the prior does not tell."""
    size = len(lower)
    unknown = np.full((2, size), np.nan)
    if prior is None:
        with np.errstate(invalid="ignore", over="ignore"):
            return lower + SHARES[:, None] * (upper - lower)
    if isinstance(prior, str):
        return unknown
    none = np.zeros(size, bool)
    density = make_density(prior, Bounds(names, lower, upper, lower, upper, ("",) * size, none))
    if isinstance(density, Independent):
        pairs = zip(lower, upper, density.marginals, strict=True)
        return np.array([_of_one(m, float(low), float(high)) for low, high, m in pairs]).T
    if not isinstance(density, Joint):
        return unknown
    joint = density.distribution
    if hasattr(joint, "posterior"):
        ends = [
            _of_posterior(joint.posterior, name, low, high)
            for name, low, high in zip(names, lower, upper, strict=True)
        ]
        return np.array(ends).T
    if getattr(getattr(joint, "cov", None), "shape", ()) == (size, size):  # normal
        ends = np.asarray(joint.mean) + ndtri(SHARES)[:, None] * np.sqrt(np.diag(joint.cov))
    else:
        return unknown
    return np.clip(ends, lower, upper)


def _of_posterior(posterior: Any, name: str, lower: float, upper: float) -> Any:
    """The ends for one parameter of an earlier posterior; on a circle they may be past a bound."""
    i = posterior.names.index(name)
    bounds = posterior.space.bounds
    if not posterior.space.free[i]:
        return bounds.lower[i], bounds.lower[i]
    low, high = posterior.interval(float(SHARES[1] - SHARES[0]), name)
    if bounds.periodic[i]:
        return low, high + (bounds.range[i] if high < low else 0.0)
    return np.clip([low, high], lower, upper)


def _of_one(distribution: Any, lower: float, upper: float) -> tuple[float, float]:
    """Quantiles of a one-dimensional distribution that is cut at the hard bounds."""
    if distribution is None or not is_one_dimensional(distribution):  # fixed, or a density
        return np.nan, np.nan
    quantile = getattr(distribution, "ppf", None) or distribution.icdf
    with np.errstate(all="ignore"):
        below, above = float(distribution.cdf(lower)), float(distribution.cdf(upper))
        low, high = (float(quantile(below + p * (above - below))) for p in SHARES)
    return low, high


def _why(prior: Any) -> str:
    if prior is None:
        return "the uniform prior of an infinite box"
    if isinstance(prior, str):
        return f"prior={prior!r}"
    return f"a prior of type {type(prior).__name__}"
