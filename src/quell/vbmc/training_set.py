"""From the table of evaluations to what the surrogate is trained on."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quell.arrays import BoolArray, FloatArray
from quell.evaluations import Evaluations
from quell.gp import TrainingData
from quell.problem.constraint import Support
from quell.space import InferenceSpace
from quell.space.edges import Edges
from quell.vbmc.found_edge import FoundSupport, found_support
from quell.vbmc.low_values import (
    are_accidents,
    compressed,
    is_hopeless,
    log_slopes,
    resolved_depth,
    without_density,
)
from quell.vbmc.subset import kept_rows

#: SD of a point of zero density: at least the first of these, and at most the second plus the third
#: per coordinate.
SMALLEST_CENSORED_SD = 0.1
LARGEST_CENSORED_SD, CENSORED_SD_PER_DIMENSION = 1.0, 0.1


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """N observations in inference space, and where they come from.

    ``data`` are points, values of the log joint and noise; ``rows`` (N,) the rows of the table of
    evaluations, of the first one where a point was evaluated repeatedly; ``single_sd`` (N,) the
    SDs of one evaluation there, nan where unknown. ``n_accidents`` evaluations gave zero density
    beside good ones, and are left out. ``log_slopes`` (N,) are those of the compression of low
    values, None without, and ``log_slope`` their sum, by which densities of sets that are
    compressed differently are compared.
    """

    data: TrainingData
    rows: NDArray[np.intp]
    single_sd: FloatArray
    n_accidents: int = 0
    log_slopes: FloatArray | None = None

    @property
    def log_slope(self) -> float:
        """The log-Jacobian of the compression of low values."""
        return 0.0 if self.log_slopes is None else float(self.log_slopes.sum())

    @classmethod
    def of(
        cls,
        table: Evaluations,
        trimmed: BoolArray,
        space: InferenceSpace,
        *,
        noisy: bool,
        power: float = 1.0,
        cuts: Edges | None = None,
        noise_scale: float = 1.0,
        found: FoundSupport | None = None,
    ) -> "TrainingSet":
        """The training set in ``space`` of all evaluations but the ``trimmed`` (mask of the table).

        Repeated evaluations of one point are one observation: their precision-weighted mean. Failed
        evaluations are left out; very low values are compressed, the more the smaller the ``power``
        (1: not at all), and points of zero density enter as low ones, unless they are accidents of
        a ``noisy`` target (see :mod:`quell.vbmc.low_values`), or the prior has it: that is known,
        as ``cuts`` beside the support. Nor are those learnt that are beyond an edge that was
        ``found``. The stated SDs are taken ``noise_scale`` times. Of very many points some are
        chosen (see :mod:`quell.vbmc.subset`). Empty as long as there is no finite value.
        """
        hopeless = is_hopeless(table.log_joint)
        merged = table.merge_duplicates(~trimmed & ~hopeless)
        rows, sd = merged.row, merged.sd * noise_scale
        x = space.to_inference(merged.theta)
        y = merged.log_joint + space.log_jacobian(x)
        single_sd = sd * np.sqrt(merged.count)
        depth = resolved_depth(space.dimension)
        by_target = without_density_by_target(table, hopeless)
        if found is not None:
            by_target[by_target] = found(table.theta[by_target])
        accident = np.zeros(len(table), dtype=bool)
        if noisy:
            accident = accidents(table, hopeless, by_target, space)
        is_zero = by_target & ~trimmed & ~accident
        zero = np.flatnonzero(is_zero)
        if len(zero) and len(rows):
            x_zero = space.to_inference(table.theta[zero])
            y_zero = without_density(x_zero, x, y, depth)
            sd_zero = np.full(len(zero), sd_without_density(sd, space.dimension))
            order = np.argsort(np.concatenate([rows, zero]), kind="stable")
            x = np.concatenate([x, x_zero])[order]
            y = np.concatenate([y, y_zero])[order]
            rows, sd, single_sd = (
                np.concatenate(pair)[order]
                for pair in ((rows, zero), (sd, sd_zero), (single_sd, sd_zero))
            )
        kept = kept_rows(x, y, noisy)
        if kept is not None:
            x, y, sd, rows, single_sd = x[kept], y[kept], sd[kept], rows[kept], single_sd[kept]
        slopes, edges = None, space.edges
        if power != 1.0 and len(y):
            # Of what is known the surrogate is told in full: only the rest is compressed.
            known = 0.0 if edges is None else edges.at(x)
            rest = y - known
            y, slopes = known + compressed(rest, depth, power), log_slopes(rest, depth, power)
        if cuts is not None:
            # On top of y: the density inside the support is not meant to change.
            y = y + cuts.at(x)
            edges = cuts if edges is None else edges.joined(cuts)
        data = TrainingData.from_arrays(x, y, sd, edges=edges)
        return cls(data, rows, single_sd, int(accident.sum()), slopes)


def without_density_by_target(table: Evaluations, hopeless: BoolArray) -> BoolArray:
    """Mask (N,) of the evaluations that found no density where the prior has some."""
    return (table.zero_density | hopeless) & (table.log_prior > -np.inf)


def accidents(
    table: Evaluations, hopeless: BoolArray, zero: BoolArray, space: InferenceSpace
) -> BoolArray:
    """Mask (N,) of those of the evaluations ``zero`` (mask) that are so by accident.

    Evaluations that were trimmed, low as they are, have a say in it.
    """
    mask = np.zeros(len(table), dtype=bool)
    known = np.flatnonzero(table.ok & ~hopeless)
    if not (zero.any() and len(known)):
        return mask
    x = space.to_inference(table.theta[known])
    y = table.log_joint[known] + space.log_jacobian(x)
    x_zero = space.to_inference(table.theta[zero])
    mask[zero] = are_accidents(x_zero, x, y, resolved_depth(space.dimension))
    return mask


def support_from(
    table: Evaluations, given: Support | None, space: InferenceSpace, *, noisy: bool,
    before: FoundSupport | None = None,
) -> FoundSupport | None:  # fmt: skip
    """What the evaluations tell of a support that the target alone knows, within the one given."""
    hopeless = is_hopeless(table.log_joint)
    zero = without_density_by_target(table, hopeless)
    good = table.ok & ~hopeless
    if not (zero.any() and good.any()):
        return None
    found = found_support(
        space, table.theta[good], table.theta[zero], given, noisy=noisy, before=before
    )
    if found is None or found is before or noisy or not found.n_left:
        return found
    # An exact target has no accidents: what looks like one is beyond an edge of another shape.
    odd = accidents(table, hopeless, zero, space)
    return None if found(table.theta[odd]).any() else found


def sd_without_density(sd: FloatArray, dimension: int) -> float:
    """The SD of a point of zero density: about that of the others, given their SDs (n,).

    If it were much noisier, exact values around would make the surrogate go on smoothly where there
    is no density.
    """
    known = sd[~np.isnan(sd)]
    most = LARGEST_CENSORED_SD + CENSORED_SD_PER_DIMENSION * dimension
    typical = float(np.median(known)) if len(known) else most
    return float(np.clip(typical, SMALLEST_CENSORED_SD, most))
