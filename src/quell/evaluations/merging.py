"""Repeated evaluations of one point, merged into one observation.

With known SDs σ_i the merged value is the precision-weighted mean, with τ_i = 1/σ_i²,

    y = Σ τ_i y_i / Σ τ_i,    σ = (Σ τ_i)^(−½);

exact values (σ_i = 0) outweigh noisy ones and are averaged among themselves. Without SDs the
merged value is the plain mean and its SD stays unknown: it is that of one evaluation divided by
the root of the count. Where only some SDs at a point are missing, each is taken to be the root
mean square of those reported there: the noise at one point has one size.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quell.arrays import BoolArray, FloatArray


@dataclass(frozen=True, eq=False)
class Merged:
    """n distinct points, in the order they first appeared.

    ``theta`` (n, D), and for each ``value``, ``sd`` (nan = unknown), ``log_prior``, the ``count``
    of evaluations and the ``row`` of the first. ``group`` (N,) says for each evaluation of the
    table which of the n points it went into, −1 for none.
    """

    theta: FloatArray
    value: FloatArray
    sd: FloatArray
    log_prior: FloatArray
    count: NDArray[np.intp]
    row: NDArray[np.intp]
    group: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.theta)

    @property
    def log_joint(self) -> FloatArray:
        """Log-likelihood plus log prior (n,)."""
        return self.value + self.log_prior


def merge(
    theta: FloatArray, value: FloatArray, sd: FloatArray, log_prior: FloatArray, use: BoolArray
) -> Merged:
    """Merge those of the N evaluations that are in the mask ``use`` and equal in θ (N, D).

    >>> theta = np.array([[0.0], [1.0], [0.0]])
    >>> merged = merge(theta, np.array([1.0, 5.0, 3.0]), np.ones(3), np.zeros(3), np.full(3, True))
    >>> merged.value, merged.count
    (array([2., 5.]), array([2, 1]))
    """
    used = np.flatnonzero(use)
    canonical = np.ascontiguousarray(theta[used] + 0.0)  # -0.0 and 0.0 are one point
    # Rows as opaque bytes: equal where all coordinates are.
    keys = canonical.view(f"V{8 * canonical.shape[1]}").ravel()
    _, first, member, count = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)  # of first appearance
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    first, member, count = first[order], place[member], count[order]
    row = used[first]
    merged_value, merged_sd = value[row], sd[row]
    for i in np.flatnonzero(count > 1):
        rows = used[member == i]
        merged_value[i], merged_sd[i] = combine(value[rows], sd[rows])
    group = np.full(len(theta), -1, dtype=np.intp)
    group[used] = member
    return Merged(theta[row], merged_value, merged_sd, log_prior[row], count, row, group)


def combine(value: FloatArray, sd: FloatArray) -> tuple[float, float]:
    """Value and SD of the mean of evaluations at one point, each of shape (n,).

    >>> combine(np.array([0.0, 3.0]), np.array([1.0, 2.0]))
    (0.6, 0.8944271909999159)
    """
    if len(value) == 1:
        return float(value[0]), float(sd[0])
    if np.any(sd == 0.0):
        return float(np.mean(value[sd == 0.0])), 0.0
    known = sd[~np.isnan(sd)]
    if len(known) == 0:
        return float(np.mean(value)), float("nan")
    # Relative to the largest, then to the smallest: squares of extreme SDs overflow.
    largest = np.max(known)
    sd = np.where(np.isnan(sd), largest * np.sqrt(np.mean((known / largest) ** 2)), sd)
    weight = (np.min(sd) / sd) ** 2
    mean = float(np.sum(weight * value) / np.sum(weight))
    return mean, float(np.min(sd) / np.sqrt(np.sum(weight)))
