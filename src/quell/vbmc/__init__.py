"""The algorithm: Variational Bayesian Monte Carlo as two steps on one state.

``step`` proposes points and absorbs values; ``update`` ends an iteration; ``training`` builds
the training set, of very many points from a ``subset``, and fits the surrogate; ``reliability``,
``warmup`` and ``whitening``, along the ``curvature``, are the rules; ``finish`` chooses and
polishes what is returned, ``evidence`` estimates the log evidence; ``state`` is what they all pass
on.
"""

from quell.vbmc.finish import best_iteration, boost
from quell.vbmc.state import Iteration, Solution, State
from quell.vbmc.step import absorb, close_iteration, initial_state, propose

__all__ = [
    "Iteration",
    "Solution",
    "State",
    "absorb",
    "best_iteration",
    "boost",
    "close_iteration",
    "initial_state",
    "propose",
]
