"""`quell.compare`: models beside each other by their evidence."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.checks import number
from quell.comparison.cells import tabulate
from quell.comparison.group import GroupComparison
from quell.comparison.runs import ALONE, HasEvidence, read_models
from quell.comparison.single import Comparison
from quell.studies.result import StudyResult

#: The evidence of one model: a result, or a pair (log evidence, SD); or several runs of it.
Runs = HasEvidence | tuple[float, float] | Sequence[HasEvidence | tuple[float, float]]


def compare(
    models: Mapping[str, Runs | Mapping[str, Runs] | StudyResult] | StudyResult,
    *,
    names: str | None = None,
    prior: Mapping[str, float] | None = None,
) -> Comparison | GroupComparison:
    """Compare models by their evidence, for one data set or for a group of subjects.

    Parameters
    ----------
    models
        For one data set, by the names of the models: results (of `infer` or `stack`), pairs
        ``(log_evidence, sd)``, or lists of them, which are runs of the same problem and count as
        one. For a group, dictionaries of these by the names of the subjects, or a study of each
        model whose problems are the subjects. Or one study: its problems are the models, or
        subjects and models as ``names`` says.
    names
        Where subject and model are in the names of a study's problems, such as
        ``"{subject}/{model}"``.
    prior
        Prior probabilities of the models of one data set; equal ones if left out. They are divided
        by their sum.

    Returns
    -------
    Comparison or GroupComparison
        For one data set, log Bayes factors and posterior probabilities of the models. For a group,
        how frequent each model is (random effects; Stephan et al. 2009, Rigoux et al. 2014):
        expected frequencies, (protected) exceedance probabilities, and the risk that all are
        equally frequent. Both allow for the SDs of the evidences, and say what to be careful about.

    Raises
    ------
    ValueError
        There are fewer than two models, a model has no evidence, or the models do not have the
        same subjects.

    Examples
    --------
    >>> import quell
    >>> comparison = quell.compare({"A": [(-40.1, 0.2), (-39.8, 0.3)], "B": (-42.0, 0.2)})
    >>> print(comparison.table())
      model  log evidence   log BF to best  probability  95 %            runs
      A      -40.01 ± 0.21  -               0.877        0.805 to 0.929  2
      B      -42.00 ± 0.20  -1.99 ± 0.29    0.123        0.071 to 0.195  1
    """
    table = tabulate(read_models(models, names))
    if table.subjects != (ALONE,):
        if prior is not None:
            raise ValueError(
                "prior is for models of one data set; in a group the frequencies of the models are "
                "what is found out"
            )
        return GroupComparison(
            table.models, table.subjects, table.log_evidence, table.sd, table.n_runs,
            table.cautions,
        )  # fmt: skip
    return Comparison(
        table.models,
        table.log_evidence[0],
        table.sd[0],
        _checked_prior(prior, table.models),
        table.n_runs[0],
        table.cautions,
    )


def _checked_prior(prior: Any, models: tuple[str, ...]) -> FloatArray:
    """Prior probabilities (M,) that sum to one."""
    if prior is None:
        return np.full(len(models), 1 / len(models))
    if not isinstance(prior, Mapping):
        raise TypeError(
            "prior must be a dictionary with a probability for every model, got an object of type "
            f"{type(prior).__name__}"
        )
    if set(prior) != set(models):
        raise ValueError(
            f"prior must have a probability for every model, {list(models)}, got {list(prior)}"
        )
    weights = [number(f"prior[{model!r}]", prior[model], least=0) for model in models]
    if sum(weights) <= 0:
        raise ValueError("prior must be positive for at least one model")
    return np.array(weights) / sum(weights)
