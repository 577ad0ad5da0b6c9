"""Functions drawn from the surrogate, at as many points as wanted.

A function drawn from the prior becomes one from the posterior by what the posterior mean says to
the difference between the data and values drawn at their points (Matheron's rule),

    f(x) = f̄(x) + g(x) − κ(x, X) K_y⁻¹ (g(X) + ε),

g being from the prior without its mean function, and ε noise of the data's size. g is a sum of
cosines whose frequencies are drawn from the kernel's spectrum, which for a squared exponential is
normal. With N observations that is O(N) per point and function, where the joint covariance of n
points would take O(n³).
"""

import numpy as np

from quell.arrays import FloatArray
from quell.gp.model import NUGGET, Hyperparameters, kernel, noise_variance
from quell.gp.posterior import GaussianProcess

#: Cosines that a function is a sum of; its covariance is right to 1/√n of the prior variance on
#: average, and after conditioning to about as much of the posterior's.
N_COSINES = 256


def deviations(
    rng: np.random.Generator, gp: GaussianProcess, s: int, x: FloatArray, n: int
) -> FloatArray:
    """How ``n`` functions, drawn under hyperparameter sample ``s``, differ from its mean.

    At points x (m, D); shape (n, m).
    """
    hyper, size = gp.samples[s], len(gp.x)
    prior = _prior_functions(rng, hyper, np.concatenate([gp.x, x]), n)
    noise = noise_variance(hyper, gp.variance) + NUGGET * hyper.output_variance
    drawn = prior[:, :size] + np.sqrt(noise) * rng.standard_normal((n, size))
    return np.asarray(prior[:, size:] - (kernel(hyper, x, gp.x) @ gp.solve(s, drawn.T)).T)


def _prior_functions(
    rng: np.random.Generator, hyper: Hyperparameters, x: FloatArray, n: int
) -> FloatArray:
    """Functions (n, m) from the prior without its mean function, at points (m, D)."""
    frequencies = rng.standard_normal((x.shape[1], N_COSINES)) / hyper.lengths[:, None]
    phases = 2.0 * np.pi * rng.random(N_COSINES)
    cosines = np.cos(x @ frequencies + phases)
    scale = np.sqrt(2.0 * hyper.output_variance / N_COSINES)
    return np.asarray(scale * rng.standard_normal((n, N_COSINES)) @ cosines.T)
