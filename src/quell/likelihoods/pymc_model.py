"""A PyMC model as a problem: its parameters with their bounds and prior, and its likelihood.

Parameters are those of the model on their own scale, not on PyMC's unbounded one; an array of them
is one parameter for each entry, as "beta[0]", "beta[1]". Bounds are those of PyMC's transforms.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.interface import import_extra
from quell.problem import Problem
from quell.problem.noise import Noise

#: Draws from the prior behind the plausible box, their seed, and the quantiles that are its ends.
PRIOR_DRAWS, PRIOR_SEED, SHARES = 2000, 0, (0.16, 0.84)


def from_pymc(
    model: Any,
    log_likelihood: Callable[..., Any] | None = None,
    *,
    noise: Noise | None = None,
    plausible_lower: ArrayLike | None = None,
    plausible_upper: ArrayLike | None = None,
) -> Problem:
    """The problem that a PyMC model states.

    Worth it where the model's likelihood is expensive, for instance a simulator wrapped as a
    ``CustomDist``; for cheap ones with gradients PyMC's own samplers are better. Needs PyMC
    (``pip install "quell[pymc]"``).

    Parameters
    ----------
    model
        A ``pymc.Model``. Its continuous free variables are the parameters; those that constrain
        each other by a transform (simplex, ordered, Cholesky factors) are refused.
    log_likelihood
        A function as for :class:`quell.Problem`, of all parameters in the order of the names, in
        place of the model's own likelihood: the model may then consist of priors alone.
    noise
        As in :class:`quell.Problem`; by default "exact" for the model's own likelihood, and "auto"
        for a function.
    plausible_lower, plausible_upper
        The plausible box, (D,) each; by default the central 68 % of the prior, from draws.

    Returns
    -------
    Problem
        With the model's names, bounds and prior. The likelihood has the model's potentials, if
        any. Models are sent to other processes by cloudpickle only, as loky and Dask do.

    Examples
    --------
    >>> import pymc as pm                                            # doctest: +SKIP
    >>> with pm.Model() as model:                                    # doctest: +SKIP
    ...     mu = pm.Normal("mu", 0, 2)
    ...     sigma = pm.HalfNormal("sigma", 1)
    ...     pm.Normal("y", mu, sigma, observed=[1.2, 0.7, 1.9])
    >>> problem = quell.likelihoods.from_pymc(model)                 # doctest: +SKIP
    >>> problem.names                                                # doctest: +SKIP
    ('mu', 'sigma')
    """
    pymc = import_extra("pymc", "from_pymc", extra="pymc")
    if not isinstance(model, pymc.Model):
        raise TypeError(f"model must be a pymc.Model, got an object of type {type(model).__name__}")
    _refuse_unsuitable(pymc, model, needs_likelihood=log_likelihood is None)
    parts = _parts(pymc, model)
    periodic = [name for part in parts if part.periodic for name in part.names]
    if plausible_lower is None and plausible_upper is None:
        plausible_lower, plausible_upper = _plausible_box(pymc, model, parts)
    plain = pymc.model.transform.conditioning.remove_value_transforms(model)
    prior = PymcPrior(plain, plain.free_RVs, parts)
    if log_likelihood is None:
        log_likelihood = LogDensity(plain, [*plain.observed_RVs, *plain.potentials], parts)
        noise = "exact" if noise is None else noise
    return Problem(
        log_likelihood,
        lower=np.concatenate([part.lower for part in parts]),
        upper=np.concatenate([part.upper for part in parts]),
        plausible_lower=plausible_lower,
        plausible_upper=plausible_upper,
        prior=prior,
        names=[name for part in parts for name in part.names],
        noise="auto" if noise is None else noise,
        periodic=periodic or None,
    )


@dataclass(frozen=True, eq=False)
class Part:
    """One free variable of a model: its name, its shape, and the bounds (size,) of its entries.

    ``dependent`` if it has others, which depend on other variables.
    """

    variable: str
    shape: tuple[int, ...]
    lower: FloatArray
    upper: FloatArray
    periodic: bool = False
    dependent: bool = False

    @property
    def size(self) -> int:
        """Number of entries."""
        return int(np.prod(self.shape, dtype=int))

    @property
    def names(self) -> list[str]:
        """A name for each entry: the variable's own for a scalar."""
        if not self.shape:
            return [self.variable]
        places = np.ndindex(*self.shape)
        return [f"{self.variable}[{', '.join(map(str, place))}]" for place in places]


@dataclass(eq=False)
class LogDensity:
    """The sum of log densities of some ``variables`` of a model, as a function of θ (D,).

    Compiled when it is first called. Compiled functions are for one thread at a time, hence the
    lock.
    """

    model: Any
    variables: Sequence[Any]
    parts: list[Part]
    _compiled: Any = field(default=None, repr=False)
    _lock: Any = field(default_factory=threading.Lock, repr=False)

    def __call__(self, theta: FloatArray) -> float:
        """The log density; −inf where a parameter of a distribution is not valid."""
        with self._lock:
            if self._compiled is None:
                self._compiled = self.model.compile_logp(vars=list(self.variables), jacobian=False)
            return float(self._compiled(self._point(theta)))

    def _point(self, theta: FloatArray) -> dict[str, FloatArray]:
        ends = np.cumsum([part.size for part in self.parts])[:-1]
        pieces = zip(self.parts, np.split(np.asarray(theta, dtype=np.float64), ends), strict=True)
        return {part.variable: piece.reshape(part.shape) for part, piece in pieces}

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_compiled": None, "_lock": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state | {"_lock": threading.Lock()})


class PymcPrior(LogDensity):
    """The prior of a model: a joint distribution of all parameters."""

    @property
    def may_be_zero(self) -> bool:
        """Whether the density may be zero within the bounds: where a bound depends on others."""
        return any(part.dependent for part in self.parts)

    def logpdf(self, theta: FloatArray) -> FloatArray:
        """Log density (n,) at points (n, D)."""
        return np.array([self(point) for point in np.atleast_2d(theta)])


def _refuse_unsuitable(pymc: Any, model: Any, *, needs_likelihood: bool) -> None:
    if not model.free_RVs:
        raise ValueError("model has no free variables, so there is nothing to infer")
    if model.discrete_value_vars:
        name = model.discrete_value_vars[0].name
        raise ValueError(
            f"model has the discrete variable {name!r}, which from_pymc cannot take (sum it out, "
            "or state the problem with quell.Problem and integer=)"
        )
    if needs_likelihood and not (model.observed_RVs or model.potentials):
        raise ValueError(
            "model has no observed variable and no potential, so it has no likelihood (pass a "
            "function as log_likelihood)"
        )
    for variable in model.free_RVs:
        transform = model.rvs_to_transforms[variable]
        if transform is not None and _ends(pymc, variable, transform) is None:
            raise ValueError(
                f"model has {variable.name!r} with the transform {type(transform).__name__}, whose "
                "bounds from_pymc does not know (write it with variables that do not constrain "
                "each other, or state the problem with quell.Problem)"
            )


def _parts(pymc: Any, model: Any) -> list[Part]:
    point, parts = model.initial_point(), []
    for variable in model.free_RVs:
        value, transform = model.rvs_to_values[variable], model.rvs_to_transforms[variable]
        shape = tuple(np.shape(point[value.name]))
        low, high = (-np.inf, np.inf) if transform is None else _ends(pymc, variable, transform)
        lower, upper = (np.broadcast_to(end, shape).ravel().astype(float) for end in (low, high))
        circle = isinstance(transform, pymc.distributions.transforms.CircularTransform)
        random = isinstance(transform, pymc.distributions.transforms.Interval) and any(
            _is_random(pymc, end) for end in transform.args_fn(*variable.owner.inputs)
        )
        parts.append(Part(variable.name, shape, lower, upper, circle, random))
    return parts


def _ends(pymc: Any, variable: Any, transform: Any) -> Any:
    """Lower and upper bound by a transform; None for one that is not of single entries.

    Bounds that depend on other variables are infinite here: the prior is zero beyond them.
    """
    known = pymc.distributions.transforms
    if isinstance(transform, known.CircularTransform):
        return -np.pi, np.pi
    if isinstance(transform, known.LogOddsTransform):
        return 0.0, 1.0
    if isinstance(transform, known.LogTransform):
        return 0.0, np.inf
    if isinstance(transform, known.Interval):
        low, high = transform.args_fn(*variable.owner.inputs)
        return _constant(pymc, low, -np.inf), _constant(pymc, high, np.inf)
    return None


def _constant(pymc: Any, end: Any, otherwise: float) -> Any:
    """The value of a bound; ``otherwise`` where there is none or it is random."""
    if end is None or _is_random(pymc, end):
        return otherwise
    return end.eval() if hasattr(end, "eval") else end


def _is_random(pymc: Any, end: Any) -> bool:
    """Whether a bound depends on random variables."""
    return hasattr(end, "owner") and bool(pymc.pytensorf.rvs_in_graph(end))


def _plausible_box(pymc: Any, model: Any, parts: list[Part]) -> tuple[FloatArray, FloatArray]:
    """The central 68 % of draws from the prior."""
    try:
        draws = pymc.draw(list(model.free_RVs), draws=PRIOR_DRAWS, random_seed=PRIOR_SEED)
    except Exception as error:
        first = str(error).splitlines()[0] if str(error) else ""
        raise ValueError(
            f"the model's prior cannot be drawn from, {type(error).__name__}: {first} (mend it, or "
            "give plausible_lower and plausible_upper)"
        ) from error
    columns = [np.reshape(entry, (PRIOR_DRAWS, -1)) for entry in draws]
    assert len(columns) == len(parts)
    low, high = np.quantile(np.concatenate(columns, axis=1), SHARES, axis=0)
    return low, high
