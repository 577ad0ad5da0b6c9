"""Bounds, priors and starting values of the hyperparameters, read off a training set.

The rows of the table in :mod:`quell.gp.prior`, with a plausible part of each interval, a default
start, and the softness τ of the bounds.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quell.arrays import FloatArray
from quell.gp.data import (
    NOISE_VARIANCE_FLOOR,
    NOISE_VARIANCE_FLOOR_2018,
    TrainingData,
    high_density_rows,
)
from quell.gp.model import Layout

#: Smallest scale considered, relative to the range of the data.
SMALLEST_SCALE = 1e-6
#: Scale of the Student-t prior of log σ_f where a size is expected; not tuned
#: (docs/experiments/output-scale.md).
OUTPUT_SCALE_WIDTH = 1.0
#: A row of the table: where it goes in θ, and the fields of the class it sets.
_Row = tuple[slice | int, dict[str, ArrayLike]]


def prior_table(
    layout: Layout, data: TrainingData, plausible_range: FloatArray, noise_guess: float | None,
    output_scale: float | None, empirical: bool = False,
) -> dict[str, FloatArray]:  # fmt: skip
    """The table of the module's docstring, with starting values, as fields of the class."""
    names = ("lower", "upper", "location", "scale", "plausible_lower", "plausible_upper", "start")
    fields = {name: np.full(layout.size, np.nan) for name in (*names, "softness")}
    floor = 0.5 * np.log(NOISE_VARIANCE_FLOOR_2018 if empirical else NOISE_VARIANCE_FLOOR)
    spreads = _Spreads.of(data, plausible_range)
    rows = [
        *_kernel_rows(layout, spreads, plausible_range, output_scale),
        *_noise_rows(layout, spreads, noise_guess, floor),
        *_mean_rows(layout, data, spreads),
    ]
    if empirical:
        rows += _empirical_rows(layout, data, spreads, plausible_range)
    for entry, values in rows:
        for name, value in values.items():
            fields[name][entry] = value
    inset = 1e-6 * (fields["upper"] - fields["lower"])
    fields["start"] = np.clip(fields["start"], fields["lower"] + inset, fields["upper"] - inset)
    return fields


def _x_range(x: FloatArray, plausible_range: FloatArray) -> FloatArray:
    # A coordinate without any spread says nothing of its scale.
    x_range = np.ptp(x, axis=0)
    return np.where(x_range > 0, x_range, plausible_range)


def _scale_row(log_range: ArrayLike, log_sd: ArrayLike, log_reach: float) -> dict[str, ArrayLike]:
    """Bounds and start of the logarithm of a scale, from the range and SD of what it scales."""
    tiny = np.log(SMALLEST_SCALE)
    log_range = np.asarray(log_range)
    return {
        "lower": log_range + tiny,
        "upper": log_range + log_reach,
        "plausible_lower": log_range + tiny / 2,
        "plausible_upper": log_range,
        "start": log_sd,
        "softness": 0.5,
    }


@dataclass(frozen=True, eq=False)
class _Spreads:
    """Ranges of points (D,) and values, and their SDs over the ``best`` rows, all positive."""

    best: NDArray[np.intp]
    x_range: FloatArray
    x_sd: FloatArray
    y_range: float
    y_sd: float

    @classmethod
    def of(cls, data: TrainingData, plausible_range: FloatArray) -> "_Spreads":
        best = high_density_rows(data.rest)
        x_range = _x_range(data.x, plausible_range)
        x_sd = np.std(data.x[best], axis=0)
        x_sd = np.where(x_sd > 0, x_sd, 0.1 * x_range)
        y_range = float(np.ptp(data.rest)) or 1.0
        return cls(best, x_range, x_sd, y_range, float(np.std(data.rest[best])) or y_range)


def _kernel_rows(
    layout: Layout, spreads: _Spreads, plausible_range: FloatArray, output_scale: float | None
) -> list[_Row]:
    """log ℓ and log σ_f."""
    lengths = {
        **_scale_row(np.log(spreads.x_range), np.log(spreads.x_sd), np.log(10.0)),
        "location": np.log(np.sqrt(layout.dimension / 6) * plausible_range),
        "scale": 0.5 * np.log(1e3),
    }
    output = _scale_row(np.log(spreads.y_range), np.log(spreads.y_sd), np.log(10.0))
    if output_scale is not None:
        output |= {"location": np.log(output_scale), "scale": OUTPUT_SCALE_WIDTH}
    return [(layout.lengths, lengths), (layout.output_scale, output)]


def _noise_rows(
    layout: Layout, spreads: _Spreads, noise_guess: float | None, floor: float
) -> list[_Row]:
    """log σ̄, from a ``floor`` on, and log ν where some noise is unknown."""
    # The upper bound keeps clear of the floor when all values are nearly the same.
    upper = max(np.log(spreads.y_range), floor + 1.0)
    base = {
        "lower": floor,
        "upper": upper,
        "location": floor,
        "scale": 0.5,
        "plausible_lower": floor,
        "plausible_upper": np.clip(np.log(spreads.y_sd), floor, upper),
        "start": floor + 0.1,
        "softness": 0.25,
    }
    rows: list[_Row] = [(layout.base_noise, base)]
    if layout.unknown_noise:
        centre = 0.0 if noise_guess is None else 2 * np.log(noise_guess)
        width = np.log(10.0) if noise_guess is None else 0.5 * np.log(10.0)
        unknown = {
            "lower": centre + np.log(1e-3),
            "upper": centre + np.log(1e3),
            "location": centre,
            "scale": width,
            "plausible_lower": centre - width,
            "plausible_upper": centre + width,
            "start": centre,
            "softness": 0.5,
        }
        rows.append((layout.unknown_variance, unknown))
    return rows


def _mean_rows(layout: Layout, data: TrainingData, spreads: _Spreads) -> list[_Row]:
    """m_0, x_m and log ω."""
    x, y = data.x, data.rest
    best, x_range = spreads.best, spreads.x_range
    margin = max(0.1, min(float(data.dimension), float(np.ptp(y[best]))))
    height = {
        "lower": y.min(),
        "upper": y.max() + margin,
        "plausible_lower": np.median(y),
        "plausible_upper": y.max(),
        "start": np.quantile(y, 0.9),
        "softness": 0.25 * margin,
    }
    location = {
        "lower": x.min(axis=0) - x_range / 2,
        "upper": x.max(axis=0) + x_range / 2,
        "plausible_lower": x.min(axis=0),
        "plausible_upper": x.max(axis=0),
        "start": np.median(x[best], axis=0),
        "softness": 0.1 * x_range,
    }
    return [
        (layout.mean_max, height),
        (layout.mean_location, location),
        (layout.mean_scales, _scale_row(np.log(x_range), np.log(spreads.x_sd), 3.0)),
    ]


def _empirical_rows(
    layout: Layout, data: TrainingData, spreads: _Spreads, plausible_range: FloatArray
) -> list[_Row]:
    """What is different of log ℓ and m_0 where their priors are read off the training set."""
    best, y_range = spreads.best, spreads.y_range
    log_sd = np.log(spreads.x_sd)
    log_range = np.log(_x_range(data.x[best], plausible_range))
    return [
        (layout.lengths, {"location": log_sd, "scale": np.maximum(2.0, log_range - log_sd)}),
        (
            layout.mean_max,
            {
                "upper": data.rest.max() + y_range,
                "location": data.rest.max(),
                "scale": float(np.ptp(data.rest[best])) or y_range,
                "softness": 0.25 * y_range,
            },
        ),
    ]
