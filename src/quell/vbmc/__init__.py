"""The algorithm: Variational Bayesian Monte Carlo as two steps on one state.

``step`` proposes points and absorbs values; ``update`` ends an iteration, and ``settle`` many of
them, where many evaluations came together; ``training_set`` is what the surrogate is trained on, of
very many points a ``subset``, and ``training`` its fit. ``design`` has the first points, ``looks``
those away from the posterior, and ``coverage`` says what was never looked at. ``reliability``,
``warmup`` and ``whitening``, along the ``curvature``, are rules, and ``coordinates`` the change of
them, to ``softening`` edges and ``heavy`` tails too; ``low_values``, ``surprise`` and the edge of a
``support`` are special cases of evaluations. ``finish`` chooses and polishes what is returned,
``evidence`` estimates the log evidence; ``state`` is what they all pass on. None of it keeps the
time or looks at a clock.
"""

from quell.vbmc.finish import best_iteration, boost
from quell.vbmc.state import Action, Iteration, Solution, State
from quell.vbmc.step import Proposal, absorb, close_iteration, initial_state, propose
from quell.vbmc.training_set import TrainingSet

__all__ = [
    "Action",
    "Iteration",
    "Proposal",
    "Solution",
    "State",
    "TrainingSet",
    "absorb",
    "best_iteration",
    "boost",
    "close_iteration",
    "initial_state",
    "propose",
]
