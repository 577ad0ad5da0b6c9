"""How far two posteriors of the same parameters are apart."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.checks import choice, integer, matrix
from quell.mixture.divergence import gaussian_kl
from quell.results.posterior import Posterior
from quell.streams import as_generator

if TYPE_CHECKING:
    from quell.results.one_parameter import OneParameter
    from quell.results.result import Result

#: Draws behind a KL divergence: its standard error is then 0.02 where it is one nat.
DRAWS = 20_000
#: Quantiles of each of two marginals between which their probabilities are compared.
CELLS = 2_000
#: Probability beyond the outermost of them, and beyond the outermost integers.
TAIL = 1e-9
#: Fewer draws than these make no density.
FEWEST_DRAWS = 100


class Divergence(NamedTuple):
    """A KL divergence in nats, and its standard error by Monte Carlo: 0 for a closed form."""

    value: float
    standard_error: float


def kl_divergence(
    p: "Posterior | Result",
    q: "Posterior | Result",
    *,
    n: int = DRAWS,
    seed: np.random.Generator | int = 0,
    method: Literal["monte carlo", "gaussian"] = "monte carlo",
) -> Divergence:
    """The Kullback-Leibler divergence KL(p‖q), the expectation of log p − log q under p.

    Parameters
    ----------
    p, q
        Two posteriors, or results, of parameters of the same names. It is not symmetric: infinite
        where q is zero and p is not.
    n
        Draws from p, for "monte carlo".
    seed
        A seed or a generator; always the same draws by default.
    method
        "monte carlo", or "gaussian": of the normal distributions with their means and covariances,
        in closed form; coarse, and finite where tails are not known.

    Returns
    -------
    Divergence
        The ``value`` in nats, and its ``standard_error``.

    Examples
    --------
    >>> from quell.mixture import Mixture
    >>> from quell.space import InferenceSpace
    >>> space = InferenceSpace.from_bounds(-np.inf, np.inf, -0.5, 0.5, names=["a"])
    >>> one = Posterior(Mixture([1.0], [[0.0]], [1.0], [1.0]), space)
    >>> other = Posterior(Mixture([1.0], [[1.0]], [1.0], [1.0]), space)
    >>> round(kl_divergence(one, other, method="gaussian").value, 6)
    0.5
    >>> bool(abs(kl_divergence(one, other).value - 0.5) < 0.05)
    True
    """
    p, q = _posterior("p", p), _posterior("q", q)
    order = _columns(p, q)
    choice("method", method, ("monte carlo", "gaussian"))
    if method == "gaussian":
        free = np.flatnonzero(p.space.free)
        own, others = np.ix_(free, free), np.ix_(order[free], order[free])
        value = gaussian_kl(
            p.mean()[free], p.covariance()[own], q.mean()[order[free]], q.covariance()[others]
        )
        return Divergence(value, 0.0)
    draws = p.sample(integer("n", n, least=2), as_generator(seed))
    theirs = np.empty_like(draws)
    theirs[:, order] = draws
    difference = p.as_prior().logpdf(draws) - q.as_prior().logpdf(theirs)
    if not np.isfinite(difference).all():
        return Divergence(np.inf, 0.0)
    return Divergence(
        float(difference.mean()), float(difference.std(ddof=1) / np.sqrt(len(difference)))
    )


def mmtv(p: "Posterior | Result", q: "Posterior | Result | ArrayLike") -> float:
    """Mean marginal total variation distance: 0 for equal marginals, 1 for disjoint ones.

    The average over the free parameters of ``½ ∫ |p_i − q_i|``. In the benchmark an answer is
    usable where it is below 0.2.

    Parameters
    ----------
    p
        A posterior, or a result.
    q
        Another one of parameters of the same names, or draws (n, dimension) in the order of p's,
        as from MCMC. The density of draws is an estimate: 1000 of p itself are 0.035 away.

    Examples
    --------
    >>> from quell.mixture import Mixture
    >>> from quell.space import InferenceSpace
    >>> space = InferenceSpace.from_bounds(-np.inf, np.inf, -0.5, 0.5, names=["a"])
    >>> one = Posterior(Mixture([1.0], [[0.0]], [1.0], [1.0]), space)
    >>> other = Posterior(Mixture([1.0], [[1.0]], [1.0], [1.0]), space)
    >>> round(mmtv(one, other), 3)
    0.383
    >>> mmtv(one, np.random.default_rng(1).standard_normal((5000, 1))) < 0.05
    True
    """
    p = _posterior("p", p)
    free = np.flatnonzero(p.space.free)
    if isinstance(q, Posterior) or hasattr(q, "posterior"):
        q = _posterior("q", q)
        order = _columns(p, q)
        pairs = [(p.marginal(i), q.marginal(int(order[i]))) for i in free]
        return float(np.mean([_marginal_distance(*pair) for pair in pairs]))
    draws = matrix("q", q, p.dimension, names=p.names)
    if len(draws) < FEWEST_DRAWS:
        raise ValueError(f"q must have at least {FEWEST_DRAWS} draws, got {len(draws)}")
    return float(np.mean([_distance_to_draws(p.marginal(i), draws[:, i]) for i in free]))


def _posterior(argument: str, given: Any) -> Posterior:
    given = getattr(given, "posterior", given)
    if not isinstance(given, Posterior):
        raise TypeError(
            f"{argument} must be a quell.Posterior or a quell.Result, got an object of type "
            f"{type(given).__name__}"
        )
    return given


def _columns(p: Posterior, q: Posterior) -> Any:
    """For each parameter of p its index in q; ``ValueError`` unless they have the same."""
    if sorted(p.names) != sorted(q.names):
        raise ValueError(
            f"p and q must have the same parameters, got {list(p.names)} and {list(q.names)}"
        )
    order = np.array([q.names.index(name) for name in p.names])
    differ = p.space.free != q.space.free[order]
    if differ.any():
        name = p.names[int(np.argmax(differ))]
        raise ValueError(f"{name!r} is fixed in one of p and q and free in the other")
    return order


def _marginal_distance(p: "OneParameter", q: "OneParameter") -> float:
    """Total variation by cells so small that both densities are smooth in each."""
    if p.integer and q.integer:
        ends = [value for m in (p, q) for value in m.ppf([TAIL, 1.0 - TAIL])]
        low, high = np.rint(min(ends)), np.rint(max(ends))
        if high - low < CELLS:
            edges = np.arange(low, high + 2) - 0.5
            return _total_variation(p.cdf(edges), q.cdf(edges))
    shares = np.concatenate([[TAIL], (np.arange(CELLS) + 0.5) / CELLS, [1.0 - TAIL]])
    edges = np.unique(np.concatenate([p.ppf(shares), q.ppf(shares)]))
    if p.space.bounds.periodic[p.parameter]:
        around = np.append(edges, edges[0])
        ours, theirs = (np.mod(np.diff(m.cdf(around)), 1.0) for m in (p, q))
        return float(min(1.0, 0.5 * np.abs(ours - theirs).sum()))
    return _total_variation(p.cdf(edges), q.cdf(edges))


def _total_variation(p: FloatArray, q: FloatArray) -> float:
    """From the probabilities (n,) of two distributions below the same ends of cells."""
    difference = np.diff(p - q, prepend=0.0, append=0.0)
    return float(min(1.0, 0.5 * np.abs(difference).sum()))


def _distance_to_draws(p: "OneParameter", draws: FloatArray) -> float:
    from quell.results.density import density_from_draws  # slow to import

    bounds, i = p.space.bounds, p.parameter
    if p.integer:
        values = np.rint(draws)
        edges = np.arange(values.min(), values.max() + 2) - 0.5
        counts = np.searchsorted(np.sort(values), edges) / len(values)
        return _total_variation(p.cdf(edges), counts)
    lower, upper = float(bounds.lower[i]), float(bounds.upper[i])
    if bounds.periodic[i]:
        draws = lower + np.mod(draws - lower, upper - lower)
    outside = (draws < lower) | (draws > upper)
    density = density_from_draws(draws[~outside], lower=lower, upper=upper)
    grid = density.grid
    steps = 0.5 * (density(grid)[1:] + density(grid)[:-1]) * np.diff(grid)
    share = 1.0 - outside.mean()
    below = np.concatenate([[0.0], np.cumsum(steps)])
    below *= share / below[-1]
    ours = p.to_scipy().cdf(grid) if bounds.periodic[i] else p.cdf(grid)
    return _total_variation(ours, below)
