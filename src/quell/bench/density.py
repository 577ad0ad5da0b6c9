"""Densities of one variable (`quell.results.density`), where the benchmark looks for them."""

from quell.results.density import (
    Density,
    bandwidth,
    density_from_draws,
    density_of_logs,
    density_on_box,
    inverse_cdf_draws,
    total_variation,
    trapezoid,
)

__all__ = [
    "Density",
    "bandwidth",
    "density_from_draws",
    "density_of_logs",
    "density_on_box",
    "inverse_cdf_draws",
    "total_variation",
    "trapezoid",
]
