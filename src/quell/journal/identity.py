"""Is it the same run? The problem and the settings of a journal beside those of the caller."""

import json
from collections.abc import Mapping
from typing import Any

from quell.problem import Problem
from quell.settings import Settings
from quell.text import jsonable


def describe(problem: Problem, settings: Settings) -> dict[str, Any]:
    """Problem and settings as plain data, as they come back from a file."""
    plain = {"problem": problem.fingerprint(), "settings": settings.as_dict()}
    return dict(json.loads(json.dumps(jsonable(plain))))


#: Settings there were once, with the value that is now the only way: journals have them.
RETIRED = {"whitening_undo_test": False, "noise_shaping": False}


def changes(recorded: Mapping[str, Any], problem: Problem, settings: Settings) -> list[str]:
    """What differs between the ``recorded`` problem and settings and these, a line each.

    Settings that are younger than the journal had their default when it was written.
    """
    current = describe(problem, settings)
    then = {**describe(problem, Settings())["settings"], **recorded["settings"]}
    gone = [key for key in then if key not in current["settings"]]
    then = {key: then[key] for key in then if key not in gone or RETIRED.get(key) != then[key]}
    return differences(recorded["problem"], current["problem"], "problem") + differences(
        then, current["settings"], "settings"
    )


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
