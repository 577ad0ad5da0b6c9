"""The components of all runs as one mixture in the user's parameters.

Runs live in spaces of their own: whitened and softened each in its way. Densities are compared in
the user's parameters, where that of a component is its normal density in the space of its run less
the log-Jacobian there.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quell.arrays import FloatArray
from quell.mixture import Mixture
from quell.mixture.mixture import even_counts
from quell.results import Result


class Components:
    """All M components of J runs.

    ``run`` (M,) says of which each is; ``first_weights`` (M,) are those of equal runs, each with
    its own weights.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.spaces = [result.solution.space for result in results]
        self.mixtures = [result.solution.mixture for result in results]
        sizes = [mixture.n_components for mixture in self.mixtures]
        self.run: NDArray[np.intp] = np.repeat(np.arange(len(sizes)), sizes)
        self.first_weights: FloatArray = np.concatenate(
            [mixture.weights / len(sizes) for mixture in self.mixtures]
        )

    @property
    def n_runs(self) -> int:
        """The number of runs, J."""
        return len(self.spaces)

    def log_densities(self, theta: FloatArray) -> FloatArray:
        """Log densities (n, M) of the components at points (n, D) of the user's parameters."""
        parts = []
        for space, mixture in zip(self.spaces, self.mixtures, strict=True):
            x = space.to_inference(theta)
            jacobian = space.log_jacobian(x)
            scaled = x / mixture.lengths
            parts.append(
                np.stack(
                    [
                        -0.5 * (((scaled - mean / mixture.lengths) / scale) ** 2).sum(axis=1)
                        - mixture.dimension * np.log(scale)
                        for mean, scale in zip(mixture.means, mixture.scales, strict=True)
                    ],
                    axis=1,
                )
                - (0.5 * mixture.dimension * np.log(2 * np.pi) + np.log(mixture.lengths).sum())
                - jacobian[:, None]
            )
        return np.concatenate(parts, axis=1)

    def shares(self, weights: FloatArray) -> FloatArray:
        """The weight of every run (J,), given those of the components (M,)."""
        return np.array([weights[self.run == j].sum() for j in range(self.n_runs)])

    def of_run(self, j: int, weights: FloatArray) -> Mixture:
        """The mixture of run ``j`` under new weights (M,) of all components, not all zero there."""
        own, mixture = weights[self.run == j], self.mixtures[j]
        return Mixture(own / own.sum(), mixture.means, mixture.scales, mixture.lengths)

    def draw(
        self, n: int, rng: np.random.Generator, weights: FloatArray
    ) -> tuple[FloatArray, NDArray[np.intp]]:
        """``n`` draws (n, D) from all components with these weights (M,), and their runs (n,)."""
        counts = even_counts(n, self.shares(weights), rng)
        parts = [
            self.spaces[j].to_original(self.of_run(j, weights).sample(count, rng, stratified=True))
            for j, count in enumerate(counts)
            if count
        ]
        return np.concatenate(parts), np.repeat(np.arange(self.n_runs), counts)
