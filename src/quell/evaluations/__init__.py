"""What the target was asked, and what came back.

``table`` has one row per evaluation and never changes; ``origin`` is why each was made;
``head_start`` checks evaluations that were made elsewhere; ``merging`` makes one observation of
repeated ones.
"""

from quell.evaluations.origin import Origin
from quell.evaluations.table import GIVEN, NO_PRIOR_DENSITY, Evaluations, rng_for

__all__ = ["GIVEN", "NO_PRIOR_DENSITY", "Evaluations", "Origin", "rng_for"]
