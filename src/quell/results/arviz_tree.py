"""A result as an ``xarray.DataTree`` with the groups that ArviZ knows.

It is made with xarray alone, so that the same object serves all versions of ArviZ. Names that
netCDF does not allow are changed; a variable has the parameter's name as attribute "long_name".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from quell.arrays import FloatArray
from quell.checks import integer
from quell.interface import import_extra
from quell.streams import as_generator
from quell.text import printable
from quell.version import __version__

if TYPE_CHECKING:
    from quell.evaluations import Evaluations
    from quell.results.distribution import Distribution, Drawn
    from quell.results.result import Result

#: Dimensions of the groups, which no variable may be named after.
CHAIN, DRAW, EVALUATION = "chain", "draw", "evaluation"


#: What is known of each of n draws, (n,), with a word about it.
Columns = dict[str, tuple[FloatArray, str]]


def arviz_tree(result: Result, draws: int, chains: int, rng: np.random.Generator | int) -> Any:
    """The tree; see `Result.to_arviz`."""
    return tree(
        result.posterior, result.evaluations, lambda theta: _statistics(result, theta),
        figures(result), (draws, chains, rng),
    )  # fmt: skip


def tree(
    posterior: Drawn,
    evaluations: Evaluations,
    statistics: Callable[[FloatArray], Columns],
    attributes: dict[str, Any],
    drawing: tuple[int, int, np.random.Generator | int],
) -> Any:
    """The tree of any posterior: ``statistics`` of draws (n, D), and ``attributes`` of the whole.

    ``drawing`` is the number of draws in a chain, that of chains, and a seed or a generator.
    """
    xarray = import_extra("xarray", "to_arviz", "use posterior.sample(n)", extra="arviz")
    draws, chains = integer("draws", drawing[0], least=1), integer("chains", drawing[1], least=1)
    theta = posterior.sample(draws * chains, as_generator(drawing[2]))
    coordinates = {CHAIN: np.arange(chains), DRAW: np.arange(draws)}
    library = {"inference_library": "quell", "inference_library_version": __version__}

    def dataset(columns: Columns) -> Any:
        data = {
            key: ((CHAIN, DRAW), column.reshape(chains, draws), {"long_name": name})
            for key, (column, name) in columns.items()
        }
        return xarray.Dataset(data, coordinates, attrs=dict(library))

    columns = zip(variable_names(posterior.names), theta.T, posterior.names, strict=True)
    groups = {
        "/": xarray.Dataset(attrs=library | attributes),
        "/posterior": dataset({key: (c, printable(name)) for key, c, name in columns}),
        "/sample_stats": dataset(statistics(theta)),
        "/evaluations": xarray.Dataset(_evaluations(evaluations)),
    }
    return xarray.DataTree.from_dict(groups)


def figures(result: Result) -> dict[str, Any]:
    """Attributes of the whole: plain numbers and text, as netCDF has them."""
    return figures_of_answer(result) | {
        "elbo_sd": float(result.elbo_sd),
        "evaluations": result.evaluations.n_counted,
        "seed": str(result.seed),  # it may have more bits than an attribute
        "overhead_cpu_seconds": float(result.cpu_seconds),
        "target_seconds": float(result.target_seconds),
    }


def figures_of_answer(result: Any) -> dict[str, Any]:
    """The attributes that one run's result and a stacked one have in common."""
    return {
        "log_evidence": float(result.log_evidence),
        "log_evidence_sd": float(result.log_evidence_sd),
        "evidence_method": result.evidence_method,
        "elbo": float(result.elbo),
        "status": str(result.status),
        "converged": int(result.converged),
        "reasons": "; ".join(printable(reason) for reason in result.reasons),
    }


def variable_names(names: tuple[str, ...]) -> list[str]:
    """Names of variables in a netCDF file: none twice, and none that of a dimension.

    >>> variable_names(("a", "km/h", "draw", "km_h"))
    ['a', 'km_h', 'draw_', 'km_h_']
    """
    taken: list[str] = [CHAIN, DRAW, EVALUATION]
    for name in names:
        key = re.sub(r"[^\w .()\[\]+\-*=^%|<>]", "_", printable(name)).strip() or "_"
        key = key if key[0].isalnum() or key[0] == "_" else f"_{key}"
        while key in taken:
            key += "_"
        taken.append(key)
    return taken[3:]


def _statistics(result: Result, theta: FloatArray) -> Columns:
    """What is known of each draw (n, D), (n,) each, with a word about it."""
    space = result.solution.space
    x = space.to_inference(theta)
    gp = result.solution.surrogate()
    mean, variance = gp.pooled(x)
    # What the surrogate knows of the edge of a support is no part of the density within it.
    edges, soft = result.solution.data.edges, space.edges
    if edges is not None:
        mean = mean - edges.at(x) + (0.0 if soft is None else soft.at(x))
    return {
        "lp": (mean - space.log_jacobian(x), "log joint density, by the surrogate"),
        "lp_sd": (np.sqrt(variance), "SD of the surrogate"),
        **densities(result.posterior, result.log_prior, theta),
    }


def densities(posterior: Distribution, log_prior: Any, theta: FloatArray) -> Columns:
    """The log density of the posterior at draws (n, D), and that of the prior where it is known."""
    found = {"log_q": (posterior.log_density(theta), "log density of the posterior")}
    if log_prior is not None:
        found["log_prior"] = (np.asarray(log_prior(theta)), "log prior density")
    return found


def _evaluations(table: Evaluations) -> dict[str, Any]:
    """The table of evaluations as variables along one dimension."""
    others: dict[str, Any] = {
        "log_likelihood": table.value,
        "noise_sd": table.sd,
        "log_prior_density": table.log_prior,
        "origin": np.array([str(origin) for origin in table.origin], dtype=object),
        "error": np.array([printable(text) for text in table.error], dtype=object),
    }
    keys = variable_names((*others, *table.names))[len(others) :]
    columns = zip(keys, table.theta.T, table.names, strict=True)
    return {
        **{key: (EVALUATION, c.copy(), {"long_name": printable(n)}) for key, c, n in columns},
        **{key: (EVALUATION, np.array(column)) for key, column in others.items()},
    }
