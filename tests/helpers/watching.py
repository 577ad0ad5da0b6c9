"""A run to watch, with hostile names and errors."""

import time

from helpers.problems import make

HOSTILE = '<img src=x onerror="alert(1)">\x1b[2J'


def sometimes_fails(theta):
    if theta[0] > 2.0:
        raise ValueError(HOSTILE)
    return -0.5 * float(theta @ theta)


def problem():
    return make(sometimes_fails, 2, noise="exact", names=[HOSTILE, "b"])


def until(condition, seconds=60.0):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.05)
    return False
