"""Campaigns: many runs, in parallel, that can be interrupted and continued."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quell.bench.problems.base import BenchError, Mode, Noise
from quell.bench.records import Writer, read_records
from quell.bench.single import Spec
from quell.bench.workers import perform_all
from quell.studies.campaign import campaign_display


@dataclass(frozen=True)
class Summary:
    """What a campaign did: runs ``done`` now, ``skipped`` for they were in the file already,
    ``failed`` with an error on record, and ``lost``, which left no record and can be repeated.
    """

    done: int = 0
    skipped: int = 0
    failed: int = 0
    lost: int = 0
    damaged_lines: int = 0


def plan(
    problem: str | Sequence[str],
    algorithm: str | Sequence[str] = "quell",
    seeds: Iterable[int] = range(10),
    *,
    mode: Mode = "noisy",
    noise: Noise = None,
    noise_jitter: float = 0.0,
    fast: bool = False,
    budget: int | None = None,
    dim: int | None = None,
    stop_early: bool = False,
) -> list[Spec]:
    """Every algorithm on every problem with every seed, as `run` takes them; seed by seed.

    >>> [str(spec) for spec in plan(["corr", "normal"], seeds=[5], mode="exact")]
    ['corr D5 exact quell seed 5', 'normal D5 exact quell seed 5']
    """
    problems = [problem] if isinstance(problem, str) else list(problem)
    algorithms = [algorithm] if isinstance(algorithm, str) else list(algorithm)
    return [
        Spec.make(
            name, method, seed, mode=mode, noise=noise, noise_jitter=noise_jitter,
            fast=fast, budget=budget, dim=dim, stop_early=stop_early,
        )
        for seed in seeds for name in problems for method in algorithms
    ]  # fmt: skip


def run(
    problem: str | Sequence[str],
    algorithm: str | Sequence[str] = "quell",
    seeds: Iterable[int] = range(10),
    *,
    out: str | Path,
    mode: Mode = "noisy",
    noise: Noise = None,
    noise_jitter: float = 0.0,
    fast: bool = False,
    budget: int | None = None,
    dim: int | None = None,
    jobs: int = 1,
    stop_early: bool = False,
    progress: bool = True,
) -> Summary:
    """Run every algorithm on every problem with every seed, and append the records to ``out``.

    A run that is in the file already is not repeated, so an interrupted campaign is continued by
    the same call. ``jobs`` runs are under way at a time, each in a process of its own with one
    thread. Nothing stops before its ``budget``, 50 (D + 2) by default, unless ``stop_early``.
    Mode "noisy" is the problem's own noise, drawn by its shortcut if ``fast``; mode "exact" with
    ``noise`` is emulated noise of that SD on the exact target ("paper": each problem's usual SD).
    The SD reported is off by a log-normal factor with spread ``noise_jitter``. Scripts that call
    this need the usual ``if __name__ == "__main__":``.

    >>> summary = run("rosenbrock", seeds=range(5), mode="exact", noise=1.0,
    ...               jobs=2, out="runs.jsonl")  # doctest: +SKIP
    """
    specs = plan(
        problem, algorithm, seeds, mode=mode, noise=noise, noise_jitter=noise_jitter,
        fast=fast, budget=budget, dim=dim, stop_early=stop_early,
    )  # fmt: skip
    return run_specs(specs, out=out, jobs=jobs, progress=progress)


def run_specs(
    specs: Iterable[Spec], *, out: str | Path, jobs: int = 1, progress: bool = True
) -> Summary:
    """Perform the runs that are not in the file ``out`` yet; see `run`."""
    if jobs < 1:
        raise BenchError(f"jobs must be at least 1, got {jobs}")
    specs = list(dict.fromkeys(specs))
    with Writer(out) as writer:
        known = read_records([out])
        wanted = [spec for spec in specs if spec not in known.runs]
        counts = {"done": 0, "failed": 0, "lost": 0}
        with (
            campaign_display(enabled=progress) as display,
            closing(perform_all(wanted, jobs)) as finished,
        ):
            task = display.add_task("runs", total=len(specs), completed=len(specs) - len(wanted))
            for spec, record, error in finished:
                if record is not None:
                    writer.append(record)
                    counts["failed" if "error" in record else "done"] += 1
                else:
                    counts["lost"] += 1
                display.advance(task)
                if progress:
                    display.console.print(describe(spec, record, error), markup=False)
    return Summary(skipped=len(specs) - len(wanted), damaged_lines=known.damaged, **counts)


def describe(spec: Spec, record: dict[str, Any] | None, error: str = "") -> str:
    """One line about a finished run."""
    if record is None or "error" in record:
        return f"{spec}: FAILED, {error or record['error']}"  # type: ignore[index]
    scores = "  ".join(
        f"{label} {float(record[name]):.3g}"
        for label, name in (("LML loss", "lml_loss"), ("gsKL", "gskl"), ("MMTV", "mmtv"))
    )
    return f"{spec}: {scores}  ({record['wall_seconds']:.0f} s)"
