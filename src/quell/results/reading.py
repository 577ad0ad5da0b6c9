"""A result from a ``.quell`` file; nothing in the file is executed, and nothing believed."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from quell.archive import Archive
from quell.archive.plain import a, number, texts
from quell.arrays import FloatArray
from quell.errors import FileError
from quell.problem import Problem
from quell.problem.constraint import Support, check_constraint
from quell.records.choices import restore_settings, restore_verdict
from quell.records.edges_found import edges_in
from quell.records.mixture import mixture_in
from quell.records.problem import restore_problem
from quell.records.surrogate import restore_solution
from quell.records.tables import restore_evaluations, restore_history
from quell.results.from_file import LostSupport
from quell.results.posterior import Posterior
from quell.results.result import Result
from quell.results.writing import FORMAT
from quell.vbmc.found_edge import FoundSupport
from quell.version import __version__

#: Draws in a file at which a support that is given again is tried.
N_TRIED = 2000


def open_archive(file: Any, where: str) -> tuple[Archive, dict[str, Any]]:
    """An open file, and what it says about itself: "kind", "written", "versions"."""
    archive = Archive(file, where)
    with archive.reading():
        about = a(dict, archive.json("format.json"))
        if about.get("file") != "quell" or type(about.get("format")) is not int:
            raise FileError(f"{archive.where!r} is a zip file, but was not written by Quell")
        if about["format"] != FORMAT:
            raise FileError(
                f"{archive.where!r} has format {about['format']}, and this version of Quell "
                f"({__version__}) reads format {FORMAT}: install the latest one"
            )
        a(str, about["kind"])
        a(str, about["written"])
        texts(list(a(dict, about["versions"]).values()))
    return archive, about


def read_result(
    data: bytes | Path,
    where: str,
    *,
    constraint: Callable[[FloatArray], Any] | None = None,
    support: Support | None = None,
    problem: Problem | None = None,
) -> Result:
    """The result in a file, or in its bytes; with a ``problem``, that one's prior and support."""
    with open(data, "rb") if isinstance(data, Path) else io.BytesIO(data) as file:
        archive, about = open_archive(file, where)
        if about["kind"] != "result":
            raise FileError(f"{archive.where!r} has no result but a {about['kind']!r:.50}")
        return result_of(archive, constraint=constraint, support=support, problem=problem)


def result_of(archive: Archive, **given: Any) -> Result:
    """The result in an open file; ``given`` is what `read_result` takes."""
    with archive.reading():
        plain = a(dict, archive.json("result.json"))
        names = names_in(plain)
        lost = lost_support(archive, plain, plain["prior"], len(names))
    problem, support = known(archive, plain, lost, **given)
    with archive.reading():
        return _result(archive, plain, names, problem, support)


def names_in(plain: dict[str, Any]) -> tuple[str, ...]:
    """The parameters of a posterior, which must be those of its problem."""
    names = texts(plain["space"]["names"])
    if a(dict, plain["problem"]).get("names") != list(names):
        raise ValueError("its problem and its posterior have other parameters")
    return names


def known(
    archive: Archive,
    plain: dict[str, Any],
    lost: LostSupport | None,
    *,
    constraint: Callable[[FloatArray], Any] | None = None,
    support: Support | None = None,
    problem: Problem | None = None,
) -> tuple[Problem | None, Support | None]:
    """The problem and the support, as far as the file or what is given has them.

    ``plain`` has the records "problem" and "prior", and ``lost`` stands for the support of the
    posterior in the file, if it has one.
    """
    if problem is None:
        _check_given(archive, constraint, support, lost, plain["problem"])
        with archive.reading():
            problem = restore_problem(plain["problem"], plain["prior"], constraint)
    inside = _support(problem, constraint, support, lost)
    if lost is not None and inside is not lost:
        _refuse_another(archive, inside, lost)
    return problem, inside


def _result(
    archive: Archive, plain: dict[str, Any], names: tuple[str, ...], problem: Problem | None,
    support: Support | None,
) -> Result:  # fmt: skip
    solution = restore_solution(archive, plain, support)
    history = restore_history(archive, plain["history"])
    if not 1 <= a(int, plain["chosen"]) <= len(history):
        raise ValueError(f"it has {len(history)} iterations, and returns number {plain['chosen']}")
    names_of_floats = (
        "elbo", "elbo_sd", "log_evidence", "log_evidence_sd", "cpu_seconds", "wall_seconds",
        "target_seconds", "unseen_share",
    )  # fmt: skip
    floats: dict[str, Any] = {name: number(plain[name]) for name in names_of_floats}
    return Result(
        posterior=Posterior(
            solution.mixture, solution.space, integers_of(plain["integer"], len(names)), support
        ),
        **floats,
        evidence_method=a(str, plain["evidence_method"]),
        verdict=restore_verdict(a(dict, plain["verdict"])),
        reasons=texts(plain["reasons"]),
        solution=solution,
        history=history,
        chosen=plain["chosen"],
        boosted=a(bool, plain["boosted"]),
        evaluations=restore_evaluations(archive, a(dict, plain["evaluations"]), names),
        settings=restore_settings(plain["settings"]),
        seed=a(int, plain["seed"]),
        problem=a(dict, plain["problem"]),
        log_prior=None if problem is None else problem.log_prior,
        journal=a(str, plain["journal"]),
    )


def integers_of(integer: Any, n: int) -> tuple[bool, ...] | None:
    """Which of n parameters are integers; None if there are none."""
    if integer is None:
        return None
    if [type(entry) for entry in integer] != [bool] * n:
        raise ValueError("'integer' must have a truth value for each parameter")
    return tuple(integer)


def lost_support(archive: Archive, plain: dict[str, Any], prior: Any, n: int) -> LostSupport | None:
    """What stands for the support of a posterior of n parameters; None if it has none.

    ``plain`` has the records "space" and "support".
    """
    data = plain["support"]
    if data is None:
        return None
    draws = archive.array("support/draws", None, n)
    if not np.isfinite(draws).all():
        raise ValueError("support/draws must be finite")
    share = None if a(dict, data)["share"] is None else number(data["share"])
    if share is not None and not (0 < share <= 1 and len(draws) > 1):
        raise ValueError(f"a share of {share} of the draws is inside, of {len(draws)}")
    if "edges" not in data:
        return LostSupport(draws, share, prior)
    edges = edges_in(archive, data["edges"], mixture_in(archive, a(dict, plain["space"]))[0])
    return LostSupport(draws, share, prior, edges, a(bool, data["only_edges"]))


def _check_given(
    archive: Archive, constraint: Any, support: Any, lost: LostSupport | None,
    described: dict[str, Any],
) -> None:  # fmt: skip
    """``FileError`` or ``TypeError`` for a constraint or support that this file has no use for."""
    for name, given in (("constraint", constraint), ("support", support)):
        if given is not None and not callable(given):
            raise TypeError(f"{name} must be a function, got {type(given).__name__}")
    if constraint is not None and support is not None:
        raise TypeError("pass constraint or support, not both: the support includes the constraint")
    if lost is None and (constraint is not None or support is not None):
        raise FileError(
            f"{archive.where!r} is of a problem without a constraint, whose prior is positive "
            "in all of its bounds: leave constraint= and support= out"
        )
    if constraint is not None and not described.get("constraint", False):
        raise FileError(
            f"{archive.where!r} is of a problem without a constraint, whose prior may be zero: "
            "pass support=, a function of points (n, D) to a mask (n,) of those where it is not"
        )


def _support(
    problem: Problem | None, constraint: Any, support: Support | None, lost: LostSupport | None
) -> Support | None:
    """What is known of the support: the function, or the draws in the file."""
    if lost is None:
        return None
    given = support
    if given is None and problem is not None:
        given = problem.support
    if given is None and constraint is not None:
        given = check_constraint(constraint)
    if lost.edges and (given is not None or lost.only_edges):
        return FoundSupport(lost.edges, given)
    return lost if given is None else given


def _refuse_another(archive: Archive, support: Support | None, lost: LostSupport) -> None:
    """``FileError`` if a support that is given does not have the posterior's draws in it."""
    assert support is not None
    inside = np.asarray(support(lost.draws[:N_TRIED].copy()))
    if inside.dtype.kind != "b" or inside.shape != (len(lost.draws[:N_TRIED]),):
        raise TypeError(
            "support must take points (n, D) to a mask (n,) of truth values, got an array of shape "
            f"{inside.shape}, type {inside.dtype}"
        )
    if not inside.all():
        raise FileError(
            f"{int(np.sum(~inside))} of {len(inside)} draws of the posterior in {archive.where!r} "
            "are not allowed by the constraint or support given: it is not that of the run"
        )
