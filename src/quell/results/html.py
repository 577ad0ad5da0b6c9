"""Results and posteriors as small tables in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quell.interface import Html
from quell.results.table import HEADER, SummaryRow, summary_rows

if TYPE_CHECKING:
    from quell.results.distribution import Distribution
    from quell.results.posterior import Posterior
    from quell.results.result import Result


def posterior_html(posterior: Posterior) -> str:
    """One row for each parameter."""
    n = posterior.mixture.n_components
    page = Html().heading(f"Posterior, a mixture of {n} normal distribution{'s' if n > 1 else ''}")
    return str(parameters(page, posterior))


def result_html(result: Result) -> str:
    """How the run stands, the evidence, and one row for each parameter."""
    evaluations = f"{result.evaluations.n_counted} evaluations, seed {result.seed}"
    page = Html().heading(f"{result.status}, after {evaluations}")
    for reason in result.reasons:
        page.text(f"· {reason}")
    name, value, sd = "log evidence", result.log_evidence, result.log_evidence_sd
    if not np.isfinite(value):
        name, value, sd = "log evidence undefined; ELBO", result.elbo, result.elbo_sd
    page.text(f"{name} {value:.3f} ± {sd:.3f}")
    return str(parameters(page, result.posterior))


def parameters(page: Html, posterior: Distribution) -> Html:
    """The page with a table of the parameters."""
    return page.table(
        ("parameter", *HEADER),
        [
            (row.name, *(f"{value:.4g}" for value in row.figures[:-1]), _last(row))
            if row.free
            else (row.name, f"{row.figures[0]:.4g}", "fixed", "", "", "")
            for row in summary_rows(posterior)
        ],
    )


def _last(row: SummaryRow) -> str:
    return f"{row.figures[-1]:.4g}" + (" (through the bounds)" if row.goes_through_bounds else "")
