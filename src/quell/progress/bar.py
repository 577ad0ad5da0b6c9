"""The live display of a terminal."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from quell.progress.update import Update
from quell.progress.words import Shown

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live

#: A few times a second, so that the clock goes on while an evaluation takes hours.
REFRESHES_PER_SECOND = 2
WIDEST_BAR = 30
#: Terminals with fewer columns get a short bar and no explanations.
WIDE = 100


class Bar:
    """Two lines at the bottom of a terminal that are written anew; lines said stay above them."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live: Live | None = None
        self._content: Any = ""
        self._shown: tuple[Update, float, float] | None = None

    def open(self) -> None:
        """Begin to show."""
        from rich.live import Live  # slow to import

        self._live = Live(
            console=self._console, refresh_per_second=REFRESHES_PER_SECOND,
            get_renderable=self._render,
        )  # fmt: skip
        self._live.__enter__()

    def close(self) -> None:
        """Leave the last state on the screen."""
        if self._live is not None:
            self._live.__exit__(None, None, None)
            self._live = None

    def show(self, update: Update, left: float) -> None:
        """Show an update."""
        self._shown = update, left, time.monotonic()
        self._refresh()

    def say(self, text: str) -> None:
        """Show a line that stays."""
        self._console.print(text, markup=False, highlight=False)

    def note(self, text: str) -> None:
        """Nothing: whoever sees a bar knows."""

    def end(self, update: Update | None, text: str) -> None:  # noqa: ARG002
        """The last state."""
        if update is not None:
            self.show(update, 0.0)

    def replaying(self, done: int, total: int) -> None:
        """Show how much of a journal has been read."""
        self._shown = None
        text = f"replaying the journal: {done}/{total} evaluations"
        self._content = _beside_bar(done, total, self._console.width, text)
        self._refresh()

    def _refresh(self) -> None:
        if self._live is not None:
            self._live.refresh()

    def _render(self) -> Any:
        if self._shown is None:
            return self._content
        update, left, at = self._shown
        return render(update, left, age=time.monotonic() - at, width=self._console.width)


def render(update: Update, left: float | None = None, *, age: float = 0.0, width: int = 120) -> Any:
    """The display of one update, ``age`` seconds after it was made, on so many columns."""
    from rich.console import Group
    from rich.text import Text

    left = update.seconds_left if left is None else left
    shown = Shown(update, left, age)
    first = _beside_bar(update.n_evaluations, update.budget, width, shown.done, shown.times)
    second = " · ".join([update.phase, *shown.figures(explain=width >= WIDE)])
    return Group(first, Text(second, style="dim"))


def _beside_bar(done: int, total: int, width: int, *texts: str) -> Any:
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    bar = ProgressBar(
        total=max(1, total), completed=done, width=WIDEST_BAR if width >= WIDE else 12
    )
    table = Table.grid(padding=(0, 2))
    table.add_row(bar, *map(Text, texts))
    return table
