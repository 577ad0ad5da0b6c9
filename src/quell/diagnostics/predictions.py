"""Does the surrogate predict evaluations it has not seen?"""

import numpy as np

from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding

#: More than half of all evaluations outside of their 95 % intervals is not chance.
LARGEST_MEDIAN = 1.96


def prediction_errors(case: Case) -> Finding:
    """The median error of predicting an evaluation from all others, in SDs."""
    error, sd = case.left_out
    figure, text = float(np.median(np.abs(error) / sd)), ""
    if not figure <= LARGEST_MEDIAN:
        text = (
            f"the surrogate does not predict the evaluations: half of them are off by more than "
            f"{figure:.1f} of its SDs. If the target is noisy, say so (noise=); otherwise it is "
            "rougher than a Gaussian process: use tighter bounds or other parameters"
        )
    return Finding("median_prediction_error", figure, LARGEST_MEDIAN, text)
