"""Figure 1: noisy inference on a target in two dimensions, one algorithm beside another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from quell.arrays import FloatArray
from quell.bench.displays.drawn import Drawn, Material, NotMade, look_of
from quell.bench.displays.looks import NAMES
from quell.bench.problems import Benchmark, load
from quell.plots.keys import line_key, marker_key
from quell.plots.style import (
    BLACK,
    FONT,
    GREY,
    LINE,
    SMALL_FONT,
    Z95,
    add_legend,
    as_is,
    few_ticks,
    inches,
    label,
    panels,
    tidy,
)
from quell.results import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

TARGET = "rosenbrock"
NOISE_SD = 1.0
#: Values of the two parameters that are shown, as in the paper.
DRAWN = (np.linspace(-3, 3, 161), np.linspace(-2, 6, 161))
#: The part of the ELBO's axis that is shown, in nats from the true log evidence.
BELOW, ABOVE = 2.2, 1.8
CONTOURS = 8


def illustration(material: Material) -> Drawn:
    """The figure of the saved results among the material."""
    if not material.results:
        raise NotMade("no saved results (.quell files) of runs on its target")
    for name, result in material.results.items():
        if tuple(result.posterior.names) != load(TARGET).names:
            raise NotMade(f"{name} is not a result on {TARGET} in two dimensions")
    figure = draw(material.results, width=material.width)
    made = [
        f"{NAMES.get(name, name)} (seed {result.seed})" for name, result in material.results.items()
    ]
    evaluations = max(r.evaluations.n_counted for r in material.results.values())
    text = (
        f"Inference with noisy log-likelihoods. A: the true density ({TARGET}, D = 2); "
        f"noise of SD {NOISE_SD:g}. B: posteriors after {evaluations} evaluations, with the "
        "centres of their components (crosses) and all evaluations (dots). C: the ELBO along each "
        "run with its 95 % interval; dashed: the true log evidence. One run each: "
        f"{', '.join(made)}."
    )
    return Drawn(figure, text, len(material.results), len(material.results) + 2)


def draw(
    results: dict[str, Result],
    *,
    names: Mapping[str, str] = NAMES,
    width: float | str = "full",
) -> Figure | SubFigure:
    """Draw the figure of results by the keys of their algorithms; ``names`` are for titles."""
    shown = {key: names.get(key, key) for key in results}
    target = load(TARGET)
    n = len(results) + 2
    columns = n if inches(width) > 5 else 2
    height = inches(width) / columns * 1.12
    figure, axes = panels(None, n, columns=columns, width=width, height=height)
    _true_density(axes[0], target)
    for ax, (name, result) in zip(axes[1:-1], results.items(), strict=True):
        _posterior(ax, name, result, shown[name])
    for ax in axes[:-1]:
        tidy(ax)
        ax.set_xlim(DRAWN[0][0], DRAWN[0][-1])
        ax.set_ylim(DRAWN[1][0], DRAWN[1][-1])
        few_ticks(ax.xaxis, 3)
        few_ticks(ax.yaxis, 4)
        label(ax, target.names[0], target.names[1] if ax is axes[0] else None, size=FONT - 1)
    _elbo(axes[-1], results, target.truth.log_evidence)
    entries = [
        (marker_key(".", GREY), "evaluations"),
        (marker_key("x", BLACK), "centres of components"),
        *((line_key(look_of(name).colour, look_of(name).line), shown[name]) for name in results),
        (line_key(BLACK, "--", width=0.9), "true log evidence"),
    ]
    add_legend(
        figure,
        entries,
        loc="outside upper center",
        ncols=5 if columns > 2 else 2,
        columnspacing=1.2,
    )
    return figure


def _on_grid() -> FloatArray:
    return np.stack(np.meshgrid(*DRAWN), axis=-1)


def _true_density(ax: Axes, target: Benchmark) -> None:
    assert target.exact is not None  # its log joint is a formula
    grid = _on_grid()
    density = np.exp(target.exact(grid.reshape(-1, 2)).reshape(grid.shape[:2]))
    ax.contourf(*DRAWN, density, levels=12, cmap="Blues")
    as_is(ax.set_title("A   true density", fontsize=SMALL_FONT + 0.5, pad=3))


def _posterior(ax: Axes, name: str, result: Result, title: str) -> None:
    density = np.exp(result.posterior.log_density(_on_grid()))
    ax.contour(*DRAWN, density, levels=CONTOURS, colors=look_of(name).colour, linewidths=0.7)
    theta = result.evaluations.theta
    ax.plot(theta[:, 0], theta[:, 1], ".", color=GREY, markersize=2.5, gid="evaluations")
    centres = result.posterior.space.to_original(result.posterior.mixture.means)
    ax.plot(
        centres[:, 0], centres[:, 1], "x", color=BLACK, markersize=3.5, markeredgewidth=0.8,
        gid="centres",
    )  # fmt: skip
    count = result.evaluations.n_counted
    as_is(ax.set_title(f"B   {title}, {count} evals", fontsize=SMALL_FONT, pad=3))


def _elbo(ax: Axes, results: dict[str, Result], truth: float) -> None:
    for name, result in results.items():
        look = look_of(name)
        n = [row["n_evaluations"] for row in result.history]
        elbo = np.array([row["elbo"] for row in result.history])
        half = Z95 * np.array([row["elbo_sd"] for row in result.history])
        ax.plot(n, elbo, color=look.colour, linestyle=look.line, linewidth=LINE, gid=f"elbo {name}")
        ax.fill_between(n, elbo - half, elbo + half, color=look.colour, alpha=0.2, linewidth=0)
    ax.axhline(truth, color=BLACK, linestyle="--", linewidth=0.9, gid="truth")
    ax.set_ylim(truth - BELOW, truth + ABOVE)
    tidy(ax)
    few_ticks(ax.xaxis, 4)
    few_ticks(ax.yaxis, 4)
    label(ax, "evaluations", None, size=FONT - 1)
    as_is(ax.set_title("C   ELBO", fontsize=SMALL_FONT + 0.5, pad=3))
