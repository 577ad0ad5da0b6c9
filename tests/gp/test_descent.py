"""L-BFGS-B for functions that give value and gradient together."""

import numpy as np
import pytest
from scipy.optimize import Bounds, minimize

from quell.gp.descent import _Remembered, descend


def valley(z):
    """Rosenbrock's function, with its gradient."""
    bend = z[1] - z[0] ** 2
    return 100 * bend**2 + (1 - z[0]) ** 2, np.array(
        [-400 * z[0] * bend - 2 * (1 - z[0]), 200 * bend]
    )


@pytest.mark.parametrize("box", [None, (np.array([-1.0, -1.0]), np.array([0.5, 2.0]))])
def test_it_ends_where_scipy_does_to_the_last_bit(box):
    z, value = descend(valley, 2, box, maxiter=50, ftol=1e-9)
    bounds = None if box is None else Bounds(*box)
    usual = minimize(
        valley, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds,
        options={"maxiter": 50, "ftol": 1e-9},
    )  # fmt: skip
    assert (z == usual.x).all()
    assert value == usual.fun
    assert usual.nit > 5


def test_the_options_count():
    assert descend(valley, 2, maxiter=1)[1] > descend(valley, 2, maxiter=50)[1] + 0.1


def test_the_function_is_computed_once_where_both_are_asked_for():
    seen = []

    def loss(z):
        seen.append(z.copy())
        return valley(z)

    descend(loss, 2)
    assert len(np.unique(seen, axis=0)) == len(seen)


def test_a_gradient_elsewhere_is_not_the_one_remembered():
    parts = _Remembered(valley)
    parts.value(np.zeros(2))
    there = np.array([0.3, -0.2])
    assert (parts.gradient(there) == valley(there)[1]).all()
