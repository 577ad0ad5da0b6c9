"""Does the model with its posterior make data like those observed?"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import function, integer
from quell.results import Result
from quell.streams import rng_for_calibration


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """A statistic of the observed data beside those of simulated ones; see `predictive_check`.

    Attributes
    ----------
    observed
        The statistic (M,) of the observed data.
    replicated
        That of each simulated data set, (n, M).
    p_values
        For each of the M numbers the share of simulated data above the observed (ties count half):
        near 0 or 1 the model does not make such data.
    """

    observed: FloatArray
    replicated: FloatArray
    p_values: FloatArray

    def __repr__(self) -> str:
        shares = ", ".join(f"{p:.3f}" for p in self.p_values)
        return f"PredictiveCheck of {len(self.replicated)} data sets: p = {shares}"


def predictive_check(
    result: Result,
    simulate: Callable[[FloatArray, np.random.Generator], Any],
    observed: Any,
    statistic: Callable[[Any], ArrayLike],
    *,
    n: int = 200,
    seed: int = 0,
) -> PredictiveCheck:
    """Simulate data from draws of the posterior, and compare a statistic with that of yours.

    Parameters
    ----------
    result
        The result for the observed data.
    simulate
        A function of parameters θ (dimension,) and a generator that makes data like ``observed``.
    observed
        Your data.
    statistic
        A function from data to a number, or several, that the model should get right.
    n
        Number of data sets to simulate.
    seed
        Of the draws and the data.

    Examples
    --------
    >>> import quell
    >>> data = np.random.default_rng(1).normal(1.0, 1.0, 20)
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * float(np.sum((data - theta[0]) ** 2)), noise="exact",
    ...     lower=-5, upper=5, plausible_lower=-2, plausible_upper=2,
    ... )
    >>> result = quell.infer(problem, budget=15, seed=1, progress=False)
    >>> check = predictive_check(
    ...     result, lambda theta, rng: rng.normal(theta[0], 1.0, 20), data, np.mean
    ... )
    >>> bool(0.05 < check.p_values[0] < 0.95)
    True
    """
    n = integer("n", n, least=1)
    function("simulate", simulate)
    function("statistic", statistic)
    seen = np.atleast_1d(np.asarray(statistic(observed), dtype=float)).ravel()
    theta = result.posterior.sample(n, rng_for_calibration(seed))
    made = np.array(
        [
            np.atleast_1d(np.asarray(statistic(simulate(point, rng_for_calibration(seed, i)))))
            for i, point in enumerate(theta)
        ],
        dtype=float,
    ).reshape(n, -1)
    if made.shape[1] != len(seen):
        raise ValueError(
            f"statistic gives {len(seen)} numbers for the observed data, {made.shape[1]} for "
            "simulated ones: it must give as many for both"
        )
    bad = int(np.isnan(made).any(axis=1).sum())
    if bad or np.isnan(seen).any():
        where = f"{bad} of {n} simulated data sets" if bad else "the observed data"
        raise ValueError(
            f"statistic is nan for {where}: choose one that is defined for all data the model can "
            "make"
        )
    above = np.mean(made > seen, axis=0) + 0.5 * np.mean(made == seen, axis=0)
    return PredictiveCheck(seen, made, np.asarray(above))
