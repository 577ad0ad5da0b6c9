"""Which of the points asked for is one that is told?"""

from collections.abc import Mapping

import numpy as np

from quell.arrays import FloatArray
from quell.problem import Problem
from quell.run.told import Ask

#: A point told may differ from that asked for by this part of the plausible box: it may have
#: been through a text file.
TOLERANCE = 1e-6


class Matcher:
    """Finds asks by their points.

    >>> problem = Problem(sum, lower=0, upper=9, plausible_lower=2, plausible_upper=4)
    >>> pending = {7: Ask(7, np.array([2.5]), "search"), 8: Ask(8, np.array([3.0]), "search")}
    >>> Matcher(problem).indices(np.array([[3.0], [2.5000001], [3.0]]), pending, {})
    [8, 7, -1]
    """

    def __init__(self, problem: Problem) -> None:
        self._problem = problem
        width = problem.plausible_upper - problem.plausible_lower
        self._tolerance = TOLERANCE * width

    def indices(
        self, points: FloatArray, pending: Mapping[int, Ask], forgotten: Mapping[int, Ask]
    ) -> list[int]:
        """For each of the points (n, D) the index of an ask, −1 for none; none is used twice.

        Pending asks go before forgotten ones, older before newer ones, and exact matches first.
        """
        free = [*pending.values(), *forgotten.values()]
        if not free:
            return [-1] * len(points)
        places = np.stack([ask.theta for ask in free])
        used = np.zeros(len(free), dtype=bool)
        found = [-1] * len(points)
        for tolerance in (0.0 * self._tolerance, self._tolerance):
            for i, theta in enumerate(self._problem.snap(points)):
                if found[i] >= 0 or used.all():
                    continue
                near = ~used & np.all(np.abs(places - theta) <= tolerance, axis=1)
                if near.any():
                    k = int(np.argmax(near))
                    used[k] = True
                    found[i] = free[k].index
        return found
