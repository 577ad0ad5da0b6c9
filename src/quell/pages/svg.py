"""Pieces of SVG: elements, paths and text, as short as they can be, everything escaped.

Colours and line styles are classes of the style sheet, so that a picture is light or dark with its
page. Coordinates are those of the view box, in pixels, rounded to a tenth.
"""

from collections.abc import Iterable

import numpy as np
from markupsafe import Markup, escape

from quell.arrays import FloatArray
from quell.text import printable

#: Coordinates beyond this are drawn there: what no browser needs to know.
FAR = 1e5


def number(value: float, decimals: int = 1) -> str:
    """A coordinate with so many decimals, and no more characters than needed.

    >>> number(12.04), number(-0.04), number(0.5)
    ('12', '0', '.5')
    """
    clipped = min(max(float(value), -FAR), FAR) if value == value else 0.0
    text = f"{clipped:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    if text in ("-0", ""):
        return "0"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def element(tag: str, *content: str, **attributes: str | float | None) -> Markup:
    """One element; ``content`` is made by these functions, or is text, which is escaped.

    Names of attributes: ``class_`` is "class", and an underscore stands for a hyphen.

    >>> print(element("text", "<b>", class_="tick", x=1.25))
    <text class="tick" x="1.2">&lt;b&gt;</text>
    """
    parts = []
    for name, value in attributes.items():
        if value is None:
            continue
        text = value if isinstance(value, str) else number(value)
        parts.append(f' {name.rstrip("_").replace("_", "-")}="{escape(printable(text))}"')
    inside = "".join(
        piece if isinstance(piece, Markup) else str(escape(printable(piece))) for piece in content
    )
    start = f"<{tag}{''.join(parts)}"
    return Markup(f"{start}>{inside}</{tag}>" if inside else f"{start}/>")


def group(*content: str, **attributes: str | float | None) -> Markup:
    """Elements together."""
    return element("g", *content, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> Markup:
    """A straight line, the shortest way to write it."""
    if x1 == x2:
        return element("path", class_=class_, d=f"M{number(x1)} {number(y1)}V{number(y2)}")
    if y1 == y2:
        return element("path", class_=class_, d=f"M{number(x1)} {number(y1)}H{number(x2)}")
    return element("path", class_=class_, d=trail(np.array([[x1, y1], [x2, y2]])))


def rectangle(x: float, y: float, width: float, height: float, class_: str) -> Markup:
    """A rectangle."""
    return element("rect", class_=class_, x=x, y=y, width=max(width, 0), height=max(height, 0))


def label(x: float, y: float, text: str, class_: str = "tick", turn: float = 0.0) -> Markup:
    """Text at a point; the class says how it is aligned. ``turn`` in degrees."""
    turned = f"rotate({number(turn)} {number(x)} {number(y)})" if turn else None
    return element("text", text, class_=class_, x=x, y=y, transform=turned)


def trail(points: FloatArray, *, closed: bool = False, decimals: int = 1) -> str:
    """The ``d`` of a path through points (n, 2), in steps from each to the next.

    >>> trail(np.array([[0.0, 1.0], [2.0, 1.0], [2.0, 3.5]]))
    'M0 1l2 0 0 2.5'
    """
    scale = 10.0**decimals
    grid = np.rint(np.clip(points, -FAR, FAR) * scale)
    keep = np.append(True, np.any(np.diff(grid, axis=0) != 0, axis=1))
    grid = grid[keep] / scale
    steps = np.diff(grid, axis=0)
    text = f"M{number(grid[0, 0], decimals)} {number(grid[0, 1], decimals)}"
    if len(steps):
        text += "l" + " ".join(f"{number(x, decimals)} {number(y, decimals)}" for x, y in steps)
    elif not closed:
        text += "h0"
    return (text + "z" if closed else text).replace(" -", "-")


def curve(x: FloatArray, y: FloatArray, class_: str, marker: bool = False) -> Markup:
    """A line through points (n,), broken where one of them is nan; ``marker`` adds dots."""
    known = np.isfinite(x) & np.isfinite(y)
    pieces = np.split(np.arange(len(x)), np.flatnonzero(~known))
    pieces = [piece[known[piece]] for piece in pieces]
    d = "".join(trail(np.column_stack([x[p], y[p]])) for p in pieces if len(p))
    drawn = element("path", class_=class_, d=d) if d else Markup("")
    return drawn + dots(x[known], y[known], f"{class_} dot") if marker else drawn


def band(x: FloatArray, low: FloatArray, high: FloatArray, class_: str) -> Markup:
    """The area between two curves (n,), without the points where one is nan."""
    known = np.isfinite(x) & np.isfinite(low) & np.isfinite(high)
    d = ""
    for piece in np.split(np.arange(len(x)), np.flatnonzero(~known)):
        rows = piece[known[piece]]
        if len(rows) > 1:
            there = np.column_stack([x[rows], low[rows]])
            back = np.column_stack([x[rows], high[rows]])[::-1]
            d += trail(np.concatenate([there, back]), closed=True)
    return element("path", class_=class_, d=d) if d else Markup("")


def dots(x: FloatArray, y: FloatArray, class_: str, shape: str = "") -> Markup:
    """Marks at points (n,) as one path: round, "cross", "down", "up" (triangles), "diamond"."""
    strokes = {
        "": "h0",
        "cross": "m-3-3l6 6m0-6l-6 6",
        "down": "m-3.5-2h7l-3.5 5z",
        "up": "m-3.5 2h7l-3.5-5z",
        "diamond": "m0-4l4 4-4 4-4-4z",
    }
    d = "".join(
        f"M{number(a)} {number(b)}{strokes[shape]}" for a, b in zip(x, y, strict=True)
    ).replace(" -", "-")
    return element("path", class_=class_, d=d) if d else Markup("")


def picture(
    ident: str, width: float, height: float, title: str, description: str, content: Iterable[str],
    class_: str = "chart",
) -> Markup:  # fmt: skip
    """A whole picture with a title and a description for those who do not see it."""
    return element(
        "svg", element("title", title, id=f"{ident}-title"),
        element("desc", description, id=f"{ident}-desc"), *content,
        id=ident, class_=class_, role="img", viewBox=f"0 0 {number(width)} {number(height)}",
        aria_labelledby=f"{ident}-title {ident}-desc", width=width, height=height,
    )  # fmt: skip
