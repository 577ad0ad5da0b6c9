"""A solution as arrays: the mixture, the space it lives in, and the surrogate it was fitted to."""

from typing import Any

import numpy as np

from quell.archive import Archive
from quell.archive.plain import a, number
from quell.gp import TrainingData
from quell.gp.model import Layout
from quell.problem.constraint import Support
from quell.quadrature import ExpectedLogJoint
from quell.records.mixture import mixture_in, mixture_members
from quell.space.edges import Edges
from quell.variational import Elbo
from quell.vbmc import Solution

JOINT = ("component_means", "component_covariances", "sample_means", "sample_variances")


def solution_members(solution: Solution) -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of a solution by their names in the file, and its plain data."""
    joint, data = solution.elbo.expected_log_joint, solution.data
    arrays, space = mixture_members(solution.space, solution.mixture)
    arrays |= {
        "surrogate/x.npy": data.x,
        "surrogate/y.npy": data.y,
        "surrogate/noise_variance.npy": data.variance,
        "surrogate/hyperparameters.npy": solution.theta,
        "surrogate/weights.npy": solution.weights,
    }
    if data.edges is not None:
        arrays["surrogate/edge_slopes.npy"] = data.edges.slopes
        arrays["surrogate/edge_offsets.npy"] = data.edges.offsets
    arrays |= {f"elbo/{name}.npy": getattr(joint, name) for name in JOINT}
    elbo = {
        "expected_log_joint": joint.mean,
        "variance_within": joint.within,
        "variance_between": joint.between,
        "entropy": solution.elbo.entropy,
    }
    return arrays, {"space": space, "elbo_parts": elbo}


def restore_solution(file: Archive, plain: dict[str, Any], support: Support | None) -> Solution:
    """The solution in a file; `with_support` puts the support in its place."""
    space, mixture = mixture_in(file, a(dict, plain["space"]))
    d = space.dimension
    x, y = file.array("surrogate/x", None, d), file.array("surrogate/y", None)
    variance = file.array("surrogate/noise_variance", len(x))
    data = TrainingData.from_arrays(x, y, np.zeros(len(x)), edges=_edges(file, d))
    if (variance < 0).any() or np.isinf(variance).any():
        raise ValueError("surrogate/noise_variance must be finite and not negative, or nan")
    data = TrainingData(data.x, data.y, variance, data.edges)
    layout = Layout(d, data.has_unknown_noise)
    theta = file.array("surrogate/hyperparameters", None, layout.size)
    weights = file.array("surrogate/weights", len(theta))
    if not len(theta) or not len(x):
        raise ValueError("the surrogate has no data, or no hyperparameters")
    if not (np.isfinite(theta).all() and np.isfinite(weights).all()):
        raise ValueError("the surrogate's hyperparameters and their weights must be finite")
    if (weights < 0).any() or not weights.sum() > 0:
        raise ValueError("surrogate/weights must not be negative, nor all zero")
    elbo = _elbo(file, a(dict, plain["elbo_parts"]), len(theta), mixture.n_components)
    return Solution(space, mixture, elbo, data, theta, weights, support)


def _edges(file: Archive, dimension: int) -> Edges | None:
    if "surrogate/edge_slopes.npy" not in file:
        return None
    slopes = file.array("surrogate/edge_slopes", None, dimension)
    offsets = file.array("surrogate/edge_offsets", len(slopes))
    if not (np.isfinite(slopes).all() and np.isfinite(offsets).all()):
        raise ValueError("surrogate/edge_slopes and surrogate/edge_offsets must be finite")
    return Edges(slopes, offsets)


def _elbo(file: Archive, plain: dict[str, Any], s: int, k: int) -> Elbo:
    joint = ExpectedLogJoint(
        file.array("elbo/component_means", s, k),
        file.array("elbo/component_covariances", s, k, k),
        file.array("elbo/sample_means", s),
        file.array("elbo/sample_variances", s),
        number(plain["expected_log_joint"]),
        number(plain["variance_within"]),
        number(plain["variance_between"]),
    )
    return Elbo(joint, number(plain["entropy"]))
