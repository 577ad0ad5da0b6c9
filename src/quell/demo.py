"""The demonstration: noisy inference on a banana, as in Figure 1 of Acerbi (2020).

A target with known evidence, noise of SD 1 on every log-likelihood, 100 evaluations; once with
the noise-adjusted pointwise acquisition function (npro), once with the global VIQR.
"""

from pathlib import Path
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.bench import load
from quell.infer import infer
from quell.plots.style import LOOKS, Z95, pyplot
from quell.problem import Problem
from quell.results import Result
from quell.settings import Settings
from quell.text import printable

NOISE_SD = 1.0
BUDGET = 100
START = (-1.0, -1.0)
DRAWN = (np.linspace(-3, 3, 161), np.linspace(-2, 6, 161))


def run_demo(
    out: Path, *, seed: int = 2, budget: int = BUDGET, progress: bool = True
) -> tuple[dict[str, Result], Path]:
    """Run both, print the summary of the VIQR run, and write the figure into ``out``."""
    target = load("rosenbrock")
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
    draw(target, results, path)
    print(f"figure: {printable(str(path))}")
    return results, path


def draw(target: Any, results: dict[str, Result], path: Path) -> None:
    """A: the true density; B: the posteriors, component centres, points; C: the ELBO."""
    plt = pyplot()
    plt.switch_backend("Agg")
    grid = np.stack(np.meshgrid(*DRAWN), axis=-1)
    figure, axes = plt.subplots(1, 4, figsize=(16, 4))
    true_density = np.exp(target.exact(grid.reshape(-1, 2)).reshape(grid.shape[:2]))
    axes[0].contourf(*DRAWN, true_density, levels=12, cmap="Blues")
    axes[0].set_title("A   true density")
    for axis, letter, (name, result) in zip(axes[1:3], "BB", results.items(), strict=True):
        density = np.exp(result.posterior.log_density(grid))
        axis.contour(*DRAWN, density, levels=10, cmap="Blues", linewidths=1.2)
        theta = result.evaluations.theta
        axis.plot(theta[:, 0], theta[:, 1], "k.", markersize=3, label="evaluations")
        centres = result.posterior.space.to_original(result.posterior.mixture.means)
        axis.plot(centres[:, 0], centres[:, 1], "rx", markersize=6, label="component centres")
        axis.set_title(f"{letter}   {name}, {result.evaluations.n_counted} evaluations")
        axis.legend(loc="upper center", fontsize=8)
    for axis in axes[:3]:
        axis.set(xlim=DRAWN[0][[0, -1]], ylim=DRAWN[1][[0, -1]])
        axis.set(xlabel=target.names[0], ylabel=target.names[1])
    for look, (name, result) in zip(LOOKS, results.items(), strict=False):
        rows = result.history
        n = [row["n_evaluations"] for row in rows]
        elbo = np.array([row["elbo"] for row in rows])
        half = Z95 * np.array([row["elbo_sd"] for row in rows])
        axes[3].plot(n, elbo, color=look.colour, linestyle=look.line, label=name)
        axes[3].fill_between(n, elbo - half, elbo + half, color=look.colour, alpha=0.2)
    axes[3].axhline(target.truth.log_evidence, color="k", linestyle="--", label="true log evidence")
    axes[3].set(xlabel="evaluations", ylabel="ELBO", ylim=(-4.5, -0.5), title="C   ELBO, 95 % band")
    axes[3].legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=130)
    plt.close(figure)
