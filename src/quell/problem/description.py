"""A problem as plain data, by which problems are compared, and as text to read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from quell.text import jsonable, table

if TYPE_CHECKING:
    from quell.problem.problem import Problem


def fingerprint(problem: Problem) -> dict[str, Any]:
    """Plain data, ready for JSON: all of a problem but its target, whose code is not data."""
    bounds = problem.space.bounds
    return {
        "names": list(problem.names),
        "lower": jsonable(problem.lower),
        "upper": jsonable(problem.upper),
        "plausible_lower": jsonable(problem.plausible_lower),
        "plausible_upper": jsonable(problem.plausible_upper),
        "bounded": list(bounds.bounded),
        "periodic": bounds.periodic.tolist(),
        "integer": problem.integer.tolist(),
        "prior": jsonable(problem.prior.describe()),
        "noise": problem.noise,
        "noise_guess": problem.noise_guess,
        # Absent where there is none: records of before there were constraints stay valid.
        **({"constraint": True} if problem.prior.constraint is not None else {}),
    }


def as_text(problem: Problem) -> str:
    """One line about the problem, and one for each parameter."""
    count = f"{problem.dimension} parameter{'s' if problem.dimension > 1 else ''}"
    fixed = problem.dimension - problem.space.dimension
    count += f" ({fixed} fixed)" if fixed else ""
    count += "" if problem.prior.constraint is None else ", a constraint"
    return f'Problem with {count}, noise="{problem.noise}"\n{_parameters(problem)}'


def _parameters(problem: Problem) -> str:
    """A table with a row for each parameter."""
    box = zip(
        problem.lower, problem.upper, problem.plausible_lower, problem.plausible_upper, strict=True
    )
    rows = [("name", "kind", "bounds", "plausible", "prior")]
    for i, (low, high, p_low, p_high) in enumerate(box):
        kind = "integer" if problem.integer[i] and low < high else problem.space.kinds[i]
        rest = (f"= {low:.6g}", "", "")
        if kind != "fixed":
            hard, plausible = f"[{low:.6g}, {high:.6g}]", f"[{p_low:.6g}, {p_high:.6g}]"
            rest = (hard, plausible, problem.prior.labels()[i])
        rows.append((problem.names[i], kind, *rest))
    return table(rows)
