"""Does the answer promise more than was ever seen?"""

from quell.diagnostics.case import Case
from quell.diagnostics.finding import Finding
from quell.vbmc.reliability import promised_beyond_data


def promise(case: Case) -> Finding:
    """Nats by which the expected log joint is above the best observation; negative is good."""
    figure = promised_beyond_data(case.solution.elbo, case.solution.data)
    text = ""
    if not figure <= 0.0:
        text = (
            f"the surrogate expects a log density {figure:.2g} above the highest that was ever "
            "seen, so neither posterior nor evidence can be trusted: make the plausible box "
            "narrower, or give a start"
        )
    return Finding("promised_nats", figure, 0.0, text)
