"""A posterior from a file, where its support was code: draws stand for it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.results.truncated import Kept
from quell.vbmc.found_edge import Edge


@dataclass(frozen=True, eq=False)
class LostSupport:
    """In place of a support that the file does not have; asked for a point, it says what to do.

    ``draws`` (n, D) are of the posterior, all inside; ``share`` is that of all draws of the mixture
    that they are, None where the mixture is taken as all inside. ``prior`` is the record of the
    prior, if it is one that the file has. ``edges`` were found by the run; with ``only_edges`` they
    are all there is, and nothing is lost.
    """

    draws: FloatArray
    share: float | None
    prior: dict[str, Any] | None = None
    edges: tuple[Edge, ...] = ()
    only_edges: bool = False

    def __call__(self, _: FloatArray) -> BoolArray:
        """``ValueError``: nobody knows."""
        raise ValueError(
            "this posterior ends at the edge of a constraint, or of a prior that is a function, "
            "which files cannot hold: pass it again, quell.load(path, constraint=...) or "
            "support=..., to have densities and the mode"
        )

    @property
    def kept(self) -> Kept | None:
        """The draws behind moments and marginals, if it is not the mixture itself."""
        return None if self.share is None else Kept(self.draws, self.share)

    def sample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """``n`` of the draws (n, D) in random order; more than there are, with repetitions."""
        if not len(self.draws):
            raise ValueError(
                "next to nothing of this posterior is where the prior is positive and the "
                "constraint holds: the run had not found the posterior there"
            )
        if n > len(self.draws):
            return self.draws[rng.integers(len(self.draws), size=n)]
        return self.draws[rng.permutation(len(self.draws))[:n]]
