"""The view of a run in a terminal."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from quell.progress.words import STABLE_BELOW, clock
from quell.text import printable
from quell.watch.following import Follower
from quell.watch.state import FINISHED, RUNNING, STOPPED, UNKNOWN

if TYPE_CHECKING:
    from rich.console import Console

BLOCKS = " ▁▂▃▄▅▆▇█"
#: Columns of a small curve, and how many entries of lists are shown.
CURVE, FEW = 24, 5
COLOURS = {RUNNING: "green", FINISHED: "blue", STOPPED: "yellow", UNKNOWN: "yellow"}


def print_once(state: dict[str, Any], *, as_json: bool = False) -> None:
    """One look, for scripts."""
    if as_json:
        print(json.dumps(state, indent=1, allow_nan=False))
        return
    from rich.console import Console

    Console(highlight=False, soft_wrap=False).print(view(state))


def follow(follower: Follower, *, every: float, console: Console | None = None) -> None:
    """Show the run until it has ended; Ctrl-C comes through."""
    from rich.console import Console

    console = Console(highlight=False) if console is None else console
    if not console.is_terminal:
        _follow_by_lines(follower, every)
        return
    from rich.live import Live

    with Live(view(follower.state()), console=console, screen=True, auto_refresh=False) as live:
        while True:
            state = follower.state()
            live.update(view(state, console.height), refresh=True)
            if state["status"] == FINISHED:
                break
            time.sleep(every)
            follower.look()
    console.print(view(follower.state()))


def _follow_by_lines(follower: Follower, every: float) -> None:
    """A line whenever something is new, where there is no terminal."""
    said = ""
    while True:
        state = follower.state()
        line = summary(state)
        if line != said:
            print(line, flush=True)
            said = line
        if state["status"] == FINISHED:
            return
        time.sleep(every)
        follower.look()


def summary(state: dict[str, Any]) -> str:
    """A run on one line."""
    return printable(", ".join([state["name"], state["status"], *_figures(state)]))


def curve(values: Sequence[float], width: int = CURVE) -> str:
    """Values from 0 as a row of blocks.

    >>> curve([0, 1, 2, 3, 4], width=5)
    ' ▂▄▆█'
    """
    if not values:
        return ""
    top = max(values) or 1.0
    picked = [values[i * (len(values) - 1) // max(1, width - 1)] for i in range(width)]
    return "".join(BLOCKS[round((len(BLOCKS) - 1) * max(0.0, v) / top)] for v in picked)


def view(state: dict[str, Any], height: int | None = None) -> Any:
    """The whole view; short lists where there are few lines."""
    from rich.console import Group
    from rich.panel import Panel

    few = FEW if height is None or height >= 36 else 3
    parts = [_head(state), _parameters(state), _trace(state), _pending(state, few)]
    parts += [_workers(state, few), _failures(state, few)]
    shown = [part for part in parts if part is not None]
    title = f"[{COLOURS[state['status']]}]{state['status']}[/]"
    return Panel(
        Group(*shown), title=title, title_align="left", subtitle=_escaped(state["name"]),
        subtitle_align="right", width=100,
    )  # fmt: skip


def _head(state: dict[str, Any]) -> Any:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.table import Table
    from rich.text import Text

    lines: list[Any] = []
    if state["budget"]:
        bar = ProgressBar(total=state["budget"], completed=state["evaluations"], width=40)
        row = Table.grid(padding=(0, 2))
        share = 100 * state["evaluations"] / state["budget"]
        row.add_row(bar, f"{share:.0f} %", Text(_left(state)))
        lines.append(row)
    lines.append(Text(" · ".join(_figures(state)), style="bold"))
    lines.append(Text(printable(state["words"]), style="dim"))
    lines += [Text(printable(note), style="yellow") for note in state["notes"]]
    reasons = state["answer"].get("reasons", []) if state["status"] == FINISHED else []
    lines += [Text(f"- {printable(reason)}") for reason in reasons]
    return Group(*lines, Text(""))


def _figures(state: dict[str, Any]) -> list[str]:
    n, failed, answer = state["evaluations"], state["failed"], state["answer"]
    of = f"/{state['budget']}" if state["budget"] else ""
    parts = [f"{n}{of} evaluations" + (f" ({failed} failed)" if failed else ""), state["phase"]]
    if state["given"]:
        parts.append(f"{state['given']} given")
    if answer.get("elbo") is not None:
        parts.append(f"ELBO {answer['elbo']:.2f} ± {answer['elbo_sd'] or 0:.2f}")
    if answer.get("reliability") is not None:
        parts.append(f"reliability {answer['reliability']:.2g} ({STABLE_BELOW})")
    if answer:
        parts.append(f"K {answer['components']}")
    if state["status"] == FINISHED and answer:
        parts.append(answer["status"])
        if answer.get("log_evidence") is not None:
            value, sd = answer["log_evidence"], answer["log_evidence_sd"] or 0
            parts.append(f"log evidence {value:.2f} ± {sd:.2f}")
    return parts


def _left(state: dict[str, Any]) -> str:
    parts = []
    if state["begun"] is not None and state["last"] is not None:
        end = state["now"] if state["status"] == RUNNING else state["last"]
        parts.append(f"{clock(end - state['begun'])} since it began")
    if state["left"] is not None:
        parts.append(f"{clock(state['left'])} left")
    return ", ".join(parts)


def _parameters(state: dict[str, Any]) -> Any:
    if not state["marginals"]:
        return None
    table = _table("parameter", "mean", "SD", "2.5 %", "97.5 %", "density")
    for one in state["marginals"]:
        numbers = (one["mean"], one["sd"], one["low"], one["high"])
        table.add_row(
            _escaped(one["name"]), *("-" if x is None else f"{x:.4g}" for x in numbers),
            curve(one["y"]),
        )  # fmt: skip
    table.add_row("")
    return table


def _trace(state: dict[str, Any]) -> Any:
    from rich.text import Text

    elbos = [row["elbo"] for row in state["trace"] if row["elbo"] is not None]
    if len(elbos) < 5:  # two or three make no curve
        return None
    tail = elbos[-max(2, len(elbos) * 2 // 3) :]
    low, high = min(tail), max(tail)
    shape = curve([max(0.0, value - low) for value in tail], width=40)
    return Text(f"ELBO of the last {len(tail)} iterations, {low:.1f} to {high:.1f}: {shape}\n")


def _pending(state: dict[str, Any], few: int) -> Any:
    if not state["pending"]:
        return None
    what = "under evaluation" if state["status"] == RUNNING else "not answered"
    table = _table(what, "for", "point")
    for one in state["pending"][:few]:
        point = ", ".join(f"{x:.4g}" for x in one["theta"])
        tries = f" (attempt {one['attempts'] + 1})" if one["attempts"] else ""
        table.add_row(f"#{one['index']}{tries}", clock(state["now"] - one["since"]), point)
    return _and_more(table, len(state["pending"]) - few)


def _workers(state: dict[str, Any], few: int) -> Any:
    if not state["workers"]:
        return None
    table = _table("workers", "evaluations", "seconds each", "last answer")
    for one in state["workers"][:few]:
        seconds = "-" if one["seconds"] is None else f"{one['seconds']:.3g}"
        failed = f" ({one['failed']} failed)" if one["failed"] else ""
        ago = clock(state["now"] - one["last"])
        table.add_row(_escaped(one["who"]), f"{one['evaluations']}{failed}", seconds, f"{ago} ago")
    return _and_more(table, len(state["workers"]) - few)


def _failures(state: dict[str, Any], few: int) -> Any:
    if not state["failures"]:
        return None
    table = _table("failed", "why")
    for one in state["failures"][-few:]:
        table.add_row(f"evaluation {one['n']}", _escaped(one["error"][:200]))
    return table


def _table(first: str, *others: str) -> Any:
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", expand=False)
    table.add_column(first, no_wrap=True, max_width=30)
    for name in others:
        is_text = name in ("density", "point", "why")
        table.add_column(name, justify="left" if is_text else "right", overflow="ellipsis",
                         no_wrap=is_text)  # fmt: skip
    return table


def _and_more(table: Any, n: int) -> Any:
    if n > 0:
        table.add_row(f"and {n} more")
    table.add_row("")
    return table


def _escaped(text: str) -> str:
    """Text from a file: nothing in it is markup, or acts upon the terminal."""
    from rich.markup import escape

    return escape(printable(text))
