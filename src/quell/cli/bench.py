"""``quell bench``: algorithms on problems with known answers."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from quell.cli.errors import CommandError, need_matplotlib

DEFAULT_OUT = "quell-bench.jsonl"
#: What tables of records are about.
TABLES = {
    "medians": "all groups (default)",
    "algorithms": "all algorithms beside each other",
    "pyvbmc": "Quell beside PyVBMC's published figures at equal evaluations",
    "half": "runs at half their budget, beside others after all of it",
    "noise": "by the SD of the noise, and by how badly it is known",
    "evidence": "the log evidence beside the ELBO",
    "unusable": "runs that are not usable, one by one",
    "overhead": "CPU time of the algorithms (table 1)",
}

EPILOG = """\
examples:
  quell bench list
  quell bench run --problem rosenbrock --mode exact --noise 1 --runs 5 --jobs 2 --out runs.jsonl
  quell bench table runs.jsonl
  quell bench figures runs.jsonl --out figures

A campaign that was interrupted is continued by the same command."""


def add(commands: Any) -> None:
    """Add the command and its parts."""
    bench = commands.add_parser(
        "bench", help="benchmark problems with known answers", epilog=EPILOG,
        description="Run algorithms on problems with known answers, and summarise how they did.",
    )  # fmt: skip
    parts = bench.add_subparsers(dest="part", required=True, metavar="PART")

    listing = parts.add_parser("list", help="list problems and algorithms")
    listing.set_defaults(action=_list)

    running = parts.add_parser("run", help="run algorithms on problems, one JSON line per run")
    add = running.add_argument
    add("--problem", nargs="+", required=True, metavar="P", help="one or more problems")
    add("--algorithm", nargs="+", default=["quell"], metavar="A", help="one or more (quell)")
    add("--runs", type=int, default=10, metavar="R", help="number of seeds (10)")
    add("--first-seed", type=int, default=0, metavar="S", help="the first seed (0)")
    add("--mode", choices=("noisy", "exact"), default="noisy",
        help="the problem's own noise (default), or its exact target")  # fmt: skip
    add("--noise", type=_noise, metavar="SD",
        help="with --mode exact: emulated noise of this SD; 'paper': the paper's SD")  # fmt: skip
    add("--noise-jitter", type=float, default=0.0, metavar="J",
        help="multiply reported SDs by exp(J * normal)")  # fmt: skip
    add("--fast", action="store_true",
        help="with --mode noisy: draw the noise by a shortcut with the same law")  # fmt: skip
    add("--budget", type=int, metavar="B", help="evaluations per run (50 (D + 2))")
    add("--dim", type=int, metavar="D", help="dimension, for problems that have a choice")
    add("--jobs", type=int, default=1, metavar="J", help="runs at a time (1)")
    add("--out", default=DEFAULT_OUT, metavar="FILE.jsonl",
        help=f"file to append to; runs in it are not repeated ({DEFAULT_OUT})")  # fmt: skip
    add("--stop-early", action="store_true", help="let algorithms stop before the budget is spent")
    add("--mixed", action="store_true",
        help="add to a file that has runs of the same kind by another version")  # fmt: skip
    running.set_defaults(action=_run)

    tables = parts.add_parser("table", help="summarise the records of runs")
    tables.add_argument("files", nargs="+", metavar="FILE", help="files that bench run has written")
    form = tables.add_mutually_exclusive_group()
    form.add_argument("--markdown", action="store_true", help="as a Markdown table")
    form.add_argument("--csv", action="store_true", help="all numbers, comma-separated")
    add = tables.add_argument
    about = "; ".join(f"{name}: {text}" for name, text in TABLES.items())
    add("--about", choices=TABLES, default="medians", help=about)
    add("--algorithm", nargs="+", default=[], metavar="A", help="runs of these algorithms only")
    add("--problem", nargs="+", default=[], metavar="P", help="runs on these problems only")
    add("--paper", action="store_true",
        help="runs on the paper's ten problems with its noise and budget only")  # fmt: skip
    add("--protocol", choices=("full", "own"),
        help="full: runs that used their whole budget; own: answers at the algorithms' own "
             "stop, which runs with the whole budget note on the way")  # fmt: skip
    tables.set_defaults(action=_table)

    figures = parts.add_parser(
        "figures", help="the paper's figures and its table of overheads, from records of runs"
    )
    add = figures.add_argument
    add("files", nargs="+", metavar="FILE",
        help="records (.jsonl); for figure 1 saved results (.quell); for figure S5 draws from the "
             "truth (.json)")  # fmt: skip
    add("--out", required=True, metavar="DIR", help="folder for the figures, captions and table")
    add("--format", nargs="+", choices=("png", "svg", "pdf"), default=["png", "svg"],
        help="file formats (png svg)")  # fmt: skip
    add("--width", type=_width, default="full", metavar="W",
        help="column (3.3 in), full (6.9 in, default), or inches")  # fmt: skip
    add("--only", nargs="+", default=[], metavar="NAME",
        help="beginnings of the names of those wanted, such as figure2 figureS table1")  # fmt: skip
    figures.set_defaults(action=_figures)


def _noise(text: str) -> float | str:
    """The argument of --noise."""
    try:
        return text if text == "paper" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"must be a number or 'paper', got {text!r}") from None


def _width(text: str) -> float | str:
    """The argument of --width."""
    try:
        width = text if text in ("column", "full") else float(text)
    except ValueError:
        width = 0.0
    if isinstance(width, float) and not 2.0 <= width <= 40.0:
        raise argparse.ArgumentTypeError(
            f"must be column, full or a number of inches from 2 to 40, got {text!r}"
        )
    return width


def _list(_: argparse.Namespace) -> int:
    from quell.bench import data
    from quell.bench.algorithms import ALGORITHMS
    from quell.bench.problems import PROBLEMS
    from quell.bench.problems.real import REAL
    from quell.bench.problems.together import TOGETHER
    from quell.text import table

    place, problems = data.folder(), [("problem", "D", "noise", "what it is")]
    for name, entry in PROBLEMS.items():
        dims = str(entry.dimension)
        if entry.smallest is not None:
            dims += f" (--dim from {entry.smallest})"
        if entry.dims:
            dims += f" (--dim {', '.join(map(str, entry.dims))})"
        problems.append((name, dims, entry.noise, entry.text))
    print(table(problems, indent=""))
    first, *_, last = *REAL, *TOGETHER
    print(f"\nThe problems from {first} to {last} (and logreg) have ", end="")
    if place is None:
        print(f"data simulated from their models: {data.VARIABLE} is not set.\n")
    else:
        print(f"the data in {data.VARIABLE}={place}.\n")
    algorithms = [(algorithm.name, algorithm.text) for algorithm in ALGORITHMS.values()]
    print(table([("algorithm", "what it is"), *algorithms], indent=""))
    return 0


def _run(chosen: argparse.Namespace) -> int:
    from quell.bench.runner import run
    from quell.text import printable

    out = printable(chosen.out)
    if chosen.runs < 1:
        raise CommandError(f"--runs must be at least 1, got {chosen.runs}")
    try:
        summary = run(
            chosen.problem,
            chosen.algorithm,
            range(chosen.first_seed, chosen.first_seed + chosen.runs),
            mode=chosen.mode,
            noise=chosen.noise,
            noise_jitter=chosen.noise_jitter,
            fast=chosen.fast,
            budget=chosen.budget,
            dim=chosen.dim,
            jobs=chosen.jobs,
            out=chosen.out,
            stop_early=chosen.stop_early,
            mixed=chosen.mixed,
        )
    except KeyboardInterrupt:
        print(
            f"quell: interrupted; finished runs are in {out}, the same command continues",
            file=sys.stderr,
        )
        return 130
    parts = [f"{summary.done} runs done"]
    parts += [f"{summary.skipped} were in the file already"] * bool(summary.skipped)
    parts += [f"{summary.failed} failed (on record)"] * bool(summary.failed)
    parts += [f"{summary.lost} lost (run again to repeat)"] * bool(summary.lost)
    parts += [f"{summary.damaged_lines} damaged lines ignored"] * bool(summary.damaged_lines)
    print(f"{', '.join(parts)}: {out}", file=sys.stderr)
    return 1 if summary.failed or summary.lost else 0


def _table(chosen: argparse.Namespace) -> int:
    from quell.bench.chosen import chosen_rows
    from quell.bench.records import read_records
    from quell.bench.special_tables import special_table
    from quell.bench.tables import csv_table, markdown_table, text_table

    records = read_records(chosen.files)
    if not records.runs:
        raise CommandError(f"no runs in {', '.join(chosen.files)}")
    rows = chosen_rows(
        records.runs.values(),
        algorithms=chosen.algorithm,
        problems=chosen.problem,
        paper=chosen.paper,
        protocol=chosen.protocol or "",
    )
    if chosen.about == "medians":
        make = csv_table if chosen.csv else markdown_table if chosen.markdown else text_table
        print(make(rows))
    elif chosen.csv:
        raise CommandError(f"the table about {chosen.about} has no --csv form (leave that out)")
    else:
        print(special_table(chosen.about, rows, markdown=chosen.markdown))
    for count, what in ((records.damaged, "damaged"), (records.repeated, "repeated")):
        if count:
            print(f"quell: {count} {what} lines ignored", file=sys.stderr)
    return 0


def _figures(chosen: argparse.Namespace) -> int:
    from pathlib import Path

    from quell.text import printable

    need_matplotlib("figures are drawn")
    from quell.bench.displays.making import make_displays, read_material

    material = read_material(chosen.files, chosen.width)
    formats = list(dict.fromkeys(chosen.format))
    report = make_displays(material, Path(chosen.out), formats=formats, only=chosen.only)
    print("\n".join(map(printable, report.lines)))
    print(f"{report.made} displays and their captions are in {printable(chosen.out)}")
    return 0
