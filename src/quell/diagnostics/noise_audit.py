"""Are the reported SDs honest, and is the noise too large for the budget?

Two witnesses. Evaluations of the same point differ from their mean by nothing but noise. And the
residuals of evaluations against the surrogate should have the size of the reported SDs, the small
ones as well as the large ones: so they are compared in three groups by reported SD.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quell.arrays import FloatArray
from quell.diagnostics.case import Case, numbered
from quell.diagnostics.finding import shown
from quell.diagnostics.residuals import FEWEST, OUTLYING, signal_residuals, typical_size
from quell.evaluations import Evaluations
from quell.evaluations.repeated import SetAside, disagreement
from quell.text import table

#: Groups of evaluations by reported SD.
N_GROUPS = 3
#: Repeats from which a size can be told.
FEWEST_REPEATS = 5
#: An SD of the log evidence beyond which it says little: the paper's limit of a usable one.
LARGEST_SD = 1.0


@dataclass(frozen=True)
class Group:
    """Evaluations by their reported SD: from ``low`` to ``high``, ``n`` of them.

    ``scale`` is the typical size of their residuals in reported SDs: 1 where they are honest.
    """

    low: float
    high: float
    n: int
    scale: float


@dataclass(frozen=True)
class NoiseAudit:
    """What the evaluations tell about their noise.

    Attributes
    ----------
    noise_sd
        The noise near the top of the posterior, reported and fitted.
    groups
        Evaluations where the density matters, by reported SD; empty where none is reported.
    n_repeats, repeat_scale
        Evaluations at a point that was evaluated before, and the size of their differences in
        reported SDs; nan where there are too few.
    n_outliers
        Evaluations off by more than noise makes.
    enough
        Whether the evaluations suffice for this noise: the SD of the log evidence is below 1.
    set_aside
        With ``Settings(robust=True)``: evaluations that repeats of their point contradict.
    taken
        With it: how many times the reported SDs were taken for the noise.
    """

    noise_sd: float
    groups: tuple[Group, ...]
    n_repeats: int
    repeat_scale: float
    n_outliers: int
    enough: bool
    set_aside: tuple[SetAside, ...] = ()
    taken: float = 1.0

    @property
    def sentences(self) -> tuple[str, ...]:
        """What ``Settings(robust=True)`` did about wrong values and wrong SDs, in words."""
        return about_wrong_values(self.set_aside, self.taken)

    def __str__(self) -> str:
        if not self.noise_sd > 0:
            return "noise          none"
        lines = [f"noise          SD {self.noise_sd:.3g} near the top of the posterior"]
        if self.groups:
            rows = [("reported SD", "evaluations", "residuals in SDs")] + [
                (f"{group.low:.3g} to {group.high:.3g}", str(group.n), f"{group.scale:.2f}")
                for group in self.groups
            ]
            lines.append(table(rows))
        if np.isfinite(self.repeat_scale):
            lines.append(
                f"  {self.n_repeats} repeats differ by {self.repeat_scale:.2f} of the reported SDs"
            )
        if self.n_outliers:
            lines.append(f"  {self.n_outliers} outliers")
        lines += [f"  {text}" for text in self.sentences]
        if not self.enough:
            lines.append("  too much noise for this budget: the log evidence has an SD above 1")
        return "\n".join(lines)


def about_wrong_values(set_aside: Sequence[SetAside], taken: float) -> tuple[str, ...]:
    """What was set aside, and how many times reported SDs were ``taken``, in words.

    >>> about_wrong_values([SetAside(7, -99.2)], 1.0)[0][:42]
    'row 7 of result.evaluations is set aside: '
    """
    texts = []
    if set_aside:
        are = "is" if len(set_aside) == 1 else "are"
        text = f"{numbered([one.row for one in set_aside])} {are} set aside: other evaluations of "
        text += "the same point contradict"
        off = np.array([one.off for one in set_aside])
        if np.isfinite(off).any():
            text += f", by up to {shown(np.nanmax(np.abs(off)))} nats"
        texts.append(text)
    if taken != 1.0:
        texts.append(f"the reported SDs were taken {taken:g} times, as the evaluations say")
    return tuple(texts)


def audit_noise(
    case: Case, noise_sd: float, log_evidence_sd: float, taken: float = 1.0
) -> NoiseAudit:
    """Compare reported SDs, ``taken`` so many times in the run, with what the evaluations do."""
    residual = signal_residuals(case)
    n_repeats, repeat_scale = repeats(case.evaluations.rows(~case.aside))
    return NoiseAudit(
        noise_sd=noise_sd,
        groups=_groups(case.observed.reported[residual != 0], residual[residual != 0]),
        n_repeats=n_repeats,
        repeat_scale=repeat_scale,
        n_outliers=int(np.sum(np.abs(residual) > OUTLYING)),
        enough=not log_evidence_sd > LARGEST_SD,
        set_aside=case.set_aside,
        taken=taken,
    )


def repeats(evaluations: Evaluations) -> tuple[int, float]:
    """Repeated evaluations, and the size of their differences in reported SDs.

    >>> table = Evaluations.from_arrays(np.zeros((8, 1)), [1.0, -1.0] * 4, 1.0)
    >>> repeats(table)[0], round(repeats(table)[1], 2)
    (7, 1.07)
    """
    n_repeats, total = disagreement(evaluations)
    return n_repeats, float(np.sqrt(total / n_repeats)) if n_repeats >= FEWEST_REPEATS else np.nan


def _groups(reported: FloatArray, residual: FloatArray) -> tuple[Group, ...]:
    """Groups of equal size by reported SD; one where all are the same or they are few."""
    if len(residual) < FEWEST:
        return ()
    order = np.argsort(reported, kind="stable")
    alike = reported.max() <= 1.01 * reported.min()
    parts = 1 if alike else min(N_GROUPS, len(order) // FEWEST)
    return tuple(
        Group(
            float(reported[rows[0]]),
            float(reported[rows[-1]]),
            len(rows),
            typical_size(residual[rows]),
        )
        for rows in np.array_split(order, parts)
    )
