"""From values to places along an axis, and the round numbers that stand there."""

from dataclasses import dataclass, replace

import numpy as np

from quell.arrays import FloatArray
from quell.plots.ranges import Range

#: Steps between ticks are these times a power of ten.
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
#: Numbers of this size and more, or with steps smaller than that, are written with an exponent.
LARGE, SMALL = 1e5, 1e-4


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` drawn from ``start`` to ``end``, in pixels.

    ``period`` and ``lower`` are those of a periodic parameter, whose numbers begin again.
    """

    low: float
    high: float
    start: float = 0.0
    end: float = 1.0
    log: bool = False
    whole: bool = False
    period: float = 0.0
    lower: float = 0.0

    @classmethod
    def of(cls, shown: Range, start: float = 0.0, end: float = 1.0) -> "Scale":
        """The scale of a parameter's range."""
        return cls(
            shown.low, shown.high, start, end, shown.log, shown.integer, shown.period, shown.lower
        )

    def between(self, start: float, end: float) -> "Scale":
        """The same values elsewhere."""
        return replace(self, start=start, end=end)

    def at(self, values: FloatArray | float) -> FloatArray:
        """Pixels (...) of values (...)."""
        v = np.asarray(values, dtype=np.float64)
        with np.errstate(all="ignore"):
            if self.log:
                part = np.log(v / self.low) / np.log(self.high / self.low)
            else:
                part = (v - self.low) / ((self.high - self.low) or 1.0)
        return np.asarray(self.start + part * (self.end - self.start))

    def point(self, value: float) -> float:
        """The pixel of one value."""
        return float(self.at(value))

    def ticks(self, most: int) -> list[tuple[float, str]]:
        """At most so many round values (about), with their labels.

        >>> Scale(0.0, 1.0).ticks(3)
        [(0.0, '0'), (0.5, '0.5'), (1.0, '1.0')]
        >>> Scale(0.002, 3.0, log=True).ticks(3)
        [(0.01, '0.01'), (0.1, '0.1'), (1.0, '1')]
        """
        if self.log:
            return _decades(self.low, self.high, most)
        values, step = round_values(self.low, self.high, most, whole=self.whole)
        shown = values
        if self.period:
            shown = self.lower + np.mod(values - self.lower, self.period)
        return [(float(v), tick_label(float(s), step)) for v, s in zip(values, shown, strict=True)]


def round_values(
    low: float, high: float, most: int, *, whole: bool = False
) -> tuple[FloatArray, float]:
    """Round numbers between two ends, at most so many, and the step between them."""
    width = high - low
    if not (np.isfinite(width) and width > 0):
        return np.array([low]) if np.isfinite(low) else np.empty(0), 0.0
    for exponent in range(int(np.floor(np.log10(width))) - 2, 400):
        for factor in STEPS[:-1]:
            step = factor * 10.0**exponent
            if whole and (step < 1 or step % 1):
                continue
            first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
            if last - first + 1 <= most:
                # Zero stays zero, and no rounding of the step shows.
                return np.round(np.arange(first, last + 1) * step, 12 - exponent) + 0.0, step
    return np.empty(0), 0.0


def _decades(low: float, high: float, most: int) -> list[tuple[float, str]]:
    first, last = np.ceil(np.log10(low) - 1e-9), np.floor(np.log10(high) + 1e-9)
    stride = max(1, int(np.ceil((last - first + 1) / max(most, 1))))
    values = [float(10.0**k) for k in np.arange(first, last + 1, stride)]
    if len(values) < 2:  # less than a decade: its ends
        values = [float(f"{v:.1g}") for v in (low, high)]
    return [(v, f"{v:g}".replace("-", "−")) for v in values if low <= v * 1.001 and v <= high]


def tick_label(value: float, step: float) -> str:
    """A number as precise as the step between ticks.

    >>> tick_label(-0.5, 0.25), tick_label(2.0, 1.0), tick_label(1.5e6, 5e5), tick_label(2e-7, 1e-7)
    ('−0.50', '2', '1.5e6', '2e−7')
    """
    if value == 0:
        return "0"
    size = abs(value)
    if step <= 0:
        text = f"{value:.4g}"
    elif size >= LARGE or step < SMALL:
        digits = int(np.floor(np.log10(size))) - int(np.floor(np.log10(step)))
        mantissa, _, exponent = f"{value:.{max(0, digits)}e}".partition("e")
        text = f"{mantissa}e{int(exponent)}"
    else:
        decimals = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        if round(step * 10**decimals, 6) % 1:  # a step of 2.5
            decimals += 1
        text = f"{value:.{decimals}f}"
    return text.replace("-", "−")
