"""Observation noise at a new point: that of the nearest training point (paper, Eq. S13).

    σ_obs(x) = σ_obs(x_n),   n = argmin_n Σ_i (x_i - x_n,i)²/ℓ_i²,

with ℓ_i the geometric mean over hyperparameter samples. The table holds what a *single* new
evaluation would report; the base noise σ̄² and the fitted ν of unknown noise are added per
sample by :meth:`quell.gp.GaussianProcess.new_observation_variance`.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import matrix
from quell.distances import squared_distances
from quell.gp import GaussianProcess
from quell.gp.data import as_noise_variance


@dataclass(frozen=True, eq=False)
class NoiseTable:
    """Noise SDs of single evaluations, ``sd`` (N,), at points ``x`` (N, D); nan = unknown.

    ``lengths`` (D,) scale the coordinates before distances are taken.

    >>> table = NoiseTable(np.array([[0.0], [3.0]]), np.array([0.5, 2.0]), np.array([1.0]))
    >>> table.sd_at([[-1.0], [1.0], [2.0]])
    array([0.5, 0.5, 2. ])
    """

    x: FloatArray
    sd: FloatArray
    lengths: FloatArray

    @classmethod
    def of(cls, gp: GaussianProcess, sd: ArrayLike | None = None) -> "NoiseTable":
        """The table of a surrogate's observations.

        ``sd`` (a number or (N,)) replaces the training set's noise where that is not the noise
        of a single evaluation: where repeated evaluations were merged into their mean.
        """
        data = gp.data
        if data.size == 0:
            raise ValueError("the noise of a new point is that of the nearest observation: none")
        variance = data.variance if sd is None else as_noise_variance(sd, data.size)
        if np.isnan(variance).any() and not data.has_unknown_noise:
            raise ValueError("sd is nan (unknown), but the surrogate's noise is all known")
        lengths = np.exp(gp.weights @ np.log(gp.hyper.lengths))
        return cls(data.x, np.sqrt(variance), lengths)

    def sd_at(self, x: ArrayLike) -> FloatArray:
        """Noise SD of one evaluation at each point (n, D), (n,); nan where it is unknown."""
        x = matrix("x", x, len(self.lengths))
        # Nearest in squared distances: the same point, without the roots.
        distances = squared_distances(x / self.lengths, self.x / self.lengths)
        return np.asarray(self.sd[distances.argmin(axis=1)])
