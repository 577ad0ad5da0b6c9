"""Plain data as JSON: strict both ways, and small dataclasses as plain data.

JSON has no nan and no infinities: they are the strings "nan", "inf" and "-inf".
"""

import json
from collections.abc import Mapping
from dataclasses import MISSING, asdict, fields
from math import inf, nan
from typing import Any, TypeVar, get_type_hints

from quell.text import jsonable

Record = TypeVar("Record")
_NOT_FINITE = {"nan": nan, "inf": inf, "-inf": -inf}
#: Far more than the data have, and less than what would exhaust the stack.
DEEPEST = 20


def to_json(data: Any) -> bytes:
    """Plain data as the bytes of a JSON file."""
    return json.dumps(jsonable(data), indent=1, allow_nan=False).encode("utf-8", "backslashreplace")


def from_json(data: bytes) -> Any:
    """The data behind the bytes; ``ValueError`` for what is no JSON, or nested absurdly.

    >>> from_json(to_json({"lower": [0.5, -inf]}))
    {'lower': [0.5, '-inf']}
    """
    try:
        found = json.loads(
            data.decode("utf-8"), object_pairs_hook=_without_repeats, parse_constant=_refuse
        )
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _refuse_deep(found, DEEPEST)
    return found


def number(value: Any) -> float:
    """A number of the data, which may stand there as text where it is not finite.

    >>> number(2), number("-inf")
    (2.0, -inf)
    """
    if type(value) is str and value in _NOT_FINITE:
        return _NOT_FINITE[value]
    if type(value) not in (int, float):
        raise ValueError(f"{value!r:.50} is no number")
    return float(value)


def a(kind: type[Record], value: Any) -> Record:
    """The value, once it is known to be of exactly this kind of plain data.

    >>> a(str, "text")
    'text'
    """
    if type(value) is not kind:
        raise ValueError(f"{value!r:.50} is no {kind.__name__}")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(a(str, entry) for entry in a(list, value))


def record(thing: Any) -> dict[str, Any]:
    """A small dataclass by the names of its fields."""
    return asdict(thing)


def restore(kind: type[Record], data: Any) -> Record:
    """The dataclass behind a `record`, every field of the type it says.

    Fields that it does not know are left out, and those it does not find have their default: the
    file may be of another version.
    """
    entries: Mapping[str, Any] = a(dict, data)
    hints = get_type_hints(kind)
    values: dict[str, Any] = {}
    for column in fields(kind):  # type: ignore[arg-type]
        if column.name in entries:
            values[column.name] = _as(hints[column.name], entries[column.name])
        elif column.default is MISSING and column.default_factory is MISSING:
            raise ValueError(f"{column.name!r} is missing")
    return kind(**values)


def _as(kind: Any, value: Any) -> Any:
    if kind is float:
        return value if type(value) is int else number(value)
    if kind in (int, str, bool):
        return a(kind, value)
    return tuple(value) if isinstance(value, list) else value


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("it has an entry twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"it has the constant {constant}, which is no JSON")


def _refuse_deep(value: Any, left: int) -> None:
    if not left:
        raise ValueError("it is nested too deeply")
    for entry in value.values() if isinstance(value, dict) else value:
        if isinstance(entry, dict | list):
            _refuse_deep(entry, left - 1)
