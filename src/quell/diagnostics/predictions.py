"""Does the surrogate predict evaluations it has not seen?

As a rule, or with few exceptions: a value that is wrong may have made the surrogate give way, with
a kernel so short or a noise so large that nothing contradicts it any more. It still differs from
what all others say far more than they do from each other.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics.case import Case, numbered
from quell.diagnostics.finding import Finding, shown
from quell.diagnostics.relearnt import relearnt_error
from quell.diagnostics.residuals import NORMAL_MEDIAN, OUTLYING
from quell.distances import squared_distances
from quell.vbmc.low_values import resolved_depth

#: So many of the worst predicted are predicted by a surrogate learnt without them. Chosen for the
#: time it takes: about 0.05 CPU s each for 200 evaluations, 0.15 s for 400 and more.
MOST_SUSPECTS = 3
#: More than half of all evaluations outside of their 95 % intervals is not chance.
LARGEST_MEDIAN = 1.96


def prediction_errors(case: Case) -> Finding:
    """The median error of predicting an evaluation from all others, in SDs."""
    error, sd = case.left_out
    figure, text = float(np.median(np.abs(error) / sd)), ""
    if not figure <= LARGEST_MEDIAN:
        text = (
            f"the surrogate does not predict the evaluations: half of them are off by more than "
            f"{shown(figure, 1)} of its SDs. If the target is noisy, say so (noise=); otherwise it "
            "is rougher than a Gaussian process: use tighter bounds or other parameters"
        )
    return Finding("median_prediction_error", figure, LARGEST_MEDIAN, text)


def odd_ones(case: Case) -> Finding:
    """The error of the worst predicted noisy evaluation, where that is typical of the others' 1.

    It counts where the value, or what is expected in its place, is as high as at a typical point of
    the posterior, and off by as much as the log density of a normal one falls off altogether. A
    value that is too low may have taught the surrogate to follow it: the worst few are predicted
    again by one that never saw them.
    """
    data = case.surrogate.data
    error, sd = case.left_out[0].copy(), case.left_out[1]
    size = np.abs(error) / sd
    size = size / max(float(np.median(size)) / NORMAL_MEDIAN, np.finfo(np.float64).tiny)
    depth = resolved_depth(case.solution.space.dimension)
    high = np.maximum(data.y, data.y - error) > case.typical
    far_off = (np.abs(error) > depth) & ~(data.variance == 0)
    size = np.where(high & far_off, size, 0.0)
    lowest = np.argsort(error, kind="stable")[:MOST_SUSPECTS]
    for row in lowest[far_off[lowest] & (error[lowest] < 0) & (size[lowest] <= OUTLYING)]:
        afresh, its_sd = relearnt_error(case.surrogate, int(row), 1 / case.solution.space.scales)
        if data.y[row] - afresh > case.typical and -afresh > depth:
            size[row], error[row] = max(size[row], -afresh / its_sd), afresh
    worst = np.argsort(-size, kind="stable")
    worst = worst[size[worst] > OUTLYING]
    text = ""
    if len(worst):
        found = numbered(_rows(case, data.x[worst]))
        are = "is" if len(worst) == 1 else "are"
        text = (
            f"{found} {are} off by up to {shown(np.abs(error[worst]).max())} nats from what the "
            "other evaluations say: values that are wrong spoil the surrogate. See what the target "
            "did there, and let it fail instead of returning such values"
        )
    return Finding("odd_one_out", float(size.max(initial=0.0)), OUTLYING, text)


def _rows(case: Case, x: FloatArray) -> list[int]:
    """Rows of the table of evaluations at the points x (n, D)."""
    seen = case.observed
    nearest = squared_distances(x, seen.x).argmin(axis=1)
    return [int(row) for row in seen.row[nearest]]
