"""From the user's parameters to the inference space and back.

``bounds`` checks hard and plausible bounds; ``families`` and ``maps`` are the unconstraining
maps of single coordinates; ``linear`` the whitening; ``inference`` composes them.
"""

from quell.space.bounds import Bounds
from quell.space.inference import InferenceSpace

__all__ = ["Bounds", "InferenceSpace"]
