"""Other algorithms for the same problems, to compare Quell with.

``wsabi``: WSABI-L, with its surrogate in ``warped``; ``engine`` makes an engine of a run of a
method, ``running`` runs it; ``result`` and ``posterior`` are what comes out.
"""

from quell.baselines.posterior import DrawnPosterior
from quell.baselines.result import BaselineResult
from quell.baselines.wsabi import wsabi

__all__ = ["BaselineResult", "DrawnPosterior", "wsabi"]
