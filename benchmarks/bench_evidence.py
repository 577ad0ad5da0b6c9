"""Estimates of the log evidence beside each other: their bias, spread, and coverage.

Runs Quell with its default settings on targets whose evidence is known, and compares four estimates
on each final posterior: the ELBO; the evidence of the surrogate's mean, by importance sampling;
that with the whole of the surrogate's convexity, as it was reported once; and what is reported,
with as much of it as the data bear out (``quell.vbmc.evidence``). Errors are against the checked
truth where a problem has one. Finished runs stay in the file and are not repeated.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from campaign import finished

from quell.bench.problems.base import BenchError
from quell.bench.records import Writer, read_records
from quell.bench.single import Spec
from quell.calibration.ranks import covered
from quell.infer import infer
from quell.settings import Settings
from quell.streams import BenchStream, rng_for_bench
from quell.text import jsonable
from quell.threads import single_threaded
from quell.vbmc import boost
from quell.vbmc.evidence import LARGEST_CORRECTION, evidence

#: Problem, how it is run, and how many times the option ``runs``. "linear" is where nothing may be
#: added: few evaluations of a normal posterior; its SDs are misreported in the last target.
TARGETS: tuple[tuple[str, dict[str, Any], float], ...] = (
    ("linear", {"dim": 2, "noise": 2.0, "budget": 80}, 2),
    ("linear", {"dim": 4, "noise": 2.0, "budget": 160}, 2),
    ("linear", {"dim": 2, "noise": 1.0}, 1),
    ("rosenbrock", {"dim": 2, "noise": 3.0}, 1),
    ("student", {"dim": 4, "noise": 3.0}, 1),
    ("student", {"dim": 8, "noise": 3.0}, 0.6),
    ("lumpy", {"dim": 4, "noise": 3.0}, 1),
    ("lumpy", {"dim": 10, "noise": 3.0}, 0.6),
    ("logreg", {"noise": 3.0}, 0.6),
    ("neuronal_v1", {"noise": "paper"}, 0.6),
    ("neuronal_v2", {"noise": "paper"}, 0.6),
    ("multisensory_s2", {"noise": "paper"}, 0.6),
    ("student", {"dim": 4}, 0.4),
    ("lumpy", {"dim": 10}, 0.4),
    ("linear", {"dim": 2, "noise": 2.0, "budget": 80, "noise_jitter": 1.0}, 1),
)
FILE = "benchmarks/results/evidence.jsonl"
NAMES = ("ELBO", "of the mean", "whole convexity", "reported")


def specs(runs: int, first_seed: int) -> Iterator[Spec]:
    """The runs, a seed of every target at a time, so that an interrupted file has some of each."""
    most = max(round(runs * share) for *_, share in TARGETS)
    for i in range(most):
        for problem, setting, share in TARGETS:
            count = round(runs * share)
            # Those with fewer runs have them spread out over the time of the others.
            if (i + 1) * count // most > i * count // most:
                seed = first_seed + i * count // most
                yield Spec.make(problem, "quell", seed, mode="exact", **setting)


def perform(spec: Spec) -> dict[str, Any]:
    """One run; the record has its spec, the truth, and what the estimates are made of."""
    benchmark = spec.benchmark()
    problem = benchmark.as_problem(
        spec.mode, spec.noise, jitter=spec.noise_jitter, rng=benchmark.noise_stream(spec.seed)
    )
    settings = Settings(stop_early=False)
    result = infer(
        problem, budget=spec.budget, seed=spec.seed, start=benchmark.start(spec.seed),
        # The boost is made below, where its solution can be looked at.
        settings=replace(settings, final_components=0), progress=False,
    )  # fmt: skip
    rng = rng_for_bench(spec.seed, BenchStream.METRICS)
    with single_threaded(), np.errstate(all="ignore"):
        solution, _ = boost(rng, result.iterations[result.chosen - 1].solution, settings)
        estimate = evidence(rng, solution, importance=True)
    return jsonable(
        {
            **asdict(spec),
            "truth": benchmark.truth.log_evidence_checked,
            "elbo": solution.elbo.value,
            "elbo_sd": solution.elbo.sd,
            "of_mean": estimate.of_mean,
            "convexity": estimate.convexity,
            "log_evidence": estimate.value,
            "log_evidence_sd": estimate.sd,
            "evidence_method": estimate.method,
            "converged": result.converged,
        }
    )


def estimates(record: dict[str, Any]) -> list[tuple[float, float]]:
    """Value and SD of the four estimates."""
    sd, elbo_sd, of_mean = record["log_evidence_sd"], record["elbo_sd"], record["of_mean"]
    whole = of_mean + min(record["convexity"], LARGEST_CORRECTION)
    return [(record["elbo"], elbo_sd), (of_mean, elbo_sd), (whole, sd),
            (record["log_evidence"], sd)]  # fmt: skip


def table(records: list[dict[str, Any]]) -> str:
    """A line per target: mean, median and SD of the error, and coverage, of the four estimates."""
    groups = defaultdict(list)
    for record in records:
        groups[replace(Spec.of_record(record), seed=0)].append(record)
    lines = [
        f"{'target':34}{'runs':>5}" + "".join(f"{name:>28}" for name in NAMES),
        " " * 39 + "    mean  median   SD covers" * len(NAMES),
    ]
    for spec, group in groups.items():
        jitter = ", misreported" if spec.noise_jitter else ""
        name = f"{spec.problem} D{spec.dim}, SD {spec.noise or 0:g}{jitter}"
        line = f"{name:34}{len(group):5}"
        truth = np.array([record["truth"] for record in group])
        for column in zip(*map(estimates, group), strict=True):
            error = np.array([value for value, _ in column]) - truth
            share = np.mean([covered(abs(e), sd) for e, (_, sd) in zip(error, column, strict=True)])
            line += f"{error.mean():8.2f}{np.median(error):8.2f}{error.std():5.2f}{share:7.2f}"
        lines.append(line)
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--runs", type=int, default=10, help="seeds of a usual target (10); some have more or less")
    add("--first-seed", type=int, default=6000, help="the first of them (6000)")
    add("--out", default=FILE, metavar="FILE.jsonl", help=f"file of the runs ({FILE})")
    add("--only-table", action="store_true", help="print what is there already")
    options = parser.parse_args()
    if not options.only_table:
        with Writer(options.out) as writer:
            done = read_records([options.out]).runs
            for spec in specs(options.runs, options.first_seed):
                if spec not in done:
                    writer.append(perform(spec))
                    print(spec, flush=True)
    print(table(finished(options.out)))


if __name__ == "__main__":
    try:
        main()
    except BenchError as error:
        raise SystemExit(str(error)) from None
