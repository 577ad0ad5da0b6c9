"""Which rows belong into a panel."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from quell.bench.displays.looks import NAMES, PAPER_SDS
from quell.bench.provenance import version_of
from quell.bench.summary import Group, Record

#: The word of the tables for runs of one algorithm by several versions of the engine.
MIXED = "MIXED"
#: As many algorithms at most are named beside their number of runs, and of as many the numbers are
#: given one by one.
FEW, MANY = 2, 8


def full_runs(records: Iterable[Record]) -> list[Record]:
    """The runs that spent the paper's budget, 50 (D + 2), knowing their noise."""
    return [
        record
        for record in records
        if record["budget"] == 50 * (record["dim"] + 2)
        and not record["stop_early"]
        and not record["noise_jitter"]
    ]


def paper_runs(records: Iterable[Record], problem: str) -> list[Record]:
    """The full runs of a problem with noise of the paper's size.

    Some rows have the noise of the problem's simulator and others have that emulated, with real or
    simulated data: these are not mixed. Of several settings the one with most algorithms is taken,
    then that with most runs.
    """
    settings: dict[Group, list[Record]] = {}
    for record in full_runs(records):
        own = record["mode"] == "noisy"
        if record["problem"] == problem and (own or record["noise"] == PAPER_SDS.get(problem)):
            settings.setdefault(Group.of(record).task, []).append(record)
    if not settings:
        return []
    return max(settings.values(), key=lambda runs: (len(by_algorithm(runs)), len(runs)))


def by_algorithm(
    records: Iterable[Record], algorithms: Sequence[str] | None = None
) -> dict[str, list[Record]]:
    """The records of each algorithm, in the order of ``algorithms``, which may leave some out."""
    found: dict[str, list[Record]] = {}
    for record in records:
        found.setdefault(record["algorithm"], []).append(record)
    names = found if algorithms is None else algorithms
    return {name: found[name] for name in names if name in found}


@dataclass(frozen=True)
class Count:
    """How many runs of each algorithm are in a panel, and whether they are of several versions."""

    runs: dict[str, int]
    mixed: bool

    @classmethod
    def of(cls, groups: dict[str, list[Record]], names: Sequence[str] = ()) -> Count:
        """The count of these runs, in the order of ``names``, of which some may have none."""
        mixed = any(len(set(map(version_of, runs))) > 1 for runs in groups.values())
        return cls({name: len(groups.get(name, [])) for name in names or groups}, mixed)

    def __str__(self) -> str:
        """In words.

        >>> print(Count({"quell": 20, "viqr": 20}, False))
        n = 20 each
        >>> print(Count({"quell": 20, "viqr": 9}, True))
        n = 20 Quell, 9 VIQR, MIXED
        >>> print(Count({"quell": 20, "viqr": 10, "gp-imiqr": 0}, False))
        n = 20, 10, –
        """
        fewest, most = min(self.runs.values()), max(self.runs.values())
        each = " each" if len(self.runs) > 1 else ""
        if fewest == most:
            text = f"n = {most}{each}"
        elif len(self.runs) <= FEW and set(self.runs) <= set(NAMES):
            text = "n = " + ", ".join(
                f"{n} {NAMES[name].removeprefix('VBMC-')}" for name, n in self.runs.items()
            )
        elif len(self.runs) <= MANY:
            text = "n = " + ", ".join(str(n or "–") for n in self.runs.values())
        else:
            text = f"n = {fewest}–{most}"
        return text + f", {MIXED}" * self.mixed


def versions_in_words(records: Iterable[Record]) -> str:
    """Which versions made the runs of each algorithm, and how many each.

    >>> versions_in_words([{"algorithm": "quell", "commit": "abc"}, {"algorithm": "quell"}])
    'MIXED: quell 1 of abc, 1 of unknown'
    """
    made = {name: Counter(map(version_of, runs)) for name, runs in by_algorithm(records).items()}
    parts = [
        f"{MIXED}: " * (len(versions) > 1)
        + f"{name} "
        + ", ".join(f"{count} of {version}" for version, count in versions.items())
        for name, versions in made.items()
    ]
    return "; ".join(parts)


def noise_in_words(record: Record) -> str:
    """The noise of a run, short.

    >>> noise_in_words({"mode": "exact", "noise": 2.0}), noise_in_words({"mode": "noisy"})
    ('SD 2', 'own noise')
    """
    if record["mode"] == "noisy":
        return "own noise"
    return "exact" if record["noise"] is None else f"SD {record['noise']:g}"
