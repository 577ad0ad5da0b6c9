"""What a run talks to, whichever display there is."""

from __future__ import annotations

import sys
from contextlib import suppress
from dataclasses import replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from quell.progress.bar import Bar
from quell.progress.choosing import Choice, check_progress, in_notebook
from quell.progress.lines import Lines, to_log, to_standard_error
from quell.progress.notebook import Notebook
from quell.progress.pace import Pace
from quell.progress.update import Update

if TYPE_CHECKING:
    from rich.console import Console

#: Phases after the last evaluation; the others are those of updates.
FINISHING, FINISHED = "finishing", "finished"


class Display(Protocol):
    """What every display can do."""

    def open(self) -> None: ...  # noqa: D102
    def close(self) -> None: ...  # noqa: D102
    def show(self, update: Update, left: float) -> None: ...  # noqa: D102
    def say(self, text: str) -> None: ...  # noqa: D102
    def note(self, text: str) -> None: ...  # noqa: D102
    def end(self, update: Update | None, text: str) -> None: ...  # noqa: D102
    def replaying(self, done: int, total: int) -> None: ...  # noqa: D102


class Progress:
    """The display of a run, silent where ``enabled`` is False.

    "auto" (or True): a live bar in a terminal, a display of its own in a notebook, plain lines on
    standard error anywhere else. "bar": the bar, wherever that goes. "log": lines to the logger
    "quell".

    A display that fails (a terminal that is gone, a full disk) is given up; the run goes on.
    """

    def __init__(self, *, enabled: Choice = True, console: Console | None = None) -> None:
        self._mode = check_progress(enabled)
        self._console = console
        self._display: Display | None = None
        self._pace = Pace()
        self._last: Update | None = None

    def __enter__(self) -> Progress:
        with suppress(Exception):  # a standard error that is closed
            self._display = _choose(self._mode, self._console)
        self._tell("open")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._tell("close")
        self._display = None

    def show(self, update: Update) -> None:
        """Show an update."""
        if self._display is not None:
            left = self._pace.left(
                update.wall_seconds, n=update.n_evaluations, budget=update.budget
            )
            self._last = update
            self._tell("show", update, left)

    def say(self, text: str) -> None:
        """Show a line that stays."""
        if text:
            self._tell("say", text)

    def replaying(self, done: int, total: int) -> None:
        """Show how much of a journal has been read."""
        if self._display is not None:
            self._pace.restart()
            self._tell("replaying", done, total)

    def note(self, text: str) -> None:
        """Tell something that only those need who read lines later: a bar shows it anyway."""
        self._tell("note", text)

    def finishing(self, wall_seconds: float) -> None:
        """Show that nothing more is evaluated, and the answer is being polished and tested."""
        if self._display is not None and self._last is not None:
            self._last = replace(self._last, phase=FINISHING, wall_seconds=wall_seconds)
            self._tell("show", self._last, 0.0)

    def ended(self, text: str, wall_seconds: float) -> None:
        """Show that the run has ended; ``text`` says how, where there are only lines."""
        if self._display is not None:
            last = self._last
            if last is not None:
                last = replace(last, phase=FINISHED, wall_seconds=wall_seconds)
            self._tell("end", last, text)

    def _tell(self, what: str, *arguments: Any) -> None:
        """Call a method of the display, if there is one; see above for one that fails."""
        if self._display is None:
            return
        try:
            getattr(self._display, what)(*arguments)
        except Exception:
            display, self._display = self._display, None
            with suppress(Exception):
                display.close()


def _choose(mode: str, console: Console | None) -> Any:
    """The display of this mode, None for none."""
    if not mode:
        return None
    if mode == "log":
        return Lines(to_log)
    if mode == "auto" and console is None and in_notebook():
        return Notebook()
    if console is None:
        if mode == "auto" and not (sys.stderr is not None and sys.stderr.isatty()):
            return Lines(to_standard_error)  # without importing what a bar needs
        from rich.console import Console

        console = Console(file=sys.stderr, force_terminal=True if mode == "bar" else None)
    if mode == "auto" and not console.is_terminal:
        return Lines(lambda text: print(text, file=console.file, flush=True))
    return Bar(console)
