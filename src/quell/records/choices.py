"""Settings and verdicts as plain data."""

from dataclasses import fields
from typing import Any, NoReturn

from quell.acquisition import by_name
from quell.archive.plain import a, record, restore
from quell.diagnostics import Finding, Verdict
from quell.diagnostics.stability import Stability
from quell.settings import Settings
from quell.text import printable


class LostAcquisition:
    """Stands for an acquisition function of the user's own: its code is not in the file."""

    def prepare(self, *_: Any, **__: Any) -> NoReturn:
        """There is nothing to prepare."""
        raise ValueError(
            f"the acquisition function {type(self).__name__!r} is your own, and a file cannot hold "
            "it: make new settings with acquisition="
        )


def restore_settings(data: Any) -> Settings:
    """The settings behind ``Settings.as_dict``; those of another version as far as they are known.

    >>> restore_settings({"batch": 3, "of_the_future": 1}).batch
    3
    """
    known = {field.name for field in fields(Settings)}
    values = {name: value for name, value in a(dict, data).items() if name in known}
    if "acquisition" in values and not _is_known(values["acquisition"]):
        name = printable(a(str, values["acquisition"]))
        values["acquisition"] = type(name, (LostAcquisition,), {})()
    return Settings(**values)


def _is_known(name: str) -> bool:
    try:
        by_name(name)
    except ValueError:
        return False
    return True


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """What the tests of an answer found."""
    return {
        "status": str(verdict.status),  # for whoever reads the file; it follows from the others
        "stability": record(verdict.stability),
        "findings": [record(finding) for finding in verdict.findings],
    }


def restore_verdict(data: Any) -> Verdict:
    """The verdict behind its record."""
    findings = tuple(restore(Finding, entry) for entry in a(list, data["findings"]))
    return Verdict(restore(Stability, data["stability"]), findings)
