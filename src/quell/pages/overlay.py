"""Marginal densities of several runs over each other, a chart for each parameter."""

from collections.abc import Mapping

import numpy as np

from quell.pages.chart import Chart, Key
from quell.pages.densities import densities_of
from quell.pages.frame import Box, fitting, out_of_bounds, x_axis
from quell.pages.scales import Scale
from quell.pages.svg import curve, picture
from quell.plots.densities import peak
from quell.plots.ranges import own_range, range_of
from quell.results import Result
from quell.text import printable

WIDTH, HEIGHT = 330, 190
BOX = Box(14, 14, WIDTH - 28, HEIGHT - 60)
#: Looks of runs, which begin again after so many.
N_LOOKS = 7
#: Parameters that are drawn.
MOST = 24


def overlay_charts(runs: Mapping[str, Result], ident: str = "marginal") -> list[Chart]:
    """One chart for each parameter that is free in any of the runs."""
    names = list(
        dict.fromkeys(name for one in runs.values() for name in one.posterior.space.free_names)
    )
    drawn = [densities_of(run.posterior) for run in runs.values()]
    charts = []
    for place, name in enumerate(names[:MOST]):
        having = [(i, one) for i, one in enumerate(drawn) if name in one.posterior.space.free_names]
        shown = range_of([one.posterior for _, one in having], name)
        curves = [(i, *one.alone(own_range(one.posterior, shown))) for i, one in having]
        height = 1.06 * max(peak(x, density, shown) for _, x, density in curves)
        across = Scale.of(shown, BOX.left, BOX.right)
        parts = [out_of_bounds(BOX, shown)]
        for i, x, density in curves:
            y = BOX.bottom - np.clip(density / height, 0.0, 1.0) * BOX.height
            parts.append(curve(across.at(x), y, f"run-{i % N_LOOKS}", marker=shown.integer))
        parts.append(x_axis(BOX, across, fitting(name, BOX.width), 5))
        text = f"Marginal densities of {printable(name)} in {len(having)} runs."
        key = f"{ident}-{place}"
        svg = picture(key, WIDTH, HEIGHT, f"Marginals of {printable(name)}", text, parts)
        charts.append(Chart(key, svg))
    return charts


def run_keys(runs: Mapping[str, Result]) -> list[Key]:
    """The legend of the runs."""
    return [Key(f"run-{i % N_LOOKS}", "line", printable(name)) for i, name in enumerate(runs)]
