"""Is it the same run? The problem and the settings of a journal beside those of the caller."""

import json
from collections.abc import Mapping
from typing import Any, Protocol

from quell.problem import Problem
from quell.settings import Settings
from quell.text import jsonable


class Describable(Protocol):
    """Settings of an algorithm, with "algorithm" among them where it is not Quell's own."""

    def as_dict(self) -> dict[str, Any]:
        """The settings by name."""


def describe(problem: Problem, settings: Describable) -> dict[str, Any]:
    """Problem and settings as plain data, as they come back from a file."""
    plain = {"problem": problem.fingerprint(), "settings": settings.as_dict()}
    return dict(json.loads(json.dumps(jsonable(plain))))


#: The algorithm of settings that do not name one.
OWN = "quell.infer"
#: Settings there were once, with the value that is now the only way: journals have them.
RETIRED = {"whitening_undo_test": False, "noise_shaping": False}


def changes(recorded: Mapping[str, Any], problem: Problem, settings: Describable) -> list[str]:
    """What differs between the ``recorded`` problem and settings and these, a line each.

    Settings that are younger than the journal had their default when it was written.
    """
    current = describe(problem, settings)
    was, now = (_algorithm(plain["settings"]) for plain in (recorded, current))
    if was != now:
        return [f"algorithm: {was} in the journal, {now} now"]
    if now != OWN:
        return differences(recorded["problem"], current["problem"], "problem") + differences(
            recorded["settings"], current["settings"], "settings"
        )
    then = {**describe(problem, Settings())["settings"], **recorded["settings"]}
    gone = [key for key in then if key not in current["settings"]]
    then = {key: then[key] for key in then if key not in gone or RETIRED.get(key) != then[key]}
    return differences(recorded["problem"], current["problem"], "problem") + differences(
        then, current["settings"], "settings"
    )


def _algorithm(settings: Mapping[str, Any]) -> str:
    return str(settings.get("algorithm", OWN))


def differences(recorded: Any, current: Any, where: str = "") -> list[str]:
    """One line for every entry of nested plain data that is not the same.

    >>> differences({"lower": [0, 1], "noise": "auto"}, {"lower": [0, 2], "noise": "auto"})
    ['lower[1]: 1 in the journal, 2 now']
    """
    if recorded == current:
        return []
    if isinstance(recorded, dict) and isinstance(current, dict):
        keys = [*recorded, *(key for key in current if key not in recorded)]
        return [
            line
            for key in keys
            for line in differences(
                recorded.get(key), current.get(key), f"{where}.{key}" if where else str(key)
            )
        ]
    if isinstance(recorded, list) and isinstance(current, list) and len(recorded) == len(current):
        pairs = zip(recorded, current, strict=True)
        return [
            line for i, (a, b) in enumerate(pairs) for line in differences(a, b, f"{where}[{i}]")
        ]
    return [f"{where}: {_short(recorded)} in the journal, {_short(current)} now"]


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 80 else text[:77] + "..."
