"""The display of a Jupyter notebook: a piece of HTML below the cell that is replaced."""

import importlib
import time
from typing import Any

from quell.interface import Html
from quell.progress.update import Update
from quell.progress.words import Shown

#: Seconds between two messages to the browser.
INTERVAL = 0.5


class Notebook:
    """Shows the last update, and the lines said."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._said: list[str] = []
        self._waiting: tuple[Update, float] | None = None
        self._at = -INTERVAL

    def open(self) -> None:
        """Nothing is shown before there is something."""

    def close(self) -> None:
        """Show the last state."""
        if self._waiting is not None:
            self._send(*self._waiting)

    def show(self, update: Update, left: float) -> None:
        """Show an update, unless the last one was just now: then it waits for the next."""
        self._waiting = update, left
        if time.monotonic() - self._at >= INTERVAL:
            self._send(update, left)

    def say(self, text: str) -> None:
        """Show a line that stays."""
        self._said.append(text)
        self._display(self._page())

    def note(self, text: str) -> None:
        """Nothing: the cell above says it."""

    def end(self, update: Update | None, text: str) -> None:  # noqa: ARG002
        """The last state."""
        if update is not None:
            self._send(update, 0.0)

    def replaying(self, done: int, total: int) -> None:
        """Show how much of a journal has been read."""
        if done == total or time.monotonic() - self._at >= INTERVAL:
            text = f"replaying the journal: {done}/{total} evaluations"
            self._display(self._page().bar(done, total).text(text))

    def _send(self, update: Update, left: float) -> None:
        self._waiting = None
        shown = Shown(update, left)
        page = self._page().bar(update.n_evaluations, update.budget)
        page.heading(f"{shown.done}, {shown.times}")
        self._display(page.text(" · ".join([update.phase, *shown.figures(explain=True)])))

    def _page(self) -> Html:
        page = Html()
        for text in self._said:
            page.text(text)
        return page

    def _display(self, page: Html) -> None:
        self._at = time.monotonic()
        self._handle = show_html(page, self._handle)


def show_html(page: Html, handle: Any) -> Any:
    """Show a page below the cell, in place of the one behind ``handle``; returns its handle."""
    tools = importlib.import_module("IPython.display")
    content = tools.HTML(str(page))
    if handle is None:
        return tools.display(content, display_id=True)
    handle.update(content)
    return handle
