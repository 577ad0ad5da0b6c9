"""The first points: spread evenly over the plausible box.

Independent draws leave holes that a mode fits into, and crowd elsewhere. Here the points are a
Latin hypercube: of n points each has its own n-th of every coordinate. Of several such designs the
one is taken whose points are farthest from each other and from those that are known already.
"""

import numpy as np

from quell.arrays import FloatArray
from quell.distances import squared_distances
from quell.problem import Problem
from quell.space import InferenceSpace

#: Points of the first design, in few dimensions (reference implementation).
SMALLEST_DESIGN = 10
#: Designs among which the most even one is taken.
N_DESIGNS = 50
#: Draws of a point until the prior is positive.
MOST_DRAWS = 100


def first_points(
    rng: np.random.Generator, problem: Problem, space: InferenceSpace, n: int, known: FloatArray
) -> FloatArray:
    """``n`` points (n, D_full) spread over the plausible box of inference space.

    They keep away from those ``known`` (m, D) in inference space. Where the prior is zero, random
    points take their place.
    """
    theta = problem.snap(space.to_original(even_points(rng, n, known)))
    hopeless = problem.log_prior(theta) == -np.inf
    theta[hopeless] = random_points(rng, problem, space, int(hopeless.sum()))
    return theta


def even_points(rng: np.random.Generator, n: int, known: FloatArray) -> FloatArray:
    """``n`` points (n, D) in the cube [−½, ½]^D, apart from each other and from ``known`` (m, D).

    >>> points = even_points(np.random.default_rng(1), 4, np.empty((0, 1)))
    >>> np.sort(points.ravel()).round(1)
    array([-0.4, -0.1,  0.2,  0.5])
    """
    dimension = known.shape[1]
    if n == 0:
        return np.empty((0, dimension))
    designs = [_latin_hypercube(rng, n, dimension) for _ in range(N_DESIGNS)]
    return max(designs, key=lambda design: _smallest_distance(design, known))


def _latin_hypercube(rng: np.random.Generator, n: int, dimension: int) -> FloatArray:
    cells = rng.permuted(np.tile(np.arange(n), (dimension, 1)), axis=1).T
    return np.asarray((cells + rng.random((n, dimension))) / n - 0.5)


def _smallest_distance(points: FloatArray, known: FloatArray) -> float:
    """Squared, between two of the points, or between one of them and a known one."""
    distances = squared_distances(points, np.concatenate([points, known]))
    np.fill_diagonal(distances, np.inf)
    return float(distances.min())


def random_points(
    rng: np.random.Generator, problem: Problem, space: InferenceSpace, n: int
) -> FloatArray:
    """Uniform draws (n, D_full) in the plausible box of inference space.

    Where the prior is zero it is drawn again, a limited number of times: the target need not be
    asked what is known already.
    """
    drawn = np.empty((n, space.n_parameters))
    missing = np.ones(n, dtype=bool)
    for _ in range(MOST_DRAWS):
        x = rng.uniform(-0.5, 0.5, (int(missing.sum()), space.dimension))
        drawn[missing] = problem.snap(space.to_original(x))
        missing = problem.log_prior(drawn) == -np.inf
        if not missing.any():
            break
    return drawn
