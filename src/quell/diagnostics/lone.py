"""Does everything rest on one evaluation?

At the top of a posterior that was found the evaluations crowd: the best is above the next by little
more than the noise. One that is further above all others than the log density of a normal posterior
falls off altogether is either a value that is wrong, or the first that was found of something else.
"""

import numpy as np

from quell.diagnostics.case import CAUTION, Case, numbered
from quell.diagnostics.finding import Finding, shown
from quell.vbmc.low_values import resolved_depth


def lone_peak(case: Case) -> Finding:
    """Nats by which the best evaluation is above all others, noise allowed for."""
    seen = case.observed
    limit = resolved_depth(case.solution.space.dimension)
    if len(seen.y) < 2:
        return Finding("lone_peak_nats", np.nan, limit)
    next_best, best = np.argsort(seen.y, kind="stable")[-2:]
    noise = CAUTION * float(np.hypot(seen.sd[best], seen.sd[next_best]))
    figure, text = float(seen.y[best] - seen.y[next_best]) - noise, ""
    if figure > limit:
        text = (
            f"{numbered([int(seen.row[best])])} is {shown(figure)} nats above all other "
            "evaluations: either the value is wrong, or the posterior was seen only there. "
            "Evaluate it again; if it is right, use a larger budget, and begin there (start=)"
        )
    return Finding("lone_peak_nats", figure, limit, text)
