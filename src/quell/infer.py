"""One call from a problem to its posterior."""

from collections.abc import Sequence

from numpy.typing import ArrayLike

from quell.evaluations import Evaluations
from quell.problem import Problem
from quell.progress import Progress
from quell.result import Result
from quell.run import Callback, InferenceFailed, Run
from quell.settings import Settings
from quell.threads import single_threaded


def infer(
    problem: Problem,
    *,
    budget: int | None = None,
    seed: int | None = None,
    start: ArrayLike | Result | None = None,
    evaluations: Evaluations | Sequence[ArrayLike] | None = None,
    settings: Settings | None = None,
    progress: bool = True,
    callback: Callback | None = None,
) -> Result:
    """Infer the posterior and the evidence of ``problem``.

    Parameters
    ----------
    budget
        Evaluations of the target, failed ones included; 50 (D + 2) for exact targets and
        75 (D + 2) for noisy ones by default.
    seed
        The run is a function of the seed and the target; a random one is drawn, and reported
        in the result, if there is none.
    start
        Where to begin: a point (D,), several (n, D), or an earlier result.
    evaluations
        A head start that does not count against the budget: a table of evaluations, or
        (points, values) or (points, values, sds).
    settings
        How the algorithm works; see :class:`quell.Settings`.
    progress
        Show progress in a terminal.
    callback
        Called with an update after every iteration; if it returns True the run stops.

    Ctrl-C ends the run and returns the best result so far.

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
    settings = Settings() if settings is None else settings
    if not isinstance(settings, Settings):
        raise TypeError(f"settings must be a quell.Settings, got {type(settings).__name__}")
    if callback is not None and not callable(callback):
        raise TypeError(f"callback must be callable, got {type(callback).__name__}")
    run = Run.begin(problem, budget, seed, start, evaluations, settings)
    with single_threaded(), Progress(enabled=progress) as display:
        try:
            run.loop(display, callback)
        except KeyboardInterrupt:
            run.reasons.append("interrupted by the user")
            if not run.state.history:
                raise
        except InferenceFailed:
            raise
        except Exception as error:
            raise InferenceFailed(
                f"the run stopped after {run.table.n_counted} evaluations by an error: "
                f"{type(error).__name__}: {error}. The exception's 'evaluations' has what was "
                "evaluated; pass it as evaluations= to go on from there",
                run.table,
                run.result() if run.state.history else None,
            ) from error
    if not run.state.history:
        raise InferenceFailed(
            f"no posterior could be fitted: {'; '.join(run.reasons)}. The exception's "
            "'evaluations' has what was evaluated",
            run.state.evaluations,
        )
    return run.result()
