"""A result as the bytes of a ``.quell`` file of format 1 (docs/files.md)."""

import platform
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.archive import pack
from quell.problem import Problem
from quell.records.choices import verdict_record
from quell.records.edges_found import edge_members
from quell.records.mixture import mixture_members
from quell.records.problem import prior_record
from quell.records.surrogate import solution_members
from quell.records.tables import evaluation_members, history_members
from quell.results.from_file import LostSupport
from quell.results.posterior import Posterior
from quell.results.truncated import N_DRAWS, Kept, draw_inside
from quell.vbmc.found_edge import Edge, FoundSupport
from quell.version import __version__

if TYPE_CHECKING:  # the result's own method calls this
    from quell.results.result import Result

FORMAT = 1
#: Fields of a result that are in the file as they are.
SCALARS = (
    "elbo", "elbo_sd", "log_evidence", "log_evidence_sd", "evidence_method", "chosen", "boosted",
    "seed", "cpu_seconds", "wall_seconds", "target_seconds", "journal", "unseen_share",
)  # fmt: skip


def result_bytes(result: "Result", *, n_draws: int = N_DRAWS) -> bytes:
    """The whole file; ``n_draws`` stand for a support, if there is one."""
    return pack({"format.json": about("result"), **result_members(result, n_draws)})


def about(kind: str) -> dict[str, Any]:
    """What kind of file it is, when it was written and by what."""
    import scipy

    return {
        "file": "quell",
        "format": FORMAT,
        "kind": kind,
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "quell": __version__,
            "numpy": np.__version__,
            "scipy": scipy.__version__,
            "python": platform.python_version(),
        },
    }


def result_members(result: "Result", n_draws: int = N_DRAWS) -> dict[str, Any]:
    """Everything about the result itself, by the names of the members."""
    solution, of_solution = solution_members(result.solution)
    evaluations, of_evaluations = evaluation_members(result.evaluations)
    history, of_history = history_members(result.history)
    support, of_support = _support_members(result.posterior, n_draws)
    plain = {
        **{name: getattr(result, name) for name in SCALARS},
        "reasons": list(result.reasons),
        "verdict": verdict_record(result.verdict),
        "problem": result.problem,
        "prior": prior_of(result.log_prior, result.posterior),
        "settings": result.settings.as_dict(),
        "integer": _integer(result.posterior),
        "support": of_support,
        **of_solution,
        "evaluations": of_evaluations,
        "history": of_history,
    }
    return {"result.json": plain, **solution, **evaluations, **history, **support}


def posterior_bytes(posterior: Posterior) -> bytes:
    """The file of a posterior alone, as a part of another file."""
    arrays, space = mixture_members(posterior.space, posterior.mixture)
    support, of_support = _support_members(posterior, N_DRAWS)
    plain = {"space": space, "integer": _integer(posterior), "support": of_support}
    return pack({"format.json": about("posterior"), "posterior.json": plain, **arrays, **support})


def _integer(posterior: Posterior) -> list[bool] | None:
    return None if posterior.integer is None else list(posterior.integer)


def _support_members(
    posterior: Posterior, n_draws: int
) -> tuple[dict[str, Any], dict[str, Any] | None]:
    """Draws inside the support, where there is one: a file cannot hold the function."""
    if posterior.support is None:
        return {}, None
    support = posterior.support
    if isinstance(support, LostSupport):
        arrays, record = {"support/draws.npy": support.draws}, {"share": support.share}
        return _with_edges(arrays, record, support.edges, only=support.only_edges)
    kept = posterior._kept if n_draws >= N_DRAWS else _few(posterior, n_draws)
    share = None if kept is None else kept.share
    if kept is None:  # all of the mixture is inside, or next to nothing: moments are its own
        kept = _few(posterior, n_draws) or Kept(np.empty((0, posterior.dimension)), 1.0)
    arrays, record = {"support/draws.npy": kept.theta}, {"share": share}
    edges = support.edges if isinstance(support, FoundSupport) else ()
    only = isinstance(support, FoundSupport) and support.given is None
    return _with_edges(arrays, record, edges, only=only)


def _with_edges(
    arrays: dict[str, Any], record: dict[str, Any], edges: tuple[Edge, ...], *, only: bool
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The same with the edges that the run has found, if it has."""
    if not edges:
        return arrays, record
    more, kinds = edge_members(edges)
    return arrays | more, record | {"edges": kinds, "only_edges": only}


def _few(posterior: Posterior, n_draws: int) -> Kept | None:
    """So many draws inside; None for a lost run, next to nothing of whose posterior is."""
    assert posterior.support is not None
    try:
        return draw_inside(n_draws, np.random.default_rng(0), posterior._draw, posterior.support)
    except ValueError:
        return None


def prior_of(log_prior: Any, posterior: Posterior) -> dict[str, Any] | None:
    """The record of a prior, given the method of the problem that computes it."""
    if isinstance(posterior.support, LostSupport):
        return posterior.support.prior
    problem = getattr(log_prior, "__self__", None)
    return prior_record(problem) if isinstance(problem, Problem) else None
