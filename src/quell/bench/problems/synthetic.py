"""The synthetic problems: log joint densities whose truth is known."""

from quell.bench.problems.conjugate import conjugate
from quell.bench.problems.curved import banana, rosenbrock
from quell.bench.problems.gaussian import cigar, corr, halfnormal, normal
from quell.bench.problems.linear import linear
from quell.bench.problems.logreg import logreg
from quell.bench.problems.lumpy import lumpy
from quell.bench.problems.registry import Entry
from quell.bench.problems.student import student

LOUD = "emulated, SD 3"

SYNTHETIC = {
    "normal": Entry(normal, 5, "independent normals with SDs 1 .. D", smallest=1),
    "corr": Entry(corr, 5, "strongly correlated normal"),
    "halfnormal": Entry(halfnormal, 2, "normals cut at their mode by a hard bound"),
    "rosenbrock": Entry(rosenbrock, 2, "Rosenbrock's valley with a normal prior"),
    "banana": Entry(banana, 2, "a bent normal; further axes standard normal", smallest=2),
    "cigar": Entry(cigar, 4, "rotated normal, 100 times longer than wide", smallest=2),
    "lumpy": Entry(lumpy, 4, "twelve overlapping normals", smallest=1, noise=LOUD),
    "student": Entry(
        student, 4, "independent Student-t, heavy tails first", smallest=1, noise=LOUD
    ),
    "logreg": Entry(logreg, 5, "logistic regression, one coefficient at its bound", noise=LOUD),
    "conjugate": Entry(
        conjugate, 3, "linear regression, new data in every run: for calibration", smallest=2
    ),
    "linear": Entry(
        linear,
        2,
        "normal posterior, new data in every run: for the evidence",
        smallest=1,
        noise="emulated, SD 2",
    ),
}
