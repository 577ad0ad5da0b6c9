"""What a run returns: the posterior, the evidence, and how they came about."""

from quell.results.posterior import Marginal, Posterior
from quell.results.result import Result

__all__ = ["Marginal", "Posterior", "Result"]
