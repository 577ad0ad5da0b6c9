"""Models of one data set compared by their evidence.

The log evidence of a model is known with an error of SD s_m, so that the posterior probability of a
model, given prior ones π, is itself uncertain. What is reported is its expectation,

    P(m) = E[ π_m e^{L_m} / Σ_j π_j e^{L_j} ],       L_m ~ N(log evidence, s_m²),

over independent errors, by quasi-random draws, always the same ones.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import ndtri, softmax

from quell.arrays import FloatArray
from quell.checks import did_you_mean
from quell.interface import Reported
from quell.mixture.quasirandom import uniform_points
from quell.text import jsonable, printable, table

N_DRAWS = 2**14
#: Ends of the interval that is shown.
INTERVAL = (0.025, 0.975)
#: An SD of a difference from which on a comparison means nothing: odds are wrong by a factor of 20,
#: the conventional size of strong evidence (Kass and Raftery 1995).
MEANINGLESS_SD = 3.0
#: A difference of fewer SDs than this leaves the order of two models open.
SETTLED_SDS = 2.0
LIKELIHOODS = (
    "evidences can be compared only if all models were given the same data and full likelihoods of "
    "them; those by summary statistics (synthetic likelihood) only if all models have the same "
    "statistics. Quell cannot tell this from a result"
)


@dataclass(frozen=True, eq=False)
class Comparison(Reported):
    """Models of one data set compared; made by `compare`. Printing it is a summary.

    Attributes
    ----------
    models
        Names of the M models.
    log_evidence, sd
        Their log evidences, (M,), and SDs, (M,); those of several runs as one.
    prior
        Prior probabilities of the models, (M,).
    n_runs
        How many runs are behind each, (M,).
    cautions
        What to be careful about, in words.

    Examples
    --------
    >>> import quell
    >>> comparison = quell.compare({"linear": (-103.2, 0.1), "quadratic": (-99.8, 0.2)})
    >>> comparison.best
    'quadratic'
    >>> value, sd = comparison.log_bayes_factor("quadratic", "linear")
    >>> round(value, 2), round(sd, 2)
    (3.4, 0.22)
    >>> comparison.probabilities.round(3)
    array([0.033, 0.967])
    """

    models: tuple[str, ...]
    log_evidence: FloatArray
    sd: FloatArray
    prior: FloatArray
    n_runs: FloatArray
    cautions: tuple[str, ...] = ()

    @cached_property
    def _draws(self) -> FloatArray:
        """Posterior probabilities (n, M) under draws of the log evidences."""
        points = uniform_points(np.random.default_rng(0), N_DRAWS, len(self.models))
        drawn = self.log_evidence + self.sd * ndtri(points)
        with np.errstate(divide="ignore"):
            return np.asarray(softmax(drawn + np.log(self.prior), axis=1))

    @property
    def probabilities(self) -> FloatArray:
        """Posterior probabilities of the models, (M,), the errors of the evidence allowed for."""
        return np.asarray(self._draws.mean(axis=0))

    @property
    def intervals(self) -> FloatArray:
        """Within what the probabilities are with 95 %, for the errors of the evidence; (M, 2)."""
        return np.quantile(self._draws, INTERVAL, axis=0).T

    @property
    def best(self) -> str:
        """The model of the highest evidence."""
        return self.models[int(np.argmax(self.log_evidence))]

    @property
    def log_bayes_factors(self) -> FloatArray:
        """Log Bayes factors (M, M): row model over column model."""
        return np.asarray(self.log_evidence[:, None] - self.log_evidence)

    @property
    def log_bayes_factor_sds(self) -> FloatArray:
        """Their SDs (M, M), for independent errors of the log evidences."""
        sds = np.hypot(self.sd[:, None], self.sd)
        np.fill_diagonal(sds, 0.0)
        return np.asarray(sds)

    def log_bayes_factor(self, model: str, against: str) -> tuple[float, float]:
        """The log Bayes factor of one model against another, and its SD.

        Parameters
        ----------
        model, against
            Their names; the factor is positive where the first has the higher evidence.
        """
        i, j = self._place(model), self._place(against)
        return float(self.log_bayes_factors[i, j]), float(self.log_bayes_factor_sds[i, j])

    def _place(self, model: str) -> int:
        if model not in self.models:
            hint = did_you_mean(model, self.models)
            raise ValueError(f"unknown model {model!r}; the models are {list(self.models)}{hint}")
        return self.models.index(model)

    def verdict(self) -> str:
        """In a sentence, what the best model has over the next one."""
        first, second = np.argsort(-self.log_evidence, kind="stable")[:2]
        name, other = (printable(self.models[i]) for i in (first, second))
        value, sd = self.log_bayes_factor(self.models[first], self.models[second])
        figure = f"log Bayes factor {value:.2f} ± {sd:.2f}"
        if sd > MEANINGLESS_SD:
            return (
                f"{name!r} is ahead of {other!r} ({figure}), but with an SD above "
                f"{MEANINGLESS_SD:g} the comparison means nothing: make longer runs, or more of "
                "them, with less noise"
            )
        if value < SETTLED_SDS * sd:
            return (
                f"{name!r} is ahead of {other!r}, but by less than {SETTLED_SDS:g} SDs ({figure}): "
                "which of them has the higher evidence is not settled; make longer runs, or more "
                "of them"
            )
        odds = f"{np.exp(value):.3g}" if value < 100 else f"10^{value / np.log(10):.0f}"
        return f"{name!r} has the highest evidence, {odds} times that of {other!r} ({figure})"

    def table(self) -> str:
        """One line for each model, the best first, as text."""
        rows = [("model", "log evidence", "log BF to best", "probability", "95 %", "runs")]
        best = self._place(self.best)
        low_high = self.intervals
        for i in np.argsort(-self.log_evidence, kind="stable"):
            value, sd = self.log_bayes_factors[i, best], self.log_bayes_factor_sds[i, best]
            rows.append(
                (
                    self.models[i],
                    f"{self.log_evidence[i]:.2f} ± {self.sd[i]:.2f}",
                    "-" if i == best else f"{value:.2f} ± {sd:.2f}",
                    f"{self.probabilities[i]:.3f}",
                    f"{low_high[i, 0]:.3f} to {low_high[i, 1]:.3f}",
                    f"{self.n_runs[i]:.0f}",
                )
            )
        return table(rows)

    def summary(self) -> str:
        """What a person wants to read: which model, by how much, and what to be careful about."""
        lines = [self.verdict(), "", self.table()]
        if np.ptp(self.prior) > 0:
            prior = ", ".join(
                f"{printable(model)} {p:.3g}"
                for model, p in zip(self.models, self.prior, strict=True)
            )
            lines += ["", f"prior probabilities: {prior}"]
        return "\n".join([*lines, *cautionary(self.cautions)])

    def to_dict(self) -> dict[str, Any]:
        """All figures as plain data, ready for JSON."""
        return jsonable(
            {
                "models": list(self.models),
                "log_evidence": self.log_evidence,
                "sd": self.sd,
                "n_runs": self.n_runs.astype(int),
                "prior": self.prior,
                "probabilities": self.probabilities,
                "probability_intervals": self.intervals,
                "log_bayes_factors": self.log_bayes_factors,
                "log_bayes_factor_sds": self.log_bayes_factor_sds,
                "best": self.best,
                "verdict": self.verdict(),
                "cautions": list(self.cautions),
            }
        )

    def __repr__(self) -> str:
        return self.summary()


def cautionary(cautions: tuple[str, ...]) -> list[str]:
    """The end of a summary: what to be careful about, a line each."""
    return ["", "be careful:", *(f"  - {text}" for text in (*cautions, LIKELIHOODS))]
