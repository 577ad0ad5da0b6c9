"""Which commit of the source a run was made by."""

import subprocess
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent.parent
#: Seconds after which git is taken not to answer.
PATIENCE = 30.0


@cache
def source_commit(package: Path = PACKAGE) -> str:
    """The short hash of the commit that the package is checked out at, in a process's first call.

    With a "+" if files of the package differ from that commit; elsewhere in the tree they may, for
    a campaign appends to tracked files. "" for a package that is not from a checkout.
    """
    try:
        # An installed package may lie inside the checkout of something else, but is not part of it.
        _git(package, "ls-files", "--error-unmatch", "__init__.py")
        commit = _git(package, "rev-parse", "--short", "HEAD")
        return commit + "+" * bool(_git(package, "status", "--porcelain", "--", "."))
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout.strip()
