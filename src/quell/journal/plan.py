"""What a run is going to do, for those who look on: its budget.

An entry of the table ``meta`` that nothing of a run depends on. It is written with the first events
of every call, and replaces the one before it; journals of earlier versions have none.
"""

import json
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from quell.archive.plain import restore
from quell.evaluations.events import this_process

PLAN = "plan"


@dataclass(frozen=True)
class Plan:
    """The ``budget`` of the last call, 0 for the default one; by whom, and since when."""

    budget: int
    by: str = field(default_factory=this_process)
    at: float = field(default_factory=time.time)

    def entry(self) -> dict[str, str]:
        """The entry of the table."""
        return {PLAN: json.dumps(asdict(self))}

    @classmethod
    def of_entry(cls, text: Any) -> "Plan | None":
        """The plan behind an entry; None if there is none, or it is damaged.

        >>> Plan.of_entry(Plan(200).entry()["plan"]).budget
        200
        >>> Plan.of_entry("[]") is Plan.of_entry(None) is None
        True
        """
        try:
            found = restore(cls, json.loads(text))
        except (TypeError, ValueError, AttributeError, RecursionError):
            return None
        return found if found.budget >= 0 else None
