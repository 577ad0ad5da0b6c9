"""Rows of cells as a table, for a terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from quell.text import table


def laid_out(rows: Sequence[Sequence[str]], *, words: int, markdown: bool = False) -> str:
    """A table of rows, the first of them titles; in Markdown all but ``words`` columns are numbers.

    >>> print(laid_out([("name", "n"), ("a", "1")], words=1, markdown=True))
    | name | n |
    |---|---:|
    | a | 1 |
    """
    if not markdown:
        return table([tuple(row) for row in rows], indent="")
    lines = [f"| {' | '.join(row)} |" for row in rows]
    lines.insert(1, "|---" * words + "|---:" * (len(rows[0]) - words) + "|")
    return "\n".join(lines)


def listed(lines: Sequence[str], *, markdown: bool) -> list[str]:
    """Sentences below a table: in Markdown, where lines run on, a list."""
    return [f"- {line}" for line in lines] if markdown else list(lines)
