"""Problems of kinds that strain an algorithm: wild scales, edges, long tails, several modes.

Their truth is known, in closed form or by quadrature unless they say otherwise.
"""

from quell.bench.problems.constraint import constraint
from quell.bench.problems.funnel import funnel
from quell.bench.problems.hierarchical import hierarchical, noncentred
from quell.bench.problems.logwide import logwide
from quell.bench.problems.lotka import lotka_volterra
from quell.bench.problems.modes import (
    cross,
    four_modes,
    halo,
    labels,
    narrow_and_broad,
    two_modes,
)
from quell.bench.problems.registry import Entry
from quell.bench.problems.regression import regression
from quell.bench.problems.ring import ring

STRESS = {
    "regression": Entry(regression, 3, "linear regression in raw units", dims=(3, 5, 8)),
    "hierarchical": Entry(
        hierarchical, 5, "group effects with their mean and spread, which may be zero", dims=(5, 10)
    ),
    "noncentred": Entry(
        noncentred, 5, "the same with the effects in units of their spread", dims=(5, 10)
    ),
    "constraint": Entry(constraint, 2, "proportions whose sum is at most one", dims=(2, 4)),
    "logwide": Entry(logwide, 2, "log-normals over three decades", dims=(2, 4)),
    "two_modes": Entry(two_modes, 2, "two normals, 24 SDs apart", dims=(1, 2, 4)),
    "four_modes": Entry(four_modes, 2, "four normals, 20 SDs apart"),
    "narrow_and_broad": Entry(
        narrow_and_broad, 2, "two normals of equal mass, one ten times as wide", dims=(1, 2)
    ),
    "labels": Entry(labels, 4, "two components that may change places", dims=(4, 6)),
    "cross": Entry(cross, 2, "two long normals that cross at right angles"),
    "halo": Entry(halo, 2, "a normal within one five times as wide", dims=(2, 4)),
    "ring": Entry(ring, 2, "a ring in the plane"),
    "funnel": Entry(funnel, 2, "Neal's funnel between bounds", dims=(2, 4)),
    "lotka_volterra": Entry(lotka_volterra, 8, "counts of predators and their prey"),
}
