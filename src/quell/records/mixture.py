"""A mixture and the space it lives in, as arrays in a file."""

from typing import Any

import numpy as np

from quell.archive import Archive
from quell.archive.plain import a
from quell.mixture import Mixture
from quell.records.shapes import (
    BOX,
    LINEAR,
    MIXTURE,
    mixture_parts,
    restore_mixture,
    restore_space,
    space_parts,
)
from quell.space import InferenceSpace


def mixture_members(
    space: InferenceSpace, mixture: Mixture
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of both by their names in the file, and the plain data of the space."""
    parts = space_parts(space)
    names = [name for name in (*BOX, *LINEAR, "tails") if name in parts]
    arrays = {f"space/{name}.npy": parts.pop(name) for name in names}
    arrays |= {f"posterior/{name}.npy": part for name, part in mixture_parts(mixture).items()}
    return arrays, parts


def mixture_in(file: Archive, plain: dict[str, Any]) -> tuple[InferenceSpace, Mixture]:
    """Both, from a file and the plain data of the space."""
    space = _space(file, plain)
    return space, _mixture(file, space.dimension)


def _space(file: Archive, plain: dict[str, Any]) -> InferenceSpace:
    n = len(a(list, plain["names"]))
    box = {name: file.array(f"space/{name}", n) for name in BOX}
    d = int(np.sum(box["lower"] != box["upper"]))
    linear = {
        "softness": file.array("space/softness", d),
        "rotation": file.array("space/rotation", d, d),
        "axis_scales": file.array("space/axis_scales", d),
    }
    if "space/tails.npy" in file:
        linear["tails"] = file.array("space/tails", d, 2)
    return restore_space({**plain, **box, **linear})


def _mixture(file: Archive, dimension: int) -> Mixture:
    means = file.array("posterior/means", None, dimension)
    shapes = {"weights": len(means), "scales": len(means), "lengths": dimension}
    parts = {
        name: file.array(f"posterior/{name}", shapes[name]) for name in MIXTURE if name in shapes
    }
    return restore_mixture({**parts, "means": means})
