"""Which display: what the user asked for, and what there is to show it on."""

import sys
from typing import Any, Literal

import numpy as np

#: What ``progress=`` may be; True is "auto".
Choice = bool | Literal["auto", "bar", "log"]
MODES = ("auto", "bar", "log")


def check_progress(progress: Any) -> Literal["auto", "bar", "log", ""]:
    """The mode asked for, "" for none; an error for what is no mode.

    >>> check_progress(True), check_progress("log"), check_progress(False)
    ('auto', 'log', '')
    >>> check_progress("bars")
    Traceback (most recent call last):
        ...
    ValueError: progress must be "auto", "bar", "log" or False, got 'bars'
    """
    if isinstance(progress, bool | np.bool_):
        return "auto" if progress else ""
    for mode in MODES:
        if isinstance(progress, str) and progress == mode:
            return mode  # type: ignore[return-value]
    kind = ValueError if isinstance(progress, str) else TypeError
    raise kind(f'progress must be "auto", "bar", "log" or False, got {progress!r:.50}')


def in_notebook() -> bool:
    """Whether this is a Jupyter kernel, whose output is shown in a notebook."""
    module = sys.modules.get("IPython")  # a kernel has imported it
    shell = None if module is None else module.get_ipython()
    return getattr(shell, "kernel", None) is not None
