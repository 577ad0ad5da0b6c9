"""The demonstration: noisy inference on a banana, as in Figure 1 of Acerbi (2020).

A target with known evidence, noise of SD 1 on every log-likelihood, 100 evaluations; once with
the noise-adjusted pointwise acquisition function (npro), once with the global VIQR.
"""

from pathlib import Path
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench import load
from quell.bench.displays.illustration import NOISE_SD, TARGET, draw
from quell.infer import infer
from quell.plots.style import pyplot
from quell.problem import Problem
from quell.progress import Choice
from quell.results import Result
from quell.settings import Settings
from quell.text import printable

BUDGET = 100
START = (-1.0, -1.0)
#: Dots per inch of the figure.
DPI = 200


def run_demo(
    out: Path, *, seed: int = 2, budget: int = BUDGET, progress: Choice = True
) -> tuple[dict[str, Result], Path]:
    """Run both, print the summary of the VIQR run, and write the figure into ``out``."""
    target = load(TARGET)
    exact = target.exact
    assert exact is not None  # its log joint is a formula

    def log_joint(theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        value = float(np.asarray(exact(theta)))
        return value + NOISE_SD * rng.standard_normal(), NOISE_SD

    problem = Problem(
        log_joint,
        lower=target.lower,
        upper=target.upper,
        plausible_lower=target.plausible_lower,
        plausible_upper=target.plausible_upper,
        prior="included",
        names=list(target.names),
    )
    print(problem)
    results = {}
    for name in ("npro", "viqr"):
        print(f"\n{budget} evaluations with noise SD {NOISE_SD:g}, acquisition {name}")
        results[name] = infer(
            problem,
            budget=budget,
            seed=seed,
            start=START,
            settings=Settings(acquisition=name, stop_early=False, final_components=0),
            progress=progress,
        )
    print(f"\n{results['viqr'].summary()}")
    truth = target.truth.log_evidence
    for name, result in results.items():
        print(
            f"{name:6}ELBO {result.elbo:.3f} ± {result.elbo_sd:.3f}, true log evidence {truth:.3f}"
        )
    out.mkdir(parents=True, exist_ok=True)
    path = out / "figure1.png"
    plt = pyplot()
    plt.switch_backend("Agg")
    # These have one acquisition function each, and are Quell otherwise: not the paper's variants.
    figure: Any = draw(results, names={})
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    print(f"figure: {printable(str(path))}")
    return results, path
