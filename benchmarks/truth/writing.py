"""Writes the files that `quell.bench.truth.shipped` reads."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from quell.bench.compact import shorten
from quell.bench.density import Density, total_variation
from quell.bench.truth import Truth
from quell.bench.truth.shipped import checksum, density_on_grid

#: How far, in total variation, a marginal may move when it is cut down to fewer points.
TOLERANCE = 2e-4
#: Below this share of its peak a density counts as zero.
NEGLIGIBLE = 1e-7


def write_truth(path: Path, truth: Truth, data: object, made: dict[str, Any]) -> None:
    """Store the truth about a problem with these data, and how it was ``made``."""
    content = {
        "log_evidence": round(truth.log_evidence, 6),
        "log_evidence_error": round(truth.log_evidence_error, 6),
        "mean": shorten(truth.mean),
        "covariance": shorten(truth.covariance),
        "made": made,
        "checksum": checksum(data),
        "marginals": [compact_marginal(marginal) for marginal in truth.marginals],
    }
    # One key per line: readable, and a change shows where it is.
    lines = (f"{json.dumps(name)}: {json.dumps(value)}" for name, value in content.items())
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    partial = path.with_suffix(".partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def compact_marginal(marginal: Density) -> dict[str, Any]:
    """The values of a density on as few of its grid's points as are enough."""
    grid = marginal.grid
    heights = marginal(grid)
    inside = np.flatnonzero(heights > NEGLIGIBLE * heights.max())
    first, last = int(inside[0]), int(inside[-1])
    for step in (64, 32, 16, 8, 4, 2, 1):
        count = -(-(last - first) // step) + 1
        stop = min(first + (count - 1) * step, len(grid) - 1)
        x = np.linspace(grid[first], grid[stop], count)
        values = [float(f"{height:.6g}") for height in marginal(x)]
        cut: dict[str, Any] = {"lower": float(x[0]), "upper": float(x[-1]), "density": values}
        if count > 3 and total_variation(density_on_grid(**cut), marginal) < TOLERANCE:
            return cut
    raise ValueError("a marginal is too narrow for its grid")
