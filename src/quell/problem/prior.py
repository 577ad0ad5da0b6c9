"""Turning what users pass as ``prior`` into one log density with a support.

================================  ==========================================================
prior                             meaning
================================  ==========================================================
None                              uniform on the box; improper if a bound is infinite
a sequence of distributions       independent parameters; None for fixed ones
one distribution                  joint, over all parameters; or of the one parameter
a posterior                       of an earlier run, over parameters of the same names
a function θ (D,) -> float        the log density itself, called point by point
"included"                        the target returns the log joint: the log density is 0
================================  ==========================================================

A density is used as given: it is not renormalised to the hard bounds, outside of which it is
zero. A fixed parameter has no prior of its own: an entry for it in a sequence is not used.
"""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray
from quell.checks import matrix
from quell.problem.as_density import KINDS, make_density
from quell.problem.constraint import Constraint
from quell.problem.densities import Constant, Density, Function, Independent, Joint
from quell.space.bounds import Bounds, refuse

MASS_OUTSIDE = 1e-3  # of a marginal: more of it than this outside the hard bounds is warned about


@dataclass(frozen=True, eq=False)
class Prior:
    """A log density over all parameters, zero density outside the hard bounds.

    ``is_proper`` is False where it cannot be normalised (uniform with an infinite bound), and
    ``is_included`` True where it is part of what the target returns. ``probe`` holds its values
    at a few points of the plausible box, computed when it was made. Where a ``constraint`` is given
    the density is zero unless it holds.

    >>> from quell.space.bounds import check_bounds
    >>> prior = make_prior(None, check_bounds(0, 4, 1, 3))
    >>> prior.log_density([[2.0], [5.0]])
    array([-1.38629436,        -inf])
    """

    bounds: Bounds
    density: Density
    is_proper: bool = True
    is_included: bool = False
    probe: tuple[float, ...] = ()
    constraint: Constraint | None = None

    @property
    def may_be_zero(self) -> bool:
        """Whether the density may be zero within the bounds, in more than single parameters."""
        if isinstance(self.density, Joint):
            certain = not getattr(self.density.distribution, "may_be_zero", True)
            return self.constraint is not None or not certain
        return self.constraint is not None or isinstance(self.density, Function)

    def log_density(self, theta: ArrayLike) -> FloatArray:
        """Log density (n,) at points θ (n, D), −inf outside the hard bounds.

        −inf inside them is zero density; nan and +inf raise ``ValueError`` naming the point.
        """
        names = self.bounds.names
        theta = matrix("theta", theta, len(names), names=names)
        logs = np.full(len(theta), -np.inf)
        inside = self._contains(theta)
        if self.constraint is not None:
            inside[inside] = self.constraint(theta[inside])
        if inside.any():
            logs[inside] = self.density.log_density(theta[inside])
        return logs

    def _contains(self, theta: FloatArray) -> BoolArray:
        lower, upper = self.bounds.lower, self.bounds.upper
        inside = (theta >= lower) & (theta <= upper)
        return np.all(inside | (self.bounds.periodic & (lower < upper)), axis=1)

    @property
    def support(self) -> tuple[FloatArray, FloatArray]:
        """Corners, each (D,), of a box outside of which the density is known to be zero."""
        lower, upper = self.bounds.lower.copy(), self.bounds.upper.copy()
        if isinstance(self.density, Independent):
            for i, marginal in enumerate(self.density.marginals):
                low, high = _support(marginal)
                lower[i], upper[i] = max(lower[i], low), min(upper[i], high)
        elif isinstance(self.density, Joint) and hasattr(self.density.distribution, "box"):
            low, high = self.density.distribution.box  # of an earlier posterior
            lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        return lower, upper

    def describe(self) -> dict[str, Any]:
        """Plain data by which priors are compared."""
        if isinstance(self.density, Constant):
            return self.density.describe()
        return {**self.density.describe(), "probe": list(self.probe)}

    def labels(self) -> list[str]:
        """A few words for each parameter."""
        return self.density.labels(len(self.bounds.names))


def make_prior(prior: Any, bounds: Bounds, probe: FloatArray | None = None) -> Prior:
    """The prior for parameters with these bounds, tried out at the points ``probe`` (n, D).

    Raises ``TypeError`` or ``ValueError`` for what cannot be a prior. Warns (``UserWarning``) of
    an improper uniform prior and of marginals with more than 1e-3 of their mass out of bounds.

    >>> from quell.space.bounds import check_bounds
    >>> from scipy import stats
    >>> bounds = check_bounds(-10, 10, -1, 1, names=["a", "b"])
    >>> prior = make_prior([stats.norm(0, 1), stats.uniform(-10, 20)], bounds)
    >>> np.round(prior.log_density([[0.0, 3.0]]), 4)
    array([-3.9147])
    """
    if prior is None or isinstance(prior, str):
        made = _constant_prior(prior, bounds)
    else:
        made = Prior(bounds, make_density(prior, bounds))
        points = probe_points(bounds) if probe is None else probe
        made = Prior(bounds, made.density, probe=_try_out(made, points))
        _check_support(made)
    for caution in _cautions(made):
        warnings.warn(caution, UserWarning, stacklevel=4)  # where the problem is made
    return made


def narrow_box(
    prior: Prior, eligible: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray] | None:
    """Lower, upper and plausible bounds, the hard ones moved in to where the prior ends.

    Only for ``eligible`` coordinates (D,) that are not periodic; None if nothing changes.
    ``ValueError`` if the plausible box is then not inside them.
    """
    bounds = prior.bounds
    low, high = prior.support
    eligible = eligible & bounds.has_edges
    low, high = np.where(eligible, low, bounds.lower), np.where(eligible, high, bounds.upper)
    if np.array_equal(low, bounds.lower) and np.array_equal(high, bounds.upper):
        return None
    demand = "must not be {} {{!r}}, beyond which the prior is zero (move it inside)"
    p_low, p_high = bounds.plausible_lower, bounds.plausible_upper
    refuse(
        "plausible_lower",
        p_low,
        eligible & (p_low < low),
        demand.format("below"),
        bounds.names,
        low,
    )
    refuse(
        "plausible_upper",
        p_high,
        eligible & (p_high > high),
        demand.format("above"),
        bounds.names,
        high,
    )
    return low, high, p_low, p_high


def probe_points(bounds: Bounds) -> FloatArray:
    """The centre of the plausible box, its lower corner, and one step along each free axis."""
    low, high = bounds.plausible_lower, bounds.plausible_upper
    centre = 0.5 * low + 0.5 * high
    steps = np.where(np.eye(len(low), dtype=bool), high, centre)[bounds.lower < bounds.upper]
    return np.vstack([centre, low, steps])


def _constant_prior(prior: str | None, bounds: Bounds) -> Prior:
    if prior == "included":
        return Prior(bounds, Constant(0.0, "included"), is_included=True)
    if prior is not None:
        raise ValueError(f"prior must be {KINDS}, got the string {prior!r}")
    free = bounds.lower < bounds.upper
    width = (bounds.upper - bounds.lower)[free]
    if np.isinf(width).any():
        return Prior(bounds, Constant(0.0, "improper uniform"), is_proper=False)
    return Prior(bounds, Constant(-float(np.sum(np.log(width))), "uniform"))


def _try_out(prior: Prior, points: FloatArray) -> tuple[float, ...]:
    """The log density at the points, after the prior has shown that it can take them."""
    prior.log_density(points[:1])  # one point, then several: mistakes of shape hide in either
    logs = prior.log_density(points)
    return tuple(float(f"{log:.9g}") for log in logs)  # no more digits than versions agree on


def _check_support(prior: Prior) -> None:
    lower, upper = prior.support
    empty = (lower >= upper) & (prior.bounds.lower < prior.bounds.upper)
    empty &= ~prior.bounds.periodic
    if empty.any():
        i = int(np.argmax(empty))
        hard = [float(prior.bounds.lower[i]), float(prior.bounds.upper[i])]
        raise ValueError(
            f"prior[{i}] ({prior.bounds.names[i]!r}) is zero everywhere within the hard bounds "
            f"{hard} (move the bounds or the prior)"
        )


def _support(marginal: Any) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in marginal.support())
    except Exception:  # not every distribution knows
        return -np.inf, np.inf
    return low, high


def _cautions(prior: Prior) -> list[str]:
    """What the user should be told about this prior."""
    bounds = prior.bounds
    if not prior.is_proper:
        width = bounds.upper - bounds.lower
        name = bounds.names[int(np.argmax(np.isinf(width)))]
        return [
            f"prior=None is uniform on the box, but {name!r} has an infinite hard bound: the prior "
            "is improper, so the posterior is that of the likelihood alone and log_evidence will "
            "be nan (give finite bounds or a prior density to have the evidence)"
        ]
    if not isinstance(prior.density, Independent):
        return []
    found = []
    for i, marginal in enumerate(prior.density.marginals):
        low, high = float(bounds.lower[i]), float(bounds.upper[i])
        outside = 0.0 if marginal is None else _mass_outside(marginal, low, high)
        if outside > MASS_OUTSIDE:
            found.append(
                f"the prior of {bounds.names[i]!r} has {outside:.3g} of its mass outside the hard "
                f"bounds [{low!r}, {high!r}]; it is used as given, not renormalised, so that mass "
                "is missing from the evidence (truncate the prior, or widen the bounds)"
            )
    return found


def _mass_outside(marginal: Any, lower: float, upper: float) -> float:
    """Mass of a one-dimensional distribution outside the bounds; 0 where it cannot be computed."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inside = float(marginal.cdf(upper)) - float(marginal.cdf(lower))
    except Exception:  # a distribution may have no cdf
        return 0.0
    return 1.0 - inside if np.isfinite(inside) else 0.0
