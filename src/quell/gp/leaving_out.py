"""Each training value of a surrogate predicted from all others, the hyperparameters as they are.

Per hyperparameter sample, with K_y the covariance of the observations and α = K_y⁻¹ (y - m), the
error of that prediction is α_n / (K_y⁻¹)_nn, and its variance 1 / (K_y⁻¹)_nn.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.gp.factor import inverse_from_factor
from quell.gp.pooling import between_variance, pooled_mean
from quell.gp.posterior import GaussianProcess


def left_out_errors(gp: GaussianProcess) -> tuple[FloatArray, FloatArray]:
    """Errors (N,) of each training value predicted from the others, and SDs of the predictions."""
    error, variance = np.empty((2, gp.n_samples, gp.data.size))
    for s in range(gp.n_samples):
        precision = inverse_from_factor(gp.lower(s).copy(order="F")).diagonal()
        error[s] = gp.alpha[s] / precision
        variance[s] = 1.0 / precision
    total = pooled_mean(variance, gp.weights) + between_variance(error, gp.weights)
    return pooled_mean(error, gp.weights), np.sqrt(total)
