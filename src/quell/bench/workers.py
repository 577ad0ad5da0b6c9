"""Runs in processes of their own: a crash of one harms no other."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from quell.bench.single import Spec, perform

THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def work(connection: Connection, spec: Spec) -> None:
    """The body of a process: one run, whose record, or what went wrong, is sent back."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        answer: tuple[dict[str, Any] | None, str] = perform(spec), ""
    except Exception as error:
        answer = None, f"{type(error).__name__}: {error}"
    connection.send(answer)


def _end_with_parent() -> None:
    """Without it, the worker of a campaign that was killed would go on computing."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


@contextmanager
def worker_conditions() -> Iterator[None]:
    """Processes started within it use one thread for linear algebra and ignore Ctrl-C.

    Ctrl-C is for the parent, which ends them; ignored signals are inherited.
    """
    before = {name: os.environ.get(name) for name in THREAD_VARIABLES}
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, "1"))
    main_thread = threading.current_thread() is threading.main_thread()
    handler = signal.signal(signal.SIGINT, signal.SIG_IGN) if main_thread else None
    try:
        yield
    finally:
        if main_thread:
            signal.signal(signal.SIGINT, handler)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def perform_all(
    specs: Sequence[Spec], jobs: int
) -> Generator[tuple[Spec, dict[str, Any] | None, str]]:
    """Perform the runs, ``jobs`` at a time; yields (spec, record, "") as they finish.

    A run whose process dies, or that cannot be scored, gives (spec, None, why). Leaving the
    iterator, also by Ctrl-C, ends the runs under way.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(reversed(specs))
    active: dict[Connection, tuple[BaseProcess, Spec]] = {}
    try:
        while waiting or active:
            while waiting and len(active) < jobs:
                spec = waiting.pop()
                mine, theirs = context.Pipe(duplex=False)
                process = context.Process(target=work, args=(theirs, spec), daemon=True)
                with worker_conditions():
                    process.start()
                theirs.close()
                active[mine] = process, spec
            for ready in wait(list(active)):
                assert isinstance(ready, Connection)
                process, spec = active[ready]
                try:
                    record, error = ready.recv()
                except EOFError:
                    record, error = None, ""
                process.join()
                del active[ready]
                ready.close()
                if record is None and not error:
                    error = f"its process died (exit code {process.exitcode})"
                yield spec, record, error
    finally:
        for connection, (process, _) in active.items():
            process.terminate()
            process.join()
            connection.close()
