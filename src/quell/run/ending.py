"""What is returned when a run ends: at its end, and if it had ended at an earlier iteration."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from quell.diagnostics import Case, Verdict, judge
from quell.evaluations import Evaluations
from quell.problem import Problem
from quell.results import Result
from quell.run.late_change import late_change
from quell.run.where_it_counts import where_it_counts
from quell.run.whole_numbers import at_whole_numbers
from quell.settings import Settings
from quell.streams import rng_for_finish
from quell.threads import single_threaded
from quell.vbmc import Iteration, Solution, best_iteration, boost
from quell.vbmc.cover import cover
from quell.vbmc.coverage import overview_of, unseen_by
from quell.vbmc.edge_looks import with_latest_edges
from quell.vbmc.evidence import Evidence, evidence


@dataclass(frozen=True, eq=False)
class Ending:
    """The ``solution`` that is returned, of the ``chosen`` iteration, and what is said of it.

    ``boosted``: whether the last polish changed the mixture.
    """

    chosen: Iteration
    solution: Solution
    boosted: bool
    evidence: Evidence
    unseen_share: float
    verdict: Verdict


def end(
    rng: np.random.Generator,
    history: Sequence[Iteration],
    settings: Settings,
    evaluations: Evaluations,
    problem: Problem,
    unseen: Callable[[np.random.Generator], float],
) -> Ending:
    """Choose the iteration to return, polish it, estimate its evidence, and judge it.

    ``unseen`` gives the share of the problem's plausible box not looked at.
    """
    latest = {it.index: with_latest_edges(it.solution, evaluations) for it in history}
    chosen = best_iteration([it for it in history if latest[it.index]] or history)
    polished, boosted = latest[chosen.index] or chosen.solution, False
    if settings.final_components > 0:
        polished, boosted = boost(rng, polished, settings)
    solution = polished
    if settings.final_components > 0 and settings.cover:
        solution = cover(rng, polished, settings.final_components)
        solution = at_whole_numbers(rng, solution, problem.integer, settings.final_components)
        boosted = boosted or solution is not polished
    judged, bound, draws = solution, polished.elbo, None
    if part := where_it_counts(rng, solution, problem.integer):
        judged, draws = part
        bound = judged.elbo
        if polished is not solution and (before := where_it_counts(rng, polished, problem.integer)):
            bound = before[0].elbo
    estimate = evidence(
        rng, judged, importance=settings.evidence == "importance", bound=bound, draws=draws
    )
    share = unseen(rng)
    case = Case.of(rng, judged, chosen, history, estimate.value, evaluations, problem.space, draws)
    verdict = judge(rng, case)
    if settings.evidence == "importance":
        change = late_change(rng, estimate.value, chosen, history, problem.integer)
        estimate = replace(estimate, sd=max(estimate.sd, change))
    return Ending(chosen, solution, boosted, estimate, share, verdict)


def end_at(result: Result, problem: Problem, row: int) -> Ending:
    """What the run behind a ``result`` would have returned after the iteration in this row.

    The same as of a run with that budget, where one point was evaluated at a time and none twice to
    find out about its noise; in other runs it has other random numbers. ``result.iterations`` are
    needed, so the result cannot be one that was loaded.
    """
    history = result.iterations[: row + 1]
    n = history[-1].n_evaluations
    known = result.evaluations.rows(np.arange(len(result.evaluations)) < n)
    # The engine makes two steps with each evaluation: it searches for a point, and absorbs it.
    rng = rng_for_finish(result.seed, 2 * known.n_counted + 1)
    unseen = partial(unseen_by, overview=overview_of(history), evaluations=known)
    with single_threaded(), np.errstate(all="ignore"):
        return end(rng, history, result.settings, known, problem, unseen)
