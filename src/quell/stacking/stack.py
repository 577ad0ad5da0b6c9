"""`quell.stack`: several runs of one problem as one posterior."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from quell.arrays import FloatArray
from quell.checks import integer
from quell.evaluations import join_evaluations
from quell.problem.constraint import Support
from quell.results import Posterior, Result
from quell.stacking.choosing import LeftOut, check_results, choose, overclaims
from quell.stacking.components import Components
from quell.stacking.evidence import StackedEvidence, stacked_evidence
from quell.stacking.posterior import StackedPosterior
from quell.stacking.result import StackedResult, reasons_of, rows_of
from quell.stacking.surrogate import PooledSurrogate, common_support, gather, learn
from quell.stacking.weights import Draws, elbo_weights
from quell.streams import rng_for_stack
from quell.threads import single_threaded

#: Draws by which the space is chosen, from which the weights are found, and found again with the
#: evidence.
FEW_DRAWS, FIRST_DRAWS, LAST_DRAWS = 2048, 4096, 8192
#: The last draws are from the mixture found first, and this share from that of equal runs.
DEFENSIVE_SHARE = 0.2
#: Components with a smaller weight than this are none.
NEGLIGIBLE = 1e-6


def stack(results: Iterable[Result], *, seed: int = 0) -> StackedResult:
    """Several runs of one problem as one posterior and one log evidence.

    All components of all runs' posteriors are kept, and their weights found anew so that the ELBO
    of the whole is highest under one surrogate of the evaluations of all runs. No evaluations are
    made. It takes a few seconds.

    Parameters
    ----------
    results
        Two or more results of the same problem with different seeds; plausible boxes and settings
        may differ.
    seed
        Of the draws; the same seed gives the same answer.

    Returns
    -------
    StackedResult
        The posterior, the log evidence with its SD, how much each run counts, and which runs were
        left out and why: those that are suspect (while there are two others), and those whose
        surrogate expects far more than all evaluations bear out. Their evaluations count.

    Raises
    ------
    ValueError
        There are fewer than two results, two are the same run, or they are of different problems.

    Examples
    --------
    >>> import numpy as np
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta, rng: (-0.5 * theta[0]**2 + rng.standard_normal(), 1.0),
    ...     lower=-10, upper=10, plausible_lower=-3, plausible_upper=3,
    ... )
    >>> results = [quell.infer(problem, budget=35, seed=s, progress=False) for s in (1, 2)]
    >>> stacked = quell.stack(results)
    >>> bool(abs(stacked.posterior.sd()[0] - 1) < 0.2)
    True
    """
    given = check_results(results)
    rng = rng_for_stack(integer("seed", seed, least=0))
    with single_threaded(), np.errstate(all="ignore"):
        return _stacked(rng, given)


def _stacked(rng: np.random.Generator, results: list[Result]) -> StackedResult:
    used, left_out = choose(results)
    surrogate = _pooled_surrogate(rng, results, used)
    support = common_support(results)
    # Weights need draws from the runs' posteriors; from these it also shows which runs claim more
    # than is borne out, and then there are draws without them.
    while True:
        components = Components([results[place] for place in used])
        weights = components.first_weights
        draws, owner = _draw(rng, FIRST_DRAWS, components, weights, support, surrogate)
        reasons = _overclaiming(results, used, draws, owner)
        if not reasons or len(reasons) == len(used):
            break
        left_out += [LeftOut(place, results[place].seed, why) for place, why in reasons.items()]
        used = [place for place in used if place not in reasons]
    found = elbo_weights(draws, weights)
    proposal = (1 - DEFENSIVE_SHARE) * found + DEFENSIVE_SHARE * weights
    draws, _ = _draw(rng, LAST_DRAWS, components, proposal, support, surrogate)
    found = elbo_weights(draws, proposal)
    found = np.where(found < NEGLIGIBLE, 0.0, found)
    found /= found.sum()
    sds = np.array([results[place].log_evidence_sd for place in used])
    elbo_sds = np.array([results[place].elbo_sd for place in used])
    proper = bool(np.isfinite(sds).all())
    estimate = stacked_evidence(draws, found, surrogate, sds if proper else elbo_sds)
    return _result(results, used, sorted(left_out, key=lambda one: one.place), components, found,
                   estimate, proper=proper)  # fmt: skip


def _pooled_surrogate(
    rng: np.random.Generator, results: Sequence[Result], used: Sequence[int]
) -> PooledSurrogate:
    """The surrogate of the evaluations of all results, in the space of one of those used.

    It is the one whose posterior covers those of the others best.
    """
    components = Components([results[place] for place in used])
    theta, _ = components.draw(FEW_DRAWS, rng, components.first_weights)
    log_densities = components.log_densities(theta)
    covers = [
        logsumexp(
            log_densities[:, components.run == j],
            b=components.first_weights[components.run == j],
            axis=1,
        ).mean()
        for j in range(len(used))
    ]
    reference = results[used[int(np.argmax(covers))]]
    observations = gather(results, reference.solution.space)
    return PooledSurrogate(rng, observations, *learn(rng, observations, reference))


def _draw(
    rng: np.random.Generator, n: int, components: Components, weights: FloatArray,
    support: Support | None, surrogate: PooledSurrogate,
) -> tuple[Draws, NDArray[np.intp]]:  # fmt: skip
    """``n`` draws from components with these weights (M,), and the run of each."""
    theta, owner = components.draw(n, rng, weights)
    log_densities = components.log_densities(theta)
    log_joint = surrogate.at(theta)
    if support is not None:
        log_joint[~support(theta)] = -np.inf
    log_proposal = np.asarray(logsumexp(log_densities, b=weights, axis=1))
    return Draws(theta, log_densities, log_proposal, log_joint), owner


def _overclaiming(
    results: Sequence[Result], used: Sequence[int], draws: Draws, owner: NDArray[np.intp]
) -> dict[int, str]:
    """Places of runs that claim more than is borne out, with the reasons."""
    found = {}
    for j, place in enumerate(used):
        rows = (owner == j) & np.isfinite(draws.log_joint)
        if rows.any():
            why = overclaims(results[place], draws.theta[rows], draws.log_joint[rows])
            if why:
                found[place] = why
    return found


def _result(
    results: list[Result], used: list[int], left_out: list[LeftOut], components: Components,
    weights: FloatArray, estimate: StackedEvidence, *, proper: bool,
) -> StackedResult:  # fmt: skip
    shares = components.shares(weights)
    members, kept = [], []
    for j in np.flatnonzero(shares > 0):
        whole = results[used[j]].posterior
        member = Posterior(
            components.of_run(int(j), weights), whole.space, whole.integer, whole.support
        )
        members.append(member)
        # A member is normalised in its support; its share is of the whole.
        kept.append(shares[j] * member.share_in_support)
    run_weights = np.zeros(len(results))
    run_weights[used] = shares
    return StackedResult(
        posterior=StackedPosterior(tuple(members), np.array(kept) / np.sum(kept)),
        log_evidence=estimate.value if proper else np.nan,
        log_evidence_sd=estimate.sd if proper else np.nan,
        evidence_method=estimate.method,
        elbo=estimate.elbo,
        run_weights=run_weights,
        left_out=tuple(left_out),
        runs=rows_of(results, run_weights, left_out),
        n_components=int(np.count_nonzero(weights)),
        effective_draws=estimate.effective_draws,
        evaluations=join_evaluations(results),
        problem=results[0].problem,
        log_prior=results[0].log_prior,
        reasons=tuple(reasons_of(results, used, estimate.effective_draws)),
    )
