"""The truth about the problems with real data, from the benchmark's data folder."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence

import numpy as np

from quell.arrays import FloatArray
from quell.bench.data import data_file, read_json
from quell.bench.density import Density
from quell.bench.problems.base import BenchError
from quell.bench.truth.known import Truth

VALUES, MARGINALS = "truth.json", "truth_marginals.npz"


def stored_truth(key: str, names: Sequence[str]) -> Truth:
    """What truth.json and truth_marginals.npz say about a problem with these parameters.

    ``log_evidence`` is the value the original benchmark scores against,
    ``log_evidence_checked`` an independent estimate by importance sampling.
    """
    content = read_json(VALUES)
    dimension = len(names)
    try:
        values = content[key]
        check = values["lnZ_check"]
        truth = Truth(
            log_evidence=float(values["lnZ"]),
            mean=np.array(values["posterior_mean"], dtype=np.float64).reshape(dimension),
            covariance=np.array(values["posterior_cov"], dtype=np.float64).reshape(
                dimension, dimension
            ),
            marginals=stored_marginals(key, dimension),
            log_evidence_checked=float(check["lnZ"]),
            log_evidence_error=float(check["standard_error"]),
            on_box=True,
        )
        if list(values["param_names"]) != list(names):
            raise ValueError(f"its parameters are {values['param_names']}, not {list(names)}")
    except BenchError:
        raise
    except (KeyError, TypeError, ValueError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else error
        raise BenchError(f"{data_file(VALUES)} has no usable entry for {key}: {why}") from None
    return truth


def stored_marginals(key: str, dimension: int) -> tuple[Density, ...]:
    """The marginal densities of a problem: cubic splines on grids from bound to bound."""
    path = data_file(MARGINALS)
    try:
        # Opened here because NumPy leaves a damaged archive open.
        with open(path, "rb") as file, np.load(file) as arrays:
            bounds: FloatArray = arrays[f"{key}_bounds"]
            heights: FloatArray = arrays[f"{key}_pdf"]
        if bounds.shape != (2, dimension) or heights.ndim != 2 or len(heights) != dimension:
            raise ValueError(f"the arrays of {key} have shapes {bounds.shape}, {heights.shape}")
        grids = np.linspace(bounds[0], bounds[1], heights.shape[1], axis=1)
        return tuple(map(Density.from_grid, grids, heights))
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise BenchError(f"cannot read the marginals of {key} from {path}: {error}") from None
