"""Are posteriors right on average? Simulation-based calibration on three models.

    python benchmarks/bench_calibration.py [--models M ...] [--runs R] [--first-seed S] [--folder F]

- ``psychometric``: bias, slope and lapse of 120 binary responses, by inverse binomial sampling.
- ``decay``: amplitude, rate and noise of an exponential decay, with emulated noise of SD 1.
- ``normal``: mean and log SD of 12 numbers, exact.

Each is run as a user would run it: `quell.calibrate` with default settings and budget. With a
folder it is resumable. A line of JSON for each model is appended to the file of results, with the
commit; ``--only-table`` prints those again.
"""

import argparse
import json
from pathlib import Path

import numpy as np
from scipy import stats

import quell
from quell.bench.provenance import source_commit
from quell.likelihoods import emulated, ibs

RESULTS = Path("benchmarks/results/calibration.jsonl")
LEVELS = np.repeat(np.linspace(-2, 2, 12), 10)
TIMES = np.linspace(0, 4, 15)


def psychometric(theta, trials, rng):
    bias, log_slope, lapse = theta
    p = lapse / 2 + (1 - lapse) * stats.norm.cdf(np.exp(log_slope) * (trials - bias))
    return rng.random(len(trials)) < p


def psychometric_problem(data):
    return quell.Problem(
        ibs(psychometric, data, trials=LEVELS, target_sd=1.0),
        lower=[-2, -2, 0], upper=[2, 3, 0.5],
        plausible_lower=[-0.5, 0, 0.02], plausible_upper=[0.5, 1.5, 0.2],
        prior=[stats.norm(0, 0.5), stats.norm(0.7, 0.5), stats.uniform(0, 0.5)],
        names=["bias", "log_slope", "lapse"],
    )  # fmt: skip


def decay(theta, rng):
    amplitude, rate, sd = theta
    return amplitude * np.exp(-rate * TIMES) + sd * rng.standard_normal(len(TIMES))


def decay_problem(data):
    def log_likelihood(theta):
        amplitude, rate, sd = theta
        return float(np.sum(stats.norm.logpdf(data, amplitude * np.exp(-rate * TIMES), sd)))

    return quell.Problem(
        emulated(log_likelihood, 1.0),
        lower=[0, 0, 0.05], upper=[10, 5, 1.0],
        plausible_lower=[1, 0.3, 0.1], plausible_upper=[5, 2, 0.6],
        names=["amplitude", "rate", "sd"],
    )  # fmt: skip


def normal(theta, rng):
    return rng.normal(theta[0], np.exp(theta[1]), 12)


def normal_problem(data):
    return quell.Problem(
        lambda theta: float(np.sum(stats.norm.logpdf(data, theta[0], np.exp(theta[1])))),
        lower=[-5, -2], upper=[5, 2], plausible_lower=[-2, -1], plausible_upper=[2, 1],
        names=["mean", "log_sd"], noise="exact",
    )  # fmt: skip


#: Simulator, problem of data, and data to begin with.
MODELS = {
    "psychometric": (
        lambda theta, rng: psychometric(theta, LEVELS, rng), psychometric_problem, LEVELS > 0
    ),
    "decay": (decay, decay_problem, 3 * np.exp(-TIMES)),
    "normal": (normal, normal_problem, np.linspace(-1, 1, 12)),
}  # fmt: skip


def row_of(name: str, seed: int, found: quell.Calibration) -> dict:
    return {
        "model": name, "seed": seed, "runs": found.n_runs, "failed": len(found.failed),
        "evaluations": found.evaluations, "p_values": found.p_values,
        "coverage": {str(level): found.coverage(level).tolist() for level in (0.5, 0.9)},
        "mean_z": found.z_scores.mean(axis=0).tolist(),
        "sd_z": found.z_scores.std(axis=0).tolist(),
        "statuses": {s: found.statuses.count(s) for s in sorted(set(found.statuses))},
        "ranks": found.ranks.astype(int).tolist(), "commit": source_commit(),
    }  # fmt: skip


def show(row: dict) -> None:
    print(f"{row['model']}: {row['runs']} runs, {row['evaluations']} evaluations, commit "
          f"{row['commit']}; statuses {row['statuses']}")  # fmt: skip
    names = [name for name in row["p_values"] if name != "jointly"]
    for i, name in enumerate(names):
        half, most = (row["coverage"][level][i] for level in ("0.5", "0.9"))
        print(f"  {name:12} p {row['p_values'][name]:.3f}  50 %: {half:.2f}  90 %: {most:.2f}  "
              f"z {row['mean_z'][i]:+.2f} ± {row['sd_z'][i]:.2f}")  # fmt: skip
    print(f"  {'jointly':12} p {row['p_values']['jointly']:.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", nargs="+", choices=MODELS, default=list(MODELS))
    parser.add_argument("--runs", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--folder", type=Path, help="where runs are kept, to continue")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only-table", action="store_true")
    chosen = parser.parse_args()
    if chosen.only_table:
        for line in chosen.out.read_text(encoding="utf-8").splitlines():
            show(json.loads(line))
        return
    for name in chosen.models:
        simulate, problem, observed = MODELS[name]
        found = quell.calibrate(
            problem, simulate, observed=observed, runs=chosen.runs, seed=chosen.first_seed,
            folder=None if chosen.folder is None else chosen.folder / name, progress=False,
        )  # fmt: skip
        row = row_of(name, chosen.first_seed, found)
        with chosen.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        show(row)


if __name__ == "__main__":
    main()
