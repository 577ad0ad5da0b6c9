"""What a report can be written of."""

import importlib
from os import PathLike
from pathlib import Path


class Reported:
    """Gives a class its method `report`."""

    def report(self, path: str | PathLike[str], *, title: str = "", overwrite: bool = True) -> Path:
        """Write a report: one HTML file to read, to print and to send (docs/report.md).

        Parameters
        ----------
        path
            Where, for instance "fit.html".
        title
            What stands at its top; by default what it is about.
        overwrite
            Whether a report that is there is replaced. Any other file never is.

        Returns
        -------
        pathlib.Path
            Where it is.

        Raises
        ------
        FileError
            It cannot be written there; what was there is as it was.
        """
        # By name: pages are a later room, which those that are reported must not need.
        door = importlib.import_module("quell.pages.door")
        made: Path = door.report(self, path, title=title, overwrite=overwrite)
        return made
