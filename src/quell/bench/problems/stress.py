"""Problems of kinds that strain an algorithm: wild scales, edges, long tails, several modes.

Their truth is known, in closed form or by quadrature unless they say otherwise.
"""

from quell.bench.problems.constraint import constraint
from quell.bench.problems.hierarchical import hierarchical
from quell.bench.problems.logwide import logwide
from quell.bench.problems.registry import Entry
from quell.bench.problems.regression import regression

STRESS = {
    "regression": Entry(regression, 3, "linear regression in raw units", dims=(3, 5, 8)),
    "hierarchical": Entry(
        hierarchical, 5, "group effects with their mean and spread, which may be zero", dims=(5, 10)
    ),
    "constraint": Entry(constraint, 2, "proportions whose sum is at most one", dims=(2, 4)),
    "logwide": Entry(logwide, 2, "log-normals over three decades", dims=(2, 4)),
}
