"""A study in parts: what is planned, what is done, and what is left, in CPU hours.

Every part has a file of its own. Its runs are in order of their seeds, so that one that is
interrupted has about as many runs of everything.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from campaign import Batch, Record

from quell.bench.layout import laid_out
from quell.bench.provenance import engine_digest
from quell.bench.records import Records, read_records
from quell.bench.runner import other_versions
from quell.bench.single import Spec
from quell.text import table

#: Significant digits of the numbers in a file: of log evidences down to -6000 there are 1e-4 left.
DIGITS = 8
#: Fields that only the records of a part's first seeds have, for they are long: posteriors, of as
#: many runs of each kind as the part says, for pictures; and, of one, the settings it was made with
#: ("settings_digest" stays).
LONG = ("posterior", "settings")
#: CPU seconds per evaluation, target and scores included, of algorithms without a run yet.
#: Measured on one run each of `timing`, seed 5000; gp-imiqr's 0.3 at 120 evaluations, which grows,
#: extrapolated; pyvbmc by docs/experiments/overhead.md.
SECONDS = {
    "quell": 0.065, "viqr": 0.06, "npro": 0.06, "nowv": 0.06, "map": 0.065, "old": 0.05,
    "eig": 0.055, "wsabi": 0.1, "imiqr": 0.27, "gp-imiqr": 0.6, "pyvbmc": 0.9,
}  # fmt: skip


@dataclass(frozen=True)
class Part:
    """A part of the study: batches of runs with as many seeds, in a file of the part's name.

    Records of the first ``pictured`` seeds have the posterior.
    """

    name: str
    text: str
    batches: tuple[Batch, ...]
    runs: int
    pictured: int = 1

    @property
    def planned(self) -> int:
        """How many runs it has, whatever data there are."""
        return self.runs * sum(len(one.problems) * len(one.algorithms) for one in self.batches)

    def specs(self, first_seed: int, most: int | None = None) -> list[Spec]:
        """Its runs, seed by seed; no more than ``most`` seeds."""
        count = self.runs if most is None else min(self.runs, most)
        found = dict.fromkeys(
            spec
            for batch in self.batches
            for spec in batch.specs({batch.runs: count}, first_seed, batch.algorithms, "")
        )
        return sorted(found, key=lambda spec: spec.seed)

    def path(self, folder: str | Path) -> Path:
        """The file of its runs."""
        return Path(folder) / f"{self.name}.jsonl"

    def kept(self, record: Record, first_seed: int) -> Record:
        """What is written of a record: rounded numbers; long fields are the first seeds'."""
        seeds = {"posterior": self.pictured, "settings": 1}
        return {
            key: value if key in LONG else rounded(value)
            for key, value in record.items()
            if key not in LONG or record["seed"] < first_seed + seeds[key]
        }


def known_runs(path: Path) -> Records:
    """The runs in a part's file; none if there is no file yet."""
    return read_records([path]) if path.exists() else Records()


def rounded(value: Any) -> Any:
    """Plain data with floats of eight significant digits.

    >>> rounded({"a": [1 / 3, 2, "x"]})
    {'a': [0.33333333, 2, 'x']}
    """
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [rounded(entry) for entry in value]
    return value


class Costs:
    """CPU seconds of runs, by the runs there are.

    Of a run of which there is none of its kind: by those of the algorithm on the problem, else by
    those of the algorithm, per evaluation, else by the list above.
    """

    def __init__(self, records: Iterable[Record]) -> None:
        self._known: dict[tuple[Any, ...], list[float]] = {}
        for record in records:
            if "total_cpu_seconds" in record:
                spent = record["total_cpu_seconds"] / record["budget"]
                for key in self._keys(record):
                    self._known.setdefault(key, []).append(spent)

    @staticmethod
    def _keys(run: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        same = run["algorithm"], run["problem"], run["dim"]
        return [(*same, run["mode"], run["noise"], run["fast"]), same, same[:1]]

    def seconds(self, spec: Spec) -> float:
        """What the run will cost."""
        for key in self._keys(vars(spec)):
            if key in self._known:
                return spec.budget * median(self._known[key])
        return spec.budget * SECONDS[spec.algorithm]


@dataclass(frozen=True)
class Status:
    """How far a part is: its runs, those in its file, and CPU hours of both kinds.

    ``others`` are versions, other than this one, of runs that those left would be added to.
    """

    name: str
    planned: int
    done: int
    failed: int
    hours_done: float
    hours_left: float
    others: tuple[str, ...]


def statuses(
    parts: Sequence[Part], folder: str | Path, first_seed: int, most: int | None = None
) -> list[Status]:
    """How far each of the parts is."""
    runs = {part: known_runs(part.path(folder)).runs for part in parts}
    costs = Costs(record for known in runs.values() for record in known.values())
    found = []
    for part in parts:
        specs = part.specs(first_seed, most)
        records = [runs[part][spec] for spec in specs if spec in runs[part]]
        left = [spec for spec in specs if spec not in runs[part]]
        found.append(
            Status(
                part.name, len(specs), len(records), sum("error" in r for r in records),
                sum(r.get("total_cpu_seconds", 0.0) for r in records) / 3600,
                sum(map(costs.seconds, left)) / 3600,
                tuple(sorted(other_versions(left, runs[part]))),
            )
        )  # fmt: skip
    return found


def listing(parts: Sequence[Part], found: Sequence[Status]) -> str:
    """A table of how far the parts are, in the order they are made."""
    rows = [("part", "planned", "done", "failed", "left", "CPU h done", "CPU h left", "what it is")]
    for part, status in zip(parts, found, strict=True):
        rows.append((status.name, *_cells([status]), part.text))
    rows.append(("all", *_cells(found), ""))
    stale = [
        f"{status.name}.jsonl has runs of {', '.join(status.others)}; this version is "
        f"{engine_digest()}"
        for status in found
        if status.others
    ]
    return "\n".join([table(rows, indent=""), *[""] * bool(stale), *stale])


def parts_table(parts: Sequence[Part], folder: str | Path) -> str:
    """What is planned and what is in the files, as Markdown; it needs no data.

    By whom runs were made is their commit; several of them may be of one version of the engine.
    """
    rows = [("part", "what it is", "commit", "engine", "planned", "done", "failed")]
    for part in parts:
        runs = known_runs(part.path(folder)).runs.values()
        made = (", ".join(sorted({str(r.get(k, "?")) for r in runs})) for k in ("commit", "engine"))
        failed = sum("error" in record for record in runs)
        counts = (str(part.planned), str(len(runs)), str(failed))
        rows.append((f"`{part.name}`", part.text, *(text or "-" for text in made), *counts))
    return laid_out(rows, words=4, markdown=True)


def _cells(found: Sequence[Status]) -> tuple[str, ...]:
    planned, done = sum(s.planned for s in found), sum(s.done for s in found)
    hours = sum(s.hours_done for s in found), sum(s.hours_left for s in found)
    failed = sum(s.failed for s in found)
    return str(planned), str(done), str(failed), str(planned - done), *(f"{h:.1f}" for h in hours)


def refusal(part: Part, folder: str | Path, status: Status) -> str:
    """What to do about a part whose file has runs by another version; "" if there are none."""
    if not status.others:
        return ""
    path = part.path(folder)
    return (
        f"{path} has runs of the same kinds by another version of the engine "
        f"({', '.join(status.others)}; this is {engine_digest()}), and they are not mixed. Begin "
        f"the part again with: mv {path} {path.with_suffix('.old')}; add to them all the same with "
        "--mixed; or check out the version they are of"
    )
