"""A session from its first evaluation to a result, however it ends."""

from concurrent.futures import Executor
from dataclasses import replace
from typing import Any

from quell.errors import InferenceFailed, InferenceInterrupted
from quell.progress import Progress
from quell.results import Result
from quell.run.loop import Callback, Loop
from quell.run.report import about_values
from quell.run.session import Session
from quell.run.stopping import INTERRUPTED
from quell.text import printable
from quell.workers.executor_pool import make_pool
from quell.workers.pool import Pool


def conduct(
    session: Session, display: Progress, budget: int | None, *, executor: Executor | None,
    workers: int | None, timeout: float | None, retries: int, journal_check: bool,
    callback: Callback | None,
) -> Any:  # fmt: skip
    """Run a session, of whichever algorithm, to its end; the arguments are those of `infer`."""
    pool = make_pool(executor, session.engine.seed, session.engine.problem, workers, timeout)
    display.say(session.continued)
    if journal_check:
        _compare(session, pool)
    if session.finished is not None:
        pool.close()
        return replace(
            session.finished, wall_seconds=session.wall_seconds, journal=session.continued
        )
    if session.journal is not None:
        session.journal.plan(budget)
    display.note(_beginning(session, budget))
    result = _finish(Loop(session, pool, budget, retries), display, callback)
    display.ended(repr(result), session.wall_seconds)
    return result


def _beginning(session: Session, budget: int | None) -> str:
    """The line with which the display of a run begins."""
    n, engine = session.engine.problem.space.dimension, session.engine
    evaluations = "the default budget" if budget is None else f"a budget of {budget} evaluations"
    where = "" if session.journal is None else f", journal {session.journal.path.name!r}"
    parameters = f"{n} parameter{'' if n == 1 else 's'}"
    return f"a run begins: {parameters}, {evaluations}, seed {engine.seed}{where}"


def _compare(session: Session, pool: Pool) -> None:
    """Refuse a journal of another target; nothing of that is recorded."""
    try:
        session.refuse_another_target(pool)
    except BaseException as error:
        pool.abandon()
        pool.close()
        if isinstance(error, KeyboardInterrupt):
            raise InferenceInterrupted(
                "interrupted while the target was compared with the journal. The exception's "
                "'evaluations' has those of the journal",
                session.evaluations,
            ) from None
        raise


def _finish(loop: Loop, display: Progress, callback: Callback | None) -> Result:
    """Run the loop, and make the best of however it ends."""
    engine = loop.session.engine
    try:
        loop.run(display, callback)
        display.finishing(loop.session.wall_seconds)
        result = loop.result()
        loop.session.keep(result, ended=loop.reasons[0], budget=loop.budget or 0)
        return result
    except KeyboardInterrupt:
        return _interrupted(loop)
    except InferenceFailed:
        raise
    except Exception as error:
        loop.record_finished()
        raise InferenceFailed(
            f"the run stopped after {_counted(loop)} by an error: {type(error).__name__}: "
            f"{printable(str(error))}{about_values(engine.table)}. The exception's 'evaluations' "
            f"has what was evaluated; {_to_go_on(loop)}",
            engine.table,
            loop.result_if_any(settled_only=True),
        ) from error
    finally:
        loop.pool.close()


def _interrupted(loop: Loop) -> Result:
    """The best so far of a run that Ctrl-C has ended; `InferenceInterrupted` if there is none.

    Whoever presses it again does not want to wait for a result.
    """
    engine, again = loop.session.engine, ""
    try:
        loop.record_finished()
        loop.reasons.append(INTERRUPTED)
        if engine.settled.history:
            result = loop.result(settled_only=True)
            loop.session.keep(result)
            return result
    except KeyboardInterrupt:
        again = " once more"
    raise InferenceInterrupted(
        f"interrupted{again} after {_counted(loop)}, before there was a posterior. The exception's "
        f"'evaluations' has them; {_to_go_on(loop)}",
        engine.table,
    ) from None


def _counted(loop: Loop) -> str:
    n = loop.session.engine.table.n_counted
    return f"{n} evaluation{'' if n == 1 else 's'}"


def _to_go_on(loop: Loop) -> str:
    """What to do so that nothing is evaluated again."""
    if loop.session.journal is not None:
        return "the same call with this journal goes on from there"
    return "pass it as evaluations= to go on from there"
