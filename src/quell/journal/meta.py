"""What a run was begun with, as entries of the file: JSON, each with a checksum.

``problem``, ``settings``, ``seed`` and ``starts`` say which run it is; ``created`` and
``continued`` when, by whom and with which version of Quell. Journals of earlier versions have no
checksums.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

REQUIRED = ("problem", "settings", "seed", "starts")
OPTIONAL = ("created", "continued")
CHECKSUMS = "checksums"
#: About the year 9900 in seconds since 1970: what is later has no date.
LATEST = 2.5e11


def seal(meta: Mapping[str, Any]) -> dict[str, str]:
    """The entries as text, and one more with their checksums.

    >>> unseal(seal({"seed": 1}))
    ({'seed': 1}, [])
    >>> unseal(seal({"seed": 1}) | {"seed": "3"})
    ({}, ['seed'])
    """
    texts = {key: json.dumps(value) for key, value in meta.items()}
    return {**texts, CHECKSUMS: json.dumps({key: _checksum(texts[key]) for key in texts})}


def unseal(texts: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The entries behind what was read, and the names of those that are damaged."""
    checksums = _parsed(texts.get(CHECKSUMS, "{}"))
    if not isinstance(checksums, dict):
        return {}, [CHECKSUMS]
    meta: dict[str, Any] = {}
    bad: list[str] = []
    for key in (*REQUIRED, *OPTIONAL):
        if key not in texts:
            bad += [key] if key in checksums else []
            continue
        text = texts[key]
        known = isinstance(text, str) and checksums.get(key, _checksum(text)) == _checksum(text)
        value = _parsed(text) if known else None
        if known and _is_sound(key, value):
            meta[key] = value
        else:
            bad.append(key)
    starts: Any = meta.get("starts")
    if starts and "problem" in meta and {len(s) for s in starts} != {len(meta["problem"]["names"])}:
        del meta["starts"]
        bad.append("starts")
    return meta, bad


def _checksum(text: str) -> int:
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))


def _parsed(text: Any) -> Any:
    try:
        return json.loads(text)
    except (TypeError, ValueError, RecursionError):
        return None


def _is_sound(key: str, value: Any) -> bool:
    """Whether an entry has the form that the rest of the program relies on."""
    if key == "problem":
        names = value.get("names") if isinstance(value, dict) else None
        return isinstance(names, list) and bool(names) and all(isinstance(n, str) for n in names)
    if key == "seed":
        return type(value) is int and value >= 0
    if key == "starts":
        return isinstance(value, list) and all(
            isinstance(point, list) and all(type(x) in (int, float) for x in point)
            for point in value
        )
    if key == "continued":
        return isinstance(value, list) and all(map(_is_stamp, value))
    return _is_stamp(value) if key == "created" else isinstance(value, dict)


def _is_stamp(value: Any) -> bool:
    """Whether it says when, and with which version."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("version", ""), str)
        and type(value.get("at", 0.0)) in (int, float)
        and abs(value.get("at", 0.0)) < LATEST
    )
