"""Quell: Bayesian inference when the log-likelihood is expensive and noisy.

Names are imported when they are first used, so that ``import quell``, and the command ``quell``
with its help and its completions, begin at once; NumPy and SciPy take half a second.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from quell.version import __version__

if TYPE_CHECKING:
    from quell import likelihoods, priors
    from quell.calibration import Calibration, predictive_check
    from quell.calibration.calibrate import calibrate
    from quell.comparison import Comparison, GroupComparison
    from quell.comparison.compare import compare
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
    from quell.loading.load import load
    from quell.problem import Problem
    from quell.results import Marginal, Posterior, Result, kl_divergence, mmtv
    from quell.results.agreement import Agreement, diagnose
    from quell.sampler import Sampler
    from quell.settings import Settings
    from quell.stacking import StackedPosterior, StackedResult
    from quell.stacking.stack import stack
    from quell.studies.result import StudyResult
    from quell.study import study

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

#: Where each name comes from; all other names of the list above are rooms of the package.
_WHERE = {
    "Agreement": "quell.results.agreement",
    "BudgetWarning": "quell.errors",
    "Calibration": "quell.calibration",
    "Comparison": "quell.comparison",
    "Evaluations": "quell.evaluations",
    "FileError": "quell.errors",
    "GroupComparison": "quell.comparison",
    "InferenceFailed": "quell.errors",
    "InferenceInterrupted": "quell.errors",
    "JournalError": "quell.errors",
    "Marginal": "quell.results",
    "Posterior": "quell.results",
    "Problem": "quell.problem",
    "Result": "quell.results",
    "Sampler": "quell.sampler",
    "Settings": "quell.settings",
    "StackedPosterior": "quell.stacking",
    "StackedResult": "quell.stacking",
    "StudyResult": "quell.studies.result",
    "calibrate": "quell.calibration",
    "compare": "quell.comparison",
    "diagnose": "quell.results.agreement",
    "fit": "quell.infer",
    "infer": "quell.infer",
    "join_evaluations": "quell.evaluations",
    "kl_divergence": "quell.results",
    "load": "quell.loading",
    "mmtv": "quell.results",
    "predictive_check": "quell.calibration",
    "read_journal": "quell.journal",
    "stack": "quell.stacking",
    "study": "quell.study",
}


class _Function:
    """A name that is a function's, although a module has it too.

    Python puts a module in its package when it is imported, and would replace the function.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, package: Any, kind: type | None = None) -> Any:
        known = vars(package)
        if self.name not in known:
            found = getattr(import_module(_WHERE[self.name]), self.name)
            known.setdefault(self.name, found)
        return known[self.name]

    def __set__(self, package: Any, value: Any) -> None:
        if not isinstance(value, ModuleType):
            vars(package)[self.name] = value


class _Package(ModuleType):
    infer = _Function()
    study = _Function()


sys.modules[__name__].__class__ = _Package

if not TYPE_CHECKING:

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        try:
            if name in _WHERE:
                found = getattr(import_module(_WHERE[name]), name)
            else:
                found = import_module(f"{__name__}.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None
        globals()[name] = found
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
