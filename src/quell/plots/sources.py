"""What users may pass to a plot: a result or a posterior, and which parameters of it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import as_floats
from quell.diagnostics import Status
from quell.results import Posterior, Result
from quell.results.distribution import Distribution
from quell.space import InferenceSpace
from quell.stacking import StackedPosterior, StackedResult

#: What has a posterior to show.
Shown = Result | Posterior | StackedResult | StackedPosterior
#: Parameters of a plot: names or indices; None for all that are not fixed.
Parameters = Sequence[str | int] | str | int | None


def posterior_of(thing: Any, argument: str = "result") -> Distribution:
    """The posterior of a result, or the posterior itself."""
    if isinstance(thing, Result | StackedResult):
        return thing.posterior
    if isinstance(thing, Posterior | StackedPosterior):
        return thing
    raise TypeError(
        f"{argument} must be a quell.Result or a quell.Posterior, got {type(thing).__name__}"
    )


def result_of(thing: Any, argument: str = "result") -> Result:
    """The result itself: for plots that need more than a posterior."""
    if isinstance(thing, Result):
        return thing
    raise TypeError(f"{argument} must be a quell.Result, got {type(thing).__name__}")


def status_note(thing: Any) -> str:
    """A word on the status where an answer is not stable; "" otherwise."""
    if isinstance(thing, Result | StackedResult) and thing.status != Status.STABLE:
        return f"status: {thing.status}"
    return ""


def chosen_parameters(space: InferenceSpace, parameters: Parameters) -> list[int]:
    """Indices of the parameters to show, in the order asked for.

    >>> space = InferenceSpace.from_bounds([0, 1], [1, 1], [0.2, 1], [0.8, 1], names=["a", "b"])
    >>> chosen_parameters(space, None)
    [0]
    """
    if parameters is None:
        return [int(i) for i in np.flatnonzero(space.free)]
    listed = [parameters] if isinstance(parameters, str | int | np.integer) else list(parameters)
    if not listed:
        raise ValueError("parameters must have at least one name, or be None for all")
    indices = [_index(space, entry) for entry in listed]
    for entry, i in zip(listed, indices, strict=True):
        if not space.free[i]:
            raise ValueError(
                f"{space.names[i]!r} is fixed: there is nothing to plot (leave it out)"
            )
        if indices.count(i) > 1:
            raise ValueError(f"parameters has {entry!r} twice")
    return indices


def _index(space: InferenceSpace, entry: Any) -> int:
    if isinstance(entry, str):
        if entry not in space.names:
            raise ValueError(
                f"parameters has {entry!r}, which is none of the names {list(space.names)}"
            )
        return space.names.index(entry)
    if isinstance(entry, bool) or not isinstance(entry, int | np.integer):
        raise TypeError(f"parameters must be names or indices, got {entry!r}")
    if not 0 <= entry < space.n_parameters:
        raise ValueError(
            f"parameters has the index {entry}, but there are {space.n_parameters} parameters: "
            f"{list(space.names)}"
        )
    return int(entry)


def point_of(argument: str, point: Any, names: Sequence[str]) -> FloatArray:
    """Values (n,) of all parameters from a mapping by name or a vector; nan where not given.

    >>> point_of("truth", {"b": 2.0}, ["a", "b"])
    array([nan,  2.])
    """
    if isinstance(point, Mapping):
        unknown = [name for name in point if name not in names]
        if unknown:
            raise ValueError(
                f"{argument} has {unknown[0]!r}, which is none of the names {list(names)}"
            )
        return np.array([float(point.get(name, np.nan)) for name in names])
    return _vector(argument, point, names)


def _vector(argument: str, point: ArrayLike, names: Sequence[str]) -> FloatArray:
    values = as_floats(argument, point)
    if values.ndim == 0 and len(names) == 1:
        values = values[None]
    if values.shape != (len(names),):
        raise ValueError(
            f"{argument} must have one value for each of {list(names)}, fixed ones too, or be a "
            f"mapping from names to values, got an array of shape {values.shape}"
        )
    return values


def overlay_of(other: Any, names: Sequence[str]) -> Distribution | None:
    """The posterior to lay over another that has these ``names``; it must share one."""
    if other is None:
        return None
    second = posterior_of(other, "other")
    if not set(names) & set(second.space.free_names):
        raise ValueError(
            f"other has the parameters {list(second.space.free_names)}, none of {list(names)}"
        )
    return second
