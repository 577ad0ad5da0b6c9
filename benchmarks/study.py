"""The whole study of the paper's ten problems, as data: ``make study``.

    python benchmarks/study.py [--list] [--part NAME ...] [--minutes M] [--table] [--parts] [...]

The parts are made in the order of the list below, and within each seed by seed, so that the study
can be stopped at any moment and is still one. The same command again continues it. Ctrl-C loses the
runs under way, and no others.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import monotonic

from campaign import FIRST_SEED, RESULTS, Batch
from campaign_tables import Published, beside_published
from campaigns import OWN_NOISE, SIMULATED
from study_plan import Part, listing, parts_table, refusal, statuses

from quell.bench import data
from quell.bench.problems import BenchError
from quell.bench.protocols import at_own_stop
from quell.bench.records import read_records
from quell.bench.runner import run_specs
from quell.bench.tables import markdown_table

#: The problems of the paper's Figures 4 and S6, and the values there: SDs of the noise; and at an
#: SD of 2 the spread of the log of the SD that is told.
SWEPT = ("timing", "multisensory_s1", "neuronal_v1")
NOISE_SDS = (0.0, 1.0, 3.0, 5.0, 7.0)
JITTERS, JITTER_SD = (0.0, 0.2, 0.4, 0.8), 2.0
#: The expensive ones run on these: three to seven parameters, all three kinds of noise.
FOR_PEERS = ("ricker", "timing", "multisensory_s1", "neuronal_v1")

#: PyVBMC 1.5 on the targets that ``make bench-synthetic`` leaves out; as there.
FURTHER_PYVBMC = (
    Published("halfnormal", 2, 0, 0.00441, 0.000158, 0.0179, 1.00),
    Published("banana", 6, 0, 0.0710, 0.227, 0.0232, 1.00),
    Published("banana", 10, 0, 0.0843, 0.266, 0.0185, 0.99),
    Published("logreg", 5, 0, 0.0403, 0.00965, 0.0254, 1.00),
    Published("cigar", 15, 0, 0.0111, 0.00199, 0.00694, 0.91),
)
#: The budget of its runs on that cigar; of the others it was 50 (D + 2).
CIGAR_BUDGET = 750
#: Problems of other kinds than the paper's, in the number of parameters they usually have: raw
#: units and correlations of 0.99, a scale without an upper bound, a constraint across parameters,
#: differential equations. Without noise, and with noise of this SD.
OTHER_KINDS, OTHER_SD = ("regression", "hierarchical", "constraint", "lotka_volterra"), 1.0
#: Runs of a problem whose marginals Figure S4 shows.
PICTURED = 5


def of_the_paper(*algorithms: str, problems: Sequence[str] = ()) -> tuple[Batch, ...]:
    """Batches of these algorithms on the ten problems, or on some of them, with their own noise.

    IBS estimates are drawn from their law by the shortcut. The neuronal problems have no simulator:
    their noise is emulated in the paper too.
    """
    kinds = (
        partial(Batch, SIMULATED, mode="noisy", fast=True),
        partial(Batch, ("neuronal_v1", "neuronal_v2"), noise="paper"),
        partial(Batch, OWN_NOISE, mode="noisy"),
    )
    batches = [kind(algorithms=algorithms) for kind in kinds]
    if not problems:
        return tuple(batches)
    return tuple(
        Batch(some, algorithms, noise=batch.noise, mode=batch.mode, fast=batch.fast)
        for batch in batches
        if (some := tuple(name for name in batch.problems if name in problems))
    )


PARTS = (
    Part("quell", "Quell on the ten problems", of_the_paper("quell"), 20, PICTURED),
    Part("viqr", "the paper's algorithm on the ten problems", of_the_paper("viqr"), 20, PICTURED),
    Part(
        "noise", "noise of SD 0 to 7 (Figure 4)",
        tuple(Batch(SWEPT, ("quell", "viqr"), noise=sd or None) for sd in NOISE_SDS), 5,
    ),
    Part(
        "jitter", "SDs that are off by a factor (Figure S6)",
        tuple(
            Batch(SWEPT, ("quell", "viqr"), noise=JITTER_SD, jitter=jitter) for jitter in JITTERS
        ), 5,
    ),
    Part(
        "emulated", "normal noise of the paper's SD in place of IBS",
        (Batch(SIMULATED, ("quell", "viqr"), noise="paper"),), 5,
    ),
    Part(
        "further", "problems beyond the paper's, Quell",
        (
            Batch(("multisensory_both",), ("quell",), mode="noisy", fast=True),
            *(
                Batch(
                    (row.problem,), ("quell",), dim=row.dim,
                    budget=CIGAR_BUDGET if row.problem == "cigar" else None,
                )
                for row in FURTHER_PYVBMC
            ),
            *(Batch(OTHER_KINDS, ("quell",), noise=sd) for sd in (None, OTHER_SD)),
        ), 5,
    ),
    Part(
        "variants", "variants of the paper, and WSABI",
        of_the_paper("npro", "nowv", "map", "old", "eig", "wsabi"), 5,
    ),
    Part("imiqr", "the paper's, with IMIQR", of_the_paper("imiqr"), 5),
    Part(
        "peers", "GP-IMIQR and PyVBMC on four problems: what they cost",
        of_the_paper("pyvbmc", "gp-imiqr", problems=FOR_PEERS), 2,
    ),
)  # fmt: skip


def make(parts: Sequence[Part], options: argparse.Namespace) -> None:
    """Make the runs that are missing, part by part; all are looked at before the first is begun."""
    found = statuses(parts, options.out, options.first_seed, options.runs)
    if not options.mixed:
        pairs = zip(parts, found, strict=True)
        stale = [text for part, status in pairs if (text := refusal(part, options.out, status))]
        if stale:
            raise BenchError("\n".join(stale))
    Path(options.out).mkdir(parents=True, exist_ok=True)
    end = monotonic() + 60 * options.minutes
    for part in parts:
        summary = run_specs(
            part.specs(options.first_seed, options.runs),
            out=part.path(options.out),
            jobs=options.jobs,
            mixed=options.mixed,
            enough=lambda: monotonic() >= end,
            keep=partial(part.kept, first_seed=options.first_seed),
        )
        if summary.lost:
            print(f"{part.name}: {summary.lost} runs were lost; the same command repeats them")
        if summary.left:
            print(f"{part.name}: the time is over with {summary.left} of its runs left")
            break
    print(listing(parts, statuses(parts, options.out, options.first_seed, options.runs)))


def tables(parts: Sequence[Part], folder: str) -> str:
    """The tables of what is there: the whole budget, then until the runs' own stop."""
    paths = [path for part in parts if (path := part.path(folder)).exists()]
    # Of a run that two parts have, one counts.
    records = list(read_records(paths).runs.values())
    if not records:
        raise BenchError(f"{folder} has no finished run of these parts")
    protocols = {
        "The whole budget": records,
        "Until the algorithm's own stop": list(at_own_stop(records)),
    }
    text = []
    for title, runs in protocols.items():
        if runs:
            text += [f"## {title}\n", markdown_table(runs), ""]
        published = beside_published(FURTHER_PYVBMC, runs)
        if "\n" in published:
            text += ["PyVBMC's published medians in brackets; it stopped by its own rule, but on",
                     "the cigar:\n", published, ""]  # fmt: skip
    return "\n".join(text).rstrip()


def parse(parts: Sequence[Part], arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--list", action="store_true", help="what is planned, done and left, in CPU hours")
    add("--table", action="store_true", help="the tables of the runs there are")
    add("--parts", action="store_true", help="the parts and their runs, as Markdown; needs no data")
    add("--part", nargs="+", metavar="NAME", choices=[part.name for part in parts],
        help="these parts only")  # fmt: skip
    add("--minutes", type=float, default=float("inf"), metavar="M",
        help="begin no run after so many minutes")  # fmt: skip
    add("--jobs", type=int, default=2, metavar="J", help="runs at a time (2)")
    add("--out", metavar="FOLDER", help=f"folder of the runs ({RESULTS}/study)")
    add("--mixed", action="store_true", help="add to runs of the same kind by another version")
    add("--simulated", action="store_true", help="on simulated data, in another folder")
    add("--first-seed", type=int, default=FIRST_SEED, metavar="S", help=f"({FIRST_SEED})")
    add("--runs", type=int, metavar="R", help="no more than so many seeds of everything")
    options = parser.parse_args(arguments)
    if not options.minutes > 0:
        parser.error(f"--minutes must be positive, got {options.minutes:g}")
    if options.runs is not None and options.runs < 1:
        parser.error(f"--runs must be at least 1, got {options.runs}")
    if not options.parts and options.simulated != (data.kind() == "simulated"):
        parser.error(
            f"{data.VARIABLE} is set, and --simulated is for data simulated from the models: unset "
            "it" if options.simulated else
            f"the study is of the real data ({data.HINT}); --simulated makes it on data simulated "
            "from the models"
        )  # fmt: skip
    options.out = options.out or f"{RESULTS}/study{'-simulated' * options.simulated}"
    return options


def main(arguments: Sequence[str] | None = None, parts: Sequence[Part] = PARTS) -> None:
    """Do what the command line asks for."""
    options = parse(parts, arguments)
    chosen = [part for part in parts if not options.part or part.name in options.part]
    try:
        if options.parts:
            print(parts_table(chosen, options.out))
        elif options.list:
            found = statuses(chosen, options.out, options.first_seed, options.runs)
            print(listing(chosen, found))
        elif options.table:
            print(tables(chosen, options.out))
        else:
            make(chosen, options)
    except BenchError as error:
        raise SystemExit(f"study: {error}") from None
    except KeyboardInterrupt:
        raise SystemExit("study: interrupted; the same command continues") from None


if __name__ == "__main__":
    main()
