"""What a run returns: the posterior, the evidence, and how they came about."""

import quell.results.problem_html  # noqa: F401  gives problems their look in a notebook
from quell.results.divergence import Divergence, kl_divergence, mmtv
from quell.results.marginal import Marginal
from quell.results.posterior import Posterior
from quell.results.result import Result

__all__ = ["Divergence", "Marginal", "Posterior", "Result", "kl_divergence", "mmtv"]
