"""Bad inputs, each of them handed in for real; `tests/faults/test_fault_table.py` runs them.

A case is a function that raises, warns, or returns text about a run that went on (or what it got,
and text). What came of it is a row of docs/faults.md.
"""

import os
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.stats
from helpers.problems import QUICK, noisy

import quell
from quell import Problem, Sampler, Settings, infer

BOX = {"lower": [-10.0], "upper": [10.0], "plausible_lower": [-3.0], "plausible_upper": [3.0]}
BOTH = {key: value * 2 for key, value in BOX.items()}


@dataclass(frozen=True)
class Case:
    """A fault: what is done, what it is expected to get, and how to bring it about.

    ``gets`` is the name of an exception, "warning", "the run goes on" or what the function says;
    ``says`` has to be in the text. ``hide`` are patterns that differ between machines.
    """

    what: str
    gets: str
    says: str
    act: Callable[[Path], object]
    hide: tuple[str, ...] = ()

    def outcome(self, folder: Path) -> tuple[str, str]:
        """What it gets, and the text."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                answer = self.act(folder)
            except (Exception, KeyboardInterrupt) as error:
                return _public_name(error), self.clean(str(error), folder)
        told = [str(w.message) for w in caught if w.category is UserWarning]
        if told:
            return "warning", self.clean(told[0], folder)
        if isinstance(answer, tuple):
            gets, text = answer
            return gets, self.clean(text, folder)
        return "the run goes on", self.clean(str(answer), folder)

    def clean(self, text: str, folder: Path) -> str:
        """The text without what is particular to this machine and moment."""
        text = text.replace(f"{folder}{os.sep}", "").replace(str(folder), ".")
        for pattern in self.hide:
            text = re.sub(pattern, "…", text)
        return " / ".join(line.strip() for line in text.strip().splitlines())


def _public_name(error):
    """The name of its class, or of the first one above it that users can import from `quell`."""
    kinds = type(error).__mro__
    return next(
        k.__name__ for k in kinds if k.__module__ == "builtins" or hasattr(quell, k.__name__)
    )


def problem(target=noisy, **changes):
    return Problem(target, **({**BOX, "noise": "reported"} | changes))


def run(target=noisy, *, noise="reported", budget=12, **changes):
    how = {"budget": budget, "seed": 1, "settings": QUICK, "progress": False}
    return infer(problem(target, noise=noise), **(how | changes))


def made(**changes):
    return lambda _: Problem(**({"log_likelihood": noisy, **BOTH} | changes))


async def later(_theta):
    return 0.0


PROBLEMS = [
    Case("the log-likelihood is no function", "TypeError", "must be a function",
         made(log_likelihood=3)),
    Case("the log-likelihood is an async function", "TypeError", "async",
         made(log_likelihood=later)),
    Case("a lower bound above its upper bound", "ValueError", "lower", made(lower=[-10, 11])),
    Case("a plausible box outside the hard bounds", "ValueError", "plausible_upper",
         made(plausible_upper=[3, 30])),
    Case("an infinite plausible bound", "ValueError", "finite",
         made(plausible_lower=[-np.inf, -3])),
    Case("bounds of different lengths", "ValueError", "shape", made(upper=[10, 10, 10])),
    Case("a bound that is nan", "ValueError", "nan", made(lower=[np.nan, -10])),
    Case("every parameter fixed", "ValueError", "nothing is left to infer",
         made(lower=[1, 1], upper=[1, 1], plausible_lower=[1, 1], plausible_upper=[1, 1])),
    Case("two parameters of one name", "ValueError", "twice", made(names=["a", "a"])),
    Case("names as one string", "ValueError", "single string", made(names="ab")),
    Case("an unknown noise mode", "ValueError", "noise must be one of", made(noise="gaussian")),
    Case("an unknown map of bounded parameters", "ValueError", "bounded", made(bounded="log")),
    Case("a prior that is a word", "ValueError", "prior must be", made(prior="flat")),
    Case("a prior with an entry too few", "ValueError", "expected 2",
         made(prior=[scipy.stats.norm(0, 1)])),
    Case("a distribution without its parameters as prior", "TypeError", "freeze",
         made(prior=[scipy.stats.gamma] * 2)),
    Case("a discrete distribution as prior", "ValueError", "no density",
         made(prior=[scipy.stats.poisson(3)] * 2)),
    Case("a prior that is zero within the bounds", "ValueError", "zero everywhere",
         made(prior=[scipy.stats.uniform(20, 1)] * 2)),
    Case("a plausible box where the prior is zero", "ValueError", "beyond which the prior is zero",
         made(prior=[scipy.stats.uniform(0, 9)] * 2)),
    Case("a joint prior of another dimension", "ValueError", "but there are 2",
         made(prior=scipy.stats.multivariate_normal([0, 0, 0]))),
    Case("an integer parameter that does not exist", "ValueError", "unknown name",
         made(integer=["n"])),
    Case("a negative guess of the noise", "ValueError", "positive", made(noise_guess=-1.0)),
]  # fmt: skip

ARGUMENTS = [
    Case("a negative budget", "ValueError", "budget", lambda _: run(budget=-1)),
    Case("a budget of 0 without a head start", "ValueError", "budget", lambda _: run(budget=0)),
    Case("a run without a log-likelihood", "ValueError", "quell.fit", lambda _: run(target=None)),
    Case("a budget smaller than the design", "ValueError", "at least 10", lambda _: run(budget=9)),
    Case("a negative seed", "ValueError", "seed", lambda _: run(seed=-1)),
    Case("a start out of bounds", "ValueError", "start", lambda _: run(start=[11.0])),
    Case("a head start with a value too few", "ValueError", "values",
         lambda _: run(evaluations=([[0.0], [1.0]], [0.0], [0.5]))),
    Case("an unknown acquisition function", "ValueError", "did you mean",
         lambda _: Settings(acquisition="virq")),
    Case("an unknown variant of the settings", "ValueError", "did you mean",
         lambda _: Settings.variant("paper-virq")),
    Case("a batch of 0", "ValueError", "batch", lambda _: Settings(batch=0)),
    Case("an executor that is none", "TypeError", "executor must be", lambda _: run(executor=4)),
    Case("workers without an executor", "ValueError", "executor=", lambda _: run(workers=4)),
    Case("a time-out of 0", "ValueError", "timeout", lambda _: run(timeout=0)),
    Case("a negative number of retries", "ValueError", "retries", lambda _: run(retries=-1)),
]  # fmt: skip


def told(*arguments):
    return lambda _: Sampler(problem(), seed=1).tell(*arguments)


SAMPLERS = [
    Case("asking for no points", "ValueError", "positive integer",
         lambda _: Sampler(problem(), seed=1).ask(0)),
    Case("telling a point out of bounds", "ValueError", "must lie within",
         told([[11.0]], [0.0], [0.5])),
    Case("telling more values than points", "ValueError", "values",
         told([[1.0]], [0.0, 1.0], [0.5, 0.5])),
    Case("forgetting a point that is not pending", "ValueError", "not pending",
         lambda _: Sampler(problem(), seed=1).forget([1.0])),
    Case("a result before there are evaluations", "InferenceFailed", "too few",
         lambda _: Sampler(problem(), seed=1).result()),
]  # fmt: skip
