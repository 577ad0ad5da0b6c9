"""The life of an evaluation: it is asked for, answered, or forgotten.

These three are the whole vocabulary between the parts of a run: the engine proposes an `Asked`,
workers turn it into an `Answered`, the journal appends what happens, and a run is the fold of its
engine over these events.
"""

import os
import socket
import time
from dataclasses import dataclass, field

from quell.arrays import FloatArray
from quell.evaluations.origin import Origin
from quell.problem.outcome import Outcome

#: The index of an evaluation that was never asked for, and so has no random stream.
NOT_ASKED = -1
#: Before the process in ``who``, where a user told what came back: nobody knows who evaluated.
TOLD_BY = "told by "


@dataclass(frozen=True, eq=False)
class Asked:
    """A point θ (D,) to evaluate: why, and when it was asked for (seconds since 1970).

    ``index`` is that of its random stream (see `quell.evaluations.rng_for`), `NOT_ASKED` for a
    point of the user's own.
    """

    index: int
    theta: FloatArray
    origin: Origin
    at: float = field(default_factory=time.time)


@dataclass(frozen=True, eq=False)
class Answered:
    """The outcome of an evaluation, and ``who`` made it: host and process.

    ``attempt`` counts those before it that failed. One that is not ``final`` failed and will be
    tried again: it is recorded for the user, and the point stays under evaluation.
    """

    asked: Asked
    outcome: Outcome
    who: str = ""
    attempt: int = 0
    final: bool = True


@dataclass(frozen=True)
class Forgotten:
    """The evaluation with this index is not waited for any more."""

    index: int


Event = Asked | Answered | Forgotten


def this_process() -> str:
    """Who evaluates or writes: host and process id."""
    return f"{socket.gethostname()}:{os.getpid()}"
