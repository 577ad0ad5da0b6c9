"""Campaigns: many independent jobs on one executor; used by `quell.study` and `quell bench run`."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor
from typing import Any, TypeVar

from quell.problem.signals import is_interrupt
from quell.workers.dispatch import HOPELESS, Dispatch

Key = TypeVar("Key")


def perform_all(
    jobs: Iterable[tuple[Key, tuple[Any, ...]]],
    function: Callable[..., Any],
    executor: Executor,
    *,
    what: str,
    workers: int | None = None,
    attempts: int = HOPELESS,
    enough: Callable[[], bool] = lambda: False,
) -> Generator[tuple[Key, Any, str]]:
    """Call the function for every job, a key and its arguments; yields them as they finish.

    That is (key, value, "") or, where the function raised or no answer came in so many
    ``attempts``, (key, None, why). No failure harms another job. ``what`` is a name for what is
    sent. Leaving the iterator cancels what has not begun. As soon as ``enough`` says so no further
    job is begun, but those under way are waited for.

    >>> from quell.workers.inline import InlineExecutor
    >>> sorted(perform_all([("a", (2, 3)), ("b", (0, -1))], pow, InlineExecutor(), what="a job"))
    [('a', 8, ''), ('b', None, 'ZeroDivisionError: 0.0 cannot be raised to a negative power')]
    """
    waiting = deque(jobs)
    dispatch: Dispatch[Key] = Dispatch(executor, what=what, workers=workers, hopeless=attempts)
    try:
        while waiting or dispatch.n_running:
            if enough():
                waiting.clear()
            while waiting and dispatch.n_free:
                key, arguments = waiting.popleft()
                dispatch.submit(key, try_to, function, *arguments)
            for reply in dispatch.wait():
                value, error = (None, reply.error) if reply.error else reply.value
                yield reply.key, value, error
    finally:
        dispatch.abandon()
        dispatch.close()


def try_to(function: Callable[..., Any], *arguments: Any) -> tuple[Any, str]:
    """The function's value and "", or None and what it raised."""
    try:
        return function(*arguments), ""
    except BaseException as error:
        if is_interrupt(error):
            raise
        return None, f"{type(error).__name__}: {error}"
