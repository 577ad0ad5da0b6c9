"""Which points are out for evaluation: the one place that knows."""

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from quell.arrays import FloatArray
from quell.evaluations import Origin
from quell.evaluations.events import Answered, Asked, Event, Forgotten


@dataclass
class Pending:
    """The questions without an answer, by index.

    ``asked`` are waited for, oldest first; ``forgotten`` are not, but may be answered after all;
    ``attempts`` counts the failed attempts at those that are tried again.

    >>> pending = Pending()
    >>> pending.apply(Asked(3, np.array([0.5]), Origin.SEARCH))
    >>> pending.apply(Forgotten(3))
    >>> list(pending.asked), list(pending.forgotten)
    ([], [3])
    """

    asked: dict[int, Asked] = field(default_factory=dict)
    forgotten: dict[int, Asked] = field(default_factory=dict)
    attempts: Counter[int] = field(default_factory=Counter)

    def apply(self, event: Event) -> None:
        """What an event changes."""
        match event:
            case Asked():
                self.asked[event.index] = event
            case Forgotten():
                if event.index in self.asked:
                    self.forgotten[event.index] = self.asked.pop(event.index)
            case Answered(final=False):
                self.attempts[event.asked.index] += 1
            case Answered():
                for known in (self.asked, self.forgotten, self.attempts):
                    known.pop(event.asked.index, None)

    def points(self, dimension: int) -> FloatArray:
        """The points (n, D) that are waited for, oldest first."""
        return np.array([asked.theta for asked in self.asked.values()]).reshape(-1, dimension)

    def searched(self, dimension: int) -> FloatArray:
        """Those of the points that are not second evaluations of one, (n, D)."""
        own = [asked.theta for asked in self.asked.values() if asked.origin != Origin.CHECK]
        return np.array(own).reshape(-1, dimension)

    def is_checking(self) -> bool:
        """Whether a second evaluation, by which noise="auto" is settled, is under way."""
        return any(asked.origin == Origin.CHECK for asked in self.asked.values())

    def asked_before(self, at: float) -> list[int]:
        """Indices of those asked for before this time, in seconds since 1970."""
        return [index for index, asked in self.asked.items() if asked.at < at]
