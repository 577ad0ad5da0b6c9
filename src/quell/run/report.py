"""From the end of a run to what the user gets: the result, or why there is none."""

from collections.abc import Sequence

import numpy as np

from quell.diagnostics import Verdict
from quell.evaluations import Evaluations
from quell.problem import Problem
from quell.results import Posterior, Result
from quell.settings import Settings
from quell.text import printable
from quell.vbmc import Iteration, Solution
from quell.vbmc.evidence import Evidence
from quell.vbmc.found_edge import FoundSupport
from quell.vbmc.settle import are_all_given
from quell.vbmc.state import Action

#: Nats between values beyond which an error of the algorithm is put down to them.
LARGEST_SPREAD = 1e10
#: So many failed evaluations at the end of a run are no accident any more.
MANY_FAILED = 10


def make_result(
    problem: Problem,
    settings: Settings,
    seed: int,
    table: Evaluations,
    history: tuple[Iteration, ...],
    chosen: Iteration,
    solution: Solution,
    estimate: Evidence,
    verdict: Verdict,
    *,
    boosted: bool,
    reasons: Sequence[str],
    n_accidents: int,
    cpu_seconds: float,
    target_seconds: float,
    unseen_share: float = np.nan,
) -> Result:
    """The result of a run: the ``chosen`` iteration, with its ``solution`` as it was polished."""
    proper = problem.prior.is_proper or problem.prior.is_included
    all_given = are_all_given(table)
    return Result(
        posterior=Posterior(
            solution.mixture, solution.space, tuple(map(bool, problem.integer)), solution.support
        ),
        elbo=estimate.bound.value,
        elbo_sd=estimate.bound.sd,
        log_evidence=estimate.value if proper else np.nan,
        log_evidence_sd=estimate.sd if proper else np.nan,
        evidence_method=estimate.method,
        verdict=verdict,
        reasons=(
            *reasons,
            # How long an answer has been the same means nothing where no evaluation was chosen.
            *(verdict.objections if all_given else verdict.reasons),
            *_caveats(
                chosen,
                history,
                proper=proper,
                all_given=all_given,
                n_accidents=n_accidents,
                ends_at_edge=isinstance(solution.support, FoundSupport),
            ),
            *_breakdown(table),
        ),
        solution=solution,
        history=[iteration.as_row() for iteration in history],
        chosen=chosen.index,
        boosted=boosted,
        evaluations=table,
        settings=settings,
        seed=seed,
        cpu_seconds=cpu_seconds,
        wall_seconds=np.nan,  # known to whoever keeps the time
        target_seconds=target_seconds,
        problem=problem.fingerprint(),
        log_prior=problem.log_prior,
        unseen_share=unseen_share,
        iterations=history,
    )


def _caveats(
    chosen: Iteration, history: Sequence[Iteration], *, proper: bool, all_given: bool = False,
    n_accidents: int = 0, ends_at_edge: bool = False,
) -> list[str]:  # fmt: skip
    caveats = []
    if ends_at_edge:
        caveats.append(
            "the target gave -inf everywhere beyond an edge, where the posterior is cut off; the "
            "edge is known only from these evaluations: if you know where it is, let the run know "
            "(constraint=)"
        )
    if n_accidents:
        what = "evaluation gave -inf" if n_accidents == 1 else "evaluations gave -inf"
        were = "was" if n_accidents == 1 else "were"
        caveats.append(
            f"{n_accidents} {what} beside good ones and {were} left out, as an accident of a noisy "
            "target; if the density is zero there, let the prior say so"
        )
    lost = sum(iteration.action == Action.WENT_BACK for iteration in history)
    if lost:
        times = "once" if lost == 1 else f"{lost} times"
        caveats.append(f"the surrogate was lost {times}, and the run went on from before")
    later = [iteration.believable for iteration in history[chosen.index :]]
    if chosen.believable and later and not later[-1]:
        caveats.append(
            "at the end of the run the surrogate expects a higher density than was ever seen, and "
            f"is not used: this is the solution after {chosen.n_evaluations} evaluations"
        )
    if all_given:
        caveats.append(
            "all evaluations are your own, so whether more of them would change the solution is "
            "not known: let the run choose some (quell.infer with evaluations= and a budget)"
        )
    if not proper:
        caveats.append("the prior is improper, so the evidence is not defined")
    return caveats


def about_values(table: Evaluations) -> str:
    """What to say where the algorithm broke down over values beyond what it can compute with."""
    values = table.log_joint[table.ok]
    if not len(values) or values.max() - values.min() < LARGEST_SPREAD:
        return ""
    return (
        f". Log-likelihood and log prior together are from {values.min():.2g} to "
        f"{values.max():.2g}, too far apart to compute with: are both logarithms, in the right "
        "units? Return -inf where the density is zero, or make the plausible box narrower"
    )


def _breakdown(table: Evaluations) -> list[str]:
    """That all of the last evaluations failed, for another reason than zero density, if so."""
    answered = np.flatnonzero(table.ok | table.zero_density)
    n_failed = len(table) - int(answered.max(initial=-1)) - 1
    if n_failed < MANY_FAILED:
        return []
    return [
        f"the last {n_failed} evaluations failed, and nothing was learnt from them "
        f"({printable(table.error[-1])}): mend that, and go on from here by evaluations="
    ]


def why_nothing(table: Evaluations, reasons: Sequence[str], *, noise_is_open: bool) -> str:
    """Why there is no posterior after these evaluations."""
    why = "; ".join(reasons) or f"there are {len(table)} evaluations, which is too few"
    if table.n_failed:
        last = next(text for text in reversed(table.error) if text)
        why += f" ({table.n_failed} of {len(table)} failed, the last one with: {printable(last)})"
    if noise_is_open:
        why += ' (noise="auto" is not settled: the next point asked for repeats one)'
    return (
        f"no posterior could be fitted: {why}. The exception's 'evaluations' has what was evaluated"
    )
