"""What can be written to a file of its own."""

from abc import ABC, abstractmethod
from os import PathLike

from quell.archive import write_atomically


class Saved(ABC):
    """Gives a class its method `save`."""

    @abstractmethod
    def _file(self) -> bytes:
        """The whole file."""

    def save(self, path: str | PathLike[str], *, overwrite: bool = True) -> None:
        """Write it to one file, from which `quell.load` makes it again.

        The file has no code: of a prior that is a function, or a constraint, what follows from it
        is there, not the function itself; nor has it the solutions of a run's iterations
        (docs/files.md). It is written as a whole or not at all.

        Parameters
        ----------
        path
            Where, for instance "fit.quell".
        overwrite
            Whether a ``.quell`` file that is there is replaced. Any other file never is.

        Raises
        ------
        FileError
            It cannot be written there; what was there is as it was.
        """
        write_atomically(path, self._file(), overwrite=overwrite)
