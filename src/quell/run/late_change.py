"""How far the log evidence has moved of late: an answer is not known better than that.

An exact run may creep along a ridge: each evaluation lets the posterior reach a little further, the
surrogate is sure of all it has seen, and the SD of the log evidence says nothing of what comes
next. What came last says how much that may be. So the log evidence that is returned is compared
with that of the surrogate and the mixture half of the evaluations ago over which an answer has to
be stable (`quell.diagnostics.stability`), and its SD is no smaller than the difference. Under noise
it rarely is. What this does is in docs/experiments/evidence.md.
"""

from collections.abc import Sequence

import numpy as np

from quell.arrays import BoolArray
from quell.diagnostics.stability import evaluations_needed
from quell.run.where_it_counts import where_it_counts
from quell.vbmc import Iteration
from quell.vbmc.evidence import evidence

#: How long ago, in units of the evaluations over which an answer has to be stable.
AGO = 0.5


def late_change(
    rng: np.random.Generator,
    value: float,
    chosen: Iteration,
    history: Sequence[Iteration],
    integer: BoolArray,
) -> float:
    """By how much the log evidence ``value`` differs from what it was; 0 if that is not known.

    It is not before the end of warm-up, when the posterior was still searched for.
    """
    before = chosen.n_evaluations - AGO * evaluations_needed(chosen.solution.space.dimension)
    earlier = [it for it in history if it.n_evaluations <= before and it.believable]
    if not earlier or earlier[-1].warmup:
        return 0.0
    then = earlier[-1].solution
    part = where_it_counts(rng, then, integer)
    solution, draws = part or (then, None)
    was = evidence(rng, solution, importance=True, draws=draws)
    change = abs(value - was.value)
    return change if np.isfinite(change) else 0.0
