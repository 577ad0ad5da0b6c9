"""Campaigns: many runs, in parallel, that can be interrupted and continued."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Unpack

from quell.bench.problems.base import BenchError
from quell.bench.provenance import engine_digest, version_of
from quell.bench.records import Writer, read_records
from quell.bench.single import Setting, Spec
from quell.bench.summary import Group
from quell.bench.workers import perform_all
from quell.progress import CampaignDisplay, Choice
from quell.text import printable


@dataclass(frozen=True)
class Summary:
    """What a campaign did: how many runs of each kind, and lines of the file it could not read.

    Runs are ``done`` now, ``skipped`` because they were in the file already, ``failed`` with an
    error on record, ``lost``: without a record, so that they can be repeated, or ``left`` because
    there was no time for them.
    """

    done: int = 0
    skipped: int = 0
    failed: int = 0
    lost: int = 0
    damaged_lines: int = 0
    left: int = 0


def plan(
    problem: str | Sequence[str],
    algorithm: str | Sequence[str] = "quell",
    seeds: Iterable[int] = range(10),
    **setting: Unpack[Setting],
) -> list[Spec]:
    """Every algorithm on every problem with every seed, as `run` takes them; seed by seed.

    >>> [str(spec) for spec in plan(["corr", "normal"], seeds=[5], mode="exact")]
    ['corr D5 exact quell seed 5', 'normal D5 exact quell seed 5']
    """
    problems = [problem] if isinstance(problem, str) else list(problem)
    algorithms = [algorithm] if isinstance(algorithm, str) else list(algorithm)
    return [
        Spec.make(name, method, seed, **setting)
        for seed in seeds
        for name in problems
        for method in algorithms
    ]


def run(
    problem: str | Sequence[str],
    algorithm: str | Sequence[str] = "quell",
    seeds: Iterable[int] = range(10),
    *,
    out: str | Path,
    jobs: int = 1,
    progress: Choice = True,
    mixed: bool = False,
    **setting: Unpack[Setting],
) -> Summary:
    """Run every algorithm on every problem with every seed, and append the records to ``out``.

    A run that is in the file already is not repeated, so an interrupted campaign is continued by
    the same call. Scripts that call this need the usual ``if __name__ == "__main__":``.

    Parameters
    ----------
    problem, algorithm
        One or more names; ``quell bench list`` has them all.
    seeds
        One run for each.
    out
        The file, with one line of JSON per run.
    jobs
        Runs under way at a time, each in a process of its own with one thread.
    progress
        Show a bar (in a terminal) and a line per finished run on standard error; also "bar" or
        "log", as in `quell.infer`.
    mixed
        Whether runs may be added to a file with runs of the same kind by another version.
    mode
        "noisy" (the default): the problem's own noise. "exact": its exact target.
    noise
        With mode "exact": the SD of emulated noise; "paper" for each problem's usual SD.
    noise_jitter
        The SD that is reported is off by a log-normal factor with this spread.
    fast
        With mode "noisy": draw the noise by a shortcut with the same law.
    budget
        Evaluations per run, 50 (D + 2) by default; all are made unless ``stop_early``.
    dim
        The dimension, for problems that exist in many.
    stop_early
        Let algorithms stop before the budget is spent.

    Examples
    --------
    >>> summary = run("rosenbrock", seeds=range(5), mode="exact", noise=1.0,
    ...               jobs=2, out="runs.jsonl")  # doctest: +SKIP
    """
    specs = plan(problem, algorithm, seeds, **setting)
    return run_specs(specs, out=out, jobs=jobs, progress=progress, mixed=mixed)


def run_specs(
    specs: Iterable[Spec], *, out: str | Path, jobs: int = 1, progress: Choice = True,
    mixed: bool = False,
    enough: Callable[[], bool] = lambda: False,
    keep: Callable[[dict[str, Any]], dict[str, Any]] = lambda record: record,
) -> Summary:  # fmt: skip
    """Perform the runs that are not in the file ``out`` yet; see `run`.

    When ``enough`` says so no further run is begun. ``keep`` makes what is written of a record.
    """
    if jobs < 1:
        raise BenchError(f"jobs must be at least 1, got {jobs}")
    specs = list(dict.fromkeys(specs))
    with Writer(out) as writer:
        known = read_records([out])
        wanted = [spec for spec in specs if spec not in known.runs]
        if not mixed:
            refuse_another_version(wanted, known.runs, out)
        counts = {"done": 0, "failed": 0, "lost": 0}
        with (
            CampaignDisplay(
                enabled=progress, total=len(specs), done=len(specs) - len(wanted)
            ) as display,
            closing(perform_all(wanted, jobs, enough)) as finished,
        ):
            for spec, record, error in finished:
                if record is not None:
                    writer.append(keep(record))
                    counts["failed" if "error" in record else "done"] += 1
                else:
                    counts["lost"] += 1
                display.advance(describe(spec, record, error))
    left = len(wanted) - sum(counts.values())
    return Summary(
        skipped=len(specs) - len(wanted), damaged_lines=known.damaged, left=left, **counts
    )


def refuse_another_version(
    wanted: Iterable[Spec], runs: Mapping[Spec, dict[str, Any]], out: str | Path
) -> None:
    """:class:`BenchError` if runs of the same kinds in a file were made by another version."""
    others = other_versions(wanted, runs)
    if others:
        raise BenchError(
            f"{out} has runs of the same kind by another version ({', '.join(sorted(others))}; "
            f"this is {engine_digest()}): choose another file, or add to it with --mixed"
        )


def other_versions(wanted: Iterable[Spec], runs: Mapping[Spec, dict[str, Any]]) -> set[str]:
    """The versions, other than this one, behind those of the ``runs`` that are of kinds wanted."""
    kinds = {Group.of(asdict(spec)) for spec in wanted}
    return {
        version_of(record)
        for record in runs.values()
        if Group.of(record) in kinds and version_of(record) != engine_digest()
    }


def describe(spec: Spec, record: dict[str, Any] | None, error: str = "") -> str:
    """One line about a finished run."""
    if record is None or "error" in record:
        text = error or record["error"]  # type: ignore[index]
        return f"{spec}: FAILED, {printable(text)}"
    scores = "  ".join(
        f"{label} {float(record[name]):.3g}"
        for label, name in (("LML loss", "lml_loss"), ("gsKL", "gskl"), ("MMTV", "mmtv"))
    )
    return f"{spec}: {scores}  ({record['wall_seconds']:.0f} s)"
