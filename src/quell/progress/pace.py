"""The time left, by how fast the latest evaluations came."""

from collections import deque
from math import nan

#: Updates that are looked back upon: the algorithm's own time, and the target's, change in a run.
WINDOW = 100


class Pace:
    """Seconds per evaluation, of those that this process has seen itself.

    Evaluations that come from a journal take no time: after :meth:`restart` they do not count.

    >>> pace = Pace()
    >>> pace.left(20.0, n=10, budget=50)
    80.0
    >>> pace.restart()
    >>> pace.left(3.0, n=100, budget=200), pace.left(9.0, n=103, budget=200)
    (nan, 194.0)
    """

    def __init__(self) -> None:
        self._marks: deque[tuple[float, int]] = deque([(0.0, 0)], maxlen=WINDOW)

    def restart(self) -> None:
        """Forget what was seen."""
        self._marks.clear()

    def left(self, wall_seconds: float, *, n: int, budget: int) -> float:
        """Seconds until ``budget`` evaluations are made, n of them by now; nan if unknown."""
        self._marks.append((wall_seconds, n))
        begun, n_then = self._marks[0]
        if n <= n_then or not budget:
            return nan
        return (wall_seconds - begun) / (n - n_then) * max(0, budget - n)
