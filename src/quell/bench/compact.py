"""A posterior as plain data, small enough for one line of a file."""

from collections.abc import Sequence
from typing import Any

from quell.arrays import FloatArray
from quell.problem.constraint import Support
from quell.records.shapes import (
    MIXTURE,
    mixture_parts,
    restore_mixture,
    restore_space,
    space_parts,
)
from quell.results import Posterior
from quell.text import jsonable

DIGITS = 9
#: Draws in the record of an algorithm whose posterior is known by draws.
STORED_DRAWS = 500


def shorten(array: FloatArray) -> Any:
    """An array as nested lists of numbers with nine digits.

    >>> import numpy as np
    >>> shorten(np.array([[1 / 3, 2.0]]))
    [[0.333333333, 2.0]]
    """
    if array.ndim == 0:
        return float(f"{float(array):.{DIGITS}g}")
    return [shorten(entry) for entry in array]


def compact_posterior(posterior: Posterior) -> dict[str, Any]:
    """Mixture and transform as plain data; :func:`restore_posterior` is the way back."""
    parts = space_parts(posterior.space) | mixture_parts(posterior.mixture)
    short = ("axis_scales", *MIXTURE)
    return {
        "kind": "mixture",
        **{name: (shorten if name in short else jsonable)(part) for name, part in parts.items()},
        "integer": None if posterior.integer is None else list(posterior.integer),
        "truncated": posterior.support is not None,
    }


def compact_draws(names: Sequence[str], draws: FloatArray) -> dict[str, Any]:
    """A posterior that is known by draws (n, D), as plain data.

    >>> import numpy as np
    >>> compact_draws(["a"], np.array([[1 / 3]]))
    {'kind': 'draws', 'names': ['a'], 'draws': [[0.333333333]]}
    """
    return {"kind": "draws", "names": list(names), "draws": shorten(draws)}


def restore_posterior(data: dict[str, Any], support: Support | None = None) -> Posterior:
    """The posterior behind the "posterior" field of a record, to eight digits.

    A record has no code: of one that ends at the edge of a ``support``, that has to be given
    (``Problem.support``). Records of earlier versions have no softness, for there was none, and no
    mask of integers.

    >>> import numpy as np
    >>> from quell.mixture import Mixture
    >>> from quell.space import InferenceSpace
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
    integer = data.get("integer")
    return Posterior(
        restore_mixture(data),
        restore_space(data),
        None if integer is None else tuple(integer),
        support,
    )
