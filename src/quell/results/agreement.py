"""Do several runs of one problem agree? One file for `quell.diagnose`.

Two runs agree if each would be a usable answer, were the other one the truth: log evidences closer
than 1, or than three of their stated SDs together; a gsKL below 1; an MMTV below 0.2 (the paper's
limits). Runs that agree with the same others form groups; the largest is what the runs say, if more
than half of them are in it, and the others disagree.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.diagnostics.check import Answer
from quell.mixture.divergence import gaussian_skl
from quell.results.divergence import mmtv as mmtv_between
from quell.results.result import Result
from quell.text import printable, table

#: The paper's limits of a usable answer.
LARGEST_LML, LARGEST_GSKL, LARGEST_MMTV = 1.0, 1.0, 0.2
#: Log evidences may differ by this many of their SDs together.
LARGEST_Z = 3.0


@dataclass(frozen=True, eq=False)
class Agreement:
    """Several runs of one problem beside each other; made by `diagnose`, printing it is a summary.

    Attributes
    ----------
    names
        Names of the n runs.
    answer
        "usable", "not yet" or "no", of the runs together.
    reasons
        Why, in words.
    answers
        What each run's own check says.
    log_evidence, log_evidence_sd
        Of each run, (n,).
    evidence_z
        Differences of log evidences (n, n), in SDs of both together.
    gskl, mmtv
        Distances of the posteriors (n, n).
    agree
        Mask (n, n) of the pairs that agree.
    group
        Mask (n,) of the runs in the largest group that agrees.

    Examples
    --------
    >>> import quell
    >>> problem = quell.Problem(
    ...     lambda theta: -0.5 * theta[0]**2, lower=-10, upper=10, plausible_lower=-3,
    ...     plausible_upper=3, noise="exact",
    ... )
    >>> runs = [quell.infer(problem, budget=20, seed=s, progress=False) for s in (1, 2)]
    >>> found = quell.diagnose(runs)
    >>> bool(found.agree.all()), found.disagreeing
    (True, ())
    """

    names: tuple[str, ...]
    answer: Answer
    reasons: tuple[str, ...]
    answers: tuple[Answer, ...]
    log_evidence: FloatArray
    log_evidence_sd: FloatArray
    evidence_z: FloatArray
    gskl: FloatArray
    mmtv: FloatArray
    agree: BoolArray
    group: BoolArray

    @property
    def disagreeing(self) -> tuple[str, ...]:
        """Names of the runs outside of the largest group."""
        return tuple(
            name for name, inside in zip(self.names, self.group, strict=True) if not inside
        )

    def summary(self) -> str:
        """The verdict, a row for every run, and a row for every pair."""
        runs = [("run", "its check", "log evidence", "")]
        for i, name in enumerate(self.names):
            evidence = f"{self.log_evidence[i]:.3f} ± {self.log_evidence_sd[i]:.3f}"
            mark = "" if self.group[i] else "disagrees"
            runs.append((name, str(self.answers[i]), evidence, mark))
        pairs = [("pair", "MMTV", "gsKL", "difference of log evidence in SDs")]
        for i, j in combinations(range(len(self.names)), 2):
            cells = (f"{self.mmtv[i, j]:.3f}", f"{self.gskl[i, j]:.3g}")
            pairs.append(
                (f"{self.names[i]}, {self.names[j]}", *cells, f"{self.evidence_z[i, j]:.1f}")
            )
        return "\n".join(
            [
                f"Can I believe these?  {self.answer.upper()}",
                *(f"  - {printable(reason)}" for reason in self.reasons),
                "",
                table(runs, indent=""),
                "",
                table(pairs, indent=""),
            ]
        )

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        return f"Agreement({self.answer}, {int(self.group.sum())} of {len(self.names)} runs agree)"


def diagnose(results: Mapping[str, Result] | Sequence[Result]) -> Agreement:
    """Compare several runs of one problem: do they agree, and if not, which does not?

    Parameters
    ----------
    results
        At least two, by name or in a list; runs of the same problem with different seeds.

    Returns
    -------
    Agreement
        The verdict, and all distances between them.

    Raises
    ------
    ValueError
        If there are fewer than two, or they are of different problems.

    Examples
    --------
    >>> import quell
    >>> quell.diagnose([])
    Traceback (most recent call last):
        ...
    ValueError: at least two results are needed to compare, got 0; result.check() judges a single one
    """  # noqa: E501
    named = _named(results)
    runs = list(named.values())
    answers = tuple(run.check().answer for run in runs)
    value, sd = (np.array(column) for column in zip(*map(_evidence, runs), strict=True))
    n = len(runs)
    z, gskl, distance = np.zeros((3, n, n))
    for i, j in combinations(range(n), 2):
        p, q = runs[i].posterior, runs[j].posterior
        both = float(np.hypot(sd[i], sd[j]))
        z[i, j] = z[j, i] = abs(value[i] - value[j]) / max(both, np.finfo(float).tiny)
        free = p.space.free
        gskl[i, j] = gskl[j, i] = gaussian_skl(
            p.mean()[free], p.covariance()[np.ix_(free, free)],
            q.mean()[free], q.covariance()[np.ix_(free, free)],
        )  # fmt: skip
        distance[i, j] = distance[j, i] = mmtv_between(p, q)
    close = (np.abs(value[:, None] - value) < LARGEST_LML) | (z < LARGEST_Z)
    agree = close & (gskl < LARGEST_GSKL) & (distance < LARGEST_MMTV)
    group = _largest_group(agree)
    answer, reasons = _verdict(tuple(named), answers, group)
    return Agreement(
        tuple(named), answer, reasons, answers, value, sd, z, gskl, distance, agree, group
    )


def _named(results: Any) -> dict[str, Result]:
    if isinstance(results, Result):
        raise ValueError("at least two results are needed to compare; result.check() judges one")
    if not isinstance(results, Iterable):
        raise TypeError(f"results must be a list of results, got {type(results).__name__}")
    if isinstance(results, Mapping):
        named = {str(name): result for name, result in results.items()}
    else:
        named = {f"run {i + 1}": result for i, result in enumerate(results)}
    for name, result in named.items():
        if not isinstance(result, Result):
            raise TypeError(
                f"results[{name!r}] must be a quell.Result, got {type(result).__name__}"
            )
    if len(named) < 2:
        raise ValueError(
            f"at least two results are needed to compare, got {len(named)}; result.check() judges "
            "a single one"
        )
    first_name, first = next(iter(named.items()))
    for name, result in named.items():
        for part in ("names", "lower", "upper"):
            if result.problem[part] != first.problem[part]:
                raise ValueError(
                    f"results must be of one problem, but {first_name!r} and {name!r} differ in "
                    f"{part}: {first.problem[part]} and {result.problem[part]}"
                )
    _refuse_twins(named)
    return named


def _refuse_twins(named: Mapping[str, Result]) -> None:
    """A run agrees with itself, which says nothing."""
    for one, other in combinations(named, 2):
        a, b = named[one], named[other]
        if (
            (a.elbo, a.log_evidence) == (b.elbo, b.log_evidence)
            and np.array_equal(a.evaluations.theta, b.evaluations.theta)
            and np.array_equal(a.posterior.mixture.means, b.posterior.mixture.means)
        ):
            raise ValueError(
                f"{one!r} and {other!r} are the same run, which agrees with itself; compare "
                "runs with different seeds"
            )


def _evidence(result: Result) -> tuple[float, float]:
    """The log evidence and its SD; the ELBO where it is not defined."""
    if np.isfinite(result.log_evidence):
        return result.log_evidence, result.log_evidence_sd
    return result.elbo, result.elbo_sd


def _largest_group(agree: BoolArray) -> BoolArray:
    """The run that agrees with most others, and all that agree with it; the first of equals."""
    return np.asarray(agree[int(agree.sum(axis=1).argmax())])


def _verdict(
    names: tuple[str, ...], answers: tuple[Answer, ...], group: BoolArray
) -> tuple[Answer, tuple[str, ...]]:
    n, agreeing = len(names), int(group.sum())
    outside = [name for name, inside in zip(names, group, strict=True) if not inside]
    if 2 * agreeing <= n:
        return Answer.NO, (
            f"no more than {agreeing} of {n} runs agree with each other: the posterior is not "
            "found reliably. Use a larger budget for each; if they have found different modes, "
            "join their evaluations (quell.join_evaluations) or stack them (quell.stack)",
        )
    reasons = []
    if outside:
        which = ", ".join(outside)
        reasons.append(
            f"{len(outside)} of {n} runs disagree with the others ({which}): look at what they "
            "found; another mode that they know is missing from the others"
        )
    sound = [answer for answer, inside in zip(answers, group, strict=True) if inside]
    n_against = sound.count(Answer.NO)
    if 2 * n_against >= len(sound):
        reasons.append(f"{n_against} of the {len(sound)} runs that agree have something against "
                       "them: see their own check()")  # fmt: skip
        return Answer.NO, tuple(reasons)
    if outside:
        return Answer.NOT_YET, tuple(reasons)
    # Runs that agree vouch for each other where each alone was too short to tell.
    return Answer.USABLE, (f"all {n} runs agree",)
