"""How far a run is, for displays and for callbacks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from quell.vbmc import State


@dataclass(frozen=True, eq=False)
class Update:
    """How far a run is.

    ``elbo``, ``elbo_sd``, ``reliability`` and ``n_components`` are those of the last iteration,
    nan before there is one; times are in seconds.
    """

    n_evaluations: int
    n_failed: int
    budget: int
    iteration: int
    phase: str
    elbo: float
    elbo_sd: float
    reliability: float
    n_components: int
    wall_seconds: float
    target_seconds: float
    cpu_seconds: float
    state: State

    @classmethod
    def of(
        cls, state: State, budget: int, wall_seconds: float, target_seconds: float,
        cpu_seconds: float,
    ) -> Update:  # fmt: skip
        """The update for a state."""
        last = state.history[-1] if state.history else None
        phase = "design" if last is None else "warm-up" if state.warmup else "refinement"
        return cls(
            n_evaluations=state.evaluations.n_counted,
            n_failed=state.evaluations.n_counted_failed,
            budget=budget,
            iteration=len(state.history),
            phase=phase,
            elbo=last.elbo if last else np.nan,
            elbo_sd=last.elbo_sd if last else np.nan,
            reliability=last.reliability if last else np.nan,
            n_components=last.n_components if last else 0,
            wall_seconds=wall_seconds,
            target_seconds=target_seconds,
            cpu_seconds=cpu_seconds,
            state=state,
        )

    @property
    def seconds_left(self) -> float:
        """Expected time until the budget is spent."""
        if self.n_evaluations == 0:
            return np.nan
        return self.wall_seconds / self.n_evaluations * (self.budget - self.n_evaluations)

    @property
    def overhead(self) -> float:
        """The algorithm's own computing time as a share of the run's duration."""
        return self.cpu_seconds / self.wall_seconds if self.wall_seconds > 0 else np.nan
