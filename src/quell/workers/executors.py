"""What executors differ in: how many workers they have, and what can be done when they break.

Dask is recognised by its client, not imported. It differs from the executors of the standard
library in five ways. Workers come and go, so they are counted again now and then. A task whose
worker died is given to another by Dask itself, several times, before the future fails with
``KilledWorker``. Equal calls are taken for the same call unless it is told otherwise, and then a
failed call that is made again fails at once. Its futures let themselves be cancelled while they
are running, which frees no worker. And those of its executor never end when a result is lost on
its way to the client, so the client's own are used here.
"""

import os
import pickle
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from typing import Any


class ExecutorFailed(RuntimeError):
    """The executor cannot go on; the message says why and what to do."""


def check_executor(executor: Any) -> None:
    """``TypeError`` for what is no executor."""
    if not callable(getattr(executor, "submit", None)):
        raise TypeError(
            "executor must be a concurrent.futures.Executor (or have its submit method), got an "
            f"object of type {type(executor).__name__}"
        )


def is_dask(executor: Any) -> bool:
    """Whether the executor is one of a Dask client."""
    client = getattr(executor, "_client", None)
    return client is not None and hasattr(client, "nthreads")


def count_workers(executor: Any) -> int:
    """How many calls an executor can make at a time, as far as it says.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(3) as executor:
    ...     count_workers(executor)
    3
    """
    for name in ("_max_workers", "num_workers"):  # the standard library and loky; mpi4py
        number = getattr(executor, name, None)
        if isinstance(number, int) and number > 0:
            return number
    if is_dask(executor):
        return max(1, sum(executor._client.nthreads().values()))
    return os.cpu_count() or 1


def submit(executor: Any, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
    """Begin a call; the future always ends, if the executor lives."""
    if not is_dask(executor):
        return executor.submit(function, *arguments)
    options = getattr(executor, "_kwargs", {}) | {"pure": False}
    return _follow(executor._client.submit(function, *arguments, **options))


def _follow(task: Any) -> Future[Any]:
    """A standard future that ends as a Dask future does; cancelling it cancels the task."""
    future: Future[Any] = Future()

    def when_cancelled(future: Future[Any]) -> None:
        if future.cancelled():
            task.cancel()

    def when_done(task: Any) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            value = task.result()
        except BaseException as error:  # of the task, not of the thread that is told about it
            future.set_exception(error)
        else:
            future.set_result(value)

    future.add_done_callback(when_cancelled)
    task.add_done_callback(when_done)
    return future


def has_tried_again(error: BaseException) -> bool:
    """Whether the executor itself has given the call to several workers before it gave up."""
    return type(error).__name__ == "KilledWorker"


def another_like(executor: Any, error: BrokenExecutor) -> ProcessPoolExecutor:
    """A process pool instead of a broken one; `ExecutorFailed` for others."""
    kind: Any = type(executor)
    if kind is not ProcessPoolExecutor:
        raise broken(error)
    return ProcessPoolExecutor(
        executor._max_workers, executor._mp_context, executor._initializer, executor._initargs
    )


def broken(error: BaseException) -> ExecutorFailed:
    """What to raise for an executor that takes no more calls."""
    return ExecutorFailed(
        f"the executor is broken ({type(error).__name__}: {error}) and takes no more work. Make a "
        "new one and run again: with a journal the run goes on where it is"
    )


def refuse_unless_sendable(executor: Executor, what: str, thing: Any) -> None:
    """``TypeError`` if a process pool cannot send it; other executors find out themselves."""
    if not isinstance(executor, ProcessPoolExecutor):
        return
    try:
        pickle.dumps(thing)
    except Exception as error:  # whatever a user's object raises
        raise unsendable(what, error) from error


def is_unsendable(error: BaseException) -> bool:
    """Whether a call failed because it, or its answer, cannot be sent."""
    text = str(error)
    return isinstance(error, pickle.PicklingError) or "pickle" in text or "serialize" in text


def unsendable(what: str, error: BaseException) -> TypeError:
    """What to raise for a thing that cannot be sent to workers."""
    return TypeError(
        f"{what} cannot be sent to other processes: {error}. Define it at the top "
        "level of a module, not as a lambda or inside a function, and keep open files and "
        "connections out of it; or use threads, or an executor that sends such functions (loky, "
        "Dask)"
    )
