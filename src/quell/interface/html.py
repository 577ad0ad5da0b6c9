"""Small tables for notebooks: everything escaped, and in the notebook's own colours."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from quell.text import printable

#: No colours but the notebook's own, so that light and dark ones both work.
_LINE = "border-bottom:1px solid currentColor"
_CELL = "padding:0.15em 0.8em;background:transparent;color:inherit"


@dataclass
class Html:
    """Pieces of a page, put together in the order they are added.

    >>> page = Html().text("a < b").table(["name", "mean"], [["<script>", "1.5"]])
    >>> "<script>" in str(page), "&lt;script&gt;" in str(page)
    (False, True)
    """

    parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> "Html":
        """A line in bold."""
        self.parts.append(f"<div><strong>{_safe(text)}</strong></div>")
        return self

    def text(self, text: str) -> "Html":
        """A line."""
        self.parts.append(f"<div>{_safe(text)}</div>")
        return self

    def bar(self, done: int, total: int) -> "Html":
        """A bar that is filled as far as it is done."""
        self.parts.append(
            f'<progress value="{int(done)}" max="{max(1, int(total))}" style="width:20em">'
            "</progress>"
        )
        return self

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> "Html":
        """A table: the first column text, the others numbers to the right."""
        lines = [_row("th", header, f"{_CELL};{_LINE}")]
        lines += [_row("td", row, _CELL) for row in rows]
        self.parts.append(
            '<table style="border-collapse:collapse;margin:0.4em 0">' + "".join(lines) + "</table>"
        )
        return self

    def __str__(self) -> str:
        return f"<div>{''.join(self.parts)}</div>"


def _row(tag: str, cells: Sequence[str], style: str) -> str:
    sides = ["left"] + ["right"] * (len(cells) - 1)
    return "<tr>" + "".join(
        f'<{tag} style="text-align:{side};{style}">{_safe(cell)}</{tag}>'
        for cell, side in zip(cells, sides, strict=True)
    ) + "</tr>"  # fmt: skip


def _safe(text: str) -> str:
    return escape(printable(text), quote=True)
