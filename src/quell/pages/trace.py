"""How a run came to its answer: ELBO, reliability and components over evaluations."""

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from quell.arrays import FloatArray
from quell.pages.chart import Chart, Hover, Key
from quell.pages.frame import Box, x_axis, y_axis
from quell.pages.scales import Scale
from quell.pages.svg import band, curve, dots, line, picture, rectangle
from quell.plots.limits import elbo_limits
from quell.plots.style import Z95
from quell.plots.trace import MARKS, RELIABLE
from quell.results import Result

WIDTH, LEFT, RIGHT, TOP = 820, 62, 14, 26
#: Pixels of the three panels, and between them.
HEIGHTS, SPACE, BOTTOM = (170, 90, 80), 34, 44
#: Classes of the lines that mark what the algorithm did, by the word for it in `MARKS`.
CLASSES = {
    "end of warm-up": "mark-warmup", "lowest dropped": "mark-dropped", "whitening": "mark-white",
    "soft edges": "mark-soft", "heavy tails": "mark-soft", "leap": "mark-warmup",
    "went back": "mark-back",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trace:
    """Columns of a run's iterations, (n,) each, and its ``actions`` as (evaluations, word)."""

    evaluations: FloatArray
    elbo: FloatArray
    sd: FloatArray
    reliability: FloatArray
    components: FloatArray
    warmup: FloatArray
    actions: list[tuple[float, str]]
    chosen: int
    returned_components: int
    limits: tuple[float, float] | None
    end: float

    @classmethod
    def of(cls, result: Result) -> "Trace":
        """The trace of a run."""
        rows = result.history

        def column(name: str) -> FloatArray:
            return np.array([row[name] for row in rows], dtype=float)

        at = column("n_evaluations")
        actions = [
            (float(n), MARKS[row["action"]][2])
            for n, row in zip(at, rows, strict=True)
            if row["action"] in MARKS
        ]
        return cls(
            at, column("elbo"), column("elbo_sd"), column("reliability"), column("n_components"),
            column("warmup"), actions, result.chosen - 1,
            result.posterior.mixture.n_components, elbo_limits(rows, result.chosen - 1),
            max(float(at[-1]), float(len(result.evaluations))),
        )  # fmt: skip


def trace_chart(result: Result, ident: str = "trace") -> Chart:
    """The three panels under each other, over the same evaluations."""
    trace = Trace.of(result)
    boxes, top = [], float(TOP)
    for height in HEIGHTS:
        boxes.append(Box(LEFT, top, WIDTH - LEFT - RIGHT, height))
        top += height + SPACE
    height = boxes[-1].bottom + BOTTOM
    across = Scale(0.0, trace.end * 1.02 + 1, LEFT, WIDTH - RIGHT)
    parts = [_phases(boxes, trace, across)]
    places = _elbo(parts, boxes[0], trace, across)
    _reliability(parts, boxes[1], trace, across)
    _components(parts, boxes[2], trace, across)
    for box in boxes:
        last = box is boxes[-1]
        parts.append(x_axis(box, across, "evaluations" if last else "", 8, labels=last))
    svg = picture(
        ident, WIDTH, height, "The run over its evaluations", _in_words(trace), parts, "chart wide"
    )
    words = {word for _, word in trace.actions}
    keys = [
        Key("curve", "line", "each iteration"), Key("band", "patch", "95 % band of the ELBO"),
        Key("returned", "diamond", "returned"), Key("phase", "patch", "warm-up"),
        *(Key(CLASSES[word], "line", word) for word in CLASSES if word in words),
    ]  # fmt: skip
    return Chart(ident, svg, hover=Hover(places, _readings(result, trace)), keys=keys)


def _phases(boxes: list[Box], trace: Trace, across: Scale) -> Markup:
    """Grey under the warm-up, and lines at what the algorithm did, through all panels."""
    parts = []
    warm = trace.evaluations[trace.warmup > 0]
    for box in boxes:
        if len(warm):
            end = across.point(float(warm.max()))
            parts.append(rectangle(box.left, box.top, end - box.left, box.height, "phase"))
        for at, word in trace.actions:
            x = across.point(at)
            parts.append(line(x, box.top, x, box.bottom, CLASSES[word]))
        x = across.point(float(trace.evaluations[trace.chosen]))
        parts.append(line(x, box.top, x, box.bottom, "returned-line"))
    return Markup("").join(parts)


def _elbo(parts: list[Markup], box: Box, trace: Trace, across: Scale) -> FloatArray:
    low, high = trace.limits or (0.0, 1.0)
    scale = Scale(low, high, box.bottom, box.top)
    x, y = across.at(trace.evaluations), scale.at(trace.elbo)
    half = Z95 * trace.sd
    ends = [
        np.clip(scale.at(v), box.top, box.bottom) for v in (trace.elbo - half, trace.elbo + half)
    ]
    seen = np.where((y >= box.top) & (y <= box.bottom), y, np.nan)
    parts += [
        y_axis(box, scale, "ELBO ± 2 SD", 5), band(x, ends[0], ends[1], "band"),
        curve(x, seen, "curve", marker=True), _returned(x, seen, trace.chosen),
    ]  # fmt: skip
    for out, edge, shape in (
        (y > box.bottom, box.bottom - 5, "down"),
        (y < box.top, box.top + 5, "up"),
    ):
        parts.append(dots(x[out], np.full(int(out.sum()), edge), "low", shape))
    return np.column_stack([x, np.clip(y, box.top, box.bottom)])


def _reliability(parts: list[Markup], box: Box, trace: Trace, across: Scale) -> None:
    index = trace.reliability
    shown = np.where(np.isfinite(index) & (index > 0), index, np.nan)
    known = np.append(shown[np.isfinite(shown)], RELIABLE)
    scale = Scale(
        0.5 * min(float(known.min()), 0.2), 2.0 * max(float(known.max()), 2.0),
        box.bottom, box.top, log=True,
    )  # fmt: skip
    x, y = across.at(trace.evaluations), scale.at(shown)
    limit = scale.point(RELIABLE)
    parts += [
        y_axis(box, scale, "reliability index (below 1: stable)", 3),
        line(box.left, limit, box.right, limit, "limit"),
        curve(x, y, "curve", marker=True), _returned(x, y, trace.chosen),
    ]  # fmt: skip


def _components(parts: list[Markup], box: Box, trace: Trace, across: Scale) -> None:
    most = max(float(trace.components.max()), float(trace.returned_components))
    scale = Scale(0.0, 1.1 * most + 1, box.bottom, box.top, whole=True)
    x, y = across.at(trace.evaluations), scale.at(trace.components)
    steps_x, steps_y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    returned = y.copy()
    returned[trace.chosen] = scale.point(trace.returned_components)
    parts += [
        y_axis(box, scale, "components of the posterior", 3), curve(steps_x, steps_y, "curve"),
        _returned(x, returned, trace.chosen),
    ]  # fmt: skip


def _returned(x: FloatArray, y: FloatArray, chosen: int) -> Markup:
    if not np.isfinite(y[chosen]):
        return Markup("")
    return dots(x[[chosen]], y[[chosen]], "returned", "diamond")


def _readings(result: Result, trace: Trace) -> list[str]:
    words = []
    for i, row in enumerate(result.history):
        text = (
            f"{row['n_evaluations']} evaluations: ELBO {trace.elbo[i]:.3f} ± {trace.sd[i]:.3f}, "
            f"reliability {trace.reliability[i]:.3g}, {row['n_components']} components"
        )
        if row["warmup"]:
            text += ", warm-up"
        if row["action"]:
            text += f", {row['action']}"
        words.append(text + (" (returned)" if i == trace.chosen else ""))
    return words


def _in_words(trace: Trace) -> str:
    i = trace.chosen
    done = ", ".join(f"{word} at {n:.0f}" for n, word in trace.actions) or "none"
    return (
        f"{len(trace.evaluations)} iterations over {trace.evaluations[-1]:.0f} evaluations. The "
        f"iteration returned is that after {trace.evaluations[i]:.0f}, with an ELBO of "
        f"{trace.elbo[i]:.3f} ± {trace.sd[i]:.3f} and a reliability index of "
        f"{trace.reliability[i]:.3g}. What the algorithm did: {done}."
    )
