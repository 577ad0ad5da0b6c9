"""A posterior as plain data, small enough for one line of a file."""

from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.mixture import Mixture
from quell.problem.constraint import Support
from quell.results import Posterior
from quell.space import InferenceSpace
from quell.text import jsonable

DIGITS = 9


def shorten(array: FloatArray) -> Any:
    """An array as nested lists of numbers with nine digits.

    >>> shorten(np.array([[1 / 3, 2.0]]))
    [[0.333333333, 2.0]]
    """
    if array.ndim == 0:
        return float(f"{float(array):.{DIGITS}g}")
    return [shorten(entry) for entry in array]


def compact_posterior(posterior: Posterior) -> dict[str, Any]:
    """Mixture and transform as plain data; :func:`restore_posterior` is the way back."""
    mixture, space = posterior.mixture, posterior.space
    bounds = space.bounds
    return {
        "kind": "mixture",
        "names": list(bounds.names),
        "lower": jsonable(bounds.lower),
        "upper": jsonable(bounds.upper),
        "plausible_lower": jsonable(bounds.plausible_lower),
        "plausible_upper": jsonable(bounds.plausible_upper),
        "bounded": list(bounds.bounded),
        "periodic": bounds.periodic.tolist(),
        "integer": None if posterior.integer is None else list(posterior.integer),
        "softness": jsonable(space.softness),
        "truncated": posterior.support is not None,
        "rotation": jsonable(space.rotation),
        "axis_scales": shorten(space.scales),
        "weights": shorten(mixture.weights),
        "means": shorten(mixture.means),
        "scales": shorten(mixture.scales),
        "lengths": shorten(mixture.lengths),
    }


def restore_posterior(data: dict[str, Any], support: Support | None = None) -> Posterior:
    """The posterior behind the "posterior" field of a record, to eight digits.

    A record has no code: of one that ends at the edge of a ``support``, that has to be given
    (``Problem.support``). Records of earlier versions have no softness, for there was none, and no
    mask of integers.

    >>> space = InferenceSpace.from_bounds([0.0], [1.0], [0.2], [0.8], names=["p"])
    >>> posterior = Posterior(Mixture([1.0], [[0.1]], [0.5], [1.0]), space)
    >>> again = restore_posterior(compact_posterior(posterior))
    >>> bool(np.isclose(again.log_density([0.4]), posterior.log_density([0.4])))
    True
    """
    if data["kind"] != "mixture":
        raise ValueError(f"a posterior stored as {data['kind']} cannot be rebuilt")
    if data.get("truncated", False) and support is None:
        raise ValueError(
            "this posterior ends at the edge of a support: pass support=, that of its problem"
        )

    def numbers(name: str) -> FloatArray:
        return np.array(data[name], dtype=np.float64)

    space = InferenceSpace.from_bounds(
        *map(numbers, ("lower", "upper", "plausible_lower", "plausible_upper")),
        names=data["names"],
        bounded=data["bounded"],
        periodic=data["periodic"],
    )
    if "softness" in data:
        space = space.with_softness(numbers("softness"))
    space = space.with_linear(numbers("rotation"), numbers("axis_scales"))
    mixture = Mixture(*map(numbers, ("weights", "means", "scales", "lengths")))
    integer = data.get("integer")
    return Posterior(mixture, space, None if integer is None else tuple(integer), support)
