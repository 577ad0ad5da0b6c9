"""The door from a result to its plots: ``result.plot("corner")``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from quell.checks import choice
from quell.plots.acquisition import plot_acquisition
from quell.plots.corner import plot_corner
from quell.plots.evaluations import plot_evaluations
from quell.plots.marginals import plot_marginals
from quell.plots.residuals import plot_residuals
from quell.plots.surrogate import plot_surrogate
from quell.plots.trace import plot_trace
from quell.results import Result
from quell.stacking import StackedResult

#: The plots of a single result by name.
KINDS: dict[str, Callable[..., Any]] = {
    "corner": plot_corner,
    "marginals": plot_marginals,
    "trace": plot_trace,
    "evaluations": plot_evaluations,
    "surrogate": plot_surrogate,
    "residuals": plot_residuals,
    "acquisition": plot_acquisition,
}


#: Those of a stacked result, which has no run and no surrogate to show.
STACK_KINDS = {name: KINDS[name] for name in ("corner", "marginals")}


def plot(result: Result, kind: str, **options: Any) -> Any:
    """The plot of this ``kind``; ``options`` are those of its function."""
    return KINDS[choice("kind", kind, list(KINDS))](result, **options)


def plot_stack(result: StackedResult, kind: str, **options: Any) -> Any:
    """The plot of this ``kind`` of a stacked result."""
    return STACK_KINDS[choice("kind", kind, list(STACK_KINDS))](result, **options)
