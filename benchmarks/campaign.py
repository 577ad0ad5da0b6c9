"""A campaign: which runs it has, how they are made, and the table at its end.

Campaigns are resumable: finished runs stay in the campaign's file and are not repeated.
"""

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from quell.bench.problems import BenchError
from quell.bench.problems.base import Mode, Noise
from quell.bench.records import read_records
from quell.bench.runner import plan, run_specs
from quell.bench.single import Spec
from quell.bench.tables import markdown_table

Record = dict[str, Any]
#: The first seed of a campaign; smaller ones were for choosing settings.
FIRST_SEED = 100
RESULTS = "benchmarks/results"


@dataclass(frozen=True)
class Batch:
    """Every algorithm on every problem, with as many seeds as the option ``runs`` says.

    ``times`` as many of them, and no more than ``most``. Without ``problems`` it is the one chosen
    on the command line. ``mode``, ``noise``, ``dim``, ``fast`` and ``budget`` are those of
    `quell.bench.runner.run`, and ``jitter`` is its ``noise_jitter``.
    """

    problems: tuple[str, ...]
    algorithms: tuple[str, ...]
    noise: Noise = None
    mode: Mode = "exact"
    dim: int | None = None
    jitter: float = 0.0
    fast: bool = False
    budget: int | None = None
    runs: str = "runs"
    times: int = 1
    most: int | None = None

    def specs(
        self, runs: Mapping[str, int], first_seed: int, algorithms: Iterable[str], problem: str
    ) -> list[Spec]:
        """The runs of the batch by these ``algorithms``; ``runs`` are numbers by option."""
        count = self.times * runs[self.runs]
        count = count if self.most is None else min(count, self.most)
        return plan(
            self.problems or (problem,),
            [name for name in self.algorithms if name in algorithms],
            range(first_seed, first_seed + count),
            mode=self.mode,
            noise=self.noise,
            dim=self.dim,
            noise_jitter=self.jitter,
            fast=self.fast,
            budget=self.budget,
        )


@dataclass(frozen=True)
class Campaign:
    """Batches of runs in the order they are made, in one file, and the table of what came out.

    ``runs`` are the options that say how many seeds, with their defaults, from ``first_seed`` on.
    ``problem`` is the default of the option for campaigns about one problem of choice.
    """

    name: str
    text: str
    batches: tuple[Batch, ...]
    table: Callable[[list[Record]], str] = markdown_table
    runs: Mapping[str, int] = field(default_factory=lambda: {"runs": 10})
    problem: str = ""
    first_seed: int = FIRST_SEED

    @property
    def out(self) -> str:
        """The file of its runs, by default."""
        return f"{RESULTS}/{self.name}.jsonl"

    @property
    def algorithms(self) -> list[str]:
        """The algorithms of all batches."""
        return list(dict.fromkeys(name for batch in self.batches for name in batch.algorithms))

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        """Give a parser the options of this campaign."""
        for option, default in self.runs.items():
            parser.add_argument(
                f"--{option.replace('_', '-')}", type=int, default=default, metavar="R",
                help=f"number of seeds ({default})",
            )  # fmt: skip
        add = parser.add_argument
        add("--first-seed", type=int, default=self.first_seed, metavar="S",
            help=f"the first of them ({self.first_seed})")  # fmt: skip
        add("--jobs", type=int, default=2, metavar="J", help="runs at a time (2)")
        add("--out", default=self.out, metavar="FILE.jsonl", help=f"file of the runs ({self.out})")
        add("--only-table", action="store_true", help="print what is there already")
        add("--mixed", action="store_true", help="add to runs of the same kind by another version")
        add("--algorithms", nargs="+", choices=self.algorithms, default=self.algorithms)
        if self.problem:
            add("--problem", default=self.problem, metavar="P",
                help=f"the problem ({self.problem})")  # fmt: skip

    def specs(self, options: argparse.Namespace) -> list[Spec]:
        """The runs that these options ask for, each once, in order."""
        numbers = {option: getattr(options, option) for option in self.runs}
        chosen = getattr(options, "problem", "")
        return list(
            dict.fromkeys(
                spec
                for batch in self.batches
                for spec in batch.specs(numbers, options.first_seed, options.algorithms, chosen)
            )
        )

    def perform(self, options: argparse.Namespace) -> None:
        """Make the runs that are missing, and print the table of all in the file."""
        if not options.only_table:
            run_specs(self.specs(options), out=options.out, jobs=options.jobs, mixed=options.mixed)
        records = finished(options.out)
        if self.problem:
            records = [record for record in records if record["problem"] == options.problem]
        print(self.table(records))


def finished(path: str) -> list[Record]:
    """The records of the runs in a file; ends the program if there is none."""
    try:
        records = list(read_records([path]).runs.values())
    except BenchError as error:
        raise SystemExit(f"{error} (without --only-table the runs are made)") from None
    if not records:
        raise SystemExit(f"{path} has no finished run")
    return records


def main(campaigns: Sequence[Campaign], arguments: Sequence[str] | None = None) -> None:
    """Perform the campaign that is named on the command line."""
    parser = argparse.ArgumentParser(description="Campaigns of many runs; all are resumable.")
    names = parser.add_subparsers(dest="campaign", required=True, metavar="CAMPAIGN")
    for campaign in campaigns:
        part = names.add_parser(
            campaign.name, help=campaign.text.splitlines()[0], description=campaign.text,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )  # fmt: skip
        campaign.add_options(part)
        part.set_defaults(perform=campaign.perform)
    options = parser.parse_args(arguments)
    try:
        options.perform(options)
    except BenchError as error:
        raise SystemExit(f"{parser.prog}: {error}") from None
