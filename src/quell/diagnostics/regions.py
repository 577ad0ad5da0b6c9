"""Does the surrogate predict evaluations where it matters?

Each training value is predicted from all others (`quell.gp.leaving_out`). The *core* are
values as high as at a typical point of the posterior: they decide its shape. The *shell* are the
others down to where the density cannot matter: they decide how far it reaches.
"""

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding
from quell.diagnostics.residuals import FEWEST, LARGEST_SCALE
from quell.vbmc.low_values import resolved_depth


def standardised_errors(case: Case) -> FloatArray:
    """Errors (N,) of predicting each training value from the others, in SDs of the predictions."""
    error, sd = case.left_out
    return np.asarray(error / sd)


def regions(case: Case) -> tuple[BoolArray, BoolArray]:
    """Masks (N,) of the training values in the core and in the shell."""
    error, _ = case.left_out
    y = case.surrogate.data.y
    height = np.maximum(y, y - error)  # as measured, or as the others say
    core = height > case.typical
    deep = case.claimed.max() - resolved_depth(case.solution.space.dimension)
    return core, ~core & (height > deep)


def core_errors(case: Case) -> Finding:
    """Root mean square of the standardised errors in the core; 1 where the surrogate is right."""
    return _finding("core_prediction_error", case, regions(case)[0])


def shell_errors(case: Case) -> Finding:
    """The same in the shell."""
    return _finding("shell_prediction_error", case, regions(case)[1])


def _finding(name: str, case: Case, rows: BoolArray) -> Finding:
    if rows.sum() < FEWEST:
        return Finding(name, np.nan, LARGEST_SCALE)
    size = float(np.sqrt(np.mean(standardised_errors(case)[rows] ** 2)))
    return Finding(name, size, LARGEST_SCALE)
