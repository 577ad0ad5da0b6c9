"""Imports that ``import quell`` leaves for later, made when a run begins.

They take a third of a second. Where they are used they are imported too, so nothing depends on
this; but without it the first run of a process would count them as its own computing time.
"""


def preload() -> None:
    """Import what every run needs and `quell` has not imported yet."""
    import scipy.optimize
    import scipy.spatial.distance
    import scipy.stats.qmc  # noqa: F401
