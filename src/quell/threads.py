"""One BLAS thread inside the engine.

At the matrix sizes of a surrogate (a few hundred rows) threads slow BLAS down, and they fight
with the user's own workers for cores.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController  # not needed before the first run

    # Finding the loaded libraries takes milliseconds; they do not change.
    return ThreadpoolController()


@contextmanager
def single_threaded() -> Iterator[None]:
    """Limit BLAS to one thread within a ``with`` block; the user's setting returns after it.

    >>> with single_threaded():
    ...     pass
    """
    with _controller().limit(limits=1, user_api="blas"):
        yield
