"""Quell: Bayesian inference when the log-likelihood is expensive and noisy."""

from quell import likelihoods
from quell.comparison import Comparison, GroupComparison, compare
from quell.errors import BudgetWarning, InferenceFailed, InferenceInterrupted, JournalError
from quell.evaluations import Evaluations, join_evaluations
from quell.infer import fit, infer
from quell.journal import read_journal
from quell.problem import Problem
from quell.results import Marginal, Posterior, Result
from quell.sampler import Sampler
from quell.settings import Settings
from quell.stacking import StackedPosterior, StackedResult, stack
from quell.studies.result import StudyResult
from quell.study import study
from quell.version import __version__

__all__ = [
    "BudgetWarning",
    "Comparison",
    "Evaluations",
    "GroupComparison",
    "InferenceFailed",
    "InferenceInterrupted",
    "JournalError",
    "Marginal",
    "Posterior",
    "Problem",
    "Result",
    "Sampler",
    "Settings",
    "StackedPosterior",
    "StackedResult",
    "StudyResult",
    "__version__",
    "compare",
    "fit",
    "infer",
    "join_evaluations",
    "likelihoods",
    "read_journal",
    "stack",
    "study",
]
