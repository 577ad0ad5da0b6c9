"""What a run returns: the posterior, the evidence, and how they came about."""

from quell.results.divergence import Divergence, kl_divergence, mmtv
from quell.results.marginal import Marginal
from quell.results.posterior import Posterior
from quell.results.result import Result
from quell.results.whole_numbers import IntegerMarginal

__all__ = [
    "Divergence",
    "IntegerMarginal",
    "Marginal",
    "Posterior",
    "Result",
    "kl_divergence",
    "mmtv",
]
