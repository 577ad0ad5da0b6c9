"""Fit the surrogate and the variational posterior to noisy values of a 2-D log density.

The target is the banana of Acerbi (2020), Figure 1, with known evidence. From 120 noisy values at
quasi-random points Quell fits the Gaussian process and the mixture, prints the evidence lower
bound beside the truth, and draws all of it. There is no active sampling here yet: that is what
the inference loop adds.
"""

import argparse
import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import qmc

from quell.gp import TrainingData, train
from quell.space import InferenceSpace
from quell.threads import single_threaded
from quell.variational import fit_mixture

NOISE_SD = 1.0
TRUE_LOG_EVIDENCE = -2.259847
DRAWN = (np.linspace(-3, 3, 121), np.linspace(-3, 6, 121))


def log_joint(theta: np.ndarray) -> np.ndarray:
    """log of likelihood times prior at points (n, 2)."""
    x1, x2 = theta.T
    likelihood = -((x1**2 - x2) ** 2) - (x1 - 1) ** 2 / 100
    return likelihood - (x1**2 + x2**2) / 18 - np.log(18 * np.pi)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("demo"), help="folder for the picture")
    parser.add_argument("--evaluations", type=int, default=120)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(options.seed)

    space = InferenceSpace.from_bounds(
        [-np.inf] * 2, [np.inf] * 2, [-3, -3], [3, 3], names=["x1", "x2"]
    )
    theta = qmc.scale(
        qmc.Sobol(2, seed=rng).random_base2(int(np.ceil(np.log2(options.evaluations)))),
        [-2.8, -2.5],
        [2.8, 6.0],
    )[: options.evaluations]
    values = log_joint(theta) + NOISE_SD * rng.standard_normal(len(theta))

    x = space.to_inference(theta)
    data = TrainingData.from_arrays(x, values + space.log_jacobian(x), NOISE_SD)
    with single_threaded():
        started = time.process_time()
        surrogate = train(rng, data, n_samples=8)
        trained = time.process_time()
        fit = None
        for n_components in (2, 5, 10, 20):
            fit = fit_mixture(
                rng,
                surrogate.gp,
                None if fit is None else fit.mixture,
                n_components=max(n_components, 0 if fit is None else fit.mixture.n_components),
                n_climbs=2,
            )
        fitted = time.process_time()
    print(f"evaluations       {len(theta)}, noise SD {NOISE_SD:g}")
    print(f"surrogate         {surrogate.gp.n_samples} samples, {trained - started:.2f} CPU s")
    print(f"mixture           {fit.mixture.n_components} components, {fitted - trained:.2f} CPU s")
    print(f"log evidence      {TRUE_LOG_EVIDENCE:.3f} (true)")
    print(f"ELBO              {fit.elbo.value:.3f} ± {fit.elbo.sd:.3f}")
    path = options.out / "banana.png"
    draw(space, surrogate.gp, fit.mixture, theta, path)
    print(f"picture           {path}")


def draw(space, gp, mixture, theta, path: Path) -> None:
    """Contours of the true density, the surrogate's and the mixture's, with the points."""
    grid = np.stack(np.meshgrid(*DRAWN), axis=-1)
    x = space.to_inference(grid)
    jacobian = space.log_jacobian(x)
    panels = {
        "true density": log_joint(grid.reshape(-1, 2)).reshape(grid.shape[:2]),
        "surrogate": gp.pooled(x.reshape(-1, 2))[0].reshape(grid.shape[:2]) - jacobian,
        f"mixture of {mixture.n_components}": mixture.log_density(x) - jacobian,
    }
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.2), sharex=True, sharey=True)
    for axis, (title, log_density) in zip(axes, panels.items(), strict=True):
        levels = log_density.max() - np.array([8.0, 6.0, 4.0, 2.0, 1.0, 0.25, 0.0])
        axis.contourf(*DRAWN, log_density, levels=levels, cmap="Blues")
        axis.set_title(title)
        axis.set_xlabel("x1")
    axes[0].set_ylabel("x2")
    axes[1].plot(*theta.T, "k.", markersize=3, label="evaluations")
    centres = space.to_original(mixture.means)
    axes[2].plot(*centres.T, "r+", label="component centres")
    for axis in axes[1:]:
        axis.legend(loc="lower left", fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
