"""Progress of a run: a live line in a terminal, and updates for callbacks."""

import sys
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.vbmc import State

if TYPE_CHECKING:  # slow to import, and not needed by a run without a display
    from rich.console import Console
    from rich.live import Live


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
    ) -> "Update":  # fmt: skip
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


class Progress:
    """A live display; silent if the output is not a terminal or ``enabled`` is False."""

    def __init__(self, *, enabled: bool = True, console: "Console | None" = None) -> None:
        if enabled and console is None:
            from rich.console import Console

            console = Console(file=sys.stderr)
        self._console = console
        self._enabled = enabled and console is not None and console.is_terminal
        self._live: "Live | None" = None  # noqa: UP037

    def __enter__(self) -> "Progress":
        if self._enabled:
            from rich.live import Live

            self._live = Live(console=self._console, refresh_per_second=4, transient=False)
            self._live.__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.__exit__(kind, error, traceback)
            self._live = None

    def show(self, update: Update) -> None:
        """Show an update."""
        if self._live is not None:
            self._live.update(render(update))

    def say(self, text: str) -> None:
        """Show a line that stays."""
        if self._live is not None and text:
            self._live.console.print(text, markup=False, highlight=False)

    def replaying(self, done: int, total: int) -> None:
        """Show how much of a journal has been read."""
        if self._live is not None:
            from rich.progress_bar import ProgressBar
            from rich.table import Table

            bar = ProgressBar(total=max(1, total), completed=done, width=30)
            table = Table.grid(padding=(0, 2))
            table.add_row(bar, f"replaying the journal: {done}/{total} evaluations")
            self._live.update(table)


def render(update: Update) -> Any:
    """The display of one update."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    bar = ProgressBar(total=max(1, update.budget), completed=update.n_evaluations, width=30)
    failed = f" ([red]{update.n_failed} failed[/])" if update.n_failed else ""
    table.add_row(
        bar,
        f"{update.n_evaluations}/{update.budget} evaluations{failed}",
        update.phase,
        f"{clock(update.wall_seconds)} elapsed, {clock(update.seconds_left)} left",
    )
    if update.iteration and not update.n_components:  # a baseline, which has no mixture
        if np.isfinite(update.elbo):
            table.add_row("", f"log evidence {update.elbo:.2f} ± {update.elbo_sd:.2f}")
    elif update.iteration:
        r = "-" if not np.isfinite(update.reliability) else f"{update.reliability:.2g}"
        table.add_row(
            f"iteration {update.iteration}",
            f"ELBO {update.elbo:.2f} ± {update.elbo_sd:.2f}",
            f"K {update.n_components}",
            f"reliability {r} (stable below 1)",
        )
    return table


def clock(seconds: float) -> str:
    """Seconds as h:mm:ss or m:ss.

    >>> clock(75), clock(3700)
    ('1:15', '1:01:40')
    """
    if not np.isfinite(seconds):
        return "?"
    minutes, s = divmod(int(max(0, seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{s:02}" if hours else f"{minutes}:{s:02}"
