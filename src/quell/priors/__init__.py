"""Ready priors for one parameter, beside those of ``scipy.stats``.

:func:`box`, flat between two values; :func:`trapezoid`, flat with linear shoulders;
:func:`smooth_box`, flat with normal tails. All are proper, and have the methods of SciPy's frozen
distributions. One for each parameter makes a ``prior=`` of :class:`quell.Problem`, mixed with
SciPy's as you like.
"""

from quell.priors.distribution import ReadyPrior
from quell.priors.flat import box, smooth_box, trapezoid

__all__ = ["ReadyPrior", "box", "smooth_box", "trapezoid"]
