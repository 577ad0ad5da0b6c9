"""What is asked: the target, its parameters with bounds and prior, and its noise.

``problem`` puts them together, and ``parameters`` is what can be known of it without the target;
``target`` calls the user's function, ``signals`` tells its exceptions from interrupts, ``outcome``
is what a call gave, ``noise`` what the noise modes mean; ``prior`` is the prior, ``as_density``
makes it of what users pass and ``densities`` are its kinds; ``integers`` are parameters that are
whole numbers; ``description`` is a problem as data and as text.
"""

from quell.problem.outcome import Outcome
from quell.problem.problem import Problem

__all__ = ["Outcome", "Problem"]
