"""Workers that are ready: what they import first is no part of an evaluation.

A new process imports Quell, and whatever the target needs, when it unpickles its first call, which
may take longer than an evaluation may. So before a call with a time-out, workers that have not
been seen yet get one to be ready, and are waited for.
"""

import contextlib
import os
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from quell.workers.executors import is_dask

#: Seconds a worker stays with such a call, so that the next one goes to another.
MOMENT = 0.02


def be_ready(_thing: Any, moment: float = 0.0) -> int:
    """What a worker is asked: by now it has imported all that the thing needs."""
    time.sleep(moment)
    return os.getpid()


class Readiness:
    """Which workers of an executor are ready.

    >>> Readiness().ensure(ThreadPoolExecutor(1), pow, 1)       # threads always are
    """

    def __init__(self) -> None:
        self._seen: set[Any] = set()
        self._executor: Executor | None = None

    def ensure(self, executor: Any, thing: Any, size: int) -> None:
        """Wait until the workers there are can begin at once with a call that has this thing.

        What goes wrong on the way shows again, and is told, when the call itself is made.
        """
        if executor is not self._executor:
            self._seen, self._executor = set(), executor
        if isinstance(executor, ThreadPoolExecutor):
            return
        with contextlib.suppress(Exception):
            if is_dask(executor):
                self._ensure_dask(executor._client, thing)
            else:
                self._ensure_others(executor, thing, size)

    def _ensure_dask(self, client: Any, thing: Any) -> None:
        new = [address for address in client.nthreads() if address not in self._seen]
        if new:
            client.run(be_ready, thing, workers=new, on_error="ignore")
            self._seen.update(new)

    def _ensure_others(self, executor: Any, thing: Any, size: int) -> None:
        """Process pools, which say what processes they have; other executors are asked once."""
        while not self._seen or not set(getattr(executor, "_processes", None) or ()) <= self._seen:
            futures = [executor.submit(be_ready, thing, MOMENT) for _ in range(size)]
            self._seen.update(future.result() for future in futures)
