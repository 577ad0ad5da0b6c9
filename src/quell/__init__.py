"""Quell: Bayesian inference when the log-likelihood is expensive and noisy."""

from quell import likelihoods, priors
from quell.calibration import Calibration, calibrate, predictive_check
from quell.comparison import Comparison, GroupComparison, compare
from quell.errors import (
    BudgetWarning,
    FileError,
    InferenceFailed,
    InferenceInterrupted,
    JournalError,
)
from quell.evaluations import Evaluations, join_evaluations
from quell.infer import fit, infer
from quell.journal import read_journal
from quell.loading import load
from quell.problem import Problem
from quell.results import Marginal, Posterior, Result, kl_divergence, mmtv
from quell.results.agreement import Agreement, diagnose
from quell.sampler import Sampler
from quell.settings import Settings
from quell.stacking import StackedPosterior, StackedResult, stack
from quell.studies.result import StudyResult
from quell.study import study
from quell.version import __version__

__all__ = [
    "Agreement",
    "BudgetWarning",
    "Calibration",
    "Comparison",
    "Evaluations",
    "FileError",
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
    "calibrate",
    "compare",
    "diagnose",
    "fit",
    "infer",
    "join_evaluations",
    "kl_divergence",
    "likelihoods",
    "load",
    "mmtv",
    "predictive_check",
    "priors",
    "read_journal",
    "stack",
    "study",
]
