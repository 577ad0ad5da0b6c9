"""The search for the mode of the hyperposterior: plainly, and along its curvature.

Training sets are those of runs of Quell, student D = 8 with noise of SD 3, at several sizes. From
the default start and from the best of 200 random vectors: L-BFGS in plain coordinates (once, and
begun again where it ends), and as Quell does it, in coordinates in which the curvature at the start
is one. Prints evaluations of the marginal likelihood, CPU ms, and how far below the best of all
the search ends, in nats: medians over runs and starts.
"""

import argparse
import time
from collections import defaultdict

import numpy as np
from threadpoolctl import threadpool_limits

import quell
from quell.bench import load
from quell.gp import HyperparameterPrior, TrainingData
from quell.gp.hyperposterior import Hyperposterior
from quell.gp.marginal import MarginalLikelihood
from quell.gp.mode import DESIGN_SIZE, Mode, climb, maximise

SIZES = (80, 160, 240)


def again(target: Hyperposterior, start: np.ndarray) -> Mode:
    """A plain climb, begun again where it ends, up to three times."""
    mode = climb(target, start)
    for _ in range(3):
        mode = climb(target, mode[0])
    return mode


SEARCHES = {"plain": climb, "plain, repeated": again, "along the curvature": maximise}


def training_set(seed: int) -> TrainingData:
    problem = load("student", dim=8).as_problem(mode="exact", noise=3.0)
    settings = quell.Settings(stop_early=False, final_components=0)
    result = quell.infer(
        problem, budget=SIZES[-1] + 20, seed=seed, settings=settings, progress=False
    )
    return result.iterations[-1].solution.data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--first-seed", type=int, default=4000)
    options = parser.parse_args()
    found = defaultdict(list)
    for seed in range(options.first_seed, options.first_seed + options.runs):
        whole = training_set(seed)
        for size in SIZES:
            data = whole.subset(np.arange(min(size, whole.size)))
            prior = HyperparameterPrior.for_data(data, output_scale=8.0)
            target = Hyperposterior(MarginalLikelihood(data), prior)
            design = prior.draw(np.random.default_rng(seed), DESIGN_SIZE)
            best = design[np.argmax([target.score(theta) for theta in design])]
            rows = []
            for theta in (prior.start, best):
                for name, search in SEARCHES.items():
                    before, started = target.evaluations, time.process_time()
                    value = search(target, prior.unconstrain(theta))[1]
                    used = 1e3 * (time.process_time() - started)
                    rows.append((name, target.evaluations - before, used, value))
            top = max(row[3] for row in rows)
            for name, count, used, value in rows:
                found[size, name].append((count, used, top - value))
    print(f"{'N':>4}  {'search':22}{'evaluations':>12}{'CPU ms':>8}{'below':>8}")
    for (size, name), results in found.items():
        count, used, below = np.median(results, axis=0)
        print(f"{size:4}  {name:22}{count:12.0f}{used:8.0f}{below:8.2f}")


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
