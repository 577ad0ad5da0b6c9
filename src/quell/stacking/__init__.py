"""Several runs of one problem as one posterior.

``choosing`` says which runs, ``surrogate`` is that of all their evaluations, ``components`` those
of all their posteriors, whose ``weights`` are found by it, and the ``evidence`` too; ``posterior``,
``marginal``, ``prior`` and ``result`` are what the user gets, ``stack`` the front door.
"""

from quell.stacking.marginal import StackedMarginal
from quell.stacking.posterior import StackedPosterior
from quell.stacking.result import StackedResult
from quell.stacking.stack import stack

__all__ = ["StackedMarginal", "StackedPosterior", "StackedResult", "stack"]
