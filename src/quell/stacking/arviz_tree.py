"""A stacked result as an ``xarray.DataTree`` with the groups that ArviZ knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from quell.arrays import FloatArray
from quell.results.arviz_tree import Columns, densities, figures_of_answer, tree
from quell.text import printable

if TYPE_CHECKING:
    from quell.stacking.result import StackedResult


def arviz_tree(
    result: StackedResult, draws: int, chains: int, rng: np.random.Generator | int
) -> Any:
    """The tree; see `StackedResult.to_arviz`."""

    def statistics(theta: FloatArray) -> Columns:
        return densities(result.posterior, result.log_prior, theta)

    how = (draws, chains, rng)
    return tree(result.posterior, result.evaluations, statistics, figures(result), how)


def figures(result: StackedResult) -> dict[str, Any]:
    """Attributes of the whole: plain numbers and text, as netCDF has them."""
    return figures_of_answer(result) | {
        "evaluations": len(result.evaluations),
        "runs": len(result.runs),
        "seeds": ", ".join(str(row["seed"]) for row in result.runs),
        "run_weights": [float(weight) for weight in result.run_weights],
        "left_out": "; ".join(printable(str(one)) for one in result.left_out),
    }
