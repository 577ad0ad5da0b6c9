"""What each departure of the default settings from the paper is worth, one at a time.

    python benchmarks/bench_deviations.py [--arms NAME ...] [--only-table] [--seeds FIRST COUNT]

The default settings beside the same with one rule of the paper, on two small targets; every arm has
the same seeds, so the same start and noise. Continues the file. One process, no learning curves.
By default only the rules that no other benchmark compares.
"""

import argparse
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from quell.bench import answers
from quell.bench.algorithms import ALGORITHMS, Algorithm
from quell.bench.metrics import quantile
from quell.bench.own import QuellRun
from quell.bench.records import Writer, read_records
from quell.bench.single import Spec, perform
from quell.bench.tables import number
from quell.settings import NO_CAP, Settings
from quell.text import table

#: The problem, its dimension, and the SD of emulated noise.
TARGETS = (("rosenbrock", 2, 3.0), ("cigar", 4, 1.0))
METRICS = ("lml_loss", "gskl", "mmtv")
OVERHEAD = "overhead_cpu_seconds_per_evaluation"


@dataclass(frozen=True)
class Arm:
    """Default settings but for what is ``changed`` to the paper's."""

    name: str
    changed: dict[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        return Settings(**self.changed)


ARMS = (
    Arm("default"),
    Arm("acquisition", {"acquisition": "viqr"}),
    Arm("whitening", {"whitening_schedule": "paper"}),
    Arm("refits", {"retrain_share": 0.0}),
    Arm("samples", {"min_samples": 1, "max_samples": NO_CAP}),
    Arm("output-scale", {"output_scale_prior": False}),
    Arm("climb", {"climb": False}),
    Arm("low-values", {"compress_low_values": False}),
    Arm("looks", {"look_around": False}),
)
#: The arms by default.
UNMEASURED = ("whitening", "refits", "samples")
OUT = Path(__file__).parent / "results" / "deviations.jsonl"


def register() -> None:
    """Make algorithms of the benchmark of the arms."""
    for arm in ARMS:
        name = full_name(arm.name)
        ALGORITHMS[name] = Algorithm(name, "an arm of this benchmark", QuellRun(arm.settings))


def full_name(arm: str) -> str:
    """The name of an arm in the records."""
    return f"departs-{arm}"


def specs(names: list[str], first: int, count: int) -> list[Spec]:
    """Seed by seed, so that an unfinished file has all arms."""
    return [
        Spec.make(problem, name, seed, mode="exact", noise=noise, dim=dim)
        for seed in range(first, first + count)
        for problem, dim, noise in TARGETS
        for name in names
    ]


def rows(runs: dict[Spec, dict[str, Any]], problem: str, names: list[str]) -> list[tuple[str, ...]]:
    """Medians of every arm over the seeds that all have, and how often the default is better.

    The first of the ``names`` is that of the default.
    """
    by_arm: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in names}
    first = names[0]
    for spec, record in runs.items():
        if spec.problem == problem and spec.algorithm in by_arm:
            by_arm[spec.algorithm][spec.seed] = record
    seeds = sorted(set.intersection(*(set(found) for found in by_arm.values())))
    values = {
        (name, metric): np.array([scored(by_arm[name][seed], metric) for seed in seeds])
        for name in names
        for metric in METRICS
    }
    lines = []
    for name in names if seeds else ():
        cells = [name.removeprefix(full_name("")), str(len(seeds))]
        for metric in METRICS:
            own, default = values[name, metric], values[first, metric]
            better = "" if name == first else f" ({int(np.sum(default < own))})"
            cells.append(f"{number(quantile(own, 0.5))}{better}")
        costs = [by_arm[name][seed].get(OVERHEAD, np.inf) for seed in seeds]
        lines.append((*cells, f"{1e3 * np.median(costs):.0f}"))
    losses = [elbo_loss(by_arm[first][seed]) for seed in seeds]
    if losses:
        better = int(np.sum(values[first, "lml_loss"] < losses))
        cell = f"{number(quantile(losses, 0.5))} ({better})"
        lines.append(("ELBO in place of the evidence", str(len(seeds)), cell, "", "", ""))
    return lines


def scored(record: dict[str, Any], metric: str) -> float:
    return float(record[metric]) if "error" not in record else np.inf


def elbo_loss(record: dict[str, Any]) -> float:
    """The error of the ELBO of a run of the default settings, the same run otherwise."""
    if "error" in record:
        return float(np.inf)
    truth = Spec.of_record(record).benchmark().truth
    return float(abs(record["elbo"] - truth.log_evidence))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=str(OUT))
    choices = [arm.name for arm in ARMS[1:]]
    of = f"{', '.join(choices)} (default: {', '.join(UNMEASURED)})"
    parser.add_argument(
        "--arms", nargs="+", default=UNMEASURED, choices=choices, metavar="NAME", help=of
    )
    parser.add_argument("--seeds", nargs=2, type=int, default=(5200, 10), metavar=("FIRST", "N"))
    parser.add_argument("--only-table", action="store_true")
    options = parser.parse_args()
    register()
    names = [full_name(arm) for arm in ("default", *options.arms)]
    answers.CHECKPOINTS = 1  # no learning curves
    if not options.only_table:
        Path(options.out).touch()
        with Writer(options.out) as writer:
            done = read_records([options.out]).runs
            for spec in specs(names, *options.seeds):
                if spec not in done:
                    writer.append(perform(spec))
    runs = read_records([options.out]).runs
    for problem, dim, noise in TARGETS:
        print(f"{problem}, D = {dim}, noise of SD {noise:g}")
        print(
            table([("arm", "runs", "LML", "gsKL", "MMTV", "ms"), *rows(runs, problem, names)]), "\n"
        )
    print("Medians; in brackets, in how many runs the default is better with the same seed.")


if __name__ == "__main__":
    main()
