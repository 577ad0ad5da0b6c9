"""Regions of highest density of two parameters: filled, or as outlines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quell.arrays import FloatArray
from quell.plots.style import LINE, Look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How solid the outermost and the innermost region are.
LIGHT, DARK = 0.3, 0.75


def draw_regions(
    ax: Axes, x: FloatArray, y: FloatArray, density: FloatArray, levels: FloatArray, look: Look
) -> None:
    """Regions of highest density, filled, the innermost darkest."""
    if len(x) < 2 or len(y) < 2 or not density.max() > 0:
        return
    colours = [_tint(look.colour, s) for s in np.linspace(LIGHT, DARK, len(levels))]
    top = max(float(density.max()), float(np.nextafter(levels[-1], np.inf)))
    drawn = ax.contourf(x, y, density, levels=[*levels, 1.01 * top], colors=colours, zorder=1.5)
    drawn.set_gid("region")
    ax.contour(x, y, density, levels=levels, colors=look.colour, linewidths=0.5, zorder=1.6)


def draw_outlines(
    ax: Axes, x: FloatArray, y: FloatArray, density: FloatArray, levels: FloatArray, look: Look
) -> None:
    """The outlines of regions of highest density."""
    if len(x) < 2 or len(y) < 2 or not density.max() > 0:
        return
    drawn = ax.contour(
        x, y, density, levels=levels, colors=look.colour, linestyles=[look.line],
        linewidths=LINE, zorder=2.0,
    )  # fmt: skip
    drawn.set_gid("outline")


def _tint(colour: str, strength: float) -> tuple[float, float, float]:
    """The colour mixed with white: solid, so that nothing shines through."""
    from matplotlib.colors import to_rgb

    red, green, blue = (1.0 - strength * (1.0 - part) for part in to_rgb(colour))
    return red, green, blue
