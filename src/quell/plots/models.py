"""The evidence of models over all the problems of a study that each was fitted to."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from quell.studies.result import Row


class ModelEvidence(NamedTuple):
    """The sum of log evidences of a model, its SD, and over how many problems; missing ones."""

    model: str
    total: float
    sd: float
    n_problems: int
    n_missing: int


def evidence_by_model(rows: Sequence[Row], models: Mapping[str, str]) -> list[ModelEvidence]:
    """Log evidences summed over problems, by the model that ``models`` says each problem is of.

    Of a problem with several seeds the mean counts, with the scatter between them in its SD where
    that is more than the runs' own. A problem without an evidence is missing.

    >>> rows = [Row("anna a", 0, -3.0, 0.3), Row("ben a", 0, -4.0, 0.4), Row("anna b", 0, -5.0, 1)]
    >>> of = {"anna a": "a", "ben a": "a", "anna b": "b"}
    >>> [(e.model, e.total, round(e.sd, 2), e.n_problems) for e in evidence_by_model(rows, of)]
    [('a', -7.0, 0.5, 2), ('b', -5.0, 1.0, 1)]
    """
    problems = list(dict.fromkeys(row.problem for row in rows))
    unknown = [name for name in problems if name not in models]
    if unknown:
        raise ValueError(
            f"models must say of which model every problem is; {unknown[0]!r} is not in it"
        )
    found = []
    for model in dict.fromkeys(models[name] for name in problems):
        total, variance, n, missing = 0.0, 0.0, 0, 0
        for name in (name for name in problems if models[name] == model):
            seeds = [r for r in rows if r.problem == name and np.isfinite(r.log_evidence)]
            if not seeds:
                missing += 1
                continue
            values = np.array([row.log_evidence for row in seeds])
            own = np.array([row.log_evidence_sd for row in seeds])
            scatter = float(np.var(values, ddof=1)) if len(seeds) > 1 else 0.0
            total += float(values.mean())
            variance += max(float(np.mean(own**2)), scatter) / len(seeds)
            n += 1
        found.append(ModelEvidence(model, total, float(np.sqrt(variance)), n, missing))
    return found
