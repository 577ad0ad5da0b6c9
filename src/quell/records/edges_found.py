"""Edges that a run has found as arrays, and back: unlike a constraint they are no code."""

from typing import Any

import numpy as np

from quell.archive import Archive
from quell.archive.plain import a, texts
from quell.space import InferenceSpace
from quell.vbmc.found_edge import FEATURES, MOST_EDGES, Edge


def edge_members(edges: tuple[Edge, ...]) -> tuple[dict[str, Any], list[str]]:
    """The arrays of the edges by their names in the file, and what each is made of."""
    arrays = {
        f"support/edge_{i}.npy": np.append(edge.slope, edge.offset) for i, edge in enumerate(edges)
    }
    return arrays, [edge.kind for edge in edges]


def edges_in(file: Archive, kinds: Any, space: InferenceSpace) -> tuple[Edge, ...]:
    """The edges in a file, in the space of its posterior."""
    names = texts(a(list, kinds))
    if len(names) > MOST_EDGES or not set(names) <= set(FEATURES):
        raise ValueError(f"its posterior ends at edges of an unknown kind: {names}")
    edges = []
    for i, kind in enumerate(names):
        size = FEATURES[kind](space, space.to_original(np.zeros((1, space.dimension)))).shape[1]
        numbers = file.array(f"support/edge_{i}", size + 1)
        if not np.isfinite(numbers).all():
            raise ValueError(f"support/edge_{i} must be finite")
        edges.append(Edge(space, kind, numbers[:-1], float(numbers[-1])))
    return tuple(edges)
