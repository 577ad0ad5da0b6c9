"""An executor that imitates several workers in one thread: calls end in a random order.

The order is a function of a generator, so a run by such an executor is the same every time,
although its answers come as from workers who race. No time passes while calls are under way.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

import numpy as np


class ShuffledExecutor(Executor):
    """Makes calls in this thread, when somebody looks whether one of them is done.

    ``n_workers`` calls are under way at a time; more than that wait their turn. When a future is
    asked whether it is ``done``, one of those under way, drawn from ``rng``, is made and ends; no
    other ends before the ``result`` of that one has been taken. `quell.workers.dispatch`, and so
    :func:`quell.infer`, looks at futures in that way before it waits for them. Waiting without
    a look, as by ``concurrent.futures.wait``, would never return.

    >>> executor = ShuffledExecutor(2, np.random.default_rng(0))
    >>> first, second = executor.submit(pow, 2, 3), executor.submit(pow, 2, 4)
    >>> first.done(), second.done(), second.result(), first.result()
    (False, True, 16, 8)
    """

    def __init__(self, n_workers: int, rng: np.random.Generator) -> None:
        self._max_workers = n_workers  # where the executors of the standard library have it
        self._rng = rng
        self._calls: list[_Call] = []
        self._ended: _Call | None = None

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future of a call that has not been made yet."""
        call = _Call(self, partial(function, *args, **kwargs))
        self._calls.append(call)
        return call

    def look(self) -> None:
        """Make one of the calls under way, unless the result of the last has not been taken."""
        self._calls = [call for call in self._calls if not call.cancelled()]
        if self._ended is not None or not self._calls:
            return
        under_way = self._calls[: self._max_workers]
        call = under_way[self._rng.integers(len(under_way))]
        call.make()  # it stays in the list if that is interrupted
        self._calls.remove(call)
        self._ended = call

    def release(self) -> None:
        """The next call may end."""
        self._ended = None

    def take(self, call: Future[Any]) -> None:
        """The result of ``call`` has been taken; if it ended last, the next one may end."""
        if call is self._ended:
            self.release()


class _Call(Future[Any]):
    """A call to be made when its executor says so."""

    def __init__(self, executor: ShuffledExecutor, function: Callable[[], Any]) -> None:
        super().__init__()
        self._executor, self._function = executor, function

    def make(self) -> None:
        """Make the call in this thread."""
        try:
            value = self._function()
        except Exception as error:
            self.set_exception(error)
        else:
            self.set_result(value)

    def done(self) -> bool:
        """Whether the call has ended; one of the executor's calls ends when this is asked."""
        self._executor.look()
        return super().done()

    def result(self, timeout: float | None = None) -> Any:
        """The value of the call, after as many others as it takes."""
        while not self.done():
            self._executor.release()
        self._executor.take(self)
        return super().result(timeout)
