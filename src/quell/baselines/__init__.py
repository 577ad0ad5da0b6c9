"""Other algorithms for the same problems, to compare Quell with.

``wsabi``: WSABI-L, with its surrogate in ``warped``, the fit of that in ``warped_fit`` and the
search for points in ``warped_search``. ``gp_imiqr``: GP-IMIQR, with its surrogate in
``basis_process``, the choice of points in ``range_loss`` and their coordinates in ``places``.
``engine`` makes a method the engine of a run, ``running`` runs it; ``result`` and ``posterior`` are
what comes out; ``noise`` is what they need to know of the SDs.
"""

from quell.baselines.gp_imiqr import gp_imiqr
from quell.baselines.posterior import DrawnPosterior
from quell.baselines.result import BaselineResult
from quell.baselines.wsabi import wsabi

__all__ = ["BaselineResult", "DrawnPosterior", "gp_imiqr", "wsabi"]
