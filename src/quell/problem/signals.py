"""Whose exception is it? The target's own, or one that a signal raised in the middle of it."""

import signal
import traceback
from types import CodeType
from typing import Any


def is_interrupt(error: BaseException) -> bool:
    """Whether it is meant for the whole program, wherever that was at the moment.

    Ctrl-C is, and ``sys.exit`` in a handler of SIGTERM. An ``Exception`` never is: a target may
    have an alarm of its own.

    >>> is_interrupt(KeyboardInterrupt()), is_interrupt(SystemExit())
    (True, False)
    """
    if isinstance(error, Exception):
        return False
    return isinstance(error, KeyboardInterrupt) or _came_by_signal(error)


def _came_by_signal(error: BaseException) -> bool:
    """Whether a handler of a signal has raised it."""
    frames = {frame.f_code for frame, _ in traceback.walk_tb(error.__traceback__)}
    handlers = (signal.getsignal(number) for number in signal.valid_signals())
    return any(_code(handler) in frames for handler in handlers if callable(handler))


def _code(handler: Any) -> CodeType | None:
    """The code of a handler written in Python: a function, a method, a partial or an object."""
    handler = getattr(handler, "func", handler)
    code = getattr(handler, "__code__", None) or getattr(handler.__call__, "__code__", None)
    return code if isinstance(code, CodeType) else None
