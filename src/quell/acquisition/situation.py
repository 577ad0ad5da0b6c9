"""What an acquisition function sees, and what it must provide."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from quell.acquisition.noise import NoiseTable
from quell.arrays import BoolArray, FloatArray
from quell.gp import GaussianProcess
from quell.mixture import Mixture


@dataclass(frozen=True, eq=False)
class Situation:
    """The state of an inference before a new point is chosen.

    ``gp`` is the surrogate, whose covariances already include the points under evaluation;
    ``mixture`` the variational posterior q; ``noise`` the noise to expect of an evaluation;
    ``within`` says which points (n, D) can have a density at all, None for all.

    >>> from quell.gp import TrainingData
    >>> data = TrainingData.from_arrays([[-1.0], [1.0]], [-0.5, -0.5], noise_sd=[0.1, 0.3])
    >>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
    >>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
    >>> situation.noise.sd_at([[2.0]])
    array([0.3])
    """

    gp: GaussianProcess
    mixture: Mixture
    noise: NoiseTable
    within: Callable[[FloatArray], BoolArray] | None = None

    def __post_init__(self) -> None:
        if self.mixture.dimension != self.gp.dimension:
            raise ValueError(
                f"mixture has {self.mixture.dimension} dimensions, the surrogate "
                f"{self.gp.dimension}"
            )
        if len(self.noise.lengths) != self.gp.dimension:
            raise ValueError(
                f"noise has {len(self.noise.lengths)} dimensions, the surrogate {self.gp.dimension}"
            )

    @classmethod
    def of(
        cls, gp: GaussianProcess, mixture: Mixture, noise_sd: ArrayLike | None = None
    ) -> "Situation":
        """The situation with the noise table :meth:`NoiseTable.of` (gp, noise_sd)."""
        return cls(gp, mixture, NoiseTable.of(gp, noise_sd))


def only_within(situation: Situation, points: FloatArray) -> BoolArray:
    """Which of the points (n, D) of an integral count: those within, all where none is."""
    if situation.within is None:
        return np.ones(len(points), dtype=bool)
    mask = situation.within(points)
    return mask if mask.any() else ~mask


class Score(Protocol):
    """A deterministic function of x to be maximised.

    ``values`` is all a user's own score needs. Two more methods are used where it has them:

    ``value_and_gradient(x) -> (float, (D,))`` at one point (D,). Without it (or where it is
    None) the local search takes central differences of ``values``.

    ``frozen_at(x) -> Score``: the same score with the observation noise of every point set to
    that at ``x`` (D,). Nearest-neighbour noise jumps from cell to cell; the local search holds
    it fixed and looks it up again where it ended.
    """

    def values(self, x: FloatArray, /) -> FloatArray:
        """Scores (n,) of points (n, D); a non-finite one excludes its point."""
        ...


class Acquisition(Protocol):
    """A way to choose points: ``prepare`` it for a situation, then maximise the score."""

    def prepare(self, rng: np.random.Generator, situation: Situation, /) -> Score:
        """Do all that does not depend on the candidate, such as drawing integration points."""
        ...


def training_box(gp: GaussianProcess, mixture: Mixture) -> tuple[FloatArray, FloatArray]:
    """The points' bounding box, every side moved out by half its width: lower, upper (D,).

    By an SD of q instead where that is more: few points, or points in a plane, span no box.
    """
    lower, upper = gp.x.min(axis=0), gp.x.max(axis=0)
    margin = np.maximum(0.5 * (upper - lower), np.sqrt(mixture.covariance().diagonal()))
    return lower - margin, upper + margin
