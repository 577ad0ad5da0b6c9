"""The exceptions of a run."""

from quell.evaluations import Evaluations
from quell.result import Result


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
