"""The result so far, for the journal of a run that goes on, and the finished one from there.

What is kept after an iteration has to be cheap: the best solution as it is, without the last
polish, and the ELBO in place of the evidence. The tests of the answer are not made, and it says so:
such a result is "suspect", whatever it looks like.
"""

from math import nan

from quell.diagnostics import Finding, Verdict
from quell.diagnostics.stability import stability
from quell.journal.snapshots import About, Snapshot
from quell.problem import Problem
from quell.results import Result
from quell.results.reading import read_result
from quell.results.writing import result_bytes
from quell.run.engine import Engine
from quell.run.report import make_result
from quell.run.stopping import STABLE, default_budget, spent
from quell.vbmc import best_iteration
from quell.vbmc.evidence import Evidence

#: Draws inside a support that are kept of a result that will be replaced in a minute: a constraint
#: is called for each of them.
FEW_DRAWS = 1_000


def result_so_far(engine: Engine) -> Result:
    """What the last iteration has left, as it is; there has to be one."""
    history = engine.settled.history
    chosen = best_iteration(history)
    solution, n = chosen.solution, engine.table.n_counted
    text = (
        f"the run is not finished: this is its solution after {n} evaluations, without the last "
        "polish and not tested; quell.infer(problem, journal=...) continues it"
    )
    value, sd = solution.elbo.value, solution.elbo.sd
    moved = stability(chosen, history, engine.table)
    verdict = Verdict(moved, (Finding("unfinished", nan, nan, text),))
    return make_result(
        engine.problem, engine.settings, engine.seed, engine.table, history, chosen, solution,
        Evidence(value, sd, "elbo", value, 0.0, solution.elbo), verdict, boosted=False, reasons=(),
        n_accidents=engine.settled.training.n_accidents, cpu_seconds=engine.cpu_seconds,
        target_seconds=engine.target_seconds,
    )  # fmt: skip


def snapshot_of(engine: Engine) -> tuple[bytes, About]:
    """The result so far as bytes, and what it is of."""
    result = result_so_far(engine)
    return result_bytes(result, n_draws=FEW_DRAWS), about(result)


def about(
    result: Result, engine: Engine | None = None, *, ended: str = "", budget: int = 0
) -> About:
    """What a snapshot of this result is of; with ``ended``, the reason, of a finished run."""
    n, iterations = result.evaluations.n_counted, len(result.history)
    if engine is None or not ended:
        return About(n, iterations)
    default = default_budget(engine.settled)
    return About(n, iterations, ended=ended, budget=budget, default_budget=default)


def would_end_at_once(about: About, budget: int | None) -> bool:
    """Whether a finished run would evaluate nothing more if it was continued with this budget.

    >>> all_spent = About(20, 3, ended=spent(20))
    >>> would_end_at_once(all_spent, 20), would_end_at_once(all_spent, 30)
    (True, False)
    """
    return about.ended in (STABLE, spent(about.default_budget if budget is None else budget))


def restored(snapshot: Snapshot, where: str, problem: Problem) -> Result:
    """The result of a finished run, for the problem it is of."""
    return read_result(snapshot.data, where, problem=problem)
