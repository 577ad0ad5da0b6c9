"""The hyperparameters of WSABI's surrogate: their penalised marginal likelihood."""

import numpy as np

from quell.arrays import FloatArray
from quell.baselines.warped import log_normal, process_vector
from quell.gp import FactorisationError, TrainingData
from quell.gp.marginal import MarginalLikelihood

#: Penalties on log λ and log V: normal, with these means and SDs (reference implementation). The
#: plausible box has width 1 in inference space.
PENALTY_MEANS = (0.0, float(np.log(0.1)))
PENALTY_SDS = (float(np.log(10.0)), float(np.log(20.0)))
LARGEST_H = 30.0
FIT_TOLERANCE, FIT_ITERATIONS = 1e-5, 100


class Objective:
    """Minus the penalised log marginal likelihood of (log λ, log V)."""

    def __init__(self, data: TrainingData) -> None:
        self._likelihood = MarginalLikelihood(data)
        dimension = data.dimension
        self._means = np.repeat(PENALTY_MEANS, (1, dimension))
        self._sds = np.repeat(PENALTY_SDS, (1, dimension))

    def value(self, h: FloatArray) -> float:
        """The objective at h (1 + D,); infinite where it cannot be computed."""
        try:
            fit = self._likelihood.value(process_vector(float(h[0]), h[1:]))
        except FactorisationError:
            return np.inf
        return -fit - float(log_normal(h, self._means, self._sds**2))

    def __call__(self, h: FloatArray) -> tuple[float, FloatArray]:
        """The objective and its gradient."""
        layout = self._likelihood.layout
        try:
            fit, by_theta = self._likelihood(process_vector(float(h[0]), h[1:]))
        except FactorisationError:
            return 1e10, np.zeros_like(h)
        # log ℓ = ½ log V, and log σ_f = log λ − ¼ Σ log 2πV.
        by_scale = by_theta[layout.output_scale]
        slope = np.append(by_scale, 0.5 * by_theta[layout.lengths] - 0.25 * by_scale)
        value = -fit - float(log_normal(h, self._means, self._sds**2))
        return value, (h - self._means) / self._sds**2 - slope

    def descend(self, h: FloatArray) -> FloatArray:
        """Where a quasi-Newton search from h ends; h itself if that is no better."""
        from scipy.optimize import minimize  # slow to import

        found = minimize(
            self, h, jac=True, method="L-BFGS-B", bounds=[(-LARGEST_H, LARGEST_H)] * len(h),
            options={"maxiter": FIT_ITERATIONS, "ftol": FIT_TOLERANCE, "gtol": FIT_TOLERANCE},
        ).x  # fmt: skip
        return found if self.value(found) < self.value(h) else h
