"""The noise audit: are reported SDs honest, and does the surrogate predict what is new to it?"""

from dataclasses import dataclass

import numpy as np

from quell.arrays import BoolArray, FloatArray
from quell.diagnostics.noise_audit import NoiseAudit
from quell.diagnostics.residuals import OUTLYING
from quell.pages.chart import Chart, Hover, Key
from quell.pages.frame import Box, x_axis, y_axis
from quell.pages.scales import Scale
from quell.pages.svg import dots, line, picture, rectangle
from quell.plots.residuals import LEAST_SHOWN, MOST_SHOWN, standardised_residuals
from quell.plots.style import Z95
from quell.results import Result
from quell.vbmc.low_values import resolved_depth

WIDTH, HEIGHT = 820, 230
BOX = Box(52, 26, WIDTH - 66, HEIGHT - 70)
EXACT = "The target is exact: there is no noise to audit."


@dataclass(frozen=True, eq=False)
class NoiseSection:
    """The part of a report on noise: sentences, groups by reported SD, and the residuals."""

    sentences: list[str]
    groups: list[list[str]]
    chart: Chart | None


def noise_section(result: Result, audit: NoiseAudit, ident: str = "residuals") -> NoiseSection:
    """The section of a result, given its audit."""
    groups = [
        [_ends(group.low, group.high), str(group.n), f"{group.scale:.2f}"] for group in audit.groups
    ]
    exact = result.problem.get("noise") == "exact" or not result.evaluations.sd.any()
    texts = [EXACT] if exact or not audit.noise_sd > 0 else _sentences(audit)
    return NoiseSection(texts, groups, _chart(result, ident))


def _ends(low: float, high: float) -> str:
    low_text, high_text = f"{low:.3g}", f"{high:.3g}"
    return low_text if low_text == high_text else f"{low_text} to {high_text}"


def _sentences(audit: NoiseAudit) -> list[str]:
    texts = [f"Near the top of the posterior the noise has an SD of {audit.noise_sd:.3g}."]
    if np.isfinite(audit.repeat_scale):
        texts.append(
            f"{audit.n_repeats} evaluations repeat an earlier point, and differ by "
            f"{audit.repeat_scale:.2f} of the reported SDs (1 would be honest)."
        )
    if audit.n_outliers:
        are = "evaluation is" if audit.n_outliers == 1 else "evaluations are"
        texts.append(f"{audit.n_outliers} {are} off by more than {OUTLYING:g} reported SDs.")
    texts += [f"{text[0].upper()}{text[1:]}." for text in audit.sentences]
    if not audit.enough:
        texts.append(
            "There is too much noise for this budget: the log evidence has an SD above 1. Use a "
            "larger budget, or a target with less noise."
        )
    return texts


def _chart(result: Result, ident: str) -> Chart | None:
    """Residuals of each evaluation from what all the others predict; None where there are few."""
    with np.errstate(all="ignore"):
        prediction, residual, matters, rows = standardised_residuals(result)
    known = np.isfinite(prediction) & np.isfinite(residual)
    prediction, residual = prediction[known], residual[known]
    matters, rows = matters[known], rows[known]
    if not len(residual):
        return None
    off = np.abs(residual) > OUTLYING
    n, inside, n_off = len(residual), _share_inside(residual, matters), int((matters & off).sum())
    # As far down as a value can matter, and that far again: others would squeeze these.
    depth = 2.0 * resolved_depth(result.posterior.space.dimension)
    near = prediction >= prediction.max() - depth
    prediction, residual, off = prediction[near], residual[near], off[near]
    matters, rows = matters[near], rows[near]
    if len(residual) < 2 or not np.ptp(prediction) > 0:
        return None
    reach = float(np.clip(1.1 * np.max(np.abs(residual)), LEAST_SHOWN, MOST_SHOWN))
    room = 0.03 * float(np.ptp(prediction))
    across = Scale(prediction.min() - room, prediction.max() + room, BOX.left, BOX.right)
    scale = Scale(-reach, reach, BOX.bottom, BOX.top)
    x, y = across.at(prediction), scale.at(np.clip(residual, -0.97 * reach, 0.97 * reach))
    ends = scale.at(np.array([Z95, -Z95]))
    parts = [
        rectangle(BOX.left, float(ends[0]), BOX.width, float(ends[1] - ends[0]), "phase"),
        y_axis(BOX, scale, "residual, in SDs", 5),
        line(BOX.left, scale.point(0), BOX.right, scale.point(0), "limit"),
        dots(x[~matters], y[~matters], "dot faint"),
        dots(x[matters & ~off], y[matters & ~off], "dot from-search"),
        dots(x[matters & off], y[matters & off], "failed", "cross"),
        x_axis(BOX, across, "log joint predicted from all the others", 7),
    ]
    text = (
        f"Residuals of {n} evaluations from what all the others predict of them, in SDs. Where the "
        f"density matters, {100 * inside:.0f} % are in the band that should hold 95 %, and {n_off} "
        f"are beyond {OUTLYING:g} SDs."
    )
    if n > len(residual):
        text += f" {n - len(residual)} predictions are too low to be drawn."
    keys = [Key("from-search", "dot", "evaluation"), Key("phase", "patch", "95 % expected")]
    keys += [Key("faint", "dot", "too low to matter")] * bool((~matters).any())
    keys += [Key("failed", "cross", f"beyond {OUTLYING:g} SDs")] * bool((matters & off).any())
    words = [
        f"evaluation {row + 1}: {one:+.2f} SDs from its prediction {at:.3f}"
        for row, one, at in zip(rows, residual, prediction, strict=True)
    ]
    svg = picture(ident, WIDTH, HEIGHT, "Residuals over predictions", text, parts, "chart wide")
    return Chart(ident, svg, text, Hover(np.column_stack([x, y]), words, along=False), keys=keys)


def _share_inside(residual: FloatArray, matters: BoolArray) -> float:
    """The share of residuals in the band, where the density matters."""
    return float(np.mean(np.abs(residual[matters]) < Z95)) if matters.any() else float("nan")
