"""Do the evaluations lie around the surrogate as their reported SDs say?

The surrogate has a noise of its own on top of the reported one, and gives way to values that do
not fit. So its residuals tell what the noise really is. There is another way out for it: a kernel
so short that neighbours say nothing of each other, which is noise by another name. That shows in
predictions of each evaluation from the others that are no better than those of the surrogate's
quadratic mean; then residuals are taken from that mean.

Their typical size is looked at where the density may matter: how well a surrogate follows values
that are hopelessly low says nothing of the answer. A single one counts where either the value or
the surrogate is as high as at a typical point of the posterior.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics.case import Case, numbered
from quell.diagnostics.finding import Finding, shown
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
#: Residuals from which a typical size can be told.
FEWEST = 20
#: The median of the absolute value of a standard normal. The size told by it from n residuals has a
#: relative SD of the second number over √n; the third is for the end of a 95 % interval.
NORMAL_MEDIAN, MEDIAN_SD, Z95 = 0.6745, 1.17, 1.96
#: An evaluation is off by more than noise beyond this many SDs: among a thousand normal ones
#: that happens once in two thousand runs.
OUTLYING = 5.0
#: Outliers that are looked at, the largest first.
MOST_OUTLIERS = 100


def neighbours_help(case: Case) -> bool:
    """Whether evaluations predict each other better than the surrogate's quadratic mean does."""
    data = case.surrogate.data
    rows = (data.variance > 0) & (data.y > case.claimed.max() - _depth(case))
    if rows.sum() < FEWEST:
        return True
    sd = np.sqrt(data.variance[rows])
    from_mean = np.abs(data.y - _quadratic(case, data.x))[rows] / sd
    from_others = np.abs(case.left_out[0])[rows] / sd
    left, whole = float(np.median(from_others)), float(np.median(from_mean))
    return left**2 < (1.0 - LEAST_EXPLAINED) * whole**2


def _depth(case: Case) -> float:
    return resolved_depth(case.solution.space.dimension)


def _quadratic(case: Case, x: FloatArray) -> FloatArray:
    """The mean function (n,) of the surrogate at points (n, D), with what is known."""
    gp = case.surrogate
    means = np.stack([mean_function(gp.samples[s], x) for s in range(gp.n_samples)])
    return pooled_mean(means, gp.weights) + gp.known(x)


def _residuals(case: Case, signal: FloatArray) -> FloatArray:
    """Residuals (N,) in reported SDs; 0 where there is no SD or the density cannot matter."""
    seen = case.observed
    noisy = np.nan_to_num(seen.reported) > 0
    counts = noisy & (np.maximum(seen.y, signal) > case.claimed.max() - _depth(case))
    return np.divide(seen.y - signal, seen.reported, out=np.zeros(len(counts)), where=counts)


def _signal(case: Case) -> FloatArray:
    """What the surrogate says of the observed points (N,), without what is noise in it."""
    seen = case.observed
    return seen.mean if neighbours_help(case) else _quadratic(case, seen.x)


def typical_size(residual: FloatArray) -> float:
    """The typical size of residuals (N,); nan where there are too few of them."""
    counted = residual[residual != 0]
    if len(counted) < FEWEST:
        return np.nan
    return float(np.median(np.abs(counted))) / NORMAL_MEDIAN


def signal_residuals(case: Case) -> FloatArray:
    """Residuals (N,) of the observed points in reported SDs; 0 where they do not count."""
    return _residuals(case, _signal(case))


def residual_scale(case: Case) -> Finding:
    """The typical size of residuals, in reported SDs."""
    residual = signal_residuals(case)
    scale, text = typical_size(residual), ""
    n = max(FEWEST, int(np.sum(residual != 0)))
    limit = LARGEST_SCALE / (1.0 - Z95 * MEDIAN_SD / float(np.sqrt(n)))  # chance allowed for
    if scale > limit:
        text = (
            f"residuals are {shown(scale, 1)} times the reported SDs: the target's noise is larger "
            "than it says. Report larger SDs, or leave that to the surrogate (noise='unknown')"
        )
    return Finding("residual_scale", scale, limit, text)


def noise_followed(case: Case) -> Finding:
    """The share of the noise variance that the surrogate takes for signal."""
    scale, text = typical_size(_residuals(case, case.observed.mean)), ""
    share = 1.0 - scale**2
    if share > MOST_FOLLOWED:
        text = (
            f"the surrogate follows the noise: it leaves {scale:.2g} of the reported SDs. The "
            "target's noise may be larger than it says, or its log density rough: check the SDs, "
            "and use a larger budget"
        )
    return Finding("noise_followed", share, MOST_FOLLOWED, text)


def outliers(case: Case) -> Finding:
    """The largest residual, in SDs as they seem to be."""
    seen, signal = case.observed, _signal(case)
    residual = _residuals(case, signal)
    scale = np.fmax(typical_size(residual), 1.0)
    residual = np.where(np.maximum(seen.y, signal) > case.typical, residual, 0.0)
    places = np.argsort(-np.abs(residual), kind="stable")[:MOST_OUTLIERS]
    places = places[residual[places] != 0]
    noise = scale * seen.reported[places]
    if neighbours_help(case):
        # Where the surrogate was not trained it may be wrong itself, and says by how much.
        noise = np.sqrt(noise**2 + case.variance(places))
    size = np.abs(seen.y - signal)[places] / noise
    order = np.argsort(-size, kind="stable")
    size, places = size[order], places[order]
    off, text = seen.row[places[size > OUTLYING]], ""
    if len(off):
        are = "is" if len(off) == 1 else "are"
        text = (
            f"{numbered(off)} {are} off by up to {shown(size[0])} SDs: outliers, which noise of "
            "the reported size does not make. See what the target did there, and let it fail "
            "instead of returning such values"
        )
    return Finding("largest_residual", float(size.max(initial=0.0)), OUTLYING, text)
