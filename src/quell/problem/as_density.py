"""What users pass as ``prior``, where it is no word, read as a density over all parameters."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from quell.problem.densities import (
    Density,
    Function,
    Independent,
    Joint,
    distribution_text,
    is_discrete,
    is_one_dimensional,
    is_scipy,
)
from quell.space.bounds import Bounds

KINDS = (
    "None (uniform on the box), a scipy.stats distribution per parameter or a joint one, a "
    'log-density function of theta, or "included"'
)


def make_density(prior: Any, bounds: Bounds) -> Density:
    """The density of what is neither None nor a string; ``TypeError``, ``ValueError`` if none."""
    names = bounds.names
    if hasattr(prior, "as_prior"):  # a posterior, which this room does not know
        prior = prior.as_prior()
    if hasattr(prior, "for_parameters"):
        return Joint(prior.for_parameters(bounds), names)
    if is_discrete(prior):
        _refuse_discrete("prior", prior)
    if is_one_dimensional(prior):
        if len(names) > 1:
            raise ValueError(
                f"prior is the one-dimensional distribution {distribution_text(prior)} but there "
                f"are {len(names)} parameters (pass a list with one distribution for each)"
            )
        prior = [prior]
    if hasattr(prior, "logpdf"):
        return Joint(prior, names)
    if isinstance(prior, Sequence) or (isinstance(prior, np.ndarray) and prior.ndim == 1):
        if len(prior) != len(names):
            raise ValueError(
                f"prior has {len(prior)} entries, expected {len(names)}, one for each of "
                f"{list(names)} (None for fixed ones)"
            )
        return Independent(
            tuple(_marginal(i, entry, bounds) for i, entry in enumerate(prior)), names
        )
    if callable(prior):
        return Function(prior, names)
    raise TypeError(f"prior must be {KINDS}, got an object of type {type(prior).__name__}")


def _marginal(i: int, entry: Any, bounds: Bounds) -> Any:
    """Entry ``i`` of a sequence: a continuous distribution, or None if the parameter is fixed."""
    who = f"prior[{i}] ({bounds.names[i]!r})"
    if bounds.lower[i] == bounds.upper[i]:
        return None
    if entry is None:
        raise ValueError(
            f"{who} is None but the parameter is not fixed (for a uniform prior pass "
            "scipy.stats.uniform(lower, upper - lower))"
        )
    if hasattr(entry, "to_scipy"):  # the marginal of a posterior, which this room does not know
        return entry.to_scipy()
    if is_discrete(entry):
        _refuse_discrete(who, entry)
    if is_scipy("rv_continuous", entry):
        if entry.shapes:
            raise TypeError(
                f"{who} is the family scipy.stats.{entry.name}, which needs parameters (freeze "
                f"it: scipy.stats.{entry.name}({entry.shapes}))"
            )
        return entry()
    if not hasattr(entry, "logpdf"):
        raise TypeError(
            f"{who} must be a distribution with a logpdf method, got an object of type "
            f"{type(entry).__name__} (a log-density function must take all parameters at once)"
        )
    return entry


def _refuse_discrete(who: str, distribution: Any) -> None:
    raise ValueError(
        f"{who} is the discrete distribution {distribution_text(distribution)}, which has no "
        "density (choose a continuous one; for integer parameters pass a log-density function "
        "that calls its logpmf)"
    )
