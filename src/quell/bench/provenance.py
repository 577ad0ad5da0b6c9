"""What a run was made by: commit, engine, settings, libraries, processor."""

import hashlib
import json
import platform
import subprocess
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from quell.native import kernels
from quell.version import __version__

PACKAGE = Path(__file__).parent.parent
#: What decides what a run gives: modules and rooms of the package. Commits that change nothing here
#: are of one version as far as runs are concerned. Compiled kernels do what the formulas here say,
#: to rounding; a record has the digest of their own sources apart ("kernels").
ENGINE = (
    "quadrature.py", "settings.py", "streams.py", "space", "problem", "evaluations", "gp",
    "mixture", "variational", "acquisition", "vbmc", "diagnostics", "run", "likelihoods",
    "baselines", "bench/problems",
)  # fmt: skip
LIBRARIES = ("numpy", "scipy")
#: Digits of a digest that are kept: enough to tell versions apart.
DIGITS = 12
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


@cache
def engine_digest(package: Path = PACKAGE) -> str:
    """A digest of the source of everything that decides what a run gives.

    >>> len(engine_digest())
    12
    """
    digest = hashlib.sha256()
    for name in ENGINE:
        place = package / name
        files = [place] if place.suffix else sorted(place.rglob("*.py"))
        for file in files:
            digest.update(file.relative_to(package).as_posix().encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()[:DIGITS]


def settings_digest(settings: Mapping[str, Any]) -> str:
    """A digest of settings by name.

    >>> settings_digest({"a": 1, "b": 2}) == settings_digest({"b": 2, "a": 1})
    True
    """
    text = json.dumps(dict(settings), sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


@cache
def processor(path: Path = Path("/proc/cpuinfo")) -> str:
    """The model of the processor, as far as the system tells."""
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, "") or platform.processor() or platform.machine()


def made_by() -> dict[str, Any]:
    """What a record says of the source and the machine behind it."""
    return {
        "version": __version__,
        "commit": source_commit(),
        "engine": engine_digest(),
        "libraries": {
            "python": platform.python_version(), **{name: version(name) for name in LIBRARIES}
        },
        "kernels": "none" if kernels is None else kernels.sources,
        "cpu": processor(),
    }  # fmt: skip


def version_of(record: Mapping[str, Any]) -> str:
    """Which version made a record: the engine's digest, or the commit where there was none yet."""
    return str(record.get("engine") or record.get("commit") or "unknown")


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
    return done.stdout.strip()
