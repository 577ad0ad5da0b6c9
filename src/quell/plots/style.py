"""How all plots look: sizes, colours, letters.

Everything is set on the artists themselves, so the user's own settings of matplotlib are neither
changed nor needed. Colours are those of Okabe and Ito (2008), told apart by the colour-blind, and
each goes with a line style and a marker of its own, so that a print in grey can be read too; values
are on the scale cividis, whose lightness rises evenly.

Names are the user's: they are shown as they are, never typeset as mathematics.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.checks import number
from quell.text import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.legend import Legend
    from matplotlib.text import Text
    from numpy.typing import NDArray

#: Inches: a column of a two-column journal, and the width of its page.
COLUMN_WIDTH, FULL_WIDTH = 3.3, 6.9
WIDTHS = {"column": COLUMN_WIDTH, "full": FULL_WIDTH}
#: Points: what is read, and what is looked up.
FONT, SMALL_FONT = 8.0, 6.5
#: A letter is about this wide, in parts of the font's size.
LETTER = 0.55
LINE, THIN_LINE = 1.2, 0.7
#: Inches over the panels for a legend.
LEGEND_ROOM = 0.35
#: A 95 % interval of a normal, in SDs.
Z95 = 1.96

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK, GREY, PALE = "#E69F00", "#56B4E9", "#000000", "#777777", "#DDDDDD"
COLOUR_MAP = "cividis"


@dataclass(frozen=True)
class Look:
    """Colour, line style and marker of one of several things in a plot."""

    colour: str
    line: Any
    marker: str


#: Looks of results side by side, in this order.
LOOKS = (
    Look(BLUE, "-", "o"),
    Look(VERMILLION, "--", "s"),
    Look(GREEN, "-.", "^"),
    Look(PURPLE, ":", "D"),
    Look(ORANGE, (0, (5, 1, 1, 1, 1, 1)), "v"),
    Look(SKY, (0, (8, 2)), "P"),
    Look(BLACK, (0, (1, 2)), "X"),
)


def pyplot() -> Any:
    """``matplotlib.pyplot``, or one sentence on how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "plots need matplotlib, which is not installed: pip install 'quell[plots]'"
        ) from error
    return plt


def inches(width: float | str) -> float:
    """The width of a new figure: "column", "full", or a number of inches.

    >>> inches("column"), inches(5)
    (3.3, 5.0)
    """
    if isinstance(width, str):
        if width not in WIDTHS:
            raise ValueError(f'width must be "column", "full" or a number of inches, got {width!r}')
        return WIDTHS[width]
    return number("width (in inches)", width, least=1.0, at_most=100.0)


def new_figure(width: float | str, height: float, **options: Any) -> Figure:
    """A figure of this width, and a ``height`` in inches."""
    figure: Figure = pyplot().figure(figsize=(inches(width), height), **options)
    return figure


def panels(
    axes: Any, n: int, *, columns: int, width: float | str, height: float, **options: Any
) -> tuple[Figure | SubFigure, list[Axes]]:
    """``n`` panels: those of the user's ``axes``, or new ones in rows of ``columns``.

    ``axes`` is None, one Axes, an array or sequence of them, or a figure to fill. ``height`` is
    that of a row in inches.
    """
    pyplot()
    from matplotlib.axes import Axes
    from matplotlib.figure import FigureBase

    rows = -(-n // columns)
    if axes is None or isinstance(axes, FigureBase):
        figure: Any = axes
        if figure is None:
            figure = new_figure(width, rows * height + LEGEND_ROOM, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, **options).ravel()
        for unused in grid[n:]:
            unused.remove()
        return figure, list(grid[:n])
    given: NDArray[Any] = np.asarray(axes, dtype=object).ravel()
    if not all(isinstance(one, Axes) for one in given):
        raise TypeError(
            "axes must be matplotlib Axes, as many as there are panels, or a Figure to fill, got "
            f"{type(axes).__name__}"
        )
    if len(given) != n:
        raise ValueError(
            f"axes must have {n} panel{'s' if n > 1 else ''} for this plot, got {len(given)}"
        )
    return given[0].get_figure(), list(given)


def as_is(text: Text) -> Text:
    """The text, never taken for mathematics or TeX."""
    text.set_parse_math(False)
    text.set_usetex(False)
    return text


def short(name: str, room: float, size: float = FONT) -> str:
    """A name that fits into ``room`` inches in letters of this size; nothing a printer acts upon.

    Beginning and end are kept: names often differ in a number at the end.

    >>> short("a_$b", 1.0), short("a very long name of parameter_12", 1.0)
    ('a_$b', 'a very lo…er_12')
    """
    return shortened(printable(name), max(4, int(room * 72 / (LETTER * size)) - 1))


def shortened(text: str, most: int) -> str:
    """Text of at most so many letters; beginning and end are kept.

    >>> shortened("parameter_12", 8)
    'para…_12'
    """
    if len(text) <= most:
        return text
    tail = (most - 1) // 3 + 1
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def label(ax: Axes, x: str | None = None, y: str | None = None, *, size: float = FONT) -> None:
    """Label axes with texts shown as they are."""
    if x is not None:
        as_is(ax.set_xlabel(printable(x), fontsize=size, labelpad=2))
    if y is not None:
        as_is(ax.set_ylabel(printable(y), fontsize=size, labelpad=2))


def title(ax: Axes, text: str, *, size: float = FONT) -> None:
    """A title shown as it is."""
    as_is(ax.set_title(printable(text), fontsize=size, pad=3))


def tidy(ax: Axes, *, size: float = SMALL_FONT) -> None:
    """Small ticks, thin lines, no frame on the right and above."""
    ax.tick_params(labelsize=size, length=2.5, width=0.6, pad=2)
    for side, spine in ax.spines.items():
        spine.set_linewidth(0.6)
        spine.set_visible(side in ("left", "bottom"))
    for axis in (ax.xaxis, ax.yaxis):
        axis.get_offset_text().set_fontsize(size)


def few_ticks(axis: Axis, n: int) -> None:
    """At most ``n`` intervals between ticks, at round numbers."""
    from matplotlib.ticker import MaxNLocator, ScalarFormatter

    axis.set_major_locator(MaxNLocator(nbins=n, steps=[1, 2, 2.5, 5, 10]))
    formatter = ScalarFormatter()
    formatter.set_powerlimits((-3, 4))
    axis.set_major_formatter(formatter)


def add_legend(
    where: Any, entries: Sequence[tuple[Artist, str]], *, size: float = SMALL_FONT, **options: Any
) -> Legend | None:
    """A legend in axes or a figure; its texts are shown as they are, whatever they begin with."""
    if not entries:
        return None
    handles = [handle for handle, _ in entries]
    # matplotlib leaves out labels that begin with an underscore: names are put in afterwards.
    places = [f"entry {i}" for i in range(len(entries))]
    made: Legend = where.legend(
        handles, places, fontsize=size, frameon=False, handlelength=1.8, labelspacing=0.35,
        borderaxespad=0.2, **options,
    )  # fmt: skip
    for text, (_, name) in zip(made.get_texts(), entries, strict=True):
        as_is(text).set_text(printable(name))
    return made


@contextmanager
def cautious_numbers() -> Iterator[None]:
    """Peace for numbers that overflow or underflow on the way to a picture."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning)
        yield


def rounded(value: float, spread: float) -> str:
    """A number with as many digits as its ``spread`` is worth.

    >>> rounded(3.14159, 0.2), rounded(-1234567.0, 3e4), rounded(1.5e-12, 1e-13), rounded(5.0, 0.0)
    ('3.14', '-1.235e+06', '1.50e-12', '5')
    """
    if not (np.isfinite(value) and np.isfinite(spread) and spread > 0):
        return f"{value:.3g}"
    size = max(abs(value), spread)
    decimals = 1 - int(np.floor(np.log10(spread)))
    if size >= 1e5 or size < 1e-3:
        return f"{value:.{max(0, int(np.floor(np.log10(size))) + decimals)}e}"
    return f"{value:.{max(0, decimals)}f}"
