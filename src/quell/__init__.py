"""Quell: Bayesian inference when the log-likelihood is expensive and noisy."""

from quell.evaluations import Evaluations
from quell.infer import infer
from quell.posterior import Marginal, Posterior
from quell.problem import Problem
from quell.result import Result
from quell.run import InferenceFailed
from quell.settings import Settings

__version__ = "0.1.0.dev0"

__all__ = [
    "Evaluations",
    "InferenceFailed",
    "Marginal",
    "Posterior",
    "Problem",
    "Result",
    "Settings",
    "__version__",
    "infer",
]
