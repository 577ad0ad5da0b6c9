"""What a run begins with: its seed, its first points, and evaluations made before it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import as_floats, integer
from quell.evaluations import Evaluations
from quell.problem import Problem
from quell.results import Result
from quell.streams import rng_for_start
from quell.vbmc.design import SMALLEST_DESIGN


def check_seed(seed: Any) -> int:
    """``seed`` as a non-negative integer; a random one for None.

    >>> check_seed(np.uint32(3))
    3
    """
    if seed is None:
        seed = int(np.random.SeedSequence().generate_state(1)[0])
    return integer("seed", seed, least=0)


def head_start(
    problem: Problem, evaluations: Evaluations | Sequence[ArrayLike] | None
) -> Evaluations:
    """Evaluations made before the run, as a table; they do not count."""
    if evaluations is None:
        return Evaluations.empty(problem.names)
    if isinstance(evaluations, Evaluations):
        return evaluations.as_given(problem)
    if not isinstance(evaluations, tuple | list) or len(evaluations) not in (2, 3):
        raise ValueError(
            "evaluations must be a table of evaluations, or (points, values) or (points, values, "
            f"sds), got {type(evaluations).__name__}"
        )
    return Evaluations.from_arrays(*evaluations, problem=problem)


def refuse_unless_noise_is_known(problem: Problem, given: Evaluations) -> None:
    """``ValueError`` where nothing will be evaluated, and what is given does not tell the noise.

    One SD is enough: where others are missing, the size of their noise is fitted.
    """
    if problem.noise == "auto" and not np.isfinite(given.sd[given.ok]).any():
        raise ValueError(
            'noise="auto" cannot be settled, because the given evaluations have no SDs and nothing '
            'is evaluated: choose noise="exact" or noise="unknown", or give SDs'
        )


def start_points(problem: Problem, start: ArrayLike | Result | None, seed: int) -> FloatArray:
    """Points (n, D) to evaluate first: those given, or the mode and draws of an earlier result."""
    if start is None:
        return np.empty((0, problem.dimension))
    if isinstance(start, Result):
        if start.posterior.names != problem.names:
            raise ValueError(
                f"start is a result for {list(start.posterior.names)}, the problem has "
                f"{list(problem.names)}"
            )
        rng = rng_for_start(seed)
        draws = start.posterior.sample(200, rng)
        order = np.argsort(-start.posterior.log_density(draws))
        spread = draws[order[: int(0.99 * len(draws))]]
        mode = start.posterior.mode()
        fixed = ~problem.space.free
        spread[:, fixed] = mode[fixed] = problem.space.bounds.lower[fixed]
        spread = spread[problem.space.contains(spread)]
        if not len(spread):
            raise ValueError(
                "start is a result whose posterior lies outside the problem's bounds (leave it "
                "out, or check the bounds)"
            )
        mode = mode if problem.space.contains(mode) else spread[0]
        count = max(problem.space.dimension, SMALLEST_DESIGN) - 1
        start = np.vstack([mode, rng.permutation(spread)[:count]])
    points = np.atleast_2d(as_floats("start", start))
    if points.ndim != 2 or points.shape[1] != problem.dimension:
        raise ValueError(f"start must have shape ({problem.dimension},) or (n, "
                         f"{problem.dimension}), got {np.shape(start)}")  # fmt: skip
    return problem.snap(problem.check_points(points, "start"))
