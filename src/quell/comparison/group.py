"""Models compared over several subjects: how frequent each is, and which is the most frequent.

The errors of the log evidences are carried through: the frequencies (`frequencies`) are computed
for many draws of all log evidences, always the same ones, and averaged. Of an error's variance a
share is taken to be common to all subjects of a model, as it is to all runs of a problem
(`quell.results.several`): the same model is the same trouble for the surrogate again and again,
and what is common does not average out over subjects.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import softmax

from quell.arrays import FloatArray
from quell.comparison.frequencies import Frequencies, frequencies
from quell.comparison.single import INTERVAL, MEANINGLESS_SD, cautionary
from quell.interface import Reported
from quell.results.several import COMMON_SHARE
from quell.text import jsonable, printable, table

N_DRAWS = 500
#: A risk that all models are equally frequent, from which on the group says little.
LARGE_RISK = 0.25


@dataclass(frozen=True, eq=False)
class GroupComparison(Reported):
    """Models compared over the subjects of a study; made by `compare`. Printing it is a summary.

    Attributes
    ----------
    models, subjects
        Names of the M models and the N subjects.
    log_evidence, sd
        Log evidences (N, M), and SDs (N, M); those of several runs as one.
    n_runs
        How many runs are behind each, (N, M).
    cautions
        What to be careful about, in words.

    Examples
    --------
    >>> import quell
    >>> good, bad = (-50.0, 0.3), (-55.0, 0.3)
    >>> group = quell.compare({
    ...     "Bayesian": {f"S{i}": good if i else bad for i in range(9)},
    ...     "fixed": {f"S{i}": bad if i else good for i in range(9)},
    ... })
    >>> group.frequencies.round(2)
    array([0.82, 0.18])
    >>> group.protected_exceedance.round(2), round(group.omnibus_risk, 2)
    (array([0.92, 0.08]), 0.15)
    >>> group.best
    'Bayesian'
    """

    models: tuple[str, ...]
    subjects: tuple[str, ...]
    log_evidence: FloatArray
    sd: FloatArray
    n_runs: FloatArray
    cautions: tuple[str, ...] = ()

    @cached_property
    def _found(self) -> Frequencies:
        """What draws of the log evidences say."""
        if not self.sd.any():
            return self._at_face_value
        rng = np.random.default_rng(0)
        own = rng.standard_normal((N_DRAWS // 2, *self.sd.shape))
        common = rng.standard_normal((N_DRAWS // 2, 1, len(self.models)))
        errors = np.sqrt(1 - COMMON_SHARE) * own + np.sqrt(COMMON_SHARE) * common
        errors = np.concatenate([errors, -errors])  # so that they have mean zero
        return frequencies(self.log_evidence + self.sd * errors)

    @cached_property
    def _at_face_value(self) -> Frequencies:
        """What the log evidences say if they have no errors."""
        return frequencies(self.log_evidence[None])

    @property
    def frequencies(self) -> FloatArray:
        """Expected frequencies of the models in the population, (M,)."""
        return np.asarray(self._found.expected.mean(axis=0))

    @property
    def frequency_sds(self) -> FloatArray:
        """Their SDs (M,): few subjects, and errors of the evidence, together."""
        expected, total = self._found.expected, self._found.alpha.sum(axis=1, keepdims=True)
        within = (expected * (1 - expected) / (total + 1)).mean(axis=0)
        return np.asarray(np.sqrt(within + expected.var(axis=0)))

    @property
    def exceedance(self) -> FloatArray:
        """Probabilities (M,) that a model is the most frequent one, given that they differ."""
        return np.asarray(self._found.exceedance.mean(axis=0))

    @property
    def protected_exceedance(self) -> FloatArray:
        """Exceedance probabilities (M,) that allow for all models being equally frequent."""
        return np.asarray(self._found.protected.mean(axis=0))

    @property
    def omnibus_risk(self) -> float:
        """Probability that all models are equally frequent (Bayesian omnibus risk)."""
        return float(self._found.omnibus_risk.mean())

    @property
    def assignments(self) -> FloatArray:
        """Probabilities (N, M) that each subject has each model, the whole group considered."""
        return np.asarray(self._found.assignments.mean(axis=0))

    @property
    def subject_probabilities(self) -> FloatArray:
        """Probabilities (N, M) of the models for each subject alone, all as likely in advance."""
        rng = np.random.default_rng(0)
        half = rng.standard_normal((N_DRAWS, *self.sd.shape))
        errors = np.concatenate([half, -half])
        return np.asarray(softmax(self.log_evidence + self.sd * errors, axis=2).mean(axis=0))

    @property
    def intervals(self) -> FloatArray:
        """Within what the protected exceedance probabilities are with 95 %; (M, 2).

        For the errors of the evidence alone: where they are wide, better evidences would help.
        """
        return np.quantile(self._found.protected, INTERVAL, axis=0).T

    @property
    def best(self) -> str:
        """The model that is expected to be the most frequent."""
        return self.models[int(np.argmax(self.frequencies))]

    @property
    def fixed_effects(self) -> tuple[FloatArray, FloatArray]:
        """Sums of the log evidences over subjects, (M,), and their SDs, (M,).

        They answer another question: which one model all subjects have. One odd subject can decide.
        """
        common = COMMON_SHARE * self.sd.sum(axis=0) ** 2
        own = (1 - COMMON_SHARE) * (self.sd**2).sum(axis=0)
        return self.log_evidence.sum(axis=0), np.asarray(np.sqrt(common + own))

    def verdict(self) -> str:
        """In a sentence, which model is the most frequent, and how sure that is."""
        k, second = np.argsort(-self.frequencies, kind="stable")[:2]
        name = printable(self.models[k])
        frequency = f"{self.frequencies[k]:.2f} ± {self.frequency_sds[k]:.2f}"
        sure = f"protected exceedance probability {self.protected_exceedance[k]:.2f}"
        if float(np.median(np.hypot(self.sd[:, k], self.sd[:, second]))) > MEANINGLESS_SD:
            return (
                f"{name!r} is expected to be the most frequent ({frequency}), but log Bayes "
                f"factors have SDs above {MEANINGLESS_SD:g}, so the comparison means nothing: make "
                "longer runs, or more of them, with less noise"
            )
        if self.omnibus_risk > LARGE_RISK:
            return (
                f"{name!r} is expected to be the most frequent ({frequency}), but with probability "
                f"{self.omnibus_risk:.2f} all models are equally frequent ({sure})"
            )
        return f"{name!r} is the most frequent, with a frequency of {frequency} ({sure})"

    def table(self) -> str:
        """One line for each model, the most frequent first, as text."""
        rows = [("model", "frequency", "exceedance", "protected", "95 %", "fixed effects")]
        totals, sds = self.fixed_effects
        low_high, top = self.intervals, int(np.argmax(totals))
        for i in np.argsort(-self.frequencies, kind="stable"):
            sd = 0.0 if i == top else float(np.hypot(sds[i], sds[top]))
            rows.append(
                (
                    self.models[i],
                    f"{self.frequencies[i]:.3f} ± {self.frequency_sds[i]:.3f}",
                    f"{self.exceedance[i]:.3f}",
                    f"{self.protected_exceedance[i]:.3f}",
                    f"{low_high[i, 0]:.3f} to {low_high[i, 1]:.3f}",
                    "-" if i == top else f"{totals[i] - totals[top]:.1f} ± {sd:.1f}",
                )
            )
        return table(rows)

    def subject_table(self) -> str:
        """One line for each subject: log evidences, and the probability of the best model."""
        rows = [("subject", *self.models, "best", "probability")]
        probabilities = self.subject_probabilities
        for n, subject in enumerate(self.subjects):
            best = int(np.argmax(self.log_evidence[n]))
            cells = zip(self.log_evidence[n], self.sd[n], strict=True)
            rows.append(
                (
                    subject,
                    *(f"{value:.2f} ± {sd:.2f}" for value, sd in cells),
                    self.models[best],
                    f"{probabilities[n, best]:.3f}",
                )
            )
        return table(rows)

    def summary(self) -> str:
        """What a person wants to read: which model, how sure, and what to be careful about."""
        face = self._at_face_value
        risk = f"Bayesian omnibus risk {self.omnibus_risk:.3f}"
        if self.sd.any():
            risk += f" ({float(face.omnibus_risk[0]):.3f} if the evidences had no errors)"
        lines = [
            self.verdict(), "", self.table(), "",
            f"{risk}; {len(self.subjects)} subjects", "", self.subject_table(),
        ]  # fmt: skip
        return "\n".join([*lines, *cautionary(self.cautions)])

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain data, ready for JSON."""
        totals, sds = self.fixed_effects
        return jsonable(
            {
                "models": list(self.models),
                "subjects": list(self.subjects),
                "log_evidence": self.log_evidence,
                "sd": self.sd,
                "n_runs": self.n_runs.astype(int),
                "frequencies": self.frequencies,
                "frequency_sds": self.frequency_sds,
                "exceedance": self.exceedance,
                "protected_exceedance": self.protected_exceedance,
                "protected_exceedance_intervals": self.intervals,
                "omnibus_risk": self.omnibus_risk,
                "assignments": self.assignments,
                "subject_probabilities": self.subject_probabilities,
                "fixed_effects": totals,
                "fixed_effects_sds": sds,
                "best": self.best,
                "verdict": self.verdict(),
                "cautions": list(self.cautions),
            }
        )

    def __repr__(self) -> str:
        return self.summary()
