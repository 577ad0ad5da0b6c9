"""A stacked result from a ``.quell`` file; nothing there is executed, and nothing believed."""

import io
from dataclasses import dataclass
from typing import Any

import numpy as np

from quell.archive import Archive
from quell.archive.plain import a, number, restore, texts
from quell.arrays import FloatArray
from quell.diagnostics import Status
from quell.problem import Problem
from quell.records.mixture import mixture_in
from quell.records.tables import restore_evaluations
from quell.results import Posterior
from quell.results.reading import integers_of, known, lost_support, open_archive
from quell.stacking.choosing import LeftOut
from quell.stacking.posterior import StackedPosterior
from quell.stacking.result import StackedResult
from quell.stacking.saving import NUMBERS, member_name

MOST_RUNS = 10_000
#: How far from one the shares of all members may add up.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class _Run:
    """A row of `StackedResult.runs`."""

    seed: int
    status: str
    evaluations: int
    log_evidence: float
    log_evidence_sd: float
    elbo: float
    weight: float
    left_out: str


def stack_of(archive: Archive, **given: Any) -> StackedResult:
    """The stacked result in an open file; ``given`` is a constraint or a support, as in `load`."""
    with archive.reading():
        plain = a(dict, archive.json("stack.json"))
        names = texts(a(dict, plain["problem"])["names"])
        n_members = a(int, plain["members"])
        if not 1 <= n_members <= MOST_RUNS:
            raise ValueError(f"it has {n_members} members")
        shares = _shares(archive, "stack/shares", n_members)
    members, problem = [], None
    for i in range(n_members):
        member, problem = _member(archive, i, plain, names, given)
        members.append(member)
    with archive.reading():
        return _result(archive, plain, names, StackedPosterior(tuple(members), shares), problem)


def _member(
    archive: Archive, i: int, plain: dict[str, Any], names: tuple[str, ...], given: dict[str, Any]
) -> tuple[Posterior, Problem | None]:
    """The posterior of a member, and the problem as far as it is known."""
    with archive.reading():
        data = archive.bytes_of(member_name(i))
    inner, about = open_archive(io.BytesIO(data), f"{archive.where}, {member_name(i)}")
    with inner.reading():
        if about["kind"] != "posterior":
            raise ValueError(f"it has no posterior but a {about['kind']!r:.50}")
        own = a(dict, inner.json("posterior.json"))
        if texts(own["space"]["names"]) != names:
            raise ValueError("its problem and its posterior have other parameters")
        lost = lost_support(inner, own, plain["prior"], len(names))
        integer = integers_of(own["integer"], len(names))
        space, mixture = mixture_in(inner, own["space"])
    problem, support = known(inner, plain, lost, **given)
    return Posterior(mixture, space, integer, support), problem


def _shares(archive: Archive, name: str, n: int) -> FloatArray:
    """Shares (n,), which add up to one."""
    shares = archive.array(name, n)
    if not (np.isfinite(shares).all() and (shares >= 0).all()):
        raise ValueError(f"{name} must be finite and not negative")
    if not abs(float(shares.sum()) - 1.0) < TOLERANCE:
        raise ValueError(f"{name} must add up to 1, not to {float(shares.sum()):.6g}")
    return shares


def _result(
    archive: Archive, plain: dict[str, Any], names: tuple[str, ...], posterior: StackedPosterior,
    problem: Problem | None,
) -> StackedResult:  # fmt: skip
    rows = a(list, plain["runs"])
    if not 1 <= len(rows) <= MOST_RUNS:
        raise ValueError(f"it has {len(rows)} runs")
    runs = [vars(restore(_Run, row)) for row in rows]
    for row in runs:
        Status(row["status"])
    left_out = tuple(restore(LeftOut, one) for one in a(list, plain["left_out"]))
    numbers: dict[str, Any] = {name: number(plain[name]) for name in NUMBERS}
    return StackedResult(
        posterior=posterior,
        **numbers,
        evidence_method=a(str, plain["evidence_method"]),
        run_weights=_shares(archive, "stack/run_weights", len(runs)),
        left_out=left_out,
        runs=runs,
        n_components=a(int, plain["n_components"]),
        evaluations=restore_evaluations(archive, a(dict, plain["evaluations"]), names),
        problem=plain["problem"],
        log_prior=None if problem is None else problem.log_prior,
        reasons=texts(plain["reasons"]),
    )
