"""The algorithms a benchmark can run, by name.

To add one, write a function that runs it and put an `Algorithm` with it into ``_ALL``. The
function is called as ``run(problem, start=..., seed=..., budget=..., stop_early=...)``: a
:class:`quell.Problem`, the starting point (D,), the seed, how often the target may be evaluated,
and whether the algorithm may stop before that. It returns an `Answer`; whatever it raises is
recorded as the result of the run. `quell.bench.peers` is an example. Give a ``check`` to an
algorithm that is not always installed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from quell.arrays import FloatArray
from quell.baselines import gp_imiqr, wsabi
from quell.bench.answers import Answer
from quell.bench.baselines import BaselineRun
from quell.bench.own import QuellRun
from quell.bench.peers import import_pyvbmc, run_pyvbmc
from quell.problem import Problem
from quell.settings import Settings


class RunFunction(Protocol):
    """Runs an algorithm once."""

    def __call__(
        self, problem: Problem, *, start: FloatArray, seed: int, budget: int, stop_early: bool
    ) -> Answer:
        """The answer after at most ``budget`` evaluations, beginning at ``start`` (D,)."""


def _always_there() -> None:
    """The check of an algorithm that needs no installation."""


@dataclass(frozen=True)
class Algorithm:
    """An algorithm of the benchmark.

    ``text`` says what it is, for ``quell bench list``. ``bounded_map`` is the map of bounded
    parameters of the problem it is given. ``check`` raises :class:`~quell.bench.BenchError`, with
    what to do, if the algorithm is not installed; it is called before the first run.
    """

    name: str
    text: str
    run: RunFunction
    bounded_map: str = "soft"
    check: Callable[[], object] = _always_there


def _paper(name: str, text: str) -> Algorithm:
    """A variant of the paper, with the logit map of bounded parameters that it used."""
    run = QuellRun(Settings.variant(f"paper-{name}"))
    return Algorithm(name, text, run, bounded_map="logit")


_ALL = (
    Algorithm("quell", "Quell with its default settings", QuellRun(Settings())),
    Algorithm(
        "quell-8",
        "Quell with 8 points under evaluation at any time, which end in random order",
        QuellRun(Settings(), workers=8),
    ),
    Algorithm(
        "quell-viqr",
        "Quell with VIQR acquisition, otherwise its default settings",
        QuellRun(Settings(acquisition="viqr")),
    ),
    Algorithm(
        "quell-pro",
        "Quell with prospective uncertainty sampling, which is for exact targets",
        QuellRun(Settings(acquisition="pro")),
    ),
    Algorithm(
        "quell-uniform",
        "Quell with the paper's uniform prior of the surrogate's output scale",
        QuellRun(Settings(output_scale_prior=False)),
    ),
    Algorithm(
        "quell-probit",
        "Quell with the probit of bounded parameters throughout, never soft edges",
        QuellRun(Settings()),
        bounded_map="probit",
    ),
    Algorithm(
        "quell-tails",
        "Quell with maps for heavy tails of parameters without bounds, under noise too",
        QuellRun(Settings(heavy_tails=True)),
    ),
    _paper("viqr", "the paper's main algorithm (VIQR acquisition)"),
    _paper("imiqr", "the paper's, with IMIQR acquisition"),
    _paper("eig", "the paper's, with expected information gain"),
    _paper("npro", "the paper's, with noisy prospective uncertainty sampling"),
    _paper("nowv", "the paper's VIQR without whitening and more components at the end"),
    _paper("map", "the paper's VIQR with one hyperparameter vector (MAP)"),
    _paper("old", "VBMC before the paper (prospective uncertainty sampling)"),
    Algorithm(
        "wsabi",
        "WSABI-L, which takes every value for exact, as in the paper",
        BaselineRun(wsabi),
        bounded_map="logit",
    ),
    Algorithm(
        "wsabi-noise",
        "WSABI-L with the SDs of noisy values",
        BaselineRun(wsabi, {"noise_aware": True}),
        bounded_map="logit",
    ),
    Algorithm(
        "gp-imiqr",
        "GP-IMIQR as in the paper; no evidence",
        BaselineRun(gp_imiqr),
        bounded_map="logit",
    ),
    Algorithm(
        "gp-imiqr-fair",
        "GP-IMIQR in inference space, looking ahead with the noise as it is; no evidence",
        BaselineRun(gp_imiqr, {"fair": True}),
        bounded_map="logit",
    ),
    Algorithm("pyvbmc", "PyVBMC, if it is installed", run_pyvbmc, check=import_pyvbmc),
)
#: Every algorithm by its name, in the order of the list above.
ALGORITHMS: dict[str, Algorithm] = {algorithm.name: algorithm for algorithm in _ALL}
