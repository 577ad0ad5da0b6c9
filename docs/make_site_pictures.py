"""Pictures of the start page and of docs/how-it-works.md, made anew: ``make site-pictures``."""

import warnings

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from make_pictures import save
from scipy.special import logsumexp

import quell

SEED, SD, BUDGET = 5006, 1.0, 80
STAGES = (20, 40, 80)
BLUE, ORANGE, GREY = "#1f5f8b", "#d1701f", "#8a8a8a"
X, Y = np.linspace(-3.2, 3.2, 121), np.linspace(-2.6, 4.4, 121)
SHARES = (0.9, 0.5)


def exact(theta):
    """The log density of a banana, at points (..., 2)."""
    x, y = theta[..., 0], theta[..., 1]
    return -0.5 * (x**2 + 4 * (y - 0.5 * x**2 + 1) ** 2)


def log_likelihood(theta, rng):
    """The same with noise."""
    return float(exact(theta)) + SD * rng.standard_normal(), SD


def levels(log_density):
    """Log densities above which the given shares of the mass on the grid are."""
    ordered = np.sort(log_density.ravel())[::-1]
    mass = np.exp(np.logaddexp.accumulate(ordered) - logsumexp(ordered))
    return [ordered[np.searchsorted(mass, share)] for share in SHARES]


def contours(axes, log_density, colour, **how):
    """The smallest regions that hold 50 % and 90 %."""
    low, high = levels(log_density)
    axes.contourf(X, Y, log_density, [low, high, np.inf], colors=[colour, colour],
                  alpha=0.25, **how)  # fmt: skip
    axes.contour(X, Y, log_density, [low, high], colors=colour, linewidths=1.0,
                 linestyles="solid")  # fmt: skip


def main():
    """All of them."""
    warnings.simplefilter("ignore", quell.BudgetWarning)
    problem = quell.Problem(
        log_likelihood, lower=[-6, -6], upper=[6, 10], plausible_lower=[-2, -2],
        plausible_upper=[2, 2],
    )  # fmt: skip
    result = quell.infer(
        problem, budget=BUDGET, seed=SEED, settings=quell.Settings(stop_early=False), progress=False
    )
    print(result)
    grid = np.stack(np.meshgrid(X, Y), axis=-1)
    truth = exact(grid)
    stages(result, grid, truth)
    loop(result, truth)


def stages(result, grid, truth):
    """What a run knows after some evaluations, and the truth."""
    figure, axes = plt.subplots(1, 4, figsize=(8.6, 2.5), sharex=True, sharey=True,
                                layout="constrained")  # fmt: skip
    table = result.evaluations
    for place, n in zip(axes, STAGES, strict=False):
        known = [it for it in result.iterations if it.n_evaluations <= n][-1].solution
        posterior = quell.Posterior(known.mixture, known.space)
        if n == BUDGET:
            posterior = result.posterior
        density = posterior.log_pdf(grid.reshape(-1, 2)).reshape(grid.shape[:2])
        contours(place, density, BLUE)
        place.plot(*table.theta[:n].T, ".", color=ORANGE, markersize=4)
        place.set_title(f"{n} evaluations", fontsize=9)
    contours(axes[-1], truth, GREY)
    axes[-1].set_title("the truth", fontsize=9)
    for place in axes:
        place.set(xlim=(X[0], X[-1]), ylim=(Y[0], Y[-1]), xticks=[], yticks=[])
    save(figure, "run-in-stages")


def loop(result, truth):
    """One turn of the algorithm: surrogate, posterior, where next."""
    figure, axes = plt.subplots(1, 3, figsize=(8.6, 2.9), sharex=True, sharey=True,
                                layout="constrained")  # fmt: skip
    state = [it for it in result.iterations if it.n_evaluations <= STAGES[1]][-1].solution
    points = np.stack(np.meshgrid(X, Y), axis=-1).reshape(-1, 2)
    surrogate = state.surrogate()
    x = state.space.to_inference(points)
    mean, variance = surrogate.predict(x)
    weights = surrogate.weights[:, None]
    pooled = np.sum(weights * mean, axis=0)
    spread = np.sqrt(np.sum(weights * (variance + (mean - pooled) ** 2), axis=0))
    shape = truth.shape
    above = pooled.max()
    axes[0].contourf(X, Y, pooled.reshape(shape), np.linspace(above - 20, above, 11),
                     extend="min", cmap="Blues")  # fmt: skip
    axes[0].set_title("surrogate of the log joint", fontsize=9)
    axes[1].contourf(X, Y, np.minimum(spread, 6).reshape(shape), 10, cmap="Oranges")
    axes[1].set_title("how unsure it is (SD)", fontsize=9)
    posterior = quell.Posterior(state.mixture, state.space)
    contours(axes[2], posterior.log_pdf(points).reshape(shape), BLUE)
    axes[2].set_title("posterior, and the next five", fontsize=9)
    n = STAGES[1]
    for place in axes:
        place.plot(*result.evaluations.theta[:n].T, ".", color="#555555", markersize=3)
        place.set(xlim=(X[0], X[-1]), ylim=(Y[0], Y[-1]), xticks=[], yticks=[])
    axes[2].plot(*result.evaluations.theta[n : n + 5].T, "x", color=ORANGE, markersize=6, mew=2)
    save(figure, "one-turn")


if __name__ == "__main__":
    main()
