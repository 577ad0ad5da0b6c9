"""Calls by the workers of any ``concurrent.futures.Executor``: nobody waits, and workers may die.

What happens when no answer comes:

* *A worker dies.* Its call is made again; so are those a broken ``ProcessPoolExecutor`` takes
  with it (the pool itself is recreated). One that was lost twice in that way is made again alone,
  so that its neighbours do not suffer; lost three times it is given up. Dask makes calls again by
  itself; when it has given up one twice it is given up here too.
* *A worker is interrupted, or ended by* ``sys.exit``. As if it had died.
* *A call takes too long.* It is given up. Time counts from when it is given to workers that are
  ready (see `readiness`). Its worker cannot be interrupted, so it gets no other
  call until it is done; when all are in that state there is nothing left to wait for.
* *The call cannot be sent to the workers.* ``TypeError``.
"""

import time
from collections.abc import Callable
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import dataclass, replace
from math import inf
from typing import Any, Generic, TypeVar

from quell.workers.executors import (
    ExecutorFailed,
    another_like,
    broken,
    count_workers,
    has_tried_again,
    is_dask,
    is_unsendable,
    submit,
    unsendable,
)
from quell.workers.readiness import Readiness

#: A call that was lost this often with a broken pool is made again alone; this often, given up.
ALONE, HOPELESS = 2, 3
#: A call is given up when an executor that tries again by itself has lost it this often.
HOPELESS_AFTER_RETRIES = 2
#: Process pools in a row that broke before any answer came.
MOST_BROKEN = 5
#: Seconds after which the workers of a Dask cluster are counted again.
RECOUNT = 5.0
#: Seconds after which a wait is begun anew: a Ctrl-C that comes just before a wait begins ends it
#: nowhere, and on Windows none does.
AWAKE = 1.0

Key = TypeVar("Key")


@dataclass(frozen=True, eq=False)
class _Call(Generic[Key]):
    """A call under way: how often it was ``lost`` before, and when it has to be back."""

    key: Key
    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    lost: int = 0
    deadline: float = inf


@dataclass(frozen=True, eq=False)
class Reply(Generic[Key]):
    """What a call returned; or, if ``error`` is not empty, why there is nothing.

    ``late`` says that it took too long.
    """

    key: Key
    value: Any = None
    error: str = ""
    late: bool = False


class Dispatch(Generic[Key]):
    """Keeps the workers of an executor busy; see the module for its policy.

    ``workers`` calls are under way at a time; None for as many as the executor has workers.
    ``hopeless`` losses are enough to give a call up. ``what`` is the thing sent, for messages.

    >>> from concurrent.futures import ThreadPoolExecutor
    >>> with ThreadPoolExecutor(2) as executor:
    ...     dispatch = Dispatch(executor, what="the function")
    ...     dispatch.submit("a", pow, 2, 10)
    ...     [(reply.key, reply.value) for reply in dispatch.wait()]
    [('a', 1024)]
    """

    def __init__(
        self, executor: Executor, *, what: str, workers: int | None = None,
        timeout: float | None = None, hopeless: int = HOPELESS,
    ) -> None:  # fmt: skip
        self._executor, self._what = executor, what
        self._timeout, self._hopeless = timeout, hopeless
        self._size = workers or count_workers(executor)
        self._is_elastic = workers is None and is_dask(executor)
        self._counted = time.monotonic()
        self._own: ProcessPoolExecutor | None = None
        self._readiness = Readiness()
        self._n_broken = 0
        self._calls: dict[Future[Any], _Call[Key]] = {}
        self._grounded: list[_Call[Key]] = []  # lost ones, to be made alone
        self._stuck: list[Future[Any]] = []
        self._replies: list[Reply[Key]] = []

    @property
    def n_free(self) -> int:
        """Room for more calls; none while there are some to be made alone."""
        self._recount()
        self._stuck = [future for future in self._stuck if not future.done()]
        busy = len(self._calls) + len(self._stuck) + len(self._replies)
        return 0 if self._grounded else max(0, self._size - busy)

    @property
    def n_running(self) -> int:
        """Calls that will be answered."""
        return len(self._calls) + len(self._grounded) + len(self._replies)

    def submit(self, key: Key, function: Callable[..., Any], *arguments: Any) -> None:
        """Begin to make a call."""
        self._launch(_Call(key, function, arguments))

    def wait(self) -> list[Reply[Key]]:
        """The replies there are; waits for one if need be.

        None of them, where there is room for more instead: a worker has come, or one has ended
        what was given up.
        """
        size = self._size
        while True:
            if self._grounded and not self._calls:
                self._launch(self._grounded.pop(0))
            self._collect(patient=not self._replies)
            if self._replies:
                replies, self._replies = self._replies, []
                return replies
            if not self.n_running:
                self._wait_for_the_stuck()
                return []
            self._recount()
            if self._size > size:
                return []

    def abandon(self) -> list[Reply[Key]]:
        """Replies there are already; what has not begun is cancelled, what has is left alone."""
        for future in list(self._calls):
            if future.cancel():
                del self._calls[future]
        self._collect(patient=False, relaunch=False)
        replies, self._replies = self._replies, []
        return replies

    def close(self) -> None:
        """Release a process pool that was recreated; the user's own stays as it is."""
        if self._own is not None:
            self._own.shutdown(wait=False, cancel_futures=True)

    def _recount(self) -> None:
        if self._is_elastic and time.monotonic() - self._counted > RECOUNT:
            self._size, self._counted = count_workers(self._executor), time.monotonic()

    def _launch(self, call: _Call[Key]) -> None:
        deadline = inf
        if self._timeout is not None:
            self._readiness.ensure(self._executor, (call.function, call.arguments), self._size)
            deadline = time.monotonic() + self._timeout
        try:
            future = self._submit(call)
        except BrokenExecutor as error:
            self._renew(error)
            self._launch(call)
            return
        except Exception as error:
            if is_unsendable(error):
                raise unsendable(self._what, error) from error
            raise
        self._calls[future] = replace(call, deadline=deadline)

    def _submit(self, call: _Call[Key]) -> Future[Any]:
        return submit(self._executor, call.function, *call.arguments)

    def _collect(self, *, patient: bool, relaunch: bool = True) -> None:
        """Move what has come, or is late, from the calls to the replies."""
        if not self._calls:
            return
        first = min(call.deadline for call in self._calls.values())
        left = max(0.0, first - time.monotonic()) if patient else 0.0
        if self._is_elastic:
            left = min(left, RECOUNT)
        if not any(future.done() for future in self._calls):
            wait(self._calls, min(left, AWAKE), FIRST_COMPLETED)
        # `wait` passes over cancelled futures that no executor has acknowledged; `done` does not.
        for future in [future for future in self._calls if future.done()]:
            call = self._calls.pop(future)
            # Not `result`, which would raise what ended the call as if it had ended the program:
            # an interrupt of a worker is no interrupt of the run.
            error = CancelledError() if future.cancelled() else future.exception()
            if error is not None:
                self._lose(call, error, relaunch)
            else:
                self._n_broken = 0
                self._replies.append(Reply(call.key, future.result()))
        self._give_up_late_ones()

    def _give_up_late_ones(self) -> None:
        now = time.monotonic()
        for future, call in list(self._calls.items()):
            if call.deadline <= now and not future.done():
                del self._calls[future]
                if is_dask(self._executor) or not future.cancel():
                    self._stuck.append(future)
                text = f"timed out after {self._timeout:g} s"
                self._replies.append(Reply(call.key, error=text, late=True))

    def _lose(self, call: _Call[Key], error: BaseException, relaunch: bool) -> None:
        """No answer came, for a reason that is not the function's."""
        if is_unsendable(error):
            raise unsendable(self._what, error) from error
        if not relaunch:
            return
        call = replace(call, lost=call.lost + 1)
        most = HOPELESS_AFTER_RETRIES if has_tried_again(error) else HOPELESS
        if call.lost >= min(most, self._hopeless):
            text = f"{type(error).__name__}: {error}".removesuffix(": ")
            if call.lost > 1:
                text = f"no answer in {call.lost} attempts: {text}"
            self._replies.append(Reply(call.key, error=text))
        elif call.lost >= ALONE and isinstance(error, BrokenExecutor):
            self._grounded.append(call)
        else:
            self._launch(call)

    def _renew(self, error: BrokenExecutor) -> None:
        """Go on with another process pool; `ExecutorFailed` where that makes no sense."""
        self._n_broken += 1
        if self._n_broken > MOST_BROKEN:
            raise broken(error) from error
        new = another_like(self._executor, error)
        if self._own is not None:
            self._own.shutdown(wait=False)
        self._executor = self._own = new

    def _wait_for_the_stuck(self) -> None:
        """Give workers with what was given up as much time again; an error if none comes back."""
        wait(self._stuck, self._timeout, FIRST_COMPLETED)
        if self.n_free:
            return
        raise ExecutorFailed(
            f"all {self._size} workers are still busy with evaluations that timed out, and "
            "cannot be interrupted. Let the target end by itself, or run it as a program, which "
            "can be: quell.likelihoods.command(..., timeout=...)"
        )
