"""An executor that is none: calls are made at once, in this thread."""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class InlineExecutor(Executor):
    """Makes calls at once, in this thread.

    >>> InlineExecutor().submit(pow, 2, 10).result()
    1024
    """

    _max_workers = 1

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """A future that is done."""
        future: Future[Any] = Future()
        future.set_result(function(*args, **kwargs))
        return future
