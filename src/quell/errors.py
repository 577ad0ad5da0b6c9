"""The exceptions of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:  # they carry what the highest rooms make, and are raised in the lowest
    from quell.evaluations import Evaluations
    from quell.results import Result


class InferenceFailed(RuntimeError):
    """A run that could not go on. ``evaluations`` are those made, ``result`` the best so far."""

    def __init__(
        self, message: str, evaluations: Evaluations, result: Result | None = None
    ) -> None:
        super().__init__(message, evaluations, result)
        self.evaluations = evaluations
        self.result = result

    def __str__(self) -> str:
        return str(self.args[0])


class InferenceInterrupted(KeyboardInterrupt):
    """Ctrl-C before there was any result. ``evaluations`` are those made."""

    def __init__(self, message: str, evaluations: Evaluations) -> None:
        super().__init__(message, evaluations)
        self.evaluations = evaluations

    def __str__(self) -> str:
        return str(self.args[0])


class JournalError(RuntimeError):
    """A journal that cannot be used: in use elsewhere, of another problem, damaged, disk full."""
