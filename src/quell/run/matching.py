"""Which of the points asked for is one that is told?"""

import numpy as np

from quell.arrays import FloatArray
from quell.evaluations.events import Asked
from quell.problem import Problem
from quell.run.pending import Pending

#: A point told may differ from that asked for by this part of the plausible box: it may have
#: been through a text file.
TOLERANCE = 1e-6


class Matcher:
    """Finds questions by their points.

    >>> from quell.evaluations import Origin
    >>> problem = Problem(sum, lower=0, upper=9, plausible_lower=2, plausible_upper=4)
    >>> pending = Pending()
    >>> pending.apply(Asked(7, np.array([2.5]), Origin.SEARCH))
    >>> pending.apply(Asked(8, np.array([3.0]), Origin.SEARCH))
    >>> found = Matcher(problem).find(np.array([[3.0], [2.5000001], [3.0]]), pending)
    >>> [asked.index if asked else None for asked in found]
    [8, 7, None]
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        width = problem.plausible_upper - problem.plausible_lower
        self._tolerance = TOLERANCE * width

    def find(
        self, points: FloatArray, pending: Pending, *, forgotten_too: bool = True
    ) -> list[Asked | None]:
        """For each of the points (n, D) the question it answers; none is used twice.

        Those waited for go before forgotten ones, older before newer ones, and exact matches
        first.
        """
        known = [*pending.asked.values(), *(pending.forgotten.values() if forgotten_too else ())]
        found: list[Asked | None] = [None] * len(points)
        if not known:
            return found
        places = np.stack([asked.theta for asked in known])
        used = np.zeros(len(known), dtype=bool)
        for tolerance in (0.0 * self._tolerance, self._tolerance):
            for i, theta in enumerate(self._problem.snap(points)):
                if found[i] is not None or used.all():
                    continue
                near = ~used & np.all(np.abs(places - theta) <= tolerance, axis=1)
                if near.any():
                    k = int(np.argmax(near))
                    used[k] = True
                    found[i] = known[k]
        return found
