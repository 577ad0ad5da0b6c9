"""The display of a campaign: how many runs are done, and a line about each."""

from __future__ import annotations

import sys
import time
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from quell.interface import Html
from quell.progress.choosing import Choice, check_progress, in_notebook
from quell.progress.lines import left_of, to_log, to_standard_error
from quell.progress.notebook import show_html
from quell.progress.words import clock
from quell.text import printable

if TYPE_CHECKING:
    from rich.console import Console

#: Lines that a notebook shows, the latest ones.
LINES_IN_NOTEBOOK = 8


class CampaignDisplay:
    """Counts runs as they end: ``done`` of ``total`` were there before.

    If it fails (a terminal that is gone, a full disk) it is given up, and the runs go on.

    >>> with CampaignDisplay(enabled=False, total=3) as display:
    ...     display.advance("run 1: fine")
    """

    def __init__(
        self, *, enabled: Choice, total: int, done: int = 0, console: Console | None = None
    ) -> None:
        self._mode: str = check_progress(enabled)
        self._total, self._before, self._new = total, done, 0
        self._began = time.monotonic()
        self._console = console
        self._bar: Any = None
        self._handle: Any = None
        self._lines: list[str] = []

    def __enter__(self) -> CampaignDisplay:
        self._began = time.monotonic()
        if self._mode == "auto" and self._console is None and in_notebook():
            self._mode = "notebook"
        elif self._mode in ("auto", "bar"):
            try:
                self._open_bar()
            except Exception:
                self._give_up()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close_bar()

    def advance(self, line: str) -> None:
        """One more run has ended; ``line`` says how."""
        self._new += 1
        if not self._mode:
            return
        try:
            self._show(printable(line))
        except Exception:
            self._give_up()

    def _give_up(self) -> None:
        self._mode = ""
        self._close_bar()

    def _close_bar(self) -> None:
        bar, self._bar = self._bar, None
        if bar is not None:
            with suppress(Exception):
                bar.__exit__(None, None, None)

    def _show(self, line: str) -> None:
        if self._bar is not None:
            self._bar.advance(self._bar.task_ids[0])
            self._bar.console.print(line, markup=False)
        elif self._mode == "notebook":
            self._show_html(line)
        else:
            write = to_log if self._mode == "log" else to_standard_error
            write(f"{line} [{self._done()}]")

    def _done(self) -> str:
        elapsed = time.monotonic() - self._began
        left = left_of(elapsed, self._new, self._total - self._before)
        done = self._before + self._new
        return f"{done}/{self._total} runs, {clock(elapsed)} elapsed, {clock(left)} left"

    def _open_bar(self) -> None:
        """A bar where there is a terminal, or one was asked for."""
        is_terminal = sys.stderr is not None and sys.stderr.isatty()
        if self._console is None and self._mode == "auto" and not is_terminal:
            return
        from rich.console import Console  # slow to import
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        console = self._console or Console(
            file=sys.stderr, highlight=False, soft_wrap=True,
            force_terminal=True if self._mode == "bar" else None,
        )  # fmt: skip
        self._bar = Progress(
            BarColumn(), MofNCompleteColumn(), TextColumn("{task.description}"),
            TimeElapsedColumn(), TextColumn("elapsed,"), TimeRemainingColumn(), TextColumn("left"),
            console=console,
        )  # fmt: skip
        self._bar.__enter__()
        self._bar.add_task("runs", total=self._total, completed=self._before)

    def _show_html(self, line: str) -> None:
        self._lines = [*self._lines, line][-LINES_IN_NOTEBOOK:]
        page = Html().bar(self._before + self._new, self._total).heading(self._done())
        for text in self._lines:
            page.text(text)
        self._handle = show_html(page, self._handle)
