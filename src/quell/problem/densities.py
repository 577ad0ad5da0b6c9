"""The kinds of prior density a user can pass, each as one log density over points (n, D).

Distributions are recognised by what they can do, not by their class: SciPy has an older and a
newer family of one-dimensional distributions (``scipy.stats.norm(0, 1)`` and
``scipy.stats.Normal(mu=0, sigma=1)``), and users have their own. D counts all parameters, fixed
ones included.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from quell.arrays import FloatArray
from quell.checks import number
from quell.priors import ReadyPrior


class Density(Protocol):
    """What a prior asks of its density."""

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Log density (n,) at points θ (n, D) within the bounds; never nan or +inf."""

    def describe(self) -> dict[str, Any]:
        """Plain data by which priors are compared; a function is not data."""

    def labels(self, size: int) -> list[str]:
        """A few words for each of the ``size`` parameters."""


@dataclass(frozen=True)
class Constant:
    """The same log density ``level`` everywhere; ``label`` says what that means.

    >>> Constant(-1.5, "uniform").log_density(np.zeros((2, 3)))
    array([-1.5, -1.5])
    """

    level: float
    label: str

    def log_density(self, theta: FloatArray) -> FloatArray:
        """``level`` for each point."""
        return np.full(len(theta), self.level)

    def describe(self) -> dict[str, Any]:
        """The label alone: the level follows from the bounds."""
        return {"kind": self.label}

    def labels(self, size: int) -> list[str]:
        """The label, for each."""
        return [self.label] * size


@dataclass(frozen=True, eq=False)
class Independent:
    """One one-dimensional distribution per parameter; None for those without (fixed ones).

    >>> from scipy import stats
    >>> density = Independent((stats.norm(0, 1), None), ("a", "b"))
    >>> np.round(density.log_density(np.array([[0.0, 7.0]])), 4)
    array([-0.9189])
    """

    marginals: tuple[Any, ...]
    names: tuple[str, ...]

    def log_density(self, theta: FloatArray) -> FloatArray:
        """Sum of the log densities of the parameters."""
        total = np.zeros(len(theta))
        for i, (name, marginal) in enumerate(zip(self.names, self.marginals, strict=True)):
            if marginal is not None:
                who = f"prior[{i}] ({name!r})"
                logs = _logpdf(who, marginal, theta[:, i].copy())
                total += as_log_density(who, logs, theta, self.names)
        return total

    def describe(self) -> dict[str, Any]:
        """The distribution of each parameter as text."""
        return {"kind": "independent", "marginals": self.labels(len(self.names))}

    def labels(self, size: int) -> list[str]:
        """The distribution of each, with its parameters where it shows them."""
        return [distribution_text(marginal) for marginal in self.marginals[:size]]


@dataclass(frozen=True, eq=False)
class Joint:
    """One distribution over all parameters: ``logpdf`` takes points (n, D).

    >>> from scipy import stats
    >>> density = Joint(stats.multivariate_normal([0, 0]), ("a", "b"))
    >>> np.round(density.log_density(np.zeros((2, 2))), 4)
    array([-1.8379, -1.8379])
    """

    distribution: Any
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        kde = is_scipy("gaussian_kde", self.distribution)
        size = getattr(self.distribution, "d" if kde else "dim", None)
        if isinstance(size, int | np.integer) and size != len(self.names):
            raise ValueError(
                f"prior is the joint distribution {distribution_text(self.distribution)} of {size} "
                f"parameter{'s' if size > 1 else ''}, but there are {len(self.names)}: "
                f"{list(self.names)}"
            )

    def log_density(self, theta: FloatArray) -> FloatArray:
        """The distribution's ``logpdf``."""
        # SciPy's kernel density estimate has its points in columns.
        is_kde = is_scipy("gaussian_kde", self.distribution)
        logs = _logpdf("prior", self.distribution, theta.T.copy() if is_kde else theta.copy())
        return as_log_density("prior", logs, theta, self.names)

    def describe(self) -> dict[str, Any]:
        """What kind of distribution it is."""
        return {"kind": "joint", "distribution": distribution_text(self.distribution)}

    def labels(self, size: int) -> list[str]:
        """The name of the distribution, for each."""
        return [f"joint {distribution_text(self.distribution)}"] * size


@dataclass(frozen=True, eq=False)
class Function:
    """A log-density function of one point θ (D,).

    >>> Function(lambda theta: -abs(theta[0]), ("a",)).log_density(np.array([[1.0], [2.0]]))
    array([-1., -2.])
    """

    function: Callable[..., Any]
    names: tuple[str, ...]

    def log_density(self, theta: FloatArray) -> FloatArray:
        """The function, point by point."""
        logs = np.empty(len(theta))
        for i, point in enumerate(theta):
            try:
                logs[i] = number("its log density", self.function(point.copy()))
            except Exception as error:
                raise ValueError(
                    f"prior failed at {point_text(point, self.names)} with "
                    f"{type(error).__name__}: {error} (return the log density at theta, a number)"
                ) from error
        return as_log_density("prior", logs, theta, self.names)

    def describe(self) -> dict[str, Any]:
        """That it is a function; a name would change when the code is tidied."""
        return {"kind": "function"}

    def labels(self, size: int) -> list[str]:
        """The name of the function, for each."""
        return [getattr(self.function, "__name__", type(self.function).__name__)] * size


def _logpdf(who: str, distribution: Any, points: FloatArray) -> Any:
    try:
        with np.errstate(divide="ignore"):  # some distributions take the log of zero
            return distribution.logpdf(points)
    except Exception as error:
        wanted = "(n,)" if points.ndim == 1 else "(n, D), D counting all parameters"
        raise ValueError(
            f"{who}, {distribution_text(distribution)}, failed with {type(error).__name__}: "
            f"{error} (its logpdf must take points of shape {wanted})"
        ) from error


def as_log_density(who: str, logs: Any, theta: FloatArray, names: tuple[str, ...]) -> FloatArray:
    """``logs`` as floats (n,), refused where nan or +inf, naming the point of θ (n, D)."""
    array = np.asarray(logs)
    if array.dtype.kind not in "iuf" or array.size != len(theta):
        raise ValueError(
            f"{who} must give one real log density for each of {len(theta)} points, got an array "
            f"of shape {array.shape} and type {array.dtype}"
        )
    array = array.astype(np.float64).reshape(-1)
    bad = np.isnan(array) | (array == np.inf)
    if bad.any():
        row = int(np.argmax(bad))
        advice = (
            "check its parameters; return -inf where the density is zero"
            if np.isnan(array[row])
            else "keep the hard bounds away from points of infinite density"
        )
        raise ValueError(
            f"{who} has the log density {array[row]} at {point_text(theta[row], names)} ({advice})"
        )
    return array


def point_text(point: FloatArray, names: tuple[str, ...]) -> str:
    """A point as "a=1.5, b=-2"."""
    return ", ".join(f"{name}={value:.6g}" for name, value in zip(names, point, strict=True))


def is_scipy(kind: str, thing: Any) -> bool:
    """Whether ``thing`` is of the class ``scipy.stats.<kind>``.

    ``scipy.stats`` is slow to import and is not imported here: as long as no other code has
    imported it, none of its objects can exist.

    >>> from scipy import stats
    >>> is_scipy("rv_discrete", stats.poisson), is_scipy("rv_discrete", 3)
    (True, False)
    """
    stats = sys.modules.get("scipy.stats")
    return stats is not None and isinstance(thing, getattr(stats, kind))


def is_one_dimensional(distribution: Any) -> bool:
    """Whether it has quantiles, as only distributions of one variable do."""
    return hasattr(distribution, "ppf") or hasattr(distribution, "icdf")


def is_discrete(distribution: Any) -> bool:
    """Whether the distribution has a probability mass instead of a density.

    >>> from scipy import stats
    >>> is_discrete(stats.poisson(3)), is_discrete(stats.gamma(3))
    (True, False)
    """
    frozen_from = getattr(distribution, "dist", distribution)
    if is_scipy("rv_discrete", frozen_from):
        return True
    # The newer distributions have all methods, and their base class is not public.
    if any(base.__name__ == "DiscreteDistribution" for base in type(distribution).__mro__):
        return True
    return hasattr(distribution, "logpmf") and not hasattr(distribution, "logpdf")


def distribution_text(distribution: Any) -> str:
    """A short text for a distribution, without memory addresses.

    >>> from scipy import stats
    >>> distribution_text(stats.norm(0, scale=2.5)), distribution_text(None)
    ('norm(0, scale=2.5)', 'none')
    >>> distribution_text(stats.multivariate_normal([0, 0]))
    'multivariate_normal'
    """
    if distribution is None:
        return "none"
    if isinstance(distribution, ReadyPrior):
        return repr(distribution)
    if hasattr(distribution, "dist") and hasattr(distribution, "kwds"):
        positional = [_plain(value) for value in distribution.args]
        named = [f"{key}={_plain(value)}" for key, value in distribution.kwds.items()]
        name = getattr(distribution.dist, "name", None) or type(distribution.dist).__name__
        return f"{name}({', '.join(positional + named)})"
    if hasattr(distribution, "icdf") and type(distribution).__module__.startswith("scipy."):
        return " ".join(str(distribution).split())
    return type(distribution).__name__.removesuffix("_frozen")


def _plain(value: Any) -> str:
    """The repr without NumPy's type names."""
    return repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
