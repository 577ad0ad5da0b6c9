"""What the target was asked, and what came back.

``events`` is the life of one evaluation: asked for, answered, forgotten; ``origin`` why it was
made. ``table`` has one row per evaluation and never changes; ``answers`` makes rows of answers,
``head_start`` takes in evaluations that were made elsewhere, ``merging`` makes one observation of
repeated ones, ``joining`` one table of several runs'.
"""

from quell.evaluations.events import Answered, Asked, Forgotten
from quell.evaluations.head_start import NO_PRIOR_DENSITY
from quell.evaluations.joining import join_evaluations
from quell.evaluations.origin import Origin
from quell.evaluations.table import Evaluations
from quell.streams import rng_for

__all__ = [
    "NO_PRIOR_DENSITY",
    "Answered",
    "Asked",
    "Evaluations",
    "Forgotten",
    "Origin",
    "join_evaluations",
    "rng_for",
]
