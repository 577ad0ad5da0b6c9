"""Regions of highest density as closed outlines, by marching squares."""

import numpy as np

from quell.arrays import BoolArray, FloatArray

#: Outlines are straightened by no more than this, in the units of the map (0 to 1000).
TOLERANCE = 1.5


def outlines(x: FloatArray, y: FloatArray, values: FloatArray, level: float) -> list[FloatArray]:
    """Closed outlines (k, 2) of where ``values`` (n, m) at x (m,) and y (n,) exceed a level.

    Filled by the even-odd rule they are the region. It ends at the edges of the map.

    >>> square = np.zeros((5, 5))
    >>> square[1:4, 1:4] = 2.0
    >>> [loop] = outlines(np.arange(5.0), np.arange(5.0), square, 1.0)
    >>> loop.min(axis=0), loop.max(axis=0)
    (array([0.5, 0.5]), array([3.5, 3.5]))
    """
    # A frame of no width, below the level, closes what reaches the edge.
    x, y = (np.concatenate([v[:1], v, v[-1:]]) for v in (x, y))
    below = min(0.0, float(np.min(values)), level) - 1.0
    z = np.pad(np.asarray(values, dtype=np.float64), 1, constant_values=below)
    high = z >= level
    steps = _steps(z, high, level)
    places = _crossings(x, y, z, high, level)
    loops = []
    while steps:
        start = next(iter(steps))
        here, loop = start, []
        while here in steps:
            loop.append(places[here])
            onward = steps[here].pop()
            if not steps[here]:
                del steps[here]
            steps[onward].remove(here)
            if not steps[onward]:
                del steps[onward]
            here = onward
        loops.append(np.array(loop))
    return [loop for loop in loops if len(loop) > 2]


#: An edge of the map's grid: 0 across or 1 down, and its row and column.
Edge = tuple[int, int, int]


def _steps(z: FloatArray, high: BoolArray, level: float) -> dict[Edge, list[Edge]]:
    """From each edge that the outline crosses to the two it goes on to."""
    steps: dict[Edge, list[Edge]] = {}

    def link(a: Edge, b: Edge) -> None:
        steps.setdefault(a, []).append(b)
        steps.setdefault(b, []).append(a)

    corners = np.stack([high[:-1, :-1], high[:-1, 1:], high[1:, 1:], high[1:, :-1]])
    count = corners.sum(axis=0)
    for i, j in np.argwhere((count > 0) & (count < 4)).tolist():
        a, b, c, d = corners[:, i, j].tolist()
        top, right, bottom, left = (0, i, j), (1, i, j + 1), (0, i + 1, j), (1, i, j)
        crossed = [
            edge
            for edge, differ in ((top, a != b), (right, b != c), (bottom, c != d), (left, d != a))
            if differ
        ]
        if len(crossed) == 2:
            link(crossed[0], crossed[1])
        elif (z[i : i + 2, j : j + 2].mean() >= level) == a:  # a saddle: joined across, or not
            link(top, right)
            link(bottom, left)
        else:
            link(top, left)
            link(bottom, right)
    return steps


def _crossings(
    x: FloatArray, y: FloatArray, z: FloatArray, high: BoolArray, level: float
) -> dict[Edge, tuple[float, float]]:
    """Where the outline crosses the edges of the grid."""
    places: dict[Edge, tuple[float, float]] = {}
    for i, j in np.argwhere(high[:, 1:] != high[:, :-1]).tolist():
        part = (level - z[i, j]) / (z[i, j + 1] - z[i, j])
        places[0, i, j] = float(x[j] + part * (x[j + 1] - x[j])), float(y[i])
    for i, j in np.argwhere(high[1:] != high[:-1]).tolist():
        part = (level - z[i, j]) / (z[i + 1, j] - z[i, j])
        places[1, i, j] = float(x[j]), float(y[i] + part * (y[i + 1] - y[i]))
    return places


def straightened(loop: FloatArray, tolerance: float = TOLERANCE) -> FloatArray:
    """A closed outline (n, 2) without the points that hardly bend it."""
    if len(loop) < 5:
        return loop
    half = len(loop) // 2
    keep = np.zeros(len(loop), dtype=bool)
    keep[[0, half, len(loop) - 1]] = True
    waiting = [(0, half), (half, len(loop) - 1)]
    while waiting:
        first, last = waiting.pop()
        if last - first < 2:
            continue
        a, b = loop[first], loop[last]
        inner = loop[first + 1 : last] - a
        along = b - a
        length = float(np.hypot(*along))
        if length > 0:
            away = np.abs(along[0] * inner[:, 1] - along[1] * inner[:, 0]) / length
        else:
            away = np.hypot(inner[:, 0], inner[:, 1])
        worst = int(away.argmax())
        if away[worst] > tolerance:
            middle = first + 1 + worst
            keep[middle] = True
            waiting += [(first, middle), (middle, last)]
    return loop[keep]
