"""What an answer could be made of: mixtures, the surrogate behind them, late iterations.

    python benchmarks/bench_answer.py [--problems timing ...] [--first-seed 5500] [--runs 20]

Every run is made once, with the paper's noise and budget, and answered in several ways:

``elbo``
    the mixture of the largest ELBO, as the last polish leaves it;
``cover``
    that mixture fitted so that it covers what the surrogate says, which is what runs return;
``surrogate``
    draws from the first weighted by exp(f̄)/q, f̄ being the surrogate's mean: what a perfect fit
    of any family of mixtures to this surrogate would give;
``expected``
    the same with exp(f̄ + v/2), the expected density under the surrogate;
``late 3``, ``late 8``
    equal shares of the last three or eight iterations (none of the warm-up).

One line of JSON per answer goes to ``--out``; runs that are there are not made again. It prints
medians, and for each way in how many runs it is better than the first.
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

import quell
from quell.acquisition.draws import mixture_draws
from quell.arrays import FloatArray
from quell.bench.metrics import DRAWS, gskl, mmtv
from quell.bench.problems import Benchmark, load
from quell.bench.provenance import source_commit
from quell.results import Posterior
from quell.streams import BenchStream, rng_for_bench
from quell.text import table
from quell.vbmc import Iteration
from quell.vbmc.cover import cover, truncated_weights

FILE = "benchmarks/results/answer.jsonl"
#: Of different character: noise of SD 2.2, a ridge along bounds, a high evidence, nine parameters.
PROBLEMS = ("timing", "multisensory_s1", "neuronal_v2", "rodent")
FIRST = "elbo"
LATE = (3, 8)


def weighted(rng: np.random.Generator, result: quell.Result, uncertainty: float) -> FloatArray:
    """Draws (DRAWS, D) of exp(f̄ + uncertainty · v/2): those of the mixture, drawn again."""
    solution = result.solution
    x = mixture_draws(rng, DRAWS, solution.mixture)
    gp = solution.surrogate()
    parts = [gp.pooled(part) for part in np.array_split(x, 50)]
    mean, variance = (np.concatenate(column) for column in zip(*parts, strict=True))
    logs = mean + uncertainty * variance / 2 - solution.mixture.log_density(x)
    chosen = rng.choice(DRAWS, DRAWS, p=truncated_weights(logs))
    return solution.space.to_original(x[chosen])


def shared(rng: np.random.Generator, iterations: Sequence[Iteration]) -> FloatArray:
    """Draws of several iterations' posteriors, as many of each."""
    each = DRAWS // len(iterations)
    return np.concatenate(
        [
            Posterior(it.solution.mixture, it.solution.space).sample(each, rng)
            for it in iterations
        ]
    )  # fmt: skip


def answers(result: quell.Result, seed: int) -> Iterator[tuple[str, FloatArray]]:
    """Every way to answer, with draws of it."""
    rng = rng_for_bench(seed, BenchStream.METRICS)
    yield "elbo", result.posterior.sample(DRAWS, rng)
    covered = cover(rng, result.solution, result.settings.final_components)
    yield "cover", Posterior(covered.mixture, covered.space).sample(DRAWS, rng)
    yield "surrogate", weighted(rng, result, 0.0)
    yield "expected", weighted(rng, result, 1.0)
    for n in LATE:
        late = [it for it in result.iterations[-n:] if not it.warmup]
        yield f"late {n}", shared(rng, late or result.iterations[-1:])


def scores(benchmark: Benchmark, draws: FloatArray) -> dict[str, float]:
    """The two measures of a posterior, by its draws."""
    truth = benchmark.truth
    return {
        "gskl": gskl(draws.mean(axis=0), np.cov(draws, rowvar=False), truth),
        "mmtv": mmtv(
            draws, truth.reference, lower=benchmark.lower, upper=benchmark.upper,
            estimator=truth.estimator,
        ),
    }  # fmt: skip


def run(case: tuple[str, int]) -> list[dict[str, Any]]:
    """One run and all its answers."""
    name, seed = case
    benchmark = load(name)
    problem = benchmark.as_problem(
        "exact", benchmark.check("exact", "paper", 0.0), rng=benchmark.noise_stream(seed)
    )
    result = quell.infer(
        problem, budget=benchmark.default_budget, seed=seed, start=benchmark.start(seed),
        settings=quell.Settings(stop_early=False, cover=False), progress=False,
    )  # fmt: skip
    common = {"problem": name, "seed": seed, "commit": source_commit()}
    return [
        common | {"answer": answer} | scores(benchmark, draws)
        for answer, draws in answers(result, seed)
    ]


def summary(rows: Sequence[dict[str, Any]]) -> str:
    """Medians of each way, and how often it is better than the first."""
    lines = [["problem", "answer", "runs", "gsKL", "better", "MMTV", "better"]]
    ways = list(dict.fromkeys(row["answer"] for row in rows))
    for name in dict.fromkeys(row["problem"] for row in rows):
        by_way = {
            way: {r["seed"]: r for r in rows if (r["problem"], r["answer"]) == (name, way)}
            for way in ways
        }
        for way, runs in by_way.items():
            cells = [name, way, str(len(runs))]
            for measure in ("gskl", "mmtv"):
                pairs = [(r[measure], by_way[FIRST][s][measure]) for s, r in runs.items()]
                cells.append(f"{np.median([new for new, _ in pairs]):.3g}")
                better = sum(new < old for new, old in pairs)
                cells.append("" if way == FIRST else f"{better} of {len(pairs)}")
            lines.append(cells)
    return table(lines)


def main() -> None:
    """Make the runs that are missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", nargs="+", default=PROBLEMS)
    parser.add_argument("--first-seed", type=int, default=5500)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path(FILE))
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.out.open()] if options.out.exists() else []
    done = {(row["problem"], row["seed"]) for row in rows}
    seeds = range(options.first_seed, options.first_seed + options.runs)
    cases = [
        case for seed in seeds for name in options.problems if (case := (name, seed)) not in done
    ]
    with ProcessPoolExecutor(options.jobs) as pool, options.out.open("a") as file:
        for new in pool.map(run, cases):
            rows += new
            file.writelines(json.dumps(row) + "\n" for row in new)
            file.flush()
    print(summary(rows))


if __name__ == "__main__":
    main()
