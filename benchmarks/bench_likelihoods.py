"""The noise of the likelihood estimators: what they report beside what repeats show, and its cost.

Synthetic likelihood: the spread of repeated values, the mean SD that the jackknife and the
bootstrap report (and its ratio to the spread), and their CPU time; for d summaries from N
simulations, normal ones observed at some distance from their mean, and those of the benchmark's
ricker and gandk (with the real data if QUELL_DATA is set). IBS: repeats, mean SD, SD of the
z-scores, simulated responses relative to the fewest possible, calls of the simulator, CPU time.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np

from quell.bench.problems import gandk, ricker
from quell.bench.problems.real import data_of
from quell.bench.problems.summarised import SIMULATIONS
from quell.likelihoods import (
    bootstrap_sd,
    ibs,
    ibs_from_log_probabilities,
    jackknife_sd,
    synthetic_log_likelihood,
)

RICKER_MEAN = (4.124, 9.292, 0.148)  # the posterior mean given the real data
BOOTSTRAPS = 60  # values of a row for which the bootstrap is run


def normal(d, n, distance, warp=np.asarray):
    """Independent summaries, observed so many SDs away from their mean."""
    observed = warp(np.eye(d)[0] * distance)
    return (lambda rng: warp(rng.standard_normal((n, d)))), observed


def problem(module, key, theta):
    estimator = module.likelihood(data_of(key), SIMULATIONS)
    return (lambda rng: estimator.summaries(theta, rng)), estimator.observed


def synthetic_rows(repeats: int) -> Iterator[tuple[str, ...]]:
    plain, log, density = ({"estimator": e} for e in ("plain", "unbiased_log", "unbiased"))
    auto, half = {"shrinkage": "auto"}, {"shrinkage": 0.5}
    cases = [
        ("normal, d=4, N=100", normal(4, 100, 0.0), (plain, log, density)),
        ("same, 3 SD away", normal(4, 100, 3.0), (plain, log, density)),
        ("normal, d=13, N=100", normal(13, 100, 0.0), (plain, log, density, auto)),
        ("same, 3 SD away", normal(13, 100, 3.0), (plain, log, density, auto)),
        ("normal, d=13, N=60, 1 SD", normal(13, 60, 1.0), (plain, log, auto)),
        ("normal, d=13, N=20, 1 SD", normal(13, 20, 1.0), (auto, half)),
        ("log-normal, d=4, N=100", normal(4, 100, 0.5, np.exp), (plain,)),
        ("ricker, generating", problem(ricker, "ricker", ricker.GENERATING["ricker"]), (plain,)),
        ("ricker, posterior mean", problem(ricker, "ricker", RICKER_MEAN), (plain,)),
        ("gandk, generating", problem(gandk, "gandk", gandk.GENERATING["gandk"]), (plain,)),
    ]
    yield ("summaries", "form", "spread", "jackknife", "bootstrap", "jackknife ms", "bootstrap ms")
    for name, (simulate, observed), forms in cases:
        rng = np.random.default_rng(1)
        samples = [simulate(rng) for _ in range(repeats)]
        for form in forms:
            values = [synthetic_log_likelihood(s, observed, **form) for s in samples]
            spread = np.std(values, ddof=1)
            start = time.process_time()
            jackknife = np.mean([jackknife_sd(s, observed, **form) for s in samples])
            middle = time.process_time()
            some = samples[:BOOTSTRAPS]
            bootstrap = np.mean([bootstrap_sd(s, observed, rng, **form) for s in some])
            end = time.process_time()
            yield (
                name,
                str(next(iter(form.values()))),
                f"{spread:.3f}",
                f"{jackknife:.3f} ({jackknife / spread:.2f})",
                f"{bootstrap:.3f} ({bootstrap / spread:.2f})",
                f"{1e3 * (middle - start) / repeats:.1f}",
                f"{1e3 * (end - middle) / len(some):.1f}",
            )


def ibs_rows(repeats: int) -> Iterator[tuple[str, ...]]:
    rng = np.random.default_rng(2)
    cases = {"easy": rng.uniform(0.5, 1, 500), "mixed": rng.beta(1, 1, 500), "rare": None}
    cases["rare"] = np.full(500, 0.01)
    yield ("trials", "asked", "repeats", "SD", "SD of z", "draws", "calls", "CPU ms")
    for name, p in cases.items():
        for precision in ({"repeats": 1}, {"repeats": 20}, {"target_sd": 2.0}):
            calls = []

            def simulate(p, trials, rng, calls=calls):
                calls.append(len(trials))
                return rng.random(len(trials)) < p[trials]

            estimator = ibs(simulate, np.ones(len(p)), **precision)
            start = time.process_time()
            found = [estimator.estimate(p, rng) for _ in range(repeats)]
            cpu = time.process_time() - start
            z = [(e.value - np.log(p).sum()) / e.sd for e in found]
            fewest = sum(e.repeats for e in found) * np.sum(1 / p)
            yield (
                f"500, {name}",
                "{0[0]}={0[1]:g}".format(*precision.items()),
                f"{np.mean([e.repeats for e in found]):.1f}",
                f"{np.mean([e.sd for e in found]):.2f}",
                f"{np.std(z):.2f}",
                f"{sum(e.draws for e in found) / fewest:.2f}",
                f"{len(calls) / repeats:.0f}",
                f"{1e3 * cpu / repeats:.1f}",
            )


def law_rows() -> Iterator[tuple[str, ...]]:
    rng = np.random.default_rng(3)
    yield ("10000 trials, 500 repeats, from known probabilities", "CPU ms")
    for name, p in {"0.5 to 1": rng.uniform(0.5, 1, 10_000), "0.01": np.full(10_000, 0.01)}.items():
        start = time.process_time()
        for _ in range(10):
            ibs_from_log_probabilities(np.log(p), repeats=500, rng=rng)
        yield f"p = {name}", f"{100 * (time.process_time() - start):.0f}"


def show(rows: Iterator[tuple[str, ...]]) -> None:
    """Each row as soon as it is there."""
    for row in rows:
        widths = (26, 14, *(17 for _ in row[2:])) if len(row) == 7 else (26, 14, *(9,) * len(row))
        print("".join(cell.ljust(w) for cell, w in zip(row, widths, strict=False)), flush=True)
    print()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=400, help="values per row")
    repeats = parser.parse_args().repeats
    show(law_rows())
    show(ibs_rows(min(repeats, 200)))
    show(synthetic_rows(repeats))
