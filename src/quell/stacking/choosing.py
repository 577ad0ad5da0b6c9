"""Which runs are stacked, and why others are not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics import Status
from quell.results import Result
from quell.results.several import first_difference
from quell.text import printable

#: A run is left out whose surrogate expects so many nats more, on average over its own posterior,
#: than that of all evaluations together, if that is also so many of its SDs.
OVERCLAIM, OVERCLAIM_SDS = 3.0, 4.0


@dataclass(frozen=True)
class LeftOut:
    """A run that was not stacked: its place among those given, its seed, and why."""

    place: int
    seed: int
    reason: str

    def __str__(self) -> str:
        return f"run {self.place + 1} (seed {self.seed}): {self.reason}"


def check_results(given: Any) -> list[Result]:
    """The results as a list; an error that says why, unless they are runs of one problem."""
    if isinstance(given, Result):
        raise ValueError("results must be several runs of one problem, got a single result")
    try:
        results = list(given)
    except TypeError:
        raise TypeError(
            f"results must be a list of results, got an object of type {type(given).__name__}"
        ) from None
    for place, result in enumerate(results):
        if not isinstance(result, Result):
            raise TypeError(
                f"results[{place}] must be a quell.Result, got an object of type "
                f"{type(result).__name__}"
            )
    if len(results) < 2:
        raise ValueError(
            f"results must be at least two runs of one problem, got {len(results)}; make more with "
            "other seeds"
        )
    problems = [result.problem for result in results]
    if (difference := first_difference(problems)) is not None:
        place, what = difference
        raise ValueError(
            f"results must be runs of one problem, but results[0] and results[{place}] differ in "
            f"{what}"
        )
    if any(results[0].posterior.space.bounds.periodic):
        _refuse_other_seams(problems)
    _refuse_twins(results)
    return results


def _refuse_other_seams(problems: Sequence[dict[str, Any]]) -> None:
    """Circles are cut opposite the plausible box, so that it must be the same."""
    for place, problem in enumerate(problems):
        for key in ("plausible_lower", "plausible_upper"):
            if problem.get(key) != problems[0].get(key):
                raise ValueError(
                    f"results[0] and results[{place}] have different plausible boxes ({key}), "
                    "which cannot be stacked where a parameter is periodic"
                )


def _refuse_twins(results: Sequence[Result]) -> None:
    """The same run twice would count its noise twice."""
    seen: dict[tuple[bytes, bytes], int] = {}
    for place, result in enumerate(results):
        table = result.evaluations
        key = table.theta.tobytes(), table.value.tobytes()
        first = seen.setdefault(key, place)
        if first != place:
            raise ValueError(
                f"results[{first}] and results[{place}] are the same run (seed {result.seed}): "
                "their evaluations are identical; use other seeds"
            )


def choose(results: Sequence[Result]) -> tuple[list[int], list[LeftOut]]:
    """Places of the runs to stack, and the others with reasons.

    A run that is suspect is left out as long as two others are not.
    """
    usable, left_out, suspects = [], [], []
    for place, result in enumerate(results):
        if not np.isfinite(result.elbo):
            left_out.append(LeftOut(place, result.seed, f"its ELBO is {result.elbo}"))
        elif result.status == Status.SUSPECT:
            suspects.append(place)
        else:
            usable.append(place)
    if len(usable) < 2:
        usable = sorted(usable + suspects)
    else:
        for place in suspects:
            objection = next(iter(results[place].verdict.objections), "")
            reason = f"suspect: {printable(objection)}" if objection else "suspect"
            left_out.append(LeftOut(place, results[place].seed, reason))
    if not usable:
        raise ValueError(f"no run can be stacked: {'; '.join(map(str, left_out))}")
    return usable, left_out


def overclaims(result: Result, theta: FloatArray, log_joint: FloatArray) -> str:
    """Why a run is not to be believed; "" if it is.

    ``log_joint`` (n,) is what the surrogate of all evaluations expects at draws ``theta`` (n, D) of
    the run's own posterior.
    """
    solution = result.solution
    x = solution.space.to_inference(theta)
    own, variance = solution.surrogate().pooled(x)
    excess = float(np.mean(own - solution.space.log_jacobian(x) - log_joint))
    if excess <= max(OVERCLAIM, OVERCLAIM_SDS * float(np.sqrt(variance.mean()))):
        return ""
    return (
        f"over its posterior it expects {excess:.1f} nats more than the evaluations of all runs "
        "together bear out"
    )
