"""Averages over hyperparameter samples: a mean, and the variance between the samples."""

import numpy as np

from quell.arrays import FloatArray


def pooled_mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Σ_s w_s v_s over the first axis of ``values`` (S, ...)."""
    return np.asarray(np.tensordot(weights, values, axes=1))


def between_variance(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Unbiased weighted variance of ``values`` (S, ...) over the first axis; 0 for one sample.

    Σ_s w_s (v_s - v̄)² / (1 - Σ_s w_s²), which has the divisor S - 1 for equal weights.
    """
    if len(weights) == 1:
        return np.zeros(values.shape[1:])
    centred = values - pooled_mean(values, weights)
    return pooled_mean(centred**2, weights) / between_divisor(weights)


def between_divisor(weights: FloatArray) -> float:
    """1 - Σ_s w_s², floored where nearly all weight is on one sample."""
    return max(1.0 - float(weights @ weights), float(np.finfo(np.float64).eps))
