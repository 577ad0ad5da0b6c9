"""The demonstration: noisy inference on a banana, as in Figure 1 of Acerbi (2020).

A target with known evidence, and noise of SD 1 on every log-likelihood; Quell as it is by default.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench import load
from quell.bench.displays.illustration import NOISE_SD, TARGET, draw
from quell.bench.problems import Benchmark
from quell.infer import infer
from quell.pages import report
from quell.plots.style import pyplot
from quell.problem import Problem
from quell.progress import Choice
from quell.results import Result
from quell.text import printable

#: Evaluations at most: 50 (D + 2), as in the paper. The run stops before where it is stable.
BUDGET = 200
#: Dots per inch of the figure.
DPI = 200


@dataclass(frozen=True, eq=False)
class Demonstration:
    """What the demonstration made; ``figure`` is None where there is no matplotlib to draw it."""

    result: Result
    report: Path
    figure: Path | None


def run_demo(
    out: Path, *, seed: int = 1, budget: int = BUDGET, progress: Choice = True
) -> Demonstration:
    """Run it, print the summary, and write the report and a figure into ``out``."""
    target = load(TARGET)
    problem = _problem(target)
    print(problem)
    print(f"\nat most {budget} evaluations with noise SD {NOISE_SD:g}")
    result = infer(problem, budget=budget, seed=seed, progress=progress)
    print(f"\n{result.summary()}")
    truth = target.truth.log_evidence
    print(
        f"\nlog evidence {result.log_evidence:.3f} ± {result.log_evidence_sd:.3f}, "
        f"the truth is {truth:.3f}"
    )
    out.mkdir(parents=True, exist_ok=True)
    page = report(result, out / "report.html", title="Noisy inference on a banana")
    print(f"report: {printable(str(out / 'report.html'))}")
    figure = _figure(result, out / "figure1.png")
    where = printable(str(figure)) if figure else "none, as matplotlib is not installed"
    print(f"figure: {where}")
    return Demonstration(result, page, figure)


def _problem(target: Benchmark) -> Problem:
    exact = target.exact
    assert exact is not None  # its log joint is a formula

    def log_joint(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        value = float(np.asarray(exact(theta)))
        return value + NOISE_SD * rng.standard_normal(), NOISE_SD

    return Problem(
        log_joint,
        lower=target.lower,
        upper=target.upper,
        plausible_lower=target.plausible_lower,
        plausible_upper=target.plausible_upper,
        prior="included",
        names=list(target.names),
    )


def _figure(result: Result, path: Path) -> Path | None:
    """The truth, the posterior and the ELBO beside each other."""
    try:
        plt = pyplot()
    except ImportError:
        return None
    plt.switch_backend("Agg")
    figure: Any = draw({"quell": result})
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    return path
