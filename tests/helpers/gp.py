"""Data makers and naive formulas for the tests of the Gaussian process.

The formulas index θ = (log ℓ, log σ_f, log σ̄, m_0, x_m, log ω [, log ν]) by hand, so that they
share nothing with the code under test.
"""

import numpy as np
from hypothesis import settings

from quell.gp import TrainingData

modest = settings(deadline=None, max_examples=15)
NOISES = ("exact", "known", "unknown", "partly")


def make_data(dimension, size, noise="known", seed=0):
    """A wavy quadratic at normal points; see `wavy_quadratic`."""
    rng = np.random.default_rng([seed, dimension, size])
    x = 0.5 + rng.normal(size=(size, dimension)) * np.linspace(0.8, 1.5, dimension)
    return wavy_quadratic(rng, x, noise)


def wavy_quadratic(rng, x, noise="known"):
    """Noisy values of a wavy quadratic at points ``x``, with one of four kinds of noise report."""
    size = len(x)
    sd = rng.uniform(0.2, 1.0, size)
    y = 3 - 0.5 * (x**2).sum(axis=1) + 0.8 * np.sin(2 * x[:, 0]) + sd * rng.normal(size=size)
    reported = {
        "exact": np.zeros(size),
        "known": sd,
        "unknown": np.full(size, np.nan),
        "partly": np.where(np.arange(size) % 3 == 0, np.nan, sd),
    }[noise]
    return TrainingData.from_arrays(x, y, reported)


def theta_size(data):
    return 3 * data.dimension + 3 + bool(np.isnan(data.variance).any())


def make_theta(data, seed=0, n=None):
    """Moderate hyperparameters, (size,) or (n, size)."""
    rng = np.random.default_rng([seed, 7])
    d = data.dimension
    centre = np.concatenate(
        [np.full(d, 0.3), [0.7, -1.0, 3.0], np.full(d, 0.2), np.full(d, 0.4), [-1.0]]
    )[: theta_size(data)]
    return centre + 0.4 * rng.normal(size=len(centre) if n is None else (n, len(centre)))


def naive_kernel(theta, a, b):
    d = a.shape[1]
    out = np.empty((len(a), len(b)))
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            out[i, j] = np.exp(2 * theta[d]) * np.exp(
                -0.5 * sum(((p[k] - q[k]) / np.exp(theta[k])) ** 2 for k in range(d))
            )
    return out


def naive_mean(theta, x):
    d = x.shape[1]
    return np.array(
        [
            theta[d + 2]
            - 0.5
            * sum(
                (p[k] - theta[d + 3 + k]) ** 2 / np.exp(2 * theta[2 * d + 3 + k]) for k in range(d)
            )
            for p in x
        ]
    )


def naive_noise(theta, variance, dimension):
    return np.array(
        [np.exp(2 * theta[dimension + 1]) + (np.exp(theta[-1]) if v != v else v) for v in variance]
    )


def naive_covariance(theta, x, variance):
    """K_y, nugget and noise included."""
    d = x.shape[1]
    nugget = 1e-13 * np.exp(2 * theta[d])
    return naive_kernel(theta, x, x) + np.diag(naive_noise(theta, variance, d) + nugget)
