"""Cost and accuracy of the hyperparameter sampler, beside coordinate slice sampling.

For data sets of three kinds (a correlated Gaussian, a banana, a Gaussian with far low values) in
3 and 6 dimensions, 200 noisy observations each:

* reference: a long HMC run from several modes, thousands of draws;
* slice: gpyreg's fit: MAP from a default start, then its coordinate slice sampler, 8 draws kept,
  with the burn-in and thinning that VBMC uses (15 sweeps, every 5th);
* hmc: Quell's fit from the same start: MAP, Laplace metric, a short HMC chain, 8 draws kept;
* grown: a first fit at N = 100, then one refit every 5 points up to 200 in which the 8 samples
  move on as particles; CPU time of the last refit;
* exact8: 8 draws of the reference, the best that 8 draws can do; map: the mode alone.

Errors are root mean squares over points of the target's posterior: of the difference in pooled
predictive mean, divided by the reference's SD, and of the difference in log variance. Medians
over data sets and sampler seeds. CPU seconds, all in one run and one thread.
"""

import argparse
import time
from dataclasses import dataclass

import gpyreg
import numpy as np
from threadpoolctl import threadpool_limits

from quell.arrays import FloatArray
from quell.gp import (
    GaussianProcess,
    HyperparameterPrior,
    Memory,
    TrainingData,
    retrain,
    train,
)
from quell.gp.hmc import State, first_step, sample_chain
from quell.gp.hyperposterior import Hyperposterior, laplace_approximation
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import maximise

N_KEPT = 8
N_POINTS = 200


@dataclass(frozen=True, eq=False)
class Case:
    name: str
    data: TrainingData
    test_points: FloatArray


def make_case(kind: str, dimension: int, seed: int, n: int = N_POINTS) -> Case:
    """Noisy values of a log density at points spread 1 to 2 times as wide as its mass."""
    rng = np.random.default_rng([seed, dimension, sum(map(ord, kind))])
    mixing = np.eye(dimension) + 0.5 * np.tri(dimension, k=-1) / np.sqrt(dimension)
    draws = rng.standard_normal((n + 300, dimension)) @ mixing.T
    width = rng.choice([1.0, 1.5, 2.0], size=(n + 300, 1))
    width[n:] = 1.0
    x = draws * width
    precision = np.linalg.inv(mixing @ mixing.T)

    def log_density(x: FloatArray) -> FloatArray:
        if kind == "banana":
            x = x.copy()
            x[:, 1] += 0.6 * (x[:, 0] ** 2 - 1)
        return -0.5 * np.einsum("ni,ij,nj->n", x, precision, x)

    if kind == "far":
        x[: n // 10] *= 6.0
    sd = 1.5
    y = log_density(x[:n]) + sd * rng.standard_normal(n)
    order = rng.permutation(n)  # so that the first half is a smaller set of the same kind
    return Case(
        f"{kind} D={dimension}",
        TrainingData.from_arrays(x[:n][order], y[order], sd),
        x[n:],
    )


def reference(case: Case, rng: np.random.Generator, n_draws: int, n_modes: int = 6) -> FloatArray:
    """Draws of θ from long chains started at all modes that several searches found."""
    prior = HyperparameterPrior.for_data(case.data)
    target = Hyperposterior(MarginalLikelihood(case.data), prior)
    design = prior.draw(rng, 300)
    design = design[np.argsort([-target.score(theta) for theta in design])]
    starts = [prior.start, *design[: n_modes - 1]]
    modes = [maximise(target, prior.unconstrain(theta)) for theta in starts]
    top = max(value for _, value in modes)
    modes = [u for u, value in modes if value > top - 8.0]
    draws = []
    for u in modes:
        root = laplace_approximation(target, u).root
        chain = sample_chain(
            rng, target, State(u, *target(u)), root,
            n_draws=n_draws // len(modes), burn_in=150, thin=4,
        )  # fmt: skip
        draws.append(prior.constrain(chain.draws))
    return np.concatenate(draws)


def predictions(
    data: TrainingData, theta: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    return GaussianProcess.condition(data, theta).pooled(points)


def pooled_in_blocks(
    data: TrainingData, theta: FloatArray, points: FloatArray
) -> tuple[FloatArray, FloatArray]:
    means, variances = [], []
    for block in np.array_split(theta, max(1, len(theta) // 50)):
        mean, variance = GaussianProcess.condition(data, block).predict(points)
        means.append(mean)
        variances.append(variance)
    mean, variance = np.concatenate(means), np.concatenate(variances)
    return mean.mean(axis=0), variance.mean(axis=0) + mean.var(axis=0, ddof=1)


def slice_fit(case: Case, seed: int) -> tuple[FloatArray, float]:
    """gpyreg's fit of the same model under the same prior; the CPU seconds it took."""
    data, prior = case.data, HyperparameterPrior.for_data(case.data)
    layout = prior.layout
    gp = gpyreg.GP(
        D=data.dimension,
        covariance=gpyreg.covariance_functions.SquaredExponential(),
        mean=gpyreg.mean_functions.NegativeQuadratic(),
        noise=gpyreg.noise_functions.GaussianNoise(constant_add=True, user_provided_add=True),
    )
    gp.set_bounds(
        {
            name: (prior.lower[entry], prior.upper[entry])
            for name, entry in gpyreg_names(layout).items()
        }
    )
    gp.set_priors(
        {
            name: (
                ("student_t", (prior.location[entry], prior.scale[entry], 3))
                if np.all(np.isfinite(prior.scale[entry]))
                else None
            )
            for name, entry in gpyreg_names(layout).items()
        }
    )
    started = time.process_time()
    theta, _, _ = gp.fit(
        X=data.x,
        y=data.y[:, None],
        s2=data.variance[:, None],
        hyp0=prior.start[None],
        options={"opts_N": 1, "init_N": 0, "n_samples": N_KEPT, "thin": 5, "burn": 15},
        rng=np.random.default_rng(seed),
    )
    return theta, time.process_time() - started


def gpyreg_names(layout) -> dict[str, slice | int]:
    return {
        "covariance_log_lengthscale": layout.lengths,
        "covariance_log_outputscale": slice(layout.output_scale, layout.output_scale + 1),
        "noise_log_scale": slice(layout.base_noise, layout.base_noise + 1),
        "mean_const": slice(layout.mean_max, layout.mean_max + 1),
        "mean_location": layout.mean_location,
        "mean_log_scale": layout.mean_scales,
    }


def quell_fit(case: Case, seed: int) -> tuple[FloatArray, float]:
    """MAP from the default start and a chain; the CPU seconds it took."""
    start = HyperparameterPrior.for_data(case.data).start
    memory = Memory(start[None], None, first_step(len(start)))
    started = time.process_time()
    fit = train(np.random.default_rng(seed), case.data, n_samples=N_KEPT, previous=memory)
    return fit.gp.theta, time.process_time() - started


def quell_grown(case: Case, seed: int) -> tuple[FloatArray, float]:
    """A first fit at half the points, then particles; CPU seconds of the last refit."""
    rng = np.random.default_rng(seed)
    half = case.data.size // 2
    fit = train(rng, case.data.subset(np.arange(half)), n_samples=N_KEPT)
    for n in range(half + 5, case.data.size + 1, 5):
        started = time.process_time()
        fit = retrain(rng, fit, case.data.subset(np.arange(n)))
    return fit.gp.theta, time.process_time() - started


def run_case(case: Case, seeds: range, n_reference: int) -> dict[str, list[tuple[float, ...]]]:
    rng = np.random.default_rng(1)
    draws = reference(case, rng, n_reference)
    mean, variance = pooled_in_blocks(case.data, draws, case.test_points)

    def errors(theta: FloatArray) -> tuple[float, float]:
        m, v = predictions(case.data, theta, case.test_points)
        return (
            float(np.sqrt(np.mean((m - mean) ** 2 / variance))),
            float(np.sqrt(np.mean(np.log(v / variance) ** 2))),
        )

    rows: dict[str, list[tuple[float, ...]]] = {}
    for seed in seeds:
        for name, fit in {"slice": slice_fit, "hmc": quell_fit, "grown": quell_grown}.items():
            theta, seconds = fit(case, seed)
            rows.setdefault(name, []).append((*errors(theta), seconds))
        exact = draws[rng.choice(len(draws), N_KEPT, replace=False)]
        rows.setdefault("exact8", []).append((*errors(exact), 0.0))
    mode = train(np.random.default_rng(0), case.data, n_samples=0)
    rows["map"] = [(*errors(mode.gp.theta), 0.0)]
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=4, help="sampler seeds per data set")
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--data-sets", type=int, default=2, help="data sets per kind and D")
    parser.add_argument("--reference", type=int, default=1500, help="draws of the reference")
    parser.add_argument("--dims", type=int, nargs="+", default=[3, 6])
    parser.add_argument("--kinds", nargs="+", default=["gaussian", "banana", "far"])
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    columns = ("slice", "hmc", "grown", "exact8", "map")
    print("median error of mean and log variance, and CPU seconds")
    print(" " * 16 + "".join(f"{c:>19}" for c in columns))
    everything: dict[tuple[int, str], list[tuple[float, ...]]] = {}
    with threadpool_limits(1):
        for dimension in options.dims:
            for kind in options.kinds:
                pooled: dict[str, list[tuple[float, ...]]] = {}
                for data_seed in range(options.data_sets):
                    case = make_case(kind, dimension, options.first_seed + data_seed)
                    for name, rows in run_case(case, seeds, options.reference).items():
                        pooled.setdefault(name, []).extend(rows)
                        everything.setdefault((dimension, name), []).extend(rows)
                print(f"{case.name:16}" + cells(pooled, columns), flush=True)
            totals = {c: everything[dimension, c] for c in columns}
            print(f"{f'all D={dimension}':16}" + cells(totals, columns), flush=True)
            seconds = {c: np.median([row[2] for row in totals[c]]) for c in columns}
            print(
                f"CPU, D={dimension}: slice / hmc {seconds['slice'] / seconds['hmc']:.1f}, "
                f"slice / grown {seconds['slice'] / seconds['grown']:.1f}",
                flush=True,
            )


def cells(rows: dict[str, list[tuple[float, ...]]], columns: tuple[str, ...]) -> str:
    out = ""
    for column in columns:
        mean, log_variance, seconds = np.median(np.array(rows[column]), axis=0)
        out += f"{mean:8.3f}{log_variance:6.2f}{seconds:5.2f}"
    return out


if __name__ == "__main__":
    main()
