"""Does the surrogate predict evaluations it has not seen?

Each training point is predicted from all others, with the hyperparameters as they are. Per
hyperparameter sample, with K_y the covariance of the observations and α = K_y⁻¹ (y - m), the error
of that prediction is α_n / (K_y⁻¹)_nn, and its variance 1 / (K_y⁻¹)_nn.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding
from quell.gp import GaussianProcess
from quell.gp.factor import inverse_from_factor
from quell.gp.pooling import between_variance, pooled_mean

#: More than half of all evaluations outside of their 95 % intervals is not chance.
LARGEST_MEDIAN = 1.96


def left_out_errors(gp: GaussianProcess) -> tuple[FloatArray, FloatArray]:
    """Errors (N,) of each training value predicted from the others, and SDs of the predictions."""
    error, variance = np.empty((2, gp.n_samples, gp.data.size))
    for s in range(gp.n_samples):
        precision = inverse_from_factor(gp.lower(s).copy(order="F")).diagonal()
        error[s] = gp.alpha[s] / precision
        variance[s] = 1.0 / precision
    total = pooled_mean(variance, gp.weights) + between_variance(error, gp.weights)
    return pooled_mean(error, gp.weights), np.sqrt(total)


def prediction_errors(case: Case) -> Finding:
    """The median error of predicting an evaluation from all others, in SDs."""
    error, sd = left_out_errors(case.surrogate)
    figure = float(np.median(np.abs(error) / sd))
    text = ""
    if not figure <= LARGEST_MEDIAN:
        text = (
            f"the surrogate does not predict the evaluations: half of them are off by more than "
            f"{figure:.1f} of its SDs. If the target is noisy, say so (noise=); otherwise it is "
            "rougher than a Gaussian process: use tighter bounds or other parameters"
        )
    return Finding("median_prediction_error", figure, LARGEST_MEDIAN, text)
