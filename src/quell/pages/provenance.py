"""Where a result comes from: settings, versions, the problem, and how to make it again."""

import json
import platform
from dataclasses import dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np

from quell.evaluations import Origin
from quell.results import Result
from quell.settings import Settings
from quell.text import printable
from quell.version import __version__

#: Characters of the problem's digest that are shown.
DIGEST = 16
#: Points of a start that are written out.
MOST_STARTS = 5
DEFAULTS = Settings()


@dataclass(frozen=True)
class Setting:
    """A setting as text, and whether it is the default."""

    name: str
    value: str
    default: bool


@dataclass(frozen=True, eq=False)
class Provenance:
    """The part of a report on how the result was made."""

    settings: list[Setting]
    versions: list[tuple[str, str]]
    problem: list[tuple[str, str]]
    digest: str
    snippet: str


def provenance(result: Result) -> Provenance:
    """The provenance of a result."""
    return Provenance(
        settings=settings_of(result.settings),
        versions=versions(),
        problem=problem_rows(result.problem),
        digest=digest(result.problem),
        snippet=snippet(result),
    )


def digest(problem: dict[str, Any]) -> str:
    """By which the same problem is known again."""
    text = json.dumps(problem, sort_keys=True, default=str)
    return sha256(text.encode()).hexdigest()[:DIGEST]


def versions() -> list[tuple[str, str]]:
    """Versions of what made this report."""
    import scipy

    return [
        ("quell", __version__), ("numpy", np.__version__), ("scipy", scipy.__version__),
        ("python", platform.python_version()),
    ]  # fmt: skip


def settings_of(settings: Settings) -> list[Setting]:
    """All settings, those that are not the default first."""
    found = []
    for field in fields(Settings):
        value = getattr(settings, field.name)
        same = value == getattr(DEFAULTS, field.name)
        found.append(Setting(field.name, printable(str(value)), bool(same)))
    return sorted(found, key=lambda setting: setting.default)


def problem_rows(problem: dict[str, Any]) -> list[tuple[str, str]]:
    """What is not in the table of parameters: prior, noise, maps."""
    prior = dict(problem.get("prior") or {})
    kind = str(prior.get("kind", "unknown"))
    marginals = prior.get("marginals")
    words = f"{kind}: {'; '.join(map(str, marginals))}" if marginals else kind
    rows = [("prior", words), ("noise", str(problem.get("noise", "unknown")))]
    if problem.get("noise_guess") is not None:
        rows.append(("noise guess", f"{problem['noise_guess']:g}"))
    rows.append(("maps of bounded parameters", ", ".join(dict.fromkeys(problem["bounded"]))))
    if problem.get("constraint"):
        rows.append(("constraint", "yes (code, which no report has)"))
    return [(name, printable(text)) for name, text in rows]


def snippet(result: Result) -> str:
    """Python code that makes the run again, given the target; it is valid whatever names are."""
    return "\n".join([*problem_lines(result.problem), *_call(result)])


def problem_lines(problem: dict[str, Any]) -> list[str]:
    """Python code that makes the problem again."""
    lines = ["import numpy as np", "import quell", "", "problem = quell.Problem("]
    lines.append("    log_likelihood,  # your function: its code is not in a result")
    for name in ("lower", "upper", "plausible_lower", "plausible_upper"):
        lines.append(f"    {name}={_numbers(problem[name])},")
    lines.append(f"    names={_names(problem['names'])},")
    lines.append(f"    noise={problem['noise']!r},")
    if problem.get("noise_guess") is not None:
        lines.append(f"    noise_guess={problem['noise_guess']!r},")
    if set(problem["bounded"]) != {"soft"}:
        lines.append(f"    bounded={problem['bounded']!r},")
    for name in ("periodic", "integer"):
        if any(problem[name]):
            lines.append(f"    {name}={problem[name]!r},")
    lines += _prior(dict(problem.get("prior") or {}))
    if problem.get("constraint"):
        lines.append("    constraint=constraint,  # your function")
    return [*lines, ")"]


def _prior(prior: dict[str, Any]) -> list[str]:
    kind = prior.get("kind")
    if kind == "included":
        return ["    prior='included',"]
    if kind in (None, "uniform", "improper"):
        return []
    about = "; ".join(map(str, prior.get("marginals", []))) or str(kind)
    return [f"    prior=prior,  # {printable(about)}"]


def _call(result: Result) -> list[str]:
    table = result.evaluations
    arguments = [f"budget={table.n_counted}", f"seed={result.seed}"]
    starts = table.theta[[origin == Origin.START for origin in table.origin]]
    if len(starts):
        few = len(starts) <= MOST_STARTS
        arguments.append(f"start={starts.tolist()!r}" if few else "start=start")
    if Origin.GIVEN in table.origin:
        arguments.append("evaluations=evaluations")
    changed = {
        field.name: getattr(result.settings, field.name)
        for field in fields(Settings)
        if getattr(result.settings, field.name) != getattr(DEFAULTS, field.name)
    }
    if changed:
        inner = ", ".join(
            f"{name}={value!r}" if isinstance(value, str | bool | int | float) else f"{name}={name}"
            for name, value in changed.items()
        )
        arguments.append(f"settings=quell.Settings({inner})")
    return ["result = quell.infer(", "    problem,", *(f"    {one}," for one in arguments), ")"]


def _numbers(values: list[Any]) -> str:
    return f"[{', '.join(_number(value) for value in values)}]"


def _number(value: Any) -> str:
    value = float(value)  # "inf" and "-inf" are text in a fingerprint
    if np.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _names(names: list[str]) -> str:
    """Names as ASCII literals, so that nothing in them acts on whoever reads or copies them."""
    return f"[{', '.join(ascii(name) for name in names)}]"
