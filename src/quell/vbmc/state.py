"""The algorithm's state: one frozen dataclass, and the record of each iteration."""

from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

import numpy as np

from quell.acquisition import SearchBox
from quell.arrays import BoolArray, FloatArray
from quell.evaluations import Evaluations
from quell.gp import GaussianProcess, Memory, TrainedGP, TrainingData
from quell.gp.model import Layout
from quell.mixture import Mixture
from quell.problem.constraint import Support
from quell.space import InferenceSpace
from quell.space.edges import Edges
from quell.variational import Elbo
from quell.vbmc.found_edge import FoundSupport
from quell.vbmc.law import Lead
from quell.vbmc.training_set import TrainingSet

#: An end of warm-up with an index of reliability as large as this is a false alarm (reference
#: implementation).
FALSE_ALARM_RELIABILITY = 100.0


@dataclass(frozen=True, eq=False)
class Solution:
    """A posterior that could be returned, with the surrogate it was fitted to.

    The surrogate is kept as data and hyperparameters; :meth:`surrogate` rebuilds it. Outside the
    ``support``, if there is one, the density is zero whatever the mixture says.
    """

    space: InferenceSpace
    mixture: Mixture
    elbo: Elbo
    data: TrainingData
    theta: FloatArray
    weights: FloatArray
    support: Support | None = None

    def surrogate(self) -> GaussianProcess:
        """The Gaussian process this mixture was fitted to."""
        return GaussianProcess.condition(self.data, self.theta, self.weights)

    @property
    def unknown_sd(self) -> float:
        """The fitted SD of noise of unknown size; nan where all noise is known."""
        if not self.data.has_unknown_noise:
            return float("nan")
        layout = Layout(self.data.dimension, unknown_noise=True)
        return float(np.sqrt(self.weights @ np.exp(self.theta[:, layout.unknown_variance])))


class Action(StrEnum):
    """What an iteration did beside refitting; equal to its value as text.

    >>> Action.WHITENING == "whitening", bool(Action.NONE)
    (True, False)
    """

    NONE = ""
    END_OF_WARMUP = "end of warm-up"
    TRIMMED = "trimmed"  #: a false alarm of its end: only the lowest evaluations are dropped
    WHITENING = "whitening"
    SOFTENED = "softened"  #: bounded parameters have got soft edges
    SHARPENED = "sharpened"  #: their edges have become sharper
    HEAVY_TAILS = "heavy tails"  #: parameters without bounds have got a map for those
    LEAPT = "leapt"  #: to where a law of the log-likelihood says that the posterior is
    WENT_BACK = "went back"  #: the surrogate was lost: on from an earlier solution


@dataclass(frozen=True, eq=False)
class Iteration:
    """What happened in one iteration.

    ``n_evaluations`` counts all rows of the table, a head start too. ``gskl`` is the change of the
    posterior since the last one, ``reliability`` the index r, ``noise_sd`` the noise near the
    mode. ``cpu_seconds`` is the algorithm's own time since the last one, set by whoever keeps the
    time. ``settling``: one of several on evaluations that came together (see `quell.vbmc.settle`).
    ``noise_scale`` times the stated SDs were taken for the noise.
    """

    index: int
    action: Action
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
    warmup: bool
    solution: Solution = field(repr=False)
    believable: bool = True
    cpu_seconds: float = np.nan
    settling: bool = False
    noise_scale: float = 1.0

    def lower_bound(self, beta: float) -> float:
        """ELCBO_β of this iteration."""
        return self.elbo - beta * self.elbo_sd

    def as_row(self) -> dict[str, Any]:
        """The figures, for a table."""
        row = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "solution"}
        return {**row, "action": str(self.action)}


@dataclass(frozen=True, eq=False)
class Overview:
    """The surrogate at the end of warm-up, by which the whole plausible box is looked at later.

    From then on the surrogate has only the better evaluations to follow, at their face value, and
    forgets how low the log joint is elsewhere. The overview has the ``space`` and hyperparameters
    (``theta``, ``weights``) of warm-up and its compression of low values (``power``), and goes with
    all evaluations.
    """

    space: InferenceSpace
    theta: FloatArray
    weights: FloatArray
    power: float = 1.0

    @classmethod
    def of(cls, state: "State") -> "Overview | None":
        """The overview of a state that has been fitted; None before."""
        if state.fit is None:
            return None
        return cls(state.space, state.fit.gp.theta, state.fit.gp.weights, state.power)


@dataclass(frozen=True, eq=False)
class State:
    """Everything the algorithm knows between two steps.

    ``noisy``: whether values carry noise; ``noise_guess`` is the problem's. ``design`` (n, D_full)
    are the first points to evaluate, of which ``n_starts`` are the user's; ``n_asked`` counts
    points asked for so far. ``trimmed`` (N,) marks evaluations taken out of the training set, and
    ``training`` is that set (see `with_data`). ``plausible_range`` (D,) is the plausible box's
    width in x. ``fit`` and ``mixture`` are None until the design is evaluated; ``memory`` is what
    the next fit starts from; ``in_iteration`` counts evaluations since the last iteration ended,
    but for looks; ``before`` is the mixture at its start. ``last_warmup`` is the iteration in which
    warm-up ended, None before; ``trims`` are the counts of evaluations at false alarms;
    ``last_whitening`` is the iteration of the last one, or of the end of warm-up. ``full_refit``:
    search for hyperparameters and mixture from scratch; ``frequent``: refit within the iteration
    too; ``power``: how little very low values are compressed where they are, 1 for not at all;
    ``was_lost``: after warm-up a surrogate promised more than was seen;
    ``settling``: iterations are made without new evaluations. ``given`` says where the density is
    known to be zero in advance, None if nowhere within the bounds; ``found`` has the edges that the
    evaluations tell of (see `quell.vbmc.found_edge`), ``support`` is both, and ``cuts`` are planes
    beside it, in x.
    ``overview`` is what is kept of the surrogate of warm-up, None until its end. ``last_tails`` is
    the iteration in which a map for heavy tails was last tried, ``refused_tails`` how often one was
    taken back. ``doubted`` are rows of the table that were not to be believed at once, and
    ``aside_rows`` those that are trimmed for that reason (see `quell.vbmc.doubt`);
    ``audited`` are rows whose points are evaluated again to learn about their noise, for which
    ``noise_scale`` times the stated SDs are taken; ``scale_chosen`` is the count of evaluations
    when that was decided (see `quell.vbmc.noise_scale`). ``lead`` is a law to follow, and
    ``refused_leaps`` how often following it was taken back (see `quell.vbmc.leap`). ``finds_due``
    is how many high places looks should have found, by their chances, since one did.
    """

    space: InferenceSpace
    noisy: bool
    noise_guess: float | None
    design: FloatArray
    n_starts: int
    evaluations: Evaluations
    trimmed: BoolArray
    training: TrainingSet
    box: SearchBox
    plausible_range: FloatArray
    fit: TrainedGP | None = None
    memory: Memory | None = None
    mixture: Mixture | None = None
    before: Mixture | None = None
    in_iteration: int = 0
    warmup: bool = True
    last_warmup: int | None = None
    trims: tuple[int, ...] = ()
    n_whitenings: int = 0
    last_whitening: int = 0
    full_refit: bool = True
    frequent: bool = True
    n_asked: int = 0
    power: float = 1.0
    was_lost: bool = False
    settling: bool = False
    support: Support | None = None
    given: Support | None = None
    found: FoundSupport | None = None
    cuts: Edges | None = None
    overview: Overview | None = None
    last_tails: int = 0
    refused_tails: int = 0
    doubted: tuple[int, ...] = ()
    aside_rows: tuple[int, ...] = ()
    audited: tuple[int, ...] = ()
    noise_scale: float = 1.0
    scale_chosen: int = 0
    lead: Lead | None = None
    refused_leaps: int = 0
    finds_due: float = 0.0
    history: tuple[Iteration, ...] = ()

    def with_data(self, **changes: Any) -> "State":
        """The state after ``changes``, with the training set that follows from them.

        To be used wherever ``evaluations``, ``trimmed``, ``space``, ``cuts``, ``found``,
        ``noisy``, ``power``, ``was_lost``, ``noise_scale`` or ``warmup`` change.
        """
        new = replace(self, **changes)
        training = TrainingSet.of(
            new.evaluations,
            new.trimmed,
            new.space,
            noisy=new.noisy,
            power=new.power if new.compresses else 1.0,
            cuts=new.cuts,
            noise_scale=new.noise_scale,
            found=new.found,
        )
        return replace(new, training=training)

    def asked(self) -> "State":
        """The state after one more point has been asked for."""
        return replace(self, n_asked=self.n_asked + 1)

    @property
    def dimension(self) -> int:
        """Number of free coordinates D."""
        return self.space.dimension

    @property
    def aside(self) -> BoolArray:
        """Mask (N,) of the evaluations that are not believed."""
        mask = np.zeros(len(self.evaluations), dtype=bool)
        mask[list(self.aside_rows)] = True
        return mask

    @property
    def is_searching(self) -> bool:
        """Whether the bulk of the posterior may not have been found yet.

        In warm-up; and after it while the solution changes as much as where its end would have been
        taken for a false alarm, or promises more than was ever seen.
        """
        if self.warmup or not self.history:
            return self.warmup
        last = self.history[-1]
        return last.reliability >= FALSE_ALARM_RELIABILITY or not last.believable

    @property
    def compresses(self) -> bool:
        """Whether very low values may be compressed.

        While the posterior is searched for. Once it is found they say how steep its sides are; but
        where a surrogate was lost over them, at face value the next one would be too.
        """
        return self.is_searching or self.was_lost

    @property
    def reliability(self) -> float:
        """Reliability index of the last iteration; infinite before there is one."""
        return self.history[-1].reliability if self.history else np.inf
