"""One call from a problem to its posterior."""

from collections.abc import Sequence
from concurrent.futures import Executor
from functools import partial
from os import PathLike

from numpy.typing import ArrayLike

from quell.checks import flag, integer
from quell.evaluations import Evaluations
from quell.interface import explains_unknown_arguments
from quell.problem import Problem
from quell.progress import Choice, Progress, check_progress
from quell.results import Result
from quell.run.beginning import refuse_unless_noise_is_known
from quell.run.conducting import conduct
from quell.run.loop import Callback
from quell.run.session import Session
from quell.run.so_far import would_end_at_once
from quell.run.stopping import check_budget, refuse_if_too_small, warn_if_too_short
from quell.settings import Settings


@explains_unknown_arguments("quell.infer")
def infer(
    problem: Problem,
    *,
    budget: float | None = None,
    seed: int | None = None,
    start: ArrayLike | Result | None = None,
    evaluations: Evaluations | Sequence[ArrayLike] | None = None,
    settings: Settings | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    timeout: float | None = None,
    retries: int = 0,
    journal: str | PathLike[str] | None = None,
    journal_check: bool = True,
    progress: Choice = "auto",
    callback: Callback | None = None,
) -> Result:
    """Infer the posterior and the evidence of ``problem``.

    Parameters
    ----------
    problem
        The log-likelihood, its parameters with bounds and prior, and its noise.
    budget
        Evaluations of the target, a whole number, failed ones included; 50 (D + 2) for exact
        targets and 75 (D + 2) for noisy ones by default. With fewer than 10 (D + 2) after the first
        design no answer can be called stable, which is warned about. 0 evaluates nothing: see
        :func:`fit`.
    seed
        The run is a function of the seed and the target; a random one is drawn, and reported
        in the result, if there is none.
    start
        Where to begin: a point (D,), several (n, D), or an earlier result.
    evaluations
        A head start that does not count against the budget: a table of evaluations, or
        (points, values) or (points, values, sds). The run begins with all that follows from it.
    settings
        How the algorithm works; see :class:`quell.Settings`.
    executor
        Where points are evaluated: any ``concurrent.futures.Executor``. Points are asked for
        one by one, each with the others that are under evaluation in mind, so no worker waits
        for another. Answers are used in the order they come: with more than one worker that,
        and so the run, is not the same every time.
    workers
        Points under evaluation at a time; by default as many as the executor has workers. Without
        an executor: how many points a vectorised target is given in one call, 1 by default.
    timeout
        Seconds after which an evaluation has failed (of a vectorised target, a call with all its
        points). A worker of an executor cannot be interrupted: it is not given another point
        before it is done. Without an executor the
        target is interrupted by a signal, which works in the main thread on Unix, and when
        control is back in Python.
    retries
        How often a failed evaluation (zero density is no failure) is tried again, with random
        numbers of its own, before it counts as failed.
    journal
        A path: every evaluation is on disk before it is used, and the same call again continues
        the run, or returns the result at once if it is finished (without its ``iterations``; with
        a ``callback`` it is replayed); with a larger budget it goes on. A run that was killed at
        any moment continues as if nothing had happened. Replaying costs the algorithm's own time,
        without the search for points, and one evaluation (see below). `quell.load` opens a journal
        without the problem, also while the run goes on.
    journal_check
        When a journal is continued, or its result returned, its last evaluation is made again,
        and the run is refused if the target does not give the same any more; one with random
        numbers of its own may differ within the SDs of its noise. It is not recorded. False
        leaves that out.
    progress
        How to show how far the run is. "auto" (or True): a live bar in a terminal, a display of
        its own in a Jupyter notebook, and plain lines on standard error anywhere else, at growing
        intervals and when something happens. "bar": the bar, also where standard error is no
        terminal. "log": lines to the logger "quell" of the ``logging`` module, at level INFO.
        False: nothing.
    callback
        Called with an update after every iteration; if it returns True the run stops. When a
        run is continued it is called for the last iteration once more.

    Returns
    -------
    Result
        Posterior, evidence, and all that led to them. Ctrl-C ends the run and returns the best
        result so far.

    Raises
    ------
    InferenceFailed
        The run could not go on: nearly all evaluations failed, the target is noisy but says not
        how much, the disk is full. Its ``evaluations`` are those made, its ``result`` the best so
        far.
    InferenceInterrupted
        Ctrl-C before there was a result: a ``KeyboardInterrupt`` with the ``evaluations`` made.
    JournalError
        The journal is in use, of another problem or another target, or cannot be written.

    Notes
    -----
    A worker that dies costs an evaluation that is made again.

    Examples
    --------
    >>> import numpy as np
    >>> def log_likelihood(theta, rng):
    ...     return -0.5 * np.sum(theta**2) + rng.standard_normal(), 1.0
    >>> problem = Problem(
    ...     log_likelihood, lower=[-10, -10], upper=[10, 10],
    ...     plausible_lower=[-3, -3], plausible_upper=[3, 3],
    ... )
    >>> result = infer(problem, budget=60, seed=1, progress=False)
    >>> bool(abs(result.log_evidence - np.log(2 * np.pi / 400)) < 1)
    True
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"problem must be a quell.Problem, got {type(problem).__name__}")
    budget = check_budget(budget, problem, least=0)
    if budget != 0:
        _ = problem.target  # refused at once where there is none
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    retries = integer("retries", retries, least=0)
    journal_check = flag("journal_check", journal_check)
    check_progress(progress)
    with Progress(enabled=progress) as display:
        session = Session.begin(
            problem, seed=seed, settings=settings, journal=journal, start=start,
            evaluations=evaluations, on_replay=display.replaying,
            # With a callback the last iteration has to be made again, for it to be called with.
            would_end=partial(would_end_at_once, budget=budget) if callback is None else None,
        )  # fmt: skip
        try:
            engine = session.engine
            if session.finished is None:
                refuse_if_too_small(budget, engine)
            if budget == 0:
                refuse_unless_noise_is_known(problem, session.evaluations)
            else:
                first, dimension = len(engine.settled.design), problem.space.dimension
                warn_if_too_short(budget, session.evaluations.n_counted, first, dimension)
            result: Result = conduct(
                session, display, budget, executor=executor, workers=workers, timeout=timeout,
                retries=retries, journal_check=journal_check, callback=callback,
            )  # fmt: skip
            return result
        finally:
            session.close()


@explains_unknown_arguments("quell.fit")
def fit(
    problem: Problem,
    evaluations: Evaluations | Sequence[ArrayLike],
    *,
    seed: int | None = None,
    settings: Settings | None = None,
) -> Result:
    """The posterior and the evidence that follow from given evaluations, without any more.

    The surrogate and the posterior are fitted until they do not change any more.

    Parameters
    ----------
    problem
        The parameters with bounds and prior, and the noise. Its log-likelihood is never called, and
        may be None.
    evaluations
        A table of evaluations, or (points, values) or (points, values, sds): of at least ten
        different points, or D if that is more.
    seed, settings
        As in :func:`infer`.

    Returns
    -------
    Result
        As from :func:`infer`. It has not ``converged``: whether more evaluations would change it is
        not known.

    Raises
    ------
    ValueError
        There are too few evaluations, or it is not known whether they are noisy.

    Notes
    -----
    The answer can be no better than where the points are. If they leave out a part of the
    posterior, or lie on a coarse grid, ``infer(problem, evaluations=..., budget=...)`` adds the
    points that are missing.

    Examples
    --------
    >>> import numpy as np
    >>> problem = Problem(
    ...     None, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3, noise="exact",
    ... )
    >>> points = np.linspace(-4, 4, 15)[:, None]
    >>> result = fit(problem, (points, -0.5 * points[:, 0]**2), seed=1)
    >>> bool(abs(result.log_evidence - np.log(np.sqrt(2 * np.pi) / 20)) < 0.01)
    True
    """
    session = Session.begin(problem, seed=seed, settings=settings, evaluations=evaluations)
    engine = session.engine
    missing = len(engine.settled.design)
    if missing:
        n_distinct = engine.table.n_distinct
        raise ValueError(
            f"evaluations must have at least {n_distinct + missing} different points with a "
            f"value, got {n_distinct}"
        )
    refuse_unless_noise_is_known(problem, engine.table)
    return session.result([f"fitted to {engine.table.n_distinct} given points"])
