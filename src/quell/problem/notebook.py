"""A problem as a small table in a notebook."""

from typing import TYPE_CHECKING

from quell.interface import Html

if TYPE_CHECKING:
    from quell.problem.problem import Problem

HEADER = ("parameter", "kind", "bounds", "plausible", "prior")


def problem_html(problem: "Problem") -> str:
    """One line about the problem, and a row for each parameter.

    >>> from quell import Problem
    >>> problem = Problem(None, lower=0, upper=1, names=["<a>"], noise="exact")
    >>> page = problem_html(problem)
    >>> "<a>" in page, "&lt;a&gt;" in page, page == problem._repr_html_()
    (False, True, True)
    """
    rows = []
    labels, kinds = problem.prior.labels(), problem.space.kinds
    box = (problem.lower, problem.upper, problem.plausible_lower, problem.plausible_upper)
    for i, (low, high, p_low, p_high) in enumerate(zip(*box, strict=True)):
        if kinds[i] == "fixed":
            rows.append((problem.names[i], "fixed", f"= {low:.6g}", "", ""))
            continue
        kind = "integer" if problem.integer[i] else kinds[i]
        hard, plausible = f"[{low:.6g}, {high:.6g}]", f"[{p_low:.6g}, {p_high:.6g}]"
        rows.append((problem.names[i], kind, hard, plausible, labels[i]))
    about = repr(problem).partition("\n")[0]
    return str(Html().heading(about).table(HEADER, rows))
