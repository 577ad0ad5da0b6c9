"""Runs of the benchmark in processes of their own: a crash of one harms no other."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

from quell.bench.single import Spec, perform
from quell.studies.campaign import perform_all as perform_jobs
from quell.workers.process_per_call import ProcessPerCall


def perform_all(
    specs: Sequence[Spec], jobs: int, enough: Callable[[], bool] = lambda: False
) -> Generator[tuple[Spec, dict[str, Any] | None, str]]:
    """Perform the runs, ``jobs`` at a time; yields (spec, record, "") as they finish.

    A run whose process dies, or that cannot be scored, gives (spec, None, why). Leaving the
    iterator, also by Ctrl-C, ends the runs under way. When ``enough`` says so, none is begun.
    """
    executor = ProcessPerCall(jobs)
    try:
        each = [(spec, (spec,)) for spec in specs]
        yield from perform_jobs(each, perform, executor, what="the run", attempts=1, enough=enough)
    finally:
        executor.kill()
