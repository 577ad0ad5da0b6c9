"""Stacked results and posteriors as small tables in a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from quell.interface import Html
from quell.results.html import parameters

if TYPE_CHECKING:
    from quell.stacking.posterior import StackedPosterior
    from quell.stacking.result import StackedResult


def posterior_html(posterior: StackedPosterior) -> str:
    """One row for each parameter."""
    n, runs = posterior.n_components, len(posterior.members)
    page = Html().heading(f"Posterior of {runs} runs, a mixture of {n} normal distributions")
    return str(parameters(page, posterior))


def result_html(result: StackedResult) -> str:
    """How the answer stands, the evidence, and one row for each parameter."""
    used = len(result.runs) - len(result.left_out)
    evaluations = f"{len(result.evaluations)} evaluations"
    page = Html().heading(f"{result.status}: {used} of {len(result.runs)} runs, {evaluations}")
    for reason in result.reasons:
        page.text(f"· {reason}")
    if np.isfinite(result.log_evidence):
        page.text(f"log evidence {result.log_evidence:.3f} ± {result.log_evidence_sd:.3f}")
    else:
        page.text(f"log evidence undefined; ELBO {result.elbo:.3f}")
    return str(parameters(page, result.posterior))
