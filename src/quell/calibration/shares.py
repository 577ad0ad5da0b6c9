"""Shares of runs, with their uncertainty."""

import numpy as np

#: The end of a two-sided 95 % interval of a standard normal.
Z95 = 1.959963984540054


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """95 % interval of a share, from ``successes`` out of ``n``.

    >>> tuple(round(end, 3) for end in wilson_interval(9, 10))
    (0.596, 0.982)
    """
    if n == 0:
        return 0.0, 1.0
    share, z2 = successes / n, Z95**2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = Z95 * np.sqrt(share * (1 - share) / n + z2 / (4 * n**2)) / (1 + z2 / n)
    return max(0.0, float(centre - half)), min(1.0, float(centre + half))
