"""Is there an evaluation that the answer denies?

An evaluation matters if its log joint, less three of its SDs, is as high as at a typical point of
the posterior: above that of the lowest hundredth of the draws. The answer *denies* it if it has
less than a thousandth of that density there, log q(x) + log Z.

High density alone is no mass: the neck of a funnel is higher than everything, and holds nothing.
So of what the posterior denies, two kinds count. Either the surrogate denies it too: then it was
lost on the way. Or the surrogate agrees with the evaluations, and a mixture fitted around them, as
a posterior of its own, has an ELBO that says how much mass is there at least.
"""

import numpy as np
from numpy.typing import NDArray

from quell.diagnostics.case import CAUTION, Case, numbered
from quell.diagnostics.finding import Finding, shown
from quell.gp.pooling import pooled_mean
from quell.mixture import Mixture, normal_base_sample
from quell.quadrature import Quadrature
from quell.variational import evaluate_elbo, fit_mixture

#: Nats by which a density is denied: a thousandth.
DENIED = float(np.log(1000.0))
#: Share of the mass that may be missing: what a 95 % interval leaves out.
LARGEST_SHARE_LEFT_OUT = 0.05
#: Evaluations that are looked at, the highest first.
MOST_ACCUSING = 100
#: Evaluations around which mass is looked for, the highest first, this far apart in SDs of the
#: posterior; and the effort of the fits.
MOST_PLACES, APART = 8, 0.5
N_STARTS, BASE_SIZES, SCORING_SIZE, MAX_ITERATIONS = 2, (64,), 256, 40
#: Widths of the first normals around them, in SDs of the posterior.
WIDTHS = (0.01, 0.1, 0.5)


def denied_by_posterior(case: Case) -> NDArray[np.intp]:
    """Places among the observed points that matter and that the posterior denies, highest first."""
    seen = case.observed
    answer = case.answer(seen.x)
    matters = seen.low > case.typical
    places = np.flatnonzero(matters & (seen.low - answer > DENIED))
    return places[np.argsort(-seen.low[places], kind="stable")]


def denied_by_surrogate(case: Case) -> Finding:
    """Nats by which the surrogate is below an evaluation that matters, less three SDs."""
    seen, places = case.observed, denied_by_posterior(case)[:MOST_ACCUSING]
    noise = np.sqrt(seen.sd[places] ** 2 + case.variance(places))
    gap = seen.y[places] - CAUTION * noise - seen.mean[places]
    lost = places[gap > DENIED]
    figure = float(gap.max(initial=0.0))
    text = ""
    if len(lost):
        found = numbered(seen.row[lost])
        text = (
            f"the answer denies {found}: a value {shown(figure)} nats above what the surrogate "
            "says there. Evaluate there again; if it is no error, begin a new run there (start=)"
        )
    return Finding("denied_nats", figure, DENIED, text)


def mass_left_out(rng: np.random.Generator, case: Case) -> Finding:
    """The share of the mass, at least, around evaluations at which the posterior has none."""
    places = _apart(case, denied_by_posterior(case))
    share = max(
        (_share_around(rng, case, places, width) for width in WIDTHS if places), default=0.0
    )
    text = ""
    if share > LARGEST_SHARE_LEFT_OUT:
        text = (
            f"the posterior leaves out places with at least {100 * share:.0f} % of the mass, "
            f"around {numbered(case.observed.row[places])}: it may have several modes, or be a "
            "long ridge. Begin a new run with points in all of them (start=), and a larger budget"
        )
    return Finding("share_left_out", share, LARGEST_SHARE_LEFT_OUT, text)


def _apart(case: Case, places: NDArray[np.intp]) -> list[int]:
    """The first of the places, and those after it that are not next to one before."""
    scale = np.sqrt(np.diag(case.solution.mixture.covariance()))
    chosen: list[int] = []
    for place in places:
        offsets = (case.observed.x[chosen] - case.observed.x[place]) / scale
        if len(chosen) < MOST_PLACES and np.all(np.sum(offsets**2, axis=1) > APART**2):
            chosen.append(int(place))
    return chosen


def _share_around(rng: np.random.Generator, case: Case, places: list[int], width: float) -> float:
    """The share of the mass around these places, by the lower bound of a mixture fitted there."""
    q, k = case.solution.mixture, len(places)
    lengths = np.sqrt(np.diag(q.covariance()))
    start = Mixture(np.full(k, 1 / k), case.observed.x[places], np.full(k, width), lengths)
    fitted = fit_mixture(
        rng, case.surrogate, start, n_components=k, n_starts=N_STARTS, prune=False,
        base_sizes=BASE_SIZES, scoring_size=SCORING_SIZE, max_iterations=MAX_ITERATIONS,
    ).mixture  # fmt: skip
    # Without those components that went to where the posterior is.
    height = pooled_mean(case.surrogate.predict_mean(fitted.means), case.surrogate.weights)
    away = height - case.answer(fitted.means) > DENIED
    if not away.any():
        return 0.0
    weights = fitted.weights[away] / fitted.weights[away].sum()
    rest = Mixture(weights, fitted.means[away], fitted.scales[away], fitted.lengths)
    base = normal_base_sample(SCORING_SIZE, q.dimension, rng)
    bound = evaluate_elbo(Quadrature(case.surrogate), rest, base).lower_confidence_bound(CAUTION)
    return float(np.exp(bound - np.logaddexp(bound, case.log_evidence)))
