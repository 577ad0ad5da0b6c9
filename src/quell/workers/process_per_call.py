"""An executor that makes every call in a process of its own: a crash of one harms no other.

The processes are spawned, use one thread for linear algebra, and leave Ctrl-C to their parent,
with which they end, however it ends.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class ProcessDied(RuntimeError):
    """The process of a call ended without an answer."""


class ProcessPerCall(Executor):
    """At most ``max_workers`` processes at a time, a new one for every call.

    One thread starts the processes and waits for them; `kill` ends those under way. Scripts need
    the usual ``if __name__ == "__main__":``.

    >>> executor = ProcessPerCall(2)
    >>> executor.submit(pow, 2, 10).result()
    1024
    >>> executor.shutdown()
    """

    def __init__(self, max_workers: int) -> None:
        self._max_workers = max_workers
        self._context = multiprocessing.get_context("spawn")
        self._news, self._bell = self._context.Pipe(duplex=False)
        self._lock = threading.Lock()
        self._waiting: deque[tuple[Future[Any], Callable[..., Any], tuple[Any, ...]]] = deque()
        self._active: dict[Connection, tuple[BaseProcess, Future[Any]]] = {}
        self._is_closing = self._is_killed = False
        self._thread = threading.Thread(target=self._serve, name="processes", daemon=True)
        self._thread.start()

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Make the call as soon as fewer than ``max_workers`` are under way."""
        if kwargs:
            raise TypeError("calls in processes of their own take no keyword arguments")
        future: Future[Any] = Future()
        with self._lock:
            if self._is_closing:
                raise RuntimeError("the executor was shut down")
            self._waiting.append((future, function, args))
            self._bell.send(None)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more calls; those there are are made, unless cancelled before they begin."""
        with self._lock:
            self._is_closing = True
            if cancel_futures:
                while self._waiting:
                    self._waiting.popleft()[0].cancel()
            if self._thread.is_alive():
                self._bell.send(None)
        if wait:
            self._thread.join()

    def kill(self) -> None:
        """End the processes under way, whose calls get no answer, and shut down."""
        self._is_killed = True
        self.shutdown(cancel_futures=True)

    def _serve(self) -> None:
        if hasattr(signal, "pthread_sigmask"):  # processes inherit it from the thread
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            while not self._is_killed:
                self._start_some()
                with self._lock:
                    if self._is_closing and not self._active and not self._waiting:
                        break
                for ready in wait([self._news, *self._active]):
                    assert isinstance(ready, Connection)
                    if ready is self._news:
                        ready.recv()
                    else:
                        self._receive(ready)
        finally:
            for connection, (process, future) in self._active.items():
                process.terminate()
                process.join()
                connection.close()
                future.set_exception(ProcessDied("its process was ended"))

    def _start_some(self) -> None:
        while len(self._active) < self._max_workers:
            with self._lock:
                if not self._waiting:
                    return
                future, function, arguments = self._waiting.popleft()
            if not future.set_running_or_notify_cancel():
                continue
            mine, theirs = self._context.Pipe(duplex=False)
            process = self._context.Process(
                target=_work, args=(theirs, function, arguments), daemon=True
            )
            try:
                with worker_conditions():
                    process.start()
            except Exception as error:  # what cannot be pickled, or no more processes
                mine.close()
                future.set_exception(error)
            else:
                self._active[mine] = process, future
            theirs.close()

    def _receive(self, connection: Connection) -> None:
        process, future = self._active.pop(connection)
        try:
            value, error = connection.recv()
        except EOFError:
            process.join()
            value = None
            error = ProcessDied(f"its process died (exit code {process.exitcode})")
        except Exception as failure:  # an answer that cannot be unpickled here
            value, error = None, failure
        process.join()
        connection.close()
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)


def _work(connection: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    """The body of a process: one call, whose value, or what it raised, is sent back."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        answer: tuple[Any, BaseException | None] = function(*arguments), None
    except BaseException as error:  # also sys.exit: nothing else is done here that it could end
        answer = None, error
    try:
        connection.send(answer)
    except Exception as error:
        connection.send((None, TypeError(f"cannot pickle the answer: {error}")))


def _end_with_parent() -> None:
    """Without it, a process whose parent was killed would go on computing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def worker_conditions() -> Iterator[None]:
    """Processes started within it use one thread for linear algebra."""
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
