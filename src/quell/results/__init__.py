"""What a run returns: the posterior, the evidence, and how they came about."""

from quell.results.marginal import Marginal
from quell.results.posterior import Posterior
from quell.results.result import Result

__all__ = ["Marginal", "Posterior", "Result"]
