"""Wrong values and wrong SDs: what they do to a run, with and without ``Settings(robust=True)``.

    python benchmarks/bench_robust.py --out robust.jsonl --targets rosenbrock-2 --faults low100
    python benchmarks/bench_robust.py --out robust.jsonl --only-table

Runs use all of 50 (D + 2) evaluations and are appended to the file, one JSON line each; those that
it has are not made again. Outliers come once in every hundred evaluations, at random; a pair of
runs, robust or not, has them at the same counts and of the same size.
"""

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import quell
from quell.arrays import FloatArray
from quell.bench.metrics import gskl, lml_loss, mmtv, usable
from quell.bench.problems import Benchmark, load
from quell.problem import Problem

DRAWS = 20_000
#: SD of the noise that is added to exact targets.
NOISE_SD = 2.0
#: One evaluation in so many is off.
ONE_IN = 100
#: What is wrong, by name: how far an outlier is off (a random sign where it says so), the degrees
#: of freedom of the noise, and the factor of the SDs that are stated.
FAULTS: dict[str, dict[str, Any]] = {
    "clean": {},
    "low100": {"off": -100.0},
    "low20": {"off": -20.0},
    "both20": {"off": 20.0, "either_sign": True},
    "high20": {"off": 20.0},
    "student2": {"degrees": 2.0},
    "small4": {"stated": 0.25},
    "large4": {"stated": 4.0},
}
Row = dict[str, Any]


class Faulty:
    """A noisy target with a fault; it counts its calls, so it is for one run."""

    def __init__(
        self, benchmark: Benchmark, seed: int, *, off: float = 0.0, either_sign: bool = False,
        degrees: float = np.inf, stated: float = 1.0,
    ) -> None:  # fmt: skip
        self.benchmark, self.off, self.degrees, self.stated = benchmark, off, degrees, stated
        rng = np.random.default_rng([seed, ONE_IN])
        blocks = np.arange(0, 100 * ONE_IN, ONE_IN)
        counts = blocks + rng.integers(ONE_IN, size=len(blocks))
        signs = rng.choice([-1.0, 1.0], size=len(blocks)) if either_sign else np.ones(len(blocks))
        self.outliers = dict(zip(counts.tolist(), signs.tolist(), strict=True)) if off else {}
        self.calls = 0

    def __call__(self, theta: FloatArray, rng: np.random.Generator) -> tuple[float, float]:
        """A value and the SD that is stated for it."""
        benchmark = self.benchmark
        if benchmark.simulator is not None:
            value, sd = benchmark.noisy(theta, rng, fast=benchmark.fast is not None)
        else:
            assert benchmark.exact is not None
            plain = np.isinf(self.degrees)
            noise = rng.standard_normal() if plain else rng.standard_t(self.degrees)
            value, sd = float(benchmark.exact(theta)) + NOISE_SD * noise, NOISE_SD
        value += self.off * self.outliers.get(self.calls, 0.0)
        self.calls += 1
        return value, sd * self.stated


def target(name: str) -> Benchmark:
    """The target of a name such as normal-4: the number is its dimension, if it has a choice."""
    family, _, dimension = name.partition("-")
    return load(family, int(dimension) if dimension else None)


def run(name: str, fault: str, seed: int, *, robust: bool) -> Row:
    """One run, as a row of plain figures."""
    benchmark = target(name)
    problem = Problem(
        Faulty(benchmark, seed, **FAULTS[fault]), lower=benchmark.lower, upper=benchmark.upper,
        plausible_lower=benchmark.plausible_lower, plausible_upper=benchmark.plausible_upper,
        prior=benchmark.prior, names=benchmark.names, noise="reported",
    )  # fmt: skip
    settings = quell.Settings(stop_early=False, **({"robust": True} if robust else {}))
    budget = benchmark.default_budget
    result = quell.infer(problem, budget=budget, seed=seed, settings=settings, progress=False)
    truth = benchmark.truth
    draws = result.posterior.sample(DRAWS, np.random.default_rng(seed))
    estimated = gskl(result.posterior.mean(), result.posterior.covariance(), truth)
    distance = mmtv(
        draws, truth.reference, lower=benchmark.lower, upper=benchmark.upper,
        estimator=truth.estimator,
    )  # fmt: skip
    loss = lml_loss(result.log_evidence, truth.log_evidence)
    return {
        "target": name, "fault": fault, "seed": seed, "robust": robust, "lml_loss": loss,
        "log_evidence_sd": result.log_evidence_sd, "gskl": estimated, "mmtv": distance,
        "usable": usable(loss, estimated, distance), "status": str(result.status),
        "again": sum(str(origin) == "again" for origin in result.evaluations.origin),
        "cpu_seconds": result.diagnostics["overhead_cpu_seconds_per_evaluation"] * budget,
    }  # fmt: skip


def report(rows: list[Row]) -> str:
    """Medians of every cell, without and with."""
    lines = [
        "| target | fault | runs | LML loss | gsKL | MMTV | usable | stable | again |",
        "|---|---|---:|---|---|---|---|---|---:|",
    ]
    cells = dict.fromkeys((row["target"], row["fault"]) for row in rows)
    for name, fault in cells:
        pair = [
            {r["seed"]: r for r in rows if (r["target"], r["fault"]) == (name, fault)
             and r["robust"] == robust}
            for robust in (False, True)
        ]  # fmt: skip
        seeds = sorted(pair[0].keys() & pair[1].keys()) or sorted(pair[0].keys() | pair[1].keys())
        if not seeds:
            continue

        def both(figure: Callable[[list[Row]], str], pair: Any = pair, seeds: Any = seeds) -> str:
            chosen = [[runs[s] for s in seeds if s in runs] for runs in pair]
            return " → ".join(figure(runs) if runs else "-" for runs in chosen)

        def median(key: str) -> Callable[[list[Row]], str]:
            return lambda runs: f"{np.median([r[key] for r in runs]):.2g}"

        lines.append(
            f"| {name} | {fault} | {len(seeds)} | {both(median('lml_loss'))} "
            f"| {both(median('gskl'))} | {both(median('mmtv'))} "
            f"| {both(lambda runs: str(sum(r['usable'] for r in runs)))} "
            f"| {both(lambda runs: str(sum(r['status'] == 'stable' for r in runs)))} "
            f"| {np.median([r['again'] for r in pair[1].values()] or [0]):.0f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", default=["rosenbrock-2", "normal-4"])
    parser.add_argument("--faults", nargs="+", default=list(FAULTS), choices=list(FAULTS))
    parser.add_argument("--robust", nargs="+", default=["off", "on"], choices=["off", "on"])
    parser.add_argument("--runs", type=int, default=6)
    parser.add_argument("--first-seed", type=int, default=5400)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only-table", action="store_true", help="make no runs")
    arguments = parser.parse_args()
    out: Path = arguments.out
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    have = {(r["target"], r["fault"], r["seed"], r["robust"]) for r in rows}
    seeds = range(arguments.first_seed, arguments.first_seed + arguments.runs)
    wanted = [
        (name, fault, seed, robust == "on")
        for name in arguments.targets for fault in arguments.faults
        for seed in seeds for robust in arguments.robust
    ]  # fmt: skip
    for name, fault, seed, robust in () if arguments.only_table else wanted:
        if (name, fault, seed, robust) in have:
            continue
        row = run(name, fault, seed, robust=robust)
        rows.append(row)
        with out.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(
            f"{name:16} {fault:9} {seed} {'robust' if robust else '      '} LML "
            f"{row['lml_loss']:6.2f} gsKL {row['gskl']:8.3g} MMTV {row['mmtv']:5.3f} "
            f"{'usable' if row['usable'] else 'NOT   '} {row['status']:18} again {row['again']:3} "
            f"{row['cpu_seconds']:4.1f} s",
            flush=True,
        )
    print(report(rows))


if __name__ == "__main__":
    main()
