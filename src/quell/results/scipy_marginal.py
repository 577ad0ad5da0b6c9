"""The marginal of one parameter as a distribution of ``scipy.stats``, which is slow to import."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from quell.arrays import FloatArray

if TYPE_CHECKING:
    from quell.results.one_parameter import OneParameter

UNIFORM_VARIANCE = 1 / 12  # of the cell of an integer


#: Untyped, because SciPy reads the parameters of a distribution off the signatures of its methods,
#: so they cannot be those of its stubs.
_Continuous: Any = stats.rv_continuous


class MarginalDistribution(_Continuous):  # type: ignore[misc]
    """SciPy's view of a `Marginal`; see `Marginal.to_scipy`.

    >>> from quell.mixture import Mixture
    >>> from quell.results import Posterior
    >>> from quell.space import InferenceSpace
    >>> space = InferenceSpace.from_bounds(-np.inf, np.inf, -1, 1, names=["a"])
    >>> marginal = Posterior(Mixture([1.0], [[0.0]], [1.0], [1.0]), space).marginal("a")
    >>> round(float(MarginalDistribution(marginal).std()), 6)
    2.0
    """

    def __init__(self, marginal: OneParameter, *arguments: Any, **named: Any) -> None:
        self._marginal = marginal
        low, high = marginal.support()
        named |= {"a": low, "b": high, "name": named.get("name") or "posterior_marginal"}
        # Probability between the seam, from which the marginal counts, and the lower bound.
        circle = marginal.space.bounds.periodic[marginal.parameter]
        self._before = float(marginal.cdf(low)) if circle else 0.0
        super().__init__(*arguments, **named)

    def _updated_ctor_param(self) -> dict[str, Any]:
        return {**super()._updated_ctor_param(), "marginal": self._marginal}

    def _continuous_cdf(self, x: FloatArray) -> FloatArray:
        below = self._marginal.cdf(x)
        if not self._before:
            return below
        return np.where(x >= self.b, 1.0, np.mod(below - self._before, 1.0))

    def _mass(self, k: FloatArray) -> FloatArray:
        return self._continuous_cdf(k + 0.5) - self._continuous_cdf(k - 0.5)

    def _pdf(self, x: FloatArray) -> FloatArray:
        return self._mass(np.rint(x)) if self._marginal.integer else self._marginal.density(x)

    def _logpdf(self, x: FloatArray) -> FloatArray:
        if not self._marginal.integer:
            return self._marginal.logpdf(x)
        with np.errstate(divide="ignore"):
            return np.log(self._pdf(x))

    def _cdf(self, x: FloatArray) -> FloatArray:
        if not self._marginal.integer:
            return self._continuous_cdf(x)
        k = np.rint(x)
        return self._continuous_cdf(k - 0.5) + (x - k + 0.5) * self._mass(k)

    def _ppf(self, q: FloatArray) -> FloatArray:
        if not self._marginal.integer:
            return self._marginal.ppf(np.mod(q + self._before, 1.0) if self._before else q)
        k = np.rint(self._marginal.ppf(q))
        with np.errstate(divide="ignore", invalid="ignore"):
            part = (q - self._continuous_cdf(k - 0.5)) / self._mass(k)
        return k - 0.5 + np.clip(np.nan_to_num(part, nan=0.5), 0.0, 1.0)

    def _stats(self) -> tuple[float, float, None, None]:
        extra = UNIFORM_VARIANCE if self._marginal.integer else 0.0
        return self._marginal.mean(), self._marginal.var() + extra, None, None


def frozen(marginal: OneParameter) -> Any:
    """The marginal as a frozen distribution."""
    return MarginalDistribution(marginal)()
