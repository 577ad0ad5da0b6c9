"""Stacked runs beside single ones: is the posterior better, and is the evidence without bias?

    python benchmarks/bench_stack.py [--targets ring-2 ...] [--first-seed 200] [--only-table]

Runs are those of a user, with up to 75 (D + 2) evaluations, noise of SD 3, and early stopping. Of
twenty of them: each alone, ten stacked (twice), and all twenty. And with the same evaluations in
all: one run, or four stacked ones of a quarter of the budget each (five times).

One line of JSON per answer goes to ``--out``; answers that are there are not computed again. The
runs themselves, which stacking needs, are kept in the folder ``--keep``: empty it after a change of
the algorithm.
"""

import argparse
import json
import pickle
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import quell
from quell.bench.metrics import DRAWS, gskl, mmtv
from quell.bench.problems import Benchmark, load
from quell.bench.provenance import source_commit
from quell.bench.records import Writer
from quell.streams import BenchStream, rng_for_bench
from quell.text import jsonable, table
from quell.threads import single_threaded

FILE = "benchmarks/results/stack.jsonl"
NOISE = 3.0
#: Problem and dimension, the cheap ones first.
TARGETS = ("two_modes-2", "ring-2", "rosenbrock-2", "multisensory_s1-6")
N_RUNS, SMALL_STACK, SHORT_PARTS = 20, 10, 4
#: S-VBMC (2025): LML loss, MMTV and gsKL divided by D of one run, ten and twenty stacked, with the
#: same noise; its ring and its two modes are others of their kind, and "stacked" are up to forty.
PUBLISHED = {
    "multisensory_s1-6": {"one run": (0.32, 0.18, 0.21), "10 stacked": (0.93, 0.091, 0.042),
                          "20 stacked": (1.2, 0.079, 0.039)},
    "two_modes-2": {"one run": (0.98, 0.44, 9.7), "20 stacked": (0.32, 0.11, 0.016)},
    "ring-2": {"one run": (1.3, 0.62, 38.0), "20 stacked": (0.39, 0.20, 0.053)},
}  # fmt: skip
KINDS = ("one run", "10 stacked", "20 stacked", "one quarter", "4 quarters stacked")

Key = tuple[str, str, int]


def target(name: str) -> Benchmark:
    """The target of a name such as ring-2: the number is its dimension."""
    family, _, dimension = name.rpartition("-")
    return load(family, int(dimension))


def answers(name: str, first_seed: int) -> Iterator[tuple[str, int, list[int], int]]:
    """All answers for a target: kind, first seed, seeds, and the budget of a run.

    In the order in which their runs are there, so that an interrupted file has some of each.
    """
    budget = 75 * (target(name).dimension + 2)
    quarter = budget // SHORT_PARTS
    seeds = list(range(first_seed, first_seed + N_RUNS))
    kinds = (
        ("one run", 1, budget),
        ("10 stacked", SMALL_STACK, budget),
        ("20 stacked", N_RUNS, budget),
        ("one quarter", 1, quarter),
        ("4 quarters stacked", SHORT_PARTS, quarter),
    )
    groups = [
        (kind, seeds[start], seeds[start : start + size], count)
        for kind, size, count in kinds
        for start in range(0, N_RUNS, size)
    ]
    yield from sorted(groups, key=lambda group: (-group[3], group[2][-1], len(group[2])))


class Runs:
    """Runs made once and kept in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, name: str, seed: int, budget: int) -> quell.Result:
        """The run, from the folder if it is there."""
        path = self.folder / f"{name}-{NOISE:g}-{budget}-{seed}.pickle"
        if path.exists():
            return pickle.loads(path.read_bytes())
        problem = target(name).as_problem("exact", noise=NOISE)
        result = quell.infer(problem, budget=budget, seed=seed, progress=False)
        # A prior is a function of the problem, and iterations are large: neither is needed.
        path.write_bytes(pickle.dumps(replace(result, iterations=(), log_prior=None)))
        return result


def scores(benchmark: Benchmark, answer: Any, seed: int) -> dict[str, Any]:
    """The metrics of a result or a stacked one."""
    truth, posterior = benchmark.truth, answer.posterior
    draws = posterior.sample(DRAWS, rng_for_bench(seed, BenchStream.METRICS))
    return {
        "error": answer.log_evidence - truth.log_evidence_checked,
        "sd": answer.log_evidence_sd,
        "mmtv": mmtv(
            draws, truth.reference, lower=benchmark.lower, upper=benchmark.upper,
            estimator=truth.estimator,
        ),
        "gskl": gskl(posterior.mean(), posterior.covariance(), truth),
        "status": str(answer.status),
    }  # fmt: skip


def make(name: str, first_seed: int, runs: Runs, done: set[Key]) -> Iterator[dict[str, Any]]:
    """The answers of a target that are not there yet, as records."""
    benchmark = target(name)
    for kind, seed, seeds, budget in answers(name, first_seed):
        if (name, kind, seed) in done:
            continue
        results = [runs.get(name, seed, budget) for seed in seeds]
        answer = results[0] if len(results) == 1 else quell.stack(results)
        record = {
            "target": name, "kind": kind, "seed": seed, "noise": NOISE, "budget": budget,
            "evaluations": sum(result.evaluations.n_counted for result in results),
            **scores(benchmark, answer, seed),
            "commit": source_commit(),
        }  # fmt: skip
        if isinstance(answer, quell.StackedResult):
            record |= {
                "left_out": [str(one) for one in answer.left_out],
                "run_weights": answer.run_weights,
                "mean_run_error": float(
                    np.mean([result.log_evidence for result in results])
                    - benchmark.truth.log_evidence_checked
                ),
            }
        yield jsonable(record)


def report(records: Iterable[dict[str, Any]]) -> str:
    """The table: medians over answers, the evidence's bias, and how often its interval is right."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["target"], record["kind"]), []).append(record)
    rows = [("target", "answer", "answers", "evaluations", "LML loss", "bias", "covers", "MMTV",
             "gsKL/D", "S-VBMC: LML, MMTV, gsKL/D")]  # fmt: skip
    for name in TARGETS:
        for kind in KINDS:
            group = groups.get((name, kind))
            if not group:
                continue
            error = np.array([float(record["error"]) for record in group])
            sd = np.array([float(record["sd"]) for record in group])
            dimension = target(name).dimension
            published = PUBLISHED.get(name, {}).get(kind)
            rows.append((
                name, kind, str(len(group)),
                f"{np.median([record['evaluations'] for record in group]):.0f}",
                f"{np.median(np.abs(error)):.3f}", f"{error.mean():+.3f}",
                f"{np.mean(np.abs(error) < 1.96 * sd):.2f}",
                f"{np.median([float(record['mmtv']) for record in group]):.3f}",
                f"{np.median([float(record['gskl']) for record in group]) / dimension:.4f}",
                ", ".join(f"{figure:g}" for figure in published) if published else "",
            ))  # fmt: skip
    return table(rows, indent="")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--targets", nargs="+", default=list(TARGETS), choices=TARGETS)
    parser.add_argument("--first-seed", type=int, default=200)
    parser.add_argument("--out", default=FILE)
    parser.add_argument("--keep", type=Path, default=Path(tempfile.gettempdir()) / "quell-stack")
    parser.add_argument("--only-table", action="store_true")
    arguments = parser.parse_args()
    path = Path(arguments.out)
    records = [json.loads(line) for line in path.open()] if path.exists() else []
    if not arguments.only_table:
        done = {(record["target"], record["kind"], record["seed"]) for record in records}
        runs = Runs(arguments.keep)
        writer = Writer(path)
        with single_threaded():
            for name in arguments.targets:
                for record in make(name, arguments.first_seed, runs, done):
                    writer.append(record)
                    records.append(record)
                    print(
                        f"{name} {record['kind']} seed {record['seed']}: error "
                        f"{record['error']:+.2f} ± {record['sd']:.2f}, MMTV {record['mmtv']:.3f}",
                        flush=True,
                    )
    print(report(records))


if __name__ == "__main__":
    main()
