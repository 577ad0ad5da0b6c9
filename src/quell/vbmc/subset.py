"""Which points the surrogate is trained on when there are very many.

The cost of a Gaussian process grows with the cube of its points. Up to `MOST_POINTS` all are
used. Beyond, these are kept, so that a session with an archive of ten thousand stays responsive:

* the most recent eighth of `MOST_POINTS` or more: what was asked for last is always used;
* half from the *core*, where the log joint is within ½ χ²₀.₉₉(D) + 2 of its best;
* the rest from the *shell* around it, down to 10 D + 10 below the best; lower points say little
  about the posterior, and distort a surrogate that has to follow them.

Within core and shell points are chosen one by one as far as possible from those kept already:
they fill the space, and none is spent on the near-repetitions of a Markov chain or an optimiser.
Under noise a point is sorted into core or shell by the average over its neighbours, and never
chosen for its own value: picking high values would pick high noise.

The choice is made anew only after every `RENEWAL` points; until then the new ones join it. One more
observation of the same set is a small update of the surrogate, another set is a new surrogate.

Hyperparameters are learnt from at most `LEARNING_POINTS`: half spread in the same way, half taken
at even steps from all. Among points that keep apart, nothing would rule out that the surrogate
varies within their distance. The surrogate then has all points again, whatever it was learnt from.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincinv

from quell.arrays import FloatArray
from quell.gp import TrainingData

MOST_POINTS = 800
RENEWAL = 50
#: Chosen by accuracy and time (docs/experiments/overhead.md).
LEARNING_POINTS = 400
RECENT_SHARE, CORE_SHARE = 1 / 8, 1 / 2
#: Depth of the core: half this quantile of χ² with D degrees of freedom, by which a normal log
#: density falls from its mode, and these nats more. Depth of the shell: so many nats per
#: coordinate, and these more.
CORE_QUANTILE, CORE_MARGIN = 0.99, 2.0
SHELL_PER_DIMENSION, SHELL_MARGIN = 10.0, 10.0
#: Neighbours, itself included, over which noisy values are averaged, and how much farther than the
#: nearest ones they may be, for the sake of speed.
NEIGHBOURS = 8
NEIGHBOUR_TOLERANCE = 0.5
#: Smallest width of a coordinate by which distances are measured: absolute, and of the core as a
#: part of that of all points.
THINNEST, THINNEST_CORE = 1e-12, 1e-3

Rows = NDArray[np.intp]


def kept_rows(x: FloatArray, y: FloatArray, noisy: bool) -> Rows | None:
    """Rows of points x (n, D) with log joints y (n,) to train on, in order; None for all.

    ``x`` are in inference space and in the order of their evaluation.

    >>> rng = np.random.default_rng(1)
    >>> x = rng.normal(size=(2010, 2))
    >>> rows = kept_rows(x, -0.5 * (x**2).sum(axis=1), noisy=False)
    >>> len(rows), bool(np.isin(np.arange(1910, 2010), rows).all())
    (760, True)
    """
    n = len(x)
    if n <= MOST_POINTS:
        return None
    before = n - n % RENEWAL
    chosen = _chosen(x[:before].tobytes(), y[:before].tobytes(), x.shape[1], bool(noisy))
    return np.concatenate([chosen, np.arange(before, n)])


# The latest ones, in the surrogate's space and in that of the overview.
@lru_cache(maxsize=4)
def _chosen(x_bytes: bytes, y_bytes: bytes, dimension: int, noisy: bool) -> Rows:
    """`MOST_POINTS` less `RENEWAL` of the rows of x (n, D) and y (n,), in order."""
    x = np.frombuffer(x_bytes).reshape(-1, dimension)
    y = np.frombuffer(y_bytes)
    most = MOST_POINTS - RENEWAL
    level = neighbourhood_mean(x, y) if noisy else y
    best = float(level.max())
    core = level >= best - gammaincinv(0.5 * dimension, CORE_QUANTILE) - CORE_MARGIN
    shell = ~core & (level >= best - SHELL_PER_DIMENSION * dimension - SHELL_MARGIN)
    scale = np.maximum(x[core].std(axis=0), THINNEST + THINNEST_CORE * x.std(axis=0))
    z = x / scale
    recent = np.arange(len(x) - int(RECENT_SHARE * MOST_POINTS), len(x))
    kept = spread(z, recent, np.flatnonzero(core), int(CORE_SHARE * MOST_POINTS))
    kept = spread(z, kept, np.flatnonzero(shell), most - len(kept))
    # Too thin a shell: the core has more to give, and then whatever there is.
    kept = spread(z, kept, np.flatnonzero(core), most - len(kept))
    kept = spread(z, kept, np.argsort(-level, kind="stable")[:MOST_POINTS], most - len(kept))
    rows = np.sort(kept)
    rows.setflags(write=False)
    return rows


def may_be_some_of_many(data: TrainingData) -> bool:
    """Whether a training set is so large that it may be a choice, as by `kept_rows`."""
    return data.size >= MOST_POINTS - RENEWAL


def learning_part(data: TrainingData) -> TrainingData:
    """What hyperparameters are learnt from: some of very many observations, else all of them.

    >>> x = np.random.default_rng(1).normal(size=(500, 2))
    >>> data = TrainingData.from_arrays(x, -0.5 * (x**2).sum(axis=1))
    >>> learning_part(data).size, learning_part(data.subset(slice(300))).size
    (400, 300)
    """
    return data if data.size <= LEARNING_POINTS else data.part(learning_rows(data.x))


def learning_rows(x: FloatArray) -> Rows:
    """`LEARNING_POINTS` rows of more points x (n, D) to learn hyperparameters from, in order."""
    z = x / np.maximum(x.std(axis=0), THINNEST)
    even = np.linspace(0, len(x) - 1, LEARNING_POINTS // 2).astype(np.intp)
    return np.sort(spread(z, even, np.arange(len(x)), LEARNING_POINTS - len(even)))


def spread(z: FloatArray, kept: Rows, pool: Rows, count: int) -> Rows:
    """``kept`` and up to ``count`` rows of the ``pool``, each the farthest from all before it."""
    from scipy.spatial import cKDTree  # slow to import

    pool = np.setdiff1d(pool, kept)
    if count <= 0 or len(pool) == 0:
        return kept
    if len(pool) <= count:
        return np.concatenate([kept, pool])
    points = np.ascontiguousarray(z[pool].T)  # (D, m): a row operation per coordinate
    distance = np.square(np.asarray(cKDTree(z[kept]).query(z[pool])[0]))
    chosen = np.empty(count, dtype=np.intp)
    for i in range(count):
        chosen[i] = best = int(distance.argmax())
        offset = points - points[:, best : best + 1]
        np.minimum(distance, np.einsum("dm,dm->m", offset, offset), out=distance)
        distance[best] = -1.0
    return np.concatenate([kept, pool[chosen]])


def neighbourhood_mean(x: FloatArray, y: FloatArray) -> FloatArray:
    """Averages (n,) of y over each point and its nearest neighbours."""
    from scipy.spatial import cKDTree  # slow to import

    z = x / np.maximum(x.std(axis=0), THINNEST)
    _, neighbours = cKDTree(z).query(z, k=min(NEIGHBOURS, len(z)), eps=NEIGHBOUR_TOLERANCE)
    return np.asarray(y[neighbours].mean(axis=1))
