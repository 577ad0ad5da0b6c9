"""Models compared by their evidence.

``runs`` reads what the user gives, ``cells`` makes one log evidence of several runs and says what
is doubtful; ``single`` is the comparison for one data set, ``group`` that for many, by the
``frequencies`` of the models; ``compare`` is the front door.
"""

from quell.comparison.compare import compare
from quell.comparison.group import GroupComparison
from quell.comparison.single import Comparison

__all__ = ["Comparison", "GroupComparison", "compare"]
