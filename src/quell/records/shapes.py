"""Spaces and mixtures by the names of their parts."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.mixture import Mixture
from quell.space import InferenceSpace

#: Parts of a space that are arrays, in the order of `InferenceSpace.from_bounds`, and the others.
BOX = ("lower", "upper", "plausible_lower", "plausible_upper")
LINEAR = ("softness", "rotation", "axis_scales")
MIXTURE = ("weights", "means", "scales", "lengths")


def space_parts(space: InferenceSpace) -> dict[str, Any]:
    """Names, maps and bounds of the parameters, softness of the edges, rotation and scales.

    Also the centres and scales of heavy tails, where there are any.

    >>> space = InferenceSpace.from_bounds([0.0], [1.0], [0.2], [0.8], names=["p"])
    >>> restore_space(space_parts(space)).names
    ('p',)
    """
    bounds = space.bounds
    return {
        "names": list(bounds.names),
        **{name: getattr(bounds, name) for name in BOX},
        "bounded": list(bounds.bounded),
        "periodic": bounds.periodic.tolist(),
        "softness": space.softness,
        "rotation": space.rotation,
        "axis_scales": space.scales,
        **({} if np.isnan(space.tails).all() else {"tails": space.tails}),
    }


def restore_space(parts: Mapping[str, Any]) -> InferenceSpace:
    """The space behind the parts, bit for bit; ``ValueError`` where they make none.

    Without a softness there is none, nor are there heavy tails where none are told: records of
    early versions do not have them.
    """
    space = InferenceSpace.from_bounds(
        *(_numbers(parts, name) for name in BOX),
        names=parts["names"],
        bounded=parts["bounded"],
        periodic=parts["periodic"],
    )
    if "softness" in parts:
        space = space.with_softness(_numbers(parts, "softness"))
    if "tails" in parts:
        space = space.with_tails(_numbers(parts, "tails"))
    return space.with_linear(_numbers(parts, "rotation"), _numbers(parts, "axis_scales"))


def mixture_parts(mixture: Mixture) -> dict[str, FloatArray]:
    """The arrays of a mixture by their names."""
    return {name: getattr(mixture, name) for name in MIXTURE}


def restore_mixture(parts: Mapping[str, Any]) -> Mixture:
    """The mixture behind the parts, bit for bit; ``ValueError`` where they make none."""
    mixture = Mixture(*(_numbers(parts, name) for name in MIXTURE))
    # The sum is divided out once more, which may change the last digit of weights that had it done.
    weights = _numbers(parts, "weights")
    if np.allclose(mixture.weights, weights, rtol=1e-14, atol=0.0):
        weights.setflags(write=False)
        object.__setattr__(mixture, "weights", weights)
    return mixture


def _numbers(parts: Mapping[str, Any], name: str) -> FloatArray:
    return np.array(parts[name], dtype=np.float64)
