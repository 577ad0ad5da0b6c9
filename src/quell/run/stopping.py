"""When a run ends: budgets, a stable solution, too many failures."""

import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from quell.checks import integer
from quell.diagnostics.fit import shape_sd
from quell.diagnostics.stability import evaluations_needed, stability
from quell.errors import BudgetWarning
from quell.evaluations import Evaluations
from quell.problem import Problem
from quell.run.fold import Fold
from quell.settings import Settings
from quell.text import printable
from quell.vbmc import Solution, State
from quell.vbmc.reliability import STABLE_EVALUATIONS
from quell.vbmc.state import Action

#: Budgets by default, in units of D + 2 evaluations.
BUDGET_EXACT, BUDGET_NOISY = 50, 75
#: Failures are counted against ``max_failed`` once there are this many evaluations.
FAILURES_COUNT_FROM = 10
#: Zero density is an answer, and many of them may mean that the plausible box is wide; they count
#: as failures from here on.
ZEROS_COUNT_FROM = 50
FEWEST_PER_DIMENSION = 5
#: The reason of a run that was ended by Ctrl-C, and of one whose solution does not change any more.
INTERRUPTED = "interrupted by the user"
STABLE = "the solution is stable"


def spent(budget: int) -> str:
    """The reason of a run that has used up its budget."""
    return f"the budget of {budget} evaluations is spent"


def check_budget(budget: Any, problem: Problem, *, least: int = 1) -> int | None:
    """The budget as an integer, None for the default one; ``ValueError`` for what is none.

    Whole floats will do, as 1e3. ``least`` is 0 where there may be a head start to make do with.
    """
    if budget is None:
        return None
    if isinstance(budget, float | np.floating) and float(budget).is_integer():
        budget = int(budget)
    budget = integer("budget", budget, least=least)
    if budget == 1 and problem.noise == "auto":
        raise ValueError(
            'budget must be at least 2 with noise="auto", which may evaluate the first '
            "point twice; got 1"
        )
    return budget


def refuse_if_too_small(budget: int | None, engine: Fold[Any]) -> None:
    """``ValueError`` for a budget that the first points, before any fit, would not fit into."""
    state = engine.settled
    needed = len(state.design)
    if budget is not None and max(budget, engine.table.n_counted) < needed and state.fit is None:
        raise ValueError(
            f"budget must be at least {needed}, got {budget}: so many points are evaluated before "
            f"anything can be learnt ({state.n_starts} given as start, the others at random)"
        )


def warn_if_too_short(budget: int | None, n_counted: int, first: int, dimension: int) -> None:
    """A `BudgetWarning` at the user's call of `infer` for a budget that no answer is stable in.

    ``first`` is the number of points before the first fit.
    """
    needed = evaluations_needed(dimension)
    if budget is None or max(budget, n_counted) >= first + needed:
        return
    text = (
        f"a budget of {budget} is too small to tell whether the answer is stable: after the first "
        f"{first} evaluations it has to stay the same over {needed} more"
    )
    # Where warnings are errors it is no reason not to run, and the result says it as well.
    with suppress(BudgetWarning):
        warnings.warn(text, BudgetWarning, stacklevel=4)


def default_budget(state: State) -> int:
    """The budget of a run for which none was given.

    >>> BUDGET_EXACT * (3 + 2), BUDGET_NOISY * (3 + 2)      # for three parameters
    (250, 375)
    """
    return (BUDGET_NOISY if state.noisy else BUDGET_EXACT) * (state.dimension + 2)


def solution_is_final(state: State, settings: Settings) -> bool:
    """Whether the solution is stable and known well enough, and its coordinates are not new.

    Stable by the paper's rule and by that of the verdict: a run does not stop with an answer that
    it then calls unstable. But under noise an answer comes to rest long before it is right, and how
    little is known of it the surrogate can tell: so long the budget is not spent in vain.
    """
    if not state.history:
        return False
    last = state.history[-1]
    changes = [it.index for it in state.history if it.action not in (Action.NONE, Action.TRIMMED)]
    last_change = max(changes, default=0)
    n_stable = STABLE_EVALUATIONS[state.noisy] / settings.batch
    return bool(
        last.stable
        and last.index - last_change >= n_stable / 3
        and last.n_evaluations >= FEWEST_PER_DIMENSION * state.dimension
        and last.index >= state.dimension
        and stability(last, state.history, state.evaluations).is_stable
        and is_known(last.solution, settings.stop_sd)
    )


def is_known(solution: Solution, sd: float | None) -> bool:
    """Whether log evidence and log density within the posterior are known to this SD, in nats."""
    return sd is None or (solution.elbo.sd <= sd and shape_sd(solution) <= sd)


def too_many_failures(table: Evaluations, settings: Settings) -> str:
    """Why going on makes no sense, "" where it does."""
    n, n_failed = table.n_counted, table.n_counted_failed
    n_without_density = int(np.sum(table.zero_density & table.counted))
    most = settings.max_failed * n
    broken = n >= FAILURES_COUNT_FROM and n_failed - n_without_density > most
    if not broken and not (n >= ZEROS_COUNT_FROM and n_failed > most):
        return ""
    last = next(text for text in reversed(table.error) if text)
    return f"{n_failed} of {n} evaluations failed, the last one with: {printable(last)}"
