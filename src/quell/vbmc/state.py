"""The algorithm's state: one frozen dataclass, and the record of each iteration."""

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from quell.acquisition import SearchBox
from quell.arrays import FloatArray
from quell.evaluations import Evaluations
from quell.gp import GaussianProcess, Memory, TrainedGP, TrainingData
from quell.mixture import Mixture
from quell.space import InferenceSpace
from quell.variational import Elbo


@dataclass(frozen=True, eq=False)
class Solution:
    """A posterior that could be returned, with the surrogate it was fitted to.

    The surrogate is kept as data and hyperparameters; :meth:`surrogate` rebuilds it.
    """

    space: InferenceSpace
    mixture: Mixture
    elbo: Elbo
    data: TrainingData
    theta: FloatArray
    weights: FloatArray

    def surrogate(self) -> GaussianProcess:
        """The Gaussian process this mixture was fitted to."""
        return GaussianProcess.condition(self.data, self.theta, self.weights)


#: What an iteration may have done beside refitting.
END_OF_WARMUP, TRIMMED, WHITENING = "end of warm-up", "trimmed", "whitening"


@dataclass(frozen=True, eq=False)
class Iteration:
    """What happened in one iteration.

    ``action`` is one of the three above, or "". ``n_evaluations`` counts all rows of the table, a
    head start too. ``gskl`` is the change of the posterior since the last one, ``reliability``
    the index r, ``noise_sd`` the noise near the mode, ``best_lcb`` the largest lower confidence
    bound of the log joint at a training point, ``cpu_seconds`` the algorithm's own time since the
    last one.
    """

    index: int
    action: str
    n_evaluations: int
    n_training: int
    elbo: float
    elbo_sd: float
    gskl: float
    reliability: float
    stable: bool
    n_components: int
    n_pruned: int
    n_samples: int
    noise_sd: float
    best_lcb: float
    warmup: bool
    cpu_seconds: float
    solution: Solution = field(repr=False)

    def lower_bound(self, beta: float) -> float:
        """ELCBO_β of this iteration."""
        return self.elbo - beta * self.elbo_sd

    def as_row(self) -> dict[str, Any]:
        """The figures, for a table."""
        return {f.name: getattr(self, f.name) for f in fields(self) if f.name != "solution"}


@dataclass(frozen=True, eq=False)
class State:
    """Everything the algorithm knows between two steps.

    ``design`` (n, D_full) are the first points to evaluate, ``n_asked`` counts points asked for
    so far and ``pending`` holds those under evaluation; ``trimmed`` (N,) marks evaluations
    taken out of the training set; ``plausible_range`` (D,) is the plausible box's width in x;
    ``fit`` and ``mixture`` are None until the design is evaluated; ``memory`` is what the next
    fit starts from; ``in_iteration`` counts evaluations since the last iteration ended;
    ``before`` is the mixture at its start.
    """

    space: InferenceSpace
    noisy: bool
    design: FloatArray
    evaluations: Evaluations
    trimmed: np.ndarray
    box: SearchBox
    plausible_range: FloatArray
    fit: TrainedGP | None = None
    memory: Memory | None = None
    mixture: Mixture | None = None
    before: Mixture | None = None
    in_iteration: int = 0
    warmup: bool = True
    last_warmup: int = 10**9
    trims: tuple[int, ...] = ()
    n_whitenings: int = 0
    last_whitening: int = 0
    full_refit: bool = True
    frequent: bool = True
    n_asked: int = 0
    pending: tuple[FloatArray, ...] = ()
    history: tuple[Iteration, ...] = ()

    @property
    def dimension(self) -> int:
        """Number of free coordinates D."""
        return self.space.dimension

    @property
    def reliability(self) -> float:
        """Reliability index of the last iteration; infinite before there is one."""
        return self.history[-1].reliability if self.history else np.inf
