"""Is the posterior where it may be: off the hard bounds, near the plausible box?"""

import numpy as np

from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding
from quell.text import printable

#: Next to a bound is nearer than this part of the way from it to the plausible box.
NEXT_TO = 1e-3
#: Mass that may be next to a bound: beyond it the 90 % interval ends there.
MOST_AT_BOUND = 0.05
#: Far outside of the plausible box is further than this many of its widths from its centre: where
#: the search for points does not begin to look (`quell.vbmc.search_point`).
FAR = 2.5
#: Mass that may be far outside: no more than is not.
MOST_OUTSIDE = 0.5

#: Share of the mixture that must lie in the support: with less its shape there rests on a few
#: per cent of its components' tails.
LEAST_IN_SUPPORT = 0.02


def mass_in_support(case: Case) -> Finding:
    """The share of the mixture that lies where the prior is positive and the constraint holds."""
    text = ""
    if case.share < LEAST_IN_SUPPORT:
        text = (
            f"only {100 * case.share:.1f} % of the fitted density lies where the prior is positive "
            "and the constraint holds: the posterior there has not been found. Use a larger "
            "budget, or begin inside (start=)"
        )
    return Finding("share_in_support", case.share, LEAST_IN_SUPPORT, text)


def mass_at_bounds(case: Case) -> Finding:
    """The largest share of the draws that lie next to a hard bound of some parameter."""
    space = case.solution.space
    bounds, theta = space.bounds, space.to_original(case.draws)
    figure, text = 0.0, ""
    for i in np.flatnonzero(bounds.has_edges):
        for side, bound, edge in (
            ("lower", bounds.lower[i], bounds.plausible_lower[i]),
            ("upper", bounds.upper[i], bounds.plausible_upper[i]),
        ):
            if not np.isfinite(bound):
                continue
            share = float(np.mean(np.abs(theta[:, i] - bound) <= NEXT_TO * abs(edge - bound)))
            if share > figure:
                figure = share
                name = printable(space.names[i])
                text = (
                    f"{100 * share:.0f} % of the posterior of {name} is piled at its "
                    f"{side} bound, {bound:g}: move the bound if it is arbitrary, or fix the "
                    "parameter there"
                )
    return Finding("mass_at_bound", figure, MOST_AT_BOUND, text if figure > MOST_AT_BOUND else "")


def mass_outside(case: Case) -> Finding:
    """The largest share of the draws far outside of the plausible box in some parameter."""
    space = case.plausible
    x = np.abs(space.to_inference(case.solution.space.to_original(case.draws)))
    periodic = space.bounds.periodic[space.free]
    shares = np.where(periodic, 0.0, np.mean(x > FAR, axis=0))
    worst = int(np.argmax(shares))
    figure, text = float(shares[worst]), ""
    if figure > MOST_OUTSIDE:
        name = printable(space.free_names[worst])
        text = (
            f"{100 * figure:.0f} % of the posterior of {name} is far outside of its plausible "
            "range, by more than twice its width: run again with the range around the posterior"
        )
    return Finding("mass_far_outside", figure, MOST_OUTSIDE, text)


def mass_beyond(case: Case) -> Finding:
    """The share of the draws beyond all evaluations along some axis of the posterior.

    There the posterior rests on what the surrogate continues.
    """
    q = case.solution.mixture
    _, axes = np.linalg.eigh(q.covariance())
    seen, drawn = case.surrogate.data.x @ axes, case.draws @ axes
    beyond = (drawn < seen.min(axis=0)) | (drawn > seen.max(axis=0))
    return Finding("mass_beyond_evaluations", float(beyond.any(axis=1).mean()), MOST_AT_BOUND)
