"""Numerical derivatives, and comparisons with a tolerance."""

import numpy as np


def central_differences(function, point, step=1e-5):
    """Derivative of a scalar or vector function of a vector; the last axis is the vector's."""
    return np.stack(
        [
            (np.asarray(function(point + step * e)) - function(point - step * e)) / (2 * step)
            for e in np.eye(len(point))
        ],
        axis=-1,
    )


def assert_near(actual, expected, tolerance):
    """Equal to ``tolerance`` times the largest entry, or times one if all are smaller."""
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance * scale)
