"""From the table of evaluations to what the surrogate is trained on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quell.arrays import BoolArray, FloatArray
from quell.evaluations import Evaluations
from quell.gp import TrainingData
from quell.space import InferenceSpace
from quell.vbmc.subset import kept_rows

#: A value this many nats below the best is as good as zero density: some targets return a huge
#: negative number where they mean that.
HOPELESS = 1e6
#: Zero density is entered as the lowest value kept, but not more than the first of these nats per
#: coordinate below the best, and at least the second below it. Own choice; the first is what the
#: end of warm-up keeps (`quell.vbmc.warmup.KEPT_PER_DIMENSION`).
CENSORED_DEPTH_PER_DIMENSION, SMALLEST_CENSORED_DEPTH = 10.0, 5.0
#: Its SD is at least the first of these, and at most the second plus the third per coordinate.
SMALLEST_CENSORED_SD = 0.1
LARGEST_CENSORED_SD, CENSORED_SD_PER_DIMENSION = 1.0, 0.1


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """N observations in inference space, and where they come from.

    ``data`` are points, values of the log joint and noise; ``rows`` (N,) the rows of the table of
    evaluations, of the first one where a point was evaluated repeatedly; ``single_sd`` (N,) the
    SDs of one evaluation there, nan where unknown.
    """

    data: TrainingData
    rows: NDArray[np.intp]
    single_sd: FloatArray

    @classmethod
    def of(
        cls, table: Evaluations, trimmed: BoolArray, space: InferenceSpace, *, noisy: bool
    ) -> "TrainingSet":
        """The training set in ``space`` of all evaluations but the ``trimmed`` (mask of the table).

        Repeated evaluations of one point are one observation: their precision-weighted mean.
        Failed evaluations are left out; a point of zero density, or next to it (`HOPELESS`),
        enters as a low value (see :func:`censored`). Of very many points some are chosen (see
        :mod:`quell.vbmc.subset`). Empty as long as there is no finite value.
        """
        hopeless = is_hopeless(table.log_joint)
        merged = table.merge_duplicates(~trimmed & ~hopeless)
        rows, theta, y, sd = merged.row, merged.theta, merged.log_joint, merged.sd
        single_sd = sd * np.sqrt(merged.count)
        zero = np.flatnonzero((table.zero_density | hopeless) & ~trimmed)
        if len(zero) and len(rows):
            low, low_sd = censored(y, sd, space.dimension)
            rows = np.concatenate([rows, zero])
            order = np.argsort(rows, kind="stable")
            rows = rows[order]
            theta = np.concatenate([theta, table.theta[zero]])[order]
            y = np.concatenate([y, np.full(len(zero), low)])[order]
            sd = np.concatenate([sd, np.full(len(zero), low_sd)])[order]
            single_sd = np.concatenate([single_sd, np.full(len(zero), low_sd)])[order]
        x = space.to_inference(theta)
        y = y + space.log_jacobian(x)
        kept = kept_rows(x, y, noisy)
        if kept is not None:
            x, y, sd, rows, single_sd = x[kept], y[kept], sd[kept], rows[kept], single_sd[kept]
        return cls(TrainingData.from_arrays(x, y, sd), rows, single_sd)


def is_hopeless(log_joint: FloatArray) -> BoolArray:
    """Mask (N,) of values so far below the best that the surrogate could not resolve the others.

    >>> is_hopeless(np.array([-2.0, np.nan, -1e300, -9.0]))
    array([False, False,  True, False])
    """
    with np.errstate(invalid="ignore"):
        return np.asarray(log_joint < np.fmax.reduce(log_joint, initial=-np.inf) - HOPELESS)


def censored(log_joint: FloatArray, sd: FloatArray, dimension: int) -> tuple[float, float]:
    """Value and SD by which a point of zero density enters the training set.

    As low as the lowest value kept, at most 10 D below the best: known to be low, not how low. It
    is about as noisy as the others, given their values and SDs, each (n,). If it were much noisier,
    exact values around would make the surrogate go on smoothly where there is no density.
    """
    best = float(log_joint.max())
    low = max(float(log_joint.min()), best - CENSORED_DEPTH_PER_DIMENSION * dimension)
    known = sd[~np.isnan(sd)]
    most = LARGEST_CENSORED_SD + CENSORED_SD_PER_DIMENSION * dimension
    typical = float(np.median(known)) if len(known) else most
    value = min(low, best - SMALLEST_CENSORED_DEPTH)
    return value, float(np.clip(typical, SMALLEST_CENSORED_SD, most))
