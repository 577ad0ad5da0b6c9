"""Hard and plausible bounds of the parameters, checked and made consistent.

LB, UB: hard bounds (infinite where there is none). PLB, PUB: the plausible box, where most of the
posterior mass is expected (Acerbi 2020, arXiv 2006.08655, supplement D.1). The *range* of a
coordinate, which sets how near a bound is "too near", is the distance between its hard bounds;
PUB − LB or UB − PLB where only one of them is finite; PUB − PLB where neither is.
"""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import BoolArray, FloatArray
from quell.checks import as_floats, coordinate_mask, coordinate_names, raise_at, vector
from quell.space.families import FAMILIES

Kind = Literal["fixed", "periodic", "two-sided", "lower", "upper", "unbounded"]

PLAUSIBLE_MARGIN = 1e-3  # plausible bounds stay this fraction of the range away from hard ones
ALMOST_BOUND = 1e-5  # ε of the veto b_bnd near the hard bounds (supplement B.1)


@dataclass(frozen=True, eq=False)
class Bounds:
    """Consistent bounds of all ``n`` parameters, fixed ones included; made by `check_bounds`.

    Arrays have shape (n,). ``bounded`` names the two-sided map of each coordinate (used or not).
    """

    names: tuple[str, ...]
    lower: FloatArray
    upper: FloatArray
    plausible_lower: FloatArray
    plausible_upper: FloatArray
    bounded: tuple[str, ...]
    periodic: BoolArray

    @cached_property
    def kinds(self) -> tuple[Kind, ...]:
        """What each coordinate is; a fixed coordinate is fixed even if also periodic."""
        return tuple(map(_kind, self.lower, self.upper, self.periodic))

    @cached_property
    def range(self) -> FloatArray:
        """The range of each coordinate, as defined in this module; zero where fixed."""
        low = np.where(np.isfinite(self.lower), self.lower, self.plausible_lower)
        high = np.where(np.isfinite(self.upper), self.upper, self.plausible_upper)
        with np.errstate(over="ignore"):
            return high - low

    @cached_property
    def has_edges(self) -> BoolArray:
        """Free and not periodic: coordinates whose finite hard bounds are real edges."""
        return np.array([kind not in ("fixed", "periodic") for kind in self.kinds])

    @cached_property
    def almost_lower(self) -> FloatArray:
        """LB + ε · range; −inf without a lower bound and for fixed and periodic coordinates."""
        return np.where(self.has_edges, self.lower + ALMOST_BOUND * self.range, -np.inf)

    @cached_property
    def almost_upper(self) -> FloatArray:
        """UB − ε · range; +inf without an upper bound and for fixed and periodic coordinates."""
        return np.where(self.has_edges, self.upper - ALMOST_BOUND * self.range, np.inf)


def _kind(lower: float, upper: float, periodic: bool) -> Kind:
    if lower == upper:
        return "fixed"
    if periodic:
        return "periodic"
    if np.isfinite(lower):
        return "two-sided" if np.isfinite(upper) else "lower"
    return "upper" if np.isfinite(upper) else "unbounded"


def check_bounds(
    lower: ArrayLike,
    upper: ArrayLike,
    plausible_lower: ArrayLike,
    plausible_upper: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    bounded: str | Sequence[str] = "logit",
    periodic: Sequence[str] | Sequence[bool] | BoolArray | None = None,
) -> Bounds:
    """Check the four bounds, each of shape (n,) or a scalar for all, and return them as `Bounds`.

    Raises ``ValueError`` naming argument, coordinate and value. Plausible bounds nearer to a hard
    bound than 1e-3 of the range are moved to that distance, with a ``UserWarning``.

    >>> check_bounds([0, 0, 1], [1, np.inf, 1], [0.2, 1, 1], [0.8, 5, 1]).kinds
    ('two-sided', 'lower', 'fixed')
    """
    given = {
        "lower": lower,
        "upper": upper,
        "plausible_lower": plausible_lower,
        "plausible_upper": plausible_upper,
    }
    shapes = [as_floats(key, value).shape for key, value in given.items()]
    size = next((shape[0] for shape in shapes if shape), 1) if names is None else len(names)
    if size == 0:
        raise ValueError("lower must have at least one coordinate, got none")
    names = coordinate_names(names, size)
    arrays = {key: vector(key, value, size, names=names) for key, value in given.items()}
    bounds = Bounds(
        names,
        **arrays,
        bounded=_bounded_families(bounded, names),
        periodic=coordinate_mask("periodic", periodic, names),
    )
    _check_hard(bounds)
    _check_plausible(bounds)
    bounds = _with_margin(bounds)
    for array in (bounds.lower, bounds.upper, bounds.plausible_lower, bounds.plausible_upper):
        array.setflags(write=False)
    return bounds


def refuse(
    argument: str,
    array: FloatArray,
    bad: BoolArray,
    demand: str,
    names: Sequence[str] | None = None,
    *others: FloatArray,
) -> None:
    """Raise for the first ``bad`` entry, if any.

    ``array`` and ``bad`` have shape (..., n). ``others``, of shape (n,) each, are put into the
    placeholders of ``demand`` at the same coordinate.
    """
    if bad.any():
        column = int(np.argwhere(bad)[0][-1])
        values = (float(other[column]) for other in others)
        raise_at(argument, array, bad, demand.format(*values), names)


def _bounded_families(bounded: str | Sequence[str], names: tuple[str, ...]) -> tuple[str, ...]:
    choices = ", ".join(map(repr, FAMILIES))
    if not isinstance(bounded, str | Sequence | np.ndarray):
        raise ValueError(
            f"bounded must be one of {choices}, or a sequence of them, got {bounded!r}"
        )
    families = (bounded,) * len(names) if isinstance(bounded, str) else tuple(bounded)
    if len(families) != len(names):
        raise ValueError(
            f"bounded must be one of {choices}, or one of them for each of the {len(names)} "
            f"coordinates, got {len(families)} entries"
        )
    for name, family in zip(names, families, strict=True):
        if family not in tuple(FAMILIES):
            raise ValueError(f"bounded for {name!r} must be one of {choices}, got {family!r}")
    return families


def _check_hard(bounds: Bounds) -> None:
    names, lower, upper = bounds.names, bounds.lower, bounds.upper
    refuse("lower", lower, lower == np.inf, "must be finite, or -inf for no bound", names)
    refuse("upper", upper, upper == -np.inf, "must be finite, or inf for no bound", names)
    demand = "must not exceed upper = {!r} (swap them, or set them equal to fix the coordinate)"
    refuse("lower", lower, lower > upper, demand, names, upper)
    demand = "must be finite because the coordinate is periodic (upper - lower is the period)"
    refuse("lower", lower, bounds.periodic & ~np.isfinite(lower), demand, names)
    refuse("upper", upper, bounds.periodic & ~np.isfinite(upper), demand, names)
    finite = np.isfinite(lower) & np.isfinite(upper)
    with np.errstate(over="ignore", invalid="ignore"):
        bad = finite & ~np.isfinite(upper - lower)
    demand = "must be at a finite distance from lower = {!r} (rescale the parameter)"
    refuse("upper", upper, bad, demand, names, lower)
    if np.all(lower == upper):
        raise ValueError(
            f"lower equals upper for every coordinate ({', '.join(map(repr, names))}), so nothing "
            "is left to infer; leave at least one coordinate free"
        )


def _check_plausible(bounds: Bounds) -> None:
    names, lower, upper = bounds.names, bounds.lower, bounds.upper
    p_lower, p_upper = bounds.plausible_lower, bounds.plausible_upper
    demand = "must be finite (say where most of the posterior mass is expected)"
    refuse("plausible_lower", p_lower, ~np.isfinite(p_lower), demand, names)
    refuse("plausible_upper", p_upper, ~np.isfinite(p_upper), demand, names)

    fixed = np.array([kind == "fixed" for kind in bounds.kinds])
    demand = "must not be {} {{!r}}, the value at which the coordinate is fixed (set it to that)"
    bad = fixed & (p_lower > lower)
    refuse("plausible_lower", p_lower, bad, demand.format("above"), names, lower)
    bad = fixed & (p_upper < lower)
    refuse("plausible_upper", p_upper, bad, demand.format("below"), names, lower)

    demand = "must be less than plausible_upper = {!r} (swap them, or widen the plausible box)"
    refuse("plausible_lower", p_lower, ~fixed & (p_lower >= p_upper), demand, names, p_upper)

    demand = "must not be {} {} = {{!r}} (move it inside the hard bounds, or widen those)"
    bad = bounds.has_edges & (p_lower < lower)
    refuse("plausible_lower", p_lower, bad, demand.format("below", "lower"), names, lower)
    bad = bounds.has_edges & (p_upper > upper)
    refuse("plausible_upper", p_upper, bad, demand.format("above", "upper"), names, upper)

    demand = "must be near enough to the other bounds for a finite range (rescale the parameter)"
    with np.errstate(over="ignore"):
        bad = ~np.isfinite(bounds.range) | ~np.isfinite(p_upper - p_lower)
    refuse("plausible_upper", p_upper, bad, demand, names)

    circle = bounds.periodic & ~fixed
    demand = "must not be more than one period, {!r}, above plausible_lower = {!r} (narrow the box)"
    bad = circle & (p_upper - p_lower > bounds.range)
    refuse("plausible_upper", p_upper, bad, demand, names, bounds.range, p_lower)
    demand = "must leave part of the plausible box between lower = {!r} and upper = {!r} (shift it)"
    bad = circle & ((p_lower >= upper) | (p_upper <= lower))
    refuse("plausible_lower", p_lower, bad, demand, names, lower, upper)


def _with_margin(bounds: Bounds) -> Bounds:
    """The bounds with the plausible box kept clear of the hard bounds, or of the seam."""
    names, lower, upper = bounds.names, bounds.lower, bounds.upper
    p_lower, p_upper = bounds.plausible_lower, bounds.plausible_upper
    circle = bounds.periodic & (lower < upper)
    centre = 0.5 * p_lower + 0.5 * p_upper
    edge_low = np.where(circle, centre - 0.5 * bounds.range, lower)
    edge_high = np.where(circle, centre + 0.5 * bounds.range, upper)
    margin = PLAUSIBLE_MARGIN * bounds.range
    slack = 1e-9 * margin  # so that bounds already moved are left alone when they are given again
    low_bad = (p_lower < edge_low + margin - slack) & (lower < upper)
    high_bad = (p_upper > edge_high - margin + slack) & (lower < upper)
    new_lower = np.where(low_bad, edge_low + margin, p_lower)
    new_upper = np.where(high_bad, edge_high - margin, p_upper)

    demand = (
        "must leave room below plausible_upper = {!r} once both are kept 1e-3 of the range away "
        "from the hard bounds (widen the plausible box, or move the hard bounds)"
    )
    bad = (new_lower >= new_upper) & (lower < upper)
    refuse("plausible_lower", p_lower, bad, demand, names, p_upper)
    step = ALMOST_BOUND * bounds.range
    merged = np.isfinite(lower) & (lower + step == lower)
    merged |= np.isfinite(upper) & (upper - step == upper)
    demand = (
        "is too close to the bounds above it, up to {!r}, for floating-point numbers of this size "
        "(shift the parameter towards zero)"
    )
    top = np.where(np.isfinite(upper), upper, p_upper)
    refuse("lower", lower, merged & (lower < upper), demand, names, top)

    moves = [
        f"{which} of {names[i]!r} from {float(old[i])!r} to {float(new[i])!r}"
        for which, old, new, moved in (
            ("plausible_lower", p_lower, new_lower, low_bad),
            ("plausible_upper", p_upper, new_upper, high_bad),
        )
        for i in np.flatnonzero(moved)
    ]
    if moves:
        warnings.warn(
            "plausible bounds too close to a hard bound (or, on a circle, to a full period) were "
            f"moved inside by 1e-3 of the range: {'; '.join(moves)}",
            UserWarning,
            stacklevel=4,
        )
    # Where a coordinate is fixed its plausible box is that one value.
    new_lower = np.where(lower == upper, lower, new_lower)
    new_upper = np.where(lower == upper, upper, new_upper)
    return Bounds(names, lower, upper, new_lower, new_upper, bounds.bounded, bounds.periodic)
