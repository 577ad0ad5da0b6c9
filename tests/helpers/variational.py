"""Surrogates of known targets, with hyperparameters set by hand."""

import numpy as np
from scipy.stats import qmc

from quell.gp import GaussianProcess, TrainingData
from quell.mixture import Mixture


def make_theta(lengths, output_scale, mean_max, location, omega, base_noise=0.003):
    d = len(lengths)
    return np.concatenate(
        [
            np.log(lengths),
            [np.log(output_scale), np.log(base_noise), mean_max],
            np.broadcast_to(location, d),
            np.log(np.broadcast_to(omega, d)),
        ]
    )


def wavy_gp(dimension, n_samples=1, size=25, seed=0):
    """A noisy surrogate of no special form, for formulas and derivatives."""
    rng = np.random.default_rng([seed, dimension, 3])
    x = 0.5 + rng.normal(size=(size, dimension)) * np.linspace(0.8, 1.6, dimension)
    y = -1 - 0.4 * (x**2).sum(axis=1) + np.sin(2 * x).sum(axis=1)
    theta = make_theta(np.full(dimension, 1.1), 1.8, -1.0, 0.3, 1.6, 0.3)
    theta = theta + 0.3 * rng.normal(size=(n_samples, len(theta)))
    weights = np.arange(1.0, n_samples + 1)
    return GaussianProcess.condition(TrainingData.from_arrays(x, y, 0.2), theta, weights)


class Gaussian:
    """An unnormalised axis-aligned Gaussian density, D dimensions, with its surrogate."""

    def __init__(self, dimension):
        self.dimension = dimension
        self.mean = np.linspace(-1, 1, dimension) if dimension > 1 else np.array([0.7])
        self.sd = np.linspace(0.5, 2, dimension) if dimension > 1 else np.array([1.3])
        self.log_z = -3 + 0.5 * dimension * np.log(2 * np.pi) + np.log(self.sd).sum()

    def log_density(self, x):
        return -3 - 0.5 * (((x - self.mean) / self.sd) ** 2).sum(axis=1)

    def data(self, size, seed=0):
        rng = np.random.default_rng([seed, self.dimension])
        x = self.mean + 2 * self.sd * rng.normal(size=(size, self.dimension))
        return TrainingData.from_arrays(x, self.log_density(x))

    def exact_gp(self, size=30):
        """The mean function is the target, and says nothing but the truth."""
        theta = make_theta(self.sd, 1.0, -3.0, self.mean, self.sd)
        return GaussianProcess.condition(self.data(size), [theta])

    def learnt_gp(self, size):
        """The mean function is wrong everywhere; the data have to correct it."""
        theta = make_theta(6 * self.sd, 30.0, 0.0, 0.0, 4.0)
        return GaussianProcess.condition(self.data(size), [theta])

    def exact_mixture(self):
        return Mixture([1.0], [self.mean], [1.0], self.sd)


BANANA_LOG_Z = float(np.log(2 * np.pi * 0.7))


def banana_gp():
    """Exact values at 150 points of a box; a curved target, mean (0, 1)."""
    x = [-3.0, -3.0] + np.array([6.0, 10.0]) * qmc.Sobol(2, seed=1).random(256)[:150]
    y = -0.5 * x[:, 0] ** 2 - 0.5 * ((x[:, 1] - x[:, 0] ** 2) / 0.7) ** 2
    theta = make_theta([1.0, 1.5], 20.0, 0.0, [0.0, 1.0], [1.5, 2.0])
    return GaussianProcess.condition(TrainingData.from_arrays(x, y), [theta])


MODES = np.array([[-3.0, -2.0], [3.0, 2.0]])
MODE_WEIGHTS = np.array([0.4, 0.6])


def two_mode_gp():
    """Two unit Gaussians, weights 0.4 and 0.6, log Z = 0."""
    x = [-6.0, -6.0] + 12.0 * qmc.Sobol(2, seed=2).random(128)
    squared = ((x[:, None, :] - MODES) ** 2).sum(axis=2)
    y = np.logaddexp(*(np.log(MODE_WEIGHTS) - 0.5 * squared).T) - np.log(2 * np.pi)
    theta = make_theta([1.5, 1.5], 10.0, 0.0, 0.0, 3.0)
    return GaussianProcess.condition(TrainingData.from_arrays(x, y), [theta])
