"""The case for an answer: the solution, its surrogate, and all evaluations, in one space."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from quell.arrays import BoolArray, FloatArray
from quell.evaluations import Evaluations
from quell.evaluations.repeated import SetAside, what_is_set_aside
from quell.gp import GaussianProcess
from quell.gp.leaving_out import left_out_errors
from quell.gp.pooling import pooled_mean
from quell.space import InferenceSpace
from quell.vbmc import Iteration, Solution
from quell.vbmc.evidence import Draws
from quell.vbmc.support import inside

#: Draws from the posterior by which it is judged.
N_DRAWS = 1024
#: A measured value counts as so many of its SDs less, wherever it accuses the answer of having
#: missed something: noise alone exceeds that once in 700 evaluations.
CAUTION = 3.0
#: A point is typical of the posterior if no more than this share of the draws are lower.
LOWEST_SHARE = 0.01


@dataclass(frozen=True, eq=False)
class Observed:
    """The distinct points among the evaluations that did not fail, in the solution's space.

    ``row`` (N,) are rows of the table, of the first evaluation of each point; ``x`` (N, D) points,
    ``y`` (N,) log joints; ``reported`` (N,) the SDs of their noise, nan where unknown, and ``sd``
    with the fitted one in its place; ``mean`` (N,) what the surrogate expects of the log joint.
    """

    row: NDArray[np.intp]
    x: FloatArray
    y: FloatArray
    reported: FloatArray
    sd: FloatArray
    mean: FloatArray

    @property
    def low(self) -> FloatArray:
        """The log joints (N,) less three of their SDs."""
        return self.y - CAUTION * self.sd


@dataclass(frozen=True, eq=False)
class Case:
    """An answer and what it rests on.

    ``solution`` is the posterior as it is returned, with its surrogate; ``chosen`` the iteration it
    comes from, one of ``history``, None if that is not at hand; ``log_evidence`` goes with it.
    ``plausible`` is the space in which the plausible box is the cube from -½ to ½. ``draws`` (n, D)
    are from the posterior, a ``share`` of those of the mixture: the rest is outside the solution's
    support. The answer was made with ``noise_scale`` times the reported SDs, and is judged by them.
    """

    solution: Solution
    chosen: Iteration | None
    history: Sequence[Iteration]
    log_evidence: float
    evaluations: Evaluations
    plausible: InferenceSpace
    draws: FloatArray
    share: float = 1.0
    noise_scale: float = 1.0

    @classmethod
    def of(
        cls,
        rng: np.random.Generator,
        solution: Solution,
        chosen: Iteration | None,
        history: Sequence[Iteration],
        log_evidence: float,
        evaluations: Evaluations,
        plausible: InferenceSpace,
        given: Draws | None = None,
    ) -> "Case":
        """The case, with draws from ``rng``, or some of those ``given``.

        The latter are of a posterior that has only part of the mixture, as for whole numbers.
        """
        scale = 1.0 if chosen is None else chosen.noise_scale
        if given is not None and len(given.x):
            draws = given.x[rng.permutation(len(given.x))[:N_DRAWS]]
            log_evidence -= given.log_mass  # so that the answer is that of the whole mixture
            return cls(
                solution, chosen, history, log_evidence, evaluations, plausible, draws,
                given.share, scale,
            )  # fmt: skip
        draws = solution.mixture.sample(N_DRAWS, rng, stratified=True)
        share = 1.0
        if solution.support is not None:
            kept = inside(solution.support, solution.space, draws)
            draws, share = draws[kept] if kept.any() else draws, float(kept.mean())
        return cls(
            solution, chosen, history, log_evidence, evaluations, plausible, draws, share, scale
        )

    @cached_property
    def surrogate(self) -> GaussianProcess:
        """The surrogate behind the solution."""
        return self.solution.surrogate()

    @cached_property
    def claimed(self) -> FloatArray:
        """The log joint (n,) at the draws, as the answer has it: log q + log Z."""
        return self.answer(self.draws)

    def answer(self, x: FloatArray) -> FloatArray:
        """The log joint (n,) at points (n, D) of the support, as the answer has it."""
        log_q = self.solution.mixture.log_density(x) - np.log(max(self.share, 1 / N_DRAWS))
        return np.asarray(log_q + self.log_evidence)

    @cached_property
    def typical(self) -> float:
        """The log joint of a typical point of the posterior: only 1 % of the draws are lower."""
        return float(np.quantile(self.claimed, LOWEST_SHARE))

    @cached_property
    def expected(self) -> tuple[FloatArray, FloatArray]:
        """Mean and variance (n,) of the log joint at the draws, as the surrogate has it."""
        return self.surrogate.pooled(self.draws)

    @cached_property
    def observed(self) -> Observed:
        """All evaluations, also those that the surrogate was not trained on.

        But not those that others at the same point contradict.
        """
        merged = self.evaluations.merge_duplicates(~self.aside)
        x = self.solution.space.to_inference(merged.theta)
        y = merged.log_joint + self.solution.space.log_jacobian(x)
        gp = self.surrogate
        mean = pooled_mean(gp.predict_mean(x), gp.weights)
        reported = merged.sd * self.noise_scale
        sd = np.where(np.isnan(reported), self._unknown_sd() / np.sqrt(merged.count), reported)
        return Observed(merged.row, x, y, reported, sd, mean)

    @cached_property
    def set_aside(self) -> tuple[SetAside, ...]:
        """The evaluations that others at the same point contradict."""
        return what_is_set_aside(self.evaluations, self.solution.unknown_sd)

    @cached_property
    def aside(self) -> BoolArray:
        """Mask (N,) of these."""
        mask = np.zeros(len(self.evaluations), dtype=bool)
        mask[[one.row for one in self.set_aside]] = True
        return mask

    def _unknown_sd(self) -> float:
        """The fitted SD of noise of unknown size; 0 where all noise is known."""
        gp = self.surrogate
        size = gp.hyper.unknown_variance
        return 0.0 if size is None else float(np.sqrt(gp.weights @ size))

    @cached_property
    def left_out(self) -> tuple[FloatArray, FloatArray]:
        """Errors (N,) of predicting each training value from the others, and their SDs."""
        return left_out_errors(self.surrogate)

    def variance(self, places: NDArray[np.intp]) -> FloatArray:
        """The surrogate's variance (n,) at some of the observed points."""
        return self.surrogate.pooled(self.observed.x[places])[1]


def numbered(rows: Sequence[int] | NDArray[np.intp], most: int = 5) -> str:
    """Rows of the table of evaluations, in words.

    >>> numbered([4]), numbered([3, 1, 2], most=2)
    ('row 4 of result.evaluations', 'rows 3, 1 and 1 more of result.evaluations')
    """
    shown = [str(row) for row in rows[:most]]
    if len(rows) > most:
        shown.append(f"{len(rows) - most} more")
    listed = shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
    return f"row{'s' * (len(rows) > 1)} {listed} of result.evaluations"
