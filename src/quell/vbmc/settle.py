"""Many evaluations at once: iterations without new ones, until the posterior stays as it is.

A run of its own ends an iteration after every batch of evaluations; warm-up ends, the mixture grows
and the axes turn over many of them. Evaluations that come in one piece, a head start or what a user
tells, are owed the same work: one iteration for every batch of them, as long as it still changes
something. Where nothing else will come, because all evaluations are the user's own, the work goes
on until it changes nothing more.

Such iterations say nothing of how stable the solution is: on the same evaluations everything comes
to rest. So they are marked (``Iteration.settling``), and stability is judged by the others.
"""

from dataclasses import replace

import numpy as np

from quell.evaluations import Evaluations, Origin
from quell.settings import Settings
from quell.vbmc.reliability import has_changed
from quell.vbmc.state import Action, State
from quell.vbmc.update import end_iteration
from quell.vbmc.whitening import INTERVAL

#: Iterations in a row that have to change nothing: one more than a change of axes may wait for.
QUIET_ITERATIONS = INTERVAL + 1
#: Iterations at most where all evaluations are the user's own. The tests' need about 15.
MOST_ITERATIONS = 60


def settle(rng: np.random.Generator, state: State, settings: Settings, most: int) -> State:
    """The state after at most so many iterations on the evaluations there are."""
    state = replace(state, settling=True)
    for _ in range(most):
        if is_settled(state):
            break
        state = end_iteration(rng, state, settings)
    return replace(state, settling=False)


def is_settled(state: State) -> bool:
    """Whether warm-up is over and iterations on these evaluations change nothing any more."""
    recent = state.history[-QUIET_ITERATIONS - 1 :]
    if state.warmup or len(recent) <= QUIET_ITERATIONS:
        return False
    quiet = all(it.action == Action.NONE and it.settling for it in recent[1:])
    pairs = zip(recent[1:], recent[:-1], strict=True)
    return quiet and not any(has_changed(now, before, state.dimension) for now, before in pairs)


def iterations_owed(state: State, batch: int, first_design: int | None) -> int:
    """Iterations that the evaluations since the last one would have had, had they come one by one.

    Before the first fit, ``first_design`` of them would have been needed for it; None later.
    """
    if first_design is None:
        return max(1, state.in_iteration // batch)
    return 1 + max(0, int(state.evaluations.ok.sum()) - first_design) // batch


def are_all_given(evaluations: Evaluations) -> bool:
    """Whether the algorithm has chosen none of the evaluations itself."""
    return all(origin in (Origin.GIVEN, Origin.USER) for origin in evaluations.origin)
