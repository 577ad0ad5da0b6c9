"""Do the evaluations lie around the surrogate as their reported SDs say?

The surrogate has a noise of its own on top of the reported one, and gives way to values that do
not fit. So its residuals tell what the noise really is. There is another way out for it: a kernel
so short that neighbours say nothing of each other, which is noise by another name. That shows in
predictions of each evaluation from the others that are no better than those of the surrogate's
quadratic mean; then the errors of these predictions take the place of the residuals.

Residuals are looked at where the density may matter: how well a surrogate follows values that are
hopelessly low says nothing of the answer.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics.case import Case, numbered
from quell.diagnostics.finding import Finding
from quell.diagnostics.predictions import left_out_errors
from quell.gp.model import mean_function
from quell.gp.pooling import pooled_mean
from quell.vbmc.low_values import resolved_depth

#: Reported SDs may be too small by this factor: then they leave out half of the noise variance.
LARGEST_SCALE = float(np.sqrt(2.0))
#: Share of the noise variance that the surrogate may take for signal, as if nearly every evaluation
#: had a parameter of its own.
MOST_FOLLOWED = 0.9
#: Neighbours have to explain this share of what the quadratic mean leaves over.
LEAST_EXPLAINED = 0.5
#: Residuals from which a typical size can be told, to about a fifth.
FEWEST = 20
#: The median of the absolute value of a standard normal.
NORMAL_MEDIAN = 0.6745
#: An evaluation is off by more than noise beyond this many SDs: among a thousand normal ones
#: that happens once in two thousand runs.
OUTLYING = 5.0
#: Outliers that are looked at, the largest first.
MOST_OUTLIERS = 100


def _residuals(case: Case) -> FloatArray:
    """Residuals (N,) in reported SDs; 0 where there is no SD or the density cannot matter."""
    seen = case.observed
    noisy = np.nan_to_num(seen.reported) > 0
    top = case.claimed.max()
    depth = resolved_depth(case.solution.space.dimension)
    counts = noisy & (np.maximum(seen.y, seen.mean) > top - depth)
    return np.divide(seen.y - seen.mean, seen.reported, out=np.zeros(len(counts)), where=counts)


def typical_residual(case: Case) -> float:
    """The typical size of residuals in reported SDs; nan where there are too few of them."""
    residual = _residuals(case)
    residual = residual[residual != 0]
    if len(residual) < FEWEST:
        return np.nan
    return float(np.median(np.abs(residual))) / NORMAL_MEDIAN


def typical_error(case: Case) -> float:
    """The typical error of predicting an evaluation from the others, in reported SDs.

    nan where neighbours help, so that it says more of the log joint than of its noise.
    """
    gp = case.surrogate
    depth = resolved_depth(case.solution.space.dimension)
    rows = (gp.data.variance > 0) & (gp.data.y > case.claimed.max() - depth)
    if rows.sum() < FEWEST:
        return np.nan
    means = np.stack([mean_function(gp.hyper[s], gp.data.x) for s in range(gp.n_samples)])
    sd = np.sqrt(gp.data.variance[rows])
    from_mean = (gp.data.y - pooled_mean(means, gp.weights))[rows] / sd
    from_others = left_out_errors(gp)[0][rows] / sd
    left, all_of_it = np.median(np.abs(from_others)), np.median(np.abs(from_mean))
    if (left / all_of_it) ** 2 < 1.0 - LEAST_EXPLAINED:
        return np.nan
    return float(left) / NORMAL_MEDIAN


def residual_scale(case: Case) -> Finding:
    """The typical size of residuals, in reported SDs."""
    scale, text = float(np.fmax(typical_residual(case), typical_error(case))), ""
    if scale > LARGEST_SCALE:
        text = (
            f"residuals are {scale:.1f} times the reported SDs: the target's noise is larger than "
            "it says. Report larger SDs, or leave that to the surrogate (noise='unknown')"
        )
    return Finding("residual_scale", scale, LARGEST_SCALE, text)


def noise_followed(case: Case) -> Finding:
    """The share of the noise variance that the surrogate takes for signal."""
    scale, text = typical_residual(case), ""
    share = 1.0 - scale**2
    if share > MOST_FOLLOWED:
        text = (
            f"the surrogate follows the noise: residuals are {scale:.2g} times the reported SDs. "
            "The target's noise may be larger than it says, or its log density rough: check the "
            "SDs, and use a larger budget"
        )
    return Finding("noise_followed", share, MOST_FOLLOWED, text)


def outliers(case: Case) -> Finding:
    """The largest residual, in SDs as they seem to be."""
    seen, residual = case.observed, _residuals(case)
    scale = np.fmax(typical_residual(case), 1.0)
    places = np.argsort(-np.abs(residual), kind="stable")[:MOST_OUTLIERS]
    # Where the surrogate was not trained it may be wrong itself, and says by how much.
    noise = np.sqrt((scale * seen.sd[places]) ** 2 + case.variance(places))
    size = np.where(residual[places] != 0, np.abs(seen.y - seen.mean)[places], 0.0)
    size = np.divide(size, noise, out=np.zeros(len(size)), where=noise > 0)
    order = np.argsort(-size, kind="stable")
    size, places = size[order], places[order]
    off, text = seen.row[places[size > OUTLYING]], ""
    if len(off):
        are = "is" if len(off) == 1 else "are"
        text = (
            f"{numbered(off)} {are} off by up to {size[0]:.0f} SDs: outliers, which noise of the "
            "reported size does not make. See what the target did there, and let it fail instead "
            "of returning such values"
        )
    return Finding("largest_residual", float(size.max(initial=0.0)), OUTLYING, text)
