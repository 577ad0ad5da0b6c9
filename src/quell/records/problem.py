"""A problem without its target, from plain data: so that its prior can be evaluated again.

A file has no code. Constant priors and SciPy's continuous distributions are described by name and
parameters, and restored by looking the name up among those of ``scipy.stats`` that are continuous
families; functions, joint distributions and constraints are not described.
"""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from quell.archive.plain import a, number
from quell.problem import Problem
from quell.problem.densities import Constant, Independent

#: Parameters of one distribution: no family of SciPy's has so many.
MOST_PARAMETERS = 12
#: Versions of SciPy may differ in the last of the nine digits of a prior's ``probe``.
PROBE_TOLERANCE = 1e-6
_CONSTANT = {"uniform": None, "improper uniform": None, "included": "included"}


def prior_record(problem: Problem) -> dict[str, Any] | None:
    """The prior by names and parameters; None where it is code.

    >>> from scipy import stats
    >>> box = {"lower": -9, "upper": 9, "plausible_lower": -1, "plausible_upper": 1}
    >>> prior_record(Problem(None, prior=[stats.norm(0, scale=2)], **box))["marginals"]
    [{'name': 'norm', 'args': [0], 'kwds': {'scale': 2}}]
    """
    density = problem.prior.density
    if isinstance(density, Constant):
        return {"kind": density.label}
    if not isinstance(density, Independent):
        return None
    marginals = [None if m is None else _distribution_record(m) for m in density.marginals]
    if any(
        m is not None and not found for m, found in zip(density.marginals, marginals, strict=True)
    ):
        return None
    return {"kind": "independent", "marginals": marginals}


def restore_problem(
    fingerprint: dict[str, Any],
    prior: dict[str, Any] | None,
    constraint: Callable[..., Any] | None = None,
) -> Problem | None:
    """The problem behind its fingerprint and the record of its prior, without a target.

    None where the prior is code, or where there was a constraint and none is given; and, with a
    warning, where this version of SciPy computes another density than the one of the file.
    """
    if prior is None or (fingerprint.get("constraint", False) and constraint is None):
        return None
    box = ("lower", "upper", "plausible_lower", "plausible_upper")
    arrays: dict[str, Any] = {
        name: [number(entry) for entry in a(list, fingerprint[name])] for name in box
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what there is to say about it was said when it was made
        problem = Problem(
            None, **arrays, prior=_restore_prior(prior), names=fingerprint["names"],
            noise=fingerprint["noise"], bounded=fingerprint["bounded"],
            periodic=fingerprint["periodic"], integer=fingerprint["integer"],
            constraint=constraint,
        )  # fmt: skip
    recorded = [number(entry) for entry in fingerprint["prior"].get("probe", [])]
    probe = list(problem.prior.probe) if "probe" in fingerprint["prior"] else recorded
    if np.shape(probe) != np.shape(recorded) or not np.allclose(
        probe, recorded, rtol=PROBE_TOLERANCE, atol=PROBE_TOLERANCE
    ):
        warnings.warn(
            "the prior in the file has another density in this version of SciPy, so log_prior of "
            "the loaded result is None",
            UserWarning,
            stacklevel=2,
        )
        return None
    return problem


def _distribution_record(distribution: Any) -> dict[str, Any] | None:
    """Name and parameters of a frozen distribution of ``scipy.stats``; None for any other."""
    from scipy import stats  # slow to import; here it has been already

    family = getattr(distribution, "dist", None)
    name = getattr(family, "name", None)
    known = getattr(stats, name, None) if isinstance(name, str) else None
    if not isinstance(known, stats.rv_continuous) or type(known) is not type(family):
        return None
    try:
        args = [_plain(value) for value in distribution.args]
        kwds = {key: _plain(value) for key, value in distribution.kwds.items()}
    except (TypeError, ValueError):
        return None
    return {"name": name, "args": args, "kwds": kwds}


def _plain(value: Any) -> float | int:
    plain = np.asarray(value).item()  # raises where it is not one value
    if type(plain) not in (int, float):
        raise TypeError("no number")
    return plain


def _restore_prior(data: Any) -> Any:
    kind = a(dict, data)["kind"]
    if kind in _CONSTANT:
        return _CONSTANT[kind]
    if kind != "independent":
        raise ValueError(f"it has a prior of the kind {kind!r:.50}")
    return [None if entry is None else _restore_distribution(entry) for entry in data["marginals"]]


def _restore_distribution(data: Any) -> Any:
    from scipy import stats  # slow to import

    name, args, kwds = a(str, data["name"]), a(list, data["args"]), a(dict, data["kwds"])
    family = getattr(stats, name, None) if name in stats.__all__ else None
    if not isinstance(family, stats.rv_continuous) or family.name != name:
        raise ValueError(f"it has a prior {name!r:.50}, which is no distribution of scipy.stats")
    if len(args) + len(kwds) > MOST_PARAMETERS:
        raise ValueError(f"its prior {name!r} has {len(args) + len(kwds)} parameters")
    return family(*map(_number, args), **{key: _number(value) for key, value in kwds.items()})


def _number(value: Any) -> float | int:
    """A parameter as it was written: 2 is not 2.0 in the words about a prior."""
    return value if type(value) is int else number(value)
