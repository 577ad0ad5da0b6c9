"""How plots look, roughly: small grey pictures beside stored ones.

The bound is wide, so that another version of matplotlib or another font passes, and what is
missing, misplaced or blank does not. To store them again after a change that is meant, run this
file: ``python tests/plots/test_look.py``.
"""

from pathlib import Path

import numpy as np
import pytest
from helpers.plots import kinds_posterior, normal_posterior

from quell import Evaluations
from quell.plots import plot_corner, plot_evaluations, plot_marginals, plot_study
from quell.studies.result import Row, StudyResult

STORED = Path(__file__).parent / "looks.npz"
#: Pixels of a stored picture across, and dots per inch before it is made small.
ACROSS, DPI = 60, 80
#: Mean difference of grey levels (0 to 1), relative to the darkness of the stored picture.
LARGEST = 0.25


def corner():
    return plot_corner(
        kinds_posterior(), truth={"share": 0.5, "angle": 5.0}, other=kinds_posterior()
    )


def small_corner():
    return plot_corner(normal_posterior(8), width="column")


def marginals():
    return plot_marginals(kinds_posterior(), width="column")


def evaluations():
    rng = np.random.default_rng(4)
    theta = rng.standard_normal((60, 3))
    values = -0.5 * np.sum(theta**2, axis=1)
    values[::9] = -np.inf
    return plot_evaluations(Evaluations.from_arrays(theta, values, 0.3, names=["a", "b", "c"]))


def study():
    statuses = ("stable", "suspect", "unstable", "too short to tell")
    rows = [Row(f"subject {i}", 0, -5.0 - i, 0.4, status=s) for i, s in enumerate(statuses)]
    return plot_study(StudyResult((*rows, Row("subject 5", 0, error="no"))), [], width="column")


FIGURES = {f.__name__: f for f in (corner, small_corner, marginals, evaluations, study)}


def thumbnail(figure):
    """Darkness (rows, ACROSS) of a figure, each pixel the mean of many."""
    figure.set_dpi(DPI)
    figure.canvas.draw()
    grey = 1.0 - np.asarray(figure.canvas.buffer_rgba())[..., :3].mean(axis=2) / 255
    size = grey.shape[1] // ACROSS
    rows, columns = grey.shape[0] // size, grey.shape[1] // size
    return grey[: rows * size, : columns * size].reshape(rows, size, columns, size).mean((1, 3))


def difference(found, stored):
    return np.abs(found - stored).mean() / stored.mean()


@pytest.mark.parametrize("name", sorted(FIGURES))
def test_it_looks_as_it_did(name):
    with np.load(STORED) as file:
        stored = file[name] / 255
    assert difference(thumbnail(FIGURES[name]()), stored) < LARGEST


def test_other_pictures_would_not_pass():
    with np.load(STORED) as file:
        stored = file["marginals"] / 255
    assert difference(np.zeros_like(stored), stored) > LARGEST
    assert difference(stored[:, ::-1], stored) > LARGEST
    without = thumbnail(plot_marginals(kinds_posterior(), width="column", quantiles=[]))
    assert difference(without, stored) > 0.02  # what can be seen at all


if __name__ == "__main__":
    import matplotlib as mpl

    mpl.use("Agg")
    pictures = {name: thumbnail(make()) for name, make in FIGURES.items()}
    np.savez_compressed(
        STORED, **{k: np.rint(255 * v).astype(np.uint8) for k, v in pictures.items()}
    )
