"""Plots of results, for the eye and for papers; they need matplotlib (``quell[plots]``).

Every function makes a figure, or draws into axes or a figure it is given, and returns the figure.
None shows it, and none changes matplotlib's settings. ``style`` has the colours and sizes.
"""

from quell.plots.acquisition import plot_acquisition
from quell.plots.compare import plot_compare
from quell.plots.corner import plot_corner
from quell.plots.evaluations import plot_evaluations
from quell.plots.marginals import plot_marginals
from quell.plots.residuals import plot_residuals
from quell.plots.study import plot_study
from quell.plots.surrogate import plot_surrogate
from quell.plots.trace import plot_trace

__all__ = [
    "plot_acquisition",
    "plot_compare",
    "plot_corner",
    "plot_evaluations",
    "plot_marginals",
    "plot_residuals",
    "plot_study",
    "plot_surrogate",
    "plot_trace",
]
