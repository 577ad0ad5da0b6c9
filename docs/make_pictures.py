"""The pictures of docs/plots.md, made anew: ``make pictures``.

They are the same every time on one machine: all seeds are fixed.
"""

import io
import tempfile
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import scipy.stats
from PIL import Image

import quell
from quell import plots

FOLDER = Path(__file__).parent / "pictures"
DPI, COLOURS = 110, 128
LARGEST = 60_000  # bytes
#: What the simulated data were made with, and the noise of a log-likelihood.
TRUTH = {"lapse": 0.12, "sensitivity": 1.8, "direction": 355.0, "buffer": 3.0}
NOISE_SD = 0.8


def log_likelihood(theta, rng):
    """A made-up experiment: four parameters of different kinds, some of them correlated."""
    lapse, sensitivity, direction, buffer, _ = theta
    off = (direction - TRUTH["direction"] + 180) % 360 - 180
    z = np.array(
        [
            np.log(lapse / (1 - lapse)) + 1.9,
            (np.log(sensitivity) - np.log(1.8)) / 0.35,
            off / 22,
            (buffer - 3.2) / 1.4,
        ]
    )
    z[0] += 0.6 * z[1]
    value = -0.5 * float(z @ z) - 0.15 * z[1] ** 3 * (z[1] > -1)
    return value + NOISE_SD * rng.standard_normal(), NOISE_SD


def experiment():
    """The problem, with a parameter of every kind and one fixed."""
    return quell.Problem(
        log_likelihood,
        lower=[0, 0, 0, 0, 1],
        upper=[1, np.inf, 360, 9, 1],
        plausible_lower=[0.05, 0.8, 300, 1, 1],
        plausible_upper=[0.5, 4, 400, 6, 1],
        names=["lapse", "sensitivity", "direction", "buffer", "gain"],
        periodic=["direction"],
        integer=["buffer"],
        prior=[
            scipy.stats.beta(1, 3),
            scipy.stats.gamma(2),
            scipy.stats.uniform(0, 360),
            scipy.stats.uniform(-0.5, 10),
            None,
        ],
    )


def subject(shift, slope, level):
    """A problem of the study: one subject under one of two models."""

    def log_likelihood(theta, rng):
        value = (
            level - 0.5 * ((theta[0] - shift) / 0.5) ** 2 - 0.5 * ((theta[1] - slope) / 0.3) ** 2
        )
        return value + 0.5 * rng.standard_normal(), 0.5

    return quell.Problem(
        log_likelihood,
        lower=[-8, 0],
        upper=[8, 6],
        plausible_lower=[-2, 0.5],
        plausible_upper=[2, 3],
        names=["bias", "slope"],
    )


def save(figure, name):
    """Write a picture without a date or version in it, and see that it is small."""
    path = FOLDER / f"{name}.png"
    buffer = io.BytesIO()
    figure.savefig(buffer, dpi=DPI)
    # Pillow comes with matplotlib; few colours make a small file.
    Image.open(buffer).convert("RGB").quantize(COLOURS).save(path, optimize=True)
    plt.close(figure)
    size = path.stat().st_size
    print(f"{path.name:20}{size / 1000:6.1f} kB")
    if size > LARGEST:
        raise SystemExit(f"{path} has {size} bytes; make it smaller (at most {LARGEST})")


def main():
    """All pictures."""
    FOLDER.mkdir(exist_ok=True)
    warnings.simplefilter("ignore", quell.BudgetWarning)
    problem = experiment()
    result = quell.infer(problem, budget=140, seed=5200, progress=False)
    short = quell.infer(problem, budget=40, seed=5201, progress=False)
    print(result)
    save(plots.plot_corner(result, truth=TRUTH, evaluations=True, width=6), "corner")
    save(plots.plot_marginals(result, truth=TRUTH), "marginals")
    save(plots.plot_trace(result), "trace")
    two = ["lapse", "sensitivity", "direction"]
    save(plots.plot_evaluations(result, two, zoom=True, width=5), "evaluations")
    save(plots.plot_surrogate(result), "surrogate")
    save(plots.plot_residuals(result), "residuals")
    chosen = ["sensitivity", "direction"]
    save(plots.plot_acquisition(result, chosen, width=4), "acquisition")
    runs = {"140 evaluations": result, "40 evaluations": short}
    save(plots.plot_compare(runs, truth=TRUTH), "compare")
    rng = np.random.default_rng(5202)
    problems, models = {}, {}
    for who in ("anna", "ben", "carla", "dan"):
        shift, slope = rng.normal(0, 0.8), 1.5 + rng.random()
        for model, level in (("plain", -60.0), ("rich", -59.0 + rng.normal(0, 0.5))):
            name = f"{who}, {model}"
            problems[name] = subject(shift + rng.normal(0, 0.2), slope, level)
            models[name] = model
    with tempfile.TemporaryDirectory() as folder:
        study = quell.study(problems, folder=folder, budget=80, progress=False)
        save(plots.plot_study(study, models=models), "study")


if __name__ == "__main__":
    main()
