"""The components of all runs as one mixture in the user's parameters.

Runs live in spaces of their own: whitened and softened each in its way. Densities are compared in
the user's parameters, where that of a component is its normal density in the space of its run less
the log-Jacobian there.

With integers a component counts at whole numbers only, as in the posterior of a run
(`quell.results.parts`): its density there, over the sum of that at all whole numbers. Weights are
those of components normalised so.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quell.arrays import FloatArray
from quell.mixture import Mixture
from quell.mixture.mixture import even_counts
from quell.results import Result
from quell.results.parts import Parts


class Components:
    """All M components of J runs.

    ``run`` (M,) says of which each is; ``first_weights`` (M,) are those of equal runs, each with
    its own weights; ``log_masses`` (M,) are the logarithms of what the components sum to over whole
    numbers, 0 where none count.
    """

    def __init__(self, results: Sequence[Result]) -> None:
        self.spaces = [result.solution.space for result in results]
        self.mixtures = [result.solution.mixture for result in results]
        sizes = [mixture.n_components for mixture in self.mixtures]
        self.run: NDArray[np.intp] = np.repeat(np.arange(len(sizes)), sizes)
        self._at_numbers = _at_whole_numbers(results)
        self.log_masses = np.array([parts.log_mass for parts in self._at_numbers or ()])
        if not len(self.log_masses):
            self.log_masses = np.zeros(len(self.run))
        self.first_weights: FloatArray = np.concatenate(
            [self._weights_at_numbers(j) / len(sizes) for j in range(len(sizes))]
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
        return np.asarray(np.concatenate(parts, axis=1) - self.log_masses)

    def _weights_at_numbers(self, j: int) -> FloatArray:
        """The weights of run ``j`` as those of components normalised over whole numbers."""
        weights = self.mixtures[j].weights
        if self._at_numbers is None:
            return weights
        weights = weights * np.exp(self.log_masses[self.run == j])
        return np.asarray(weights / weights.sum())

    def shares(self, weights: FloatArray) -> FloatArray:
        """The weight of every run (J,), given those of the components (M,)."""
        return np.array([weights[self.run == j].sum() for j in range(self.n_runs)])

    def of_run(self, j: int, weights: FloatArray) -> Mixture:
        """The mixture of run ``j`` under new weights (M,) of all components, not all zero there."""
        own, mixture = weights[self.run == j], self.mixtures[j]
        if self._at_numbers is not None:
            own = own * np.exp(-self.log_masses[self.run == j])
        return Mixture(own / own.sum(), mixture.means, mixture.scales, mixture.lengths)

    def draw(
        self, n: int, rng: np.random.Generator, weights: FloatArray
    ) -> tuple[FloatArray, NDArray[np.intp]]:
        """``n`` draws (n, D) from all components with these weights (M,), and their runs (n,)."""
        if self._at_numbers is not None:
            counts = even_counts(n, weights, rng)
            drawn = [
                parts.sample(int(count), rng, self.spaces[j])
                for parts, count, j in zip(self._at_numbers, counts, self.run, strict=True)
                if count
            ]
            return np.concatenate(drawn), np.repeat(self.run, counts)
        counts = even_counts(n, self.shares(weights), rng)
        parts = [
            self.spaces[j].to_original(self.of_run(j, weights).sample(count, rng, stratified=True))
            for j, count in enumerate(counts)
            if count
        ]
        return np.concatenate(parts), np.repeat(np.arange(self.n_runs), counts)


def _at_whole_numbers(results: Sequence[Result]) -> list[Parts] | None:
    """Each component at whole numbers of the integers that count in any run; None if none do."""
    integer = np.array(results[0].posterior.integer or (), dtype=bool)
    if not integer.any():
        return None
    whole = [
        Parts.of(result.solution.mixture, result.solution.space, integer).whole
        for result in results
    ]
    columns = np.flatnonzero(np.any(whole, axis=0))
    if not len(columns):
        return None
    return [
        Parts.of(one, result.solution.space, integer, columns)
        for result in results
        for one in _single(result.solution.mixture)
    ]


def _single(mixture: Mixture) -> list[Mixture]:
    """The components of a mixture, each as one."""
    return [
        Mixture(np.ones(1), mean[None], np.array([scale]), mixture.lengths)
        for mean, scale in zip(mixture.means, mixture.scales, strict=True)
    ]
