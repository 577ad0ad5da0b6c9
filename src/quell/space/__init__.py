"""From the user's parameters to the inference space and back.

``bounds`` checks hard and plausible bounds; ``families``, ``maps``, ``soft`` and ``tails`` are the
unconstraining maps of single coordinates, which ``inside`` keeps off the bounds; ``linear`` is the
whitening; ``standard`` is what leaves the parameters apart, ``inference`` all of it, and
``coordinate`` one parameter alone.
"""

from quell.space.bounds import Bounds
from quell.space.inference import InferenceSpace

__all__ = ["Bounds", "InferenceSpace"]
