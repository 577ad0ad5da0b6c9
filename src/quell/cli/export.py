"""``quell export``: draws, evaluations and tables, for other programs."""

from __future__ import annotations

import argparse
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quell.cli.errors import CommandError
from quell.cli.runs import RUN, add_choice_of_run, open_result

if TYPE_CHECKING:
    from quell.evaluations import Evaluations
    from quell.results import Result
    from quell.stacking import StackedResult

WHAT = ("draws", "evaluations", "summary", "runs")
NETCDF = (".nc", ".netcdf")

EPILOG = """\
examples:
  quell export fit.quell draws.csv                        1000 draws, a column per parameter
  quell export fit.quell draws.csv --draws 10000 --rng 3  more of them, others
  quell export fit.quell all.csv --what evaluations       every evaluation, bit for bit
  quell export run.quelljournal all.csv --what evaluations      also before there is a result
  quell export fit.quell table.csv --what summary         mean, SD and quantiles
  quell export fit.quell fit.nc                           draws, evaluations, evidence: for ArviZ
  quell export fits table.csv --what runs                 one row for every run of a study
  quell export fits draws.csv --problem "subject 3" --seed 2

The ending of OUT says the format: .csv, or .nc for netCDF (pip install "quell[arviz]")."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "export", help="draws, evaluations or tables, as CSV or netCDF", epilog=EPILOG,
        description="Write what is in a result for other programs.",
    )  # fmt: skip
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.add_argument("out", metavar="OUT", help="the file to write: .csv or .nc")
    parser.add_argument("--what", choices=WHAT,
                        help="as CSV: draws (default), evaluations, the summary of the parameters, "
                             "or the runs of a study")  # fmt: skip
    parser.add_argument("--draws", type=int, metavar="N",
                        help="how many draws (1000; in netCDF 4 chains of as many)")  # fmt: skip
    parser.add_argument("--rng", type=int, default=0, metavar="S", help="seed of the draws (0)")
    add_choice_of_run(parser)
    parser.add_argument("--force", action="store_true", help="replace OUT if it is there")
    parser.set_defaults(action=run)


def run(chosen: argparse.Namespace) -> int:
    """Write the file."""
    from quell.text import printable

    out = Path(chosen.out)
    is_netcdf = out.suffix.lower() in NETCDF
    _check(chosen, out, is_netcdf=is_netcdf)
    what = chosen.what or ("everything" if is_netcdf else "draws")
    write = _netcdf if is_netcdf else _WRITERS[what]
    try:
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=".quell-export-") as folder:
            beside = Path(folder) / out.name
            said = write(chosen, beside)
            beside.replace(out)  # the whole file, or none
    except OSError as error:
        raise CommandError(f"cannot write {chosen.out!r}: {error.strerror or error}") from error
    print(f"{said}: {printable(chosen.out)}")
    return 0


def _check(chosen: argparse.Namespace, out: Path, *, is_netcdf: bool) -> None:
    if not is_netcdf and out.suffix.lower() != ".csv":
        raise CommandError(f"OUT must end in .csv or .nc, got {chosen.out!r}")
    if is_netcdf and chosen.what is not None:
        raise CommandError("--what is for CSV; a netCDF file has draws, evaluations and evidence")
    if chosen.draws is not None and chosen.what not in (None, "draws"):
        raise CommandError("--draws is for draws")
    if chosen.draws is not None and chosen.draws < 1:
        raise CommandError(f"--draws must be at least 1, got {chosen.draws}")
    if chosen.rng < 0:
        raise CommandError(f"--rng must not be negative, got {chosen.rng}")
    if out.is_dir():
        raise CommandError(f"{chosen.out!r} is a folder")
    if out.exists() and not chosen.force:
        raise CommandError(f"{chosen.out!r} is there already (--force replaces it)")


def _draws(chosen: argparse.Namespace, out: Path) -> str:
    import numpy as np

    result = open_result(chosen)
    n = 1000 if chosen.draws is None else chosen.draws
    draws = result.posterior.sample(n, np.random.default_rng(chosen.rng))
    _write_csv(out, result.posterior.names, draws.tolist())
    return f"{n} draws of {_parameters(result)}"


def _evaluations(chosen: argparse.Namespace, out: Path) -> str:
    table = _table(chosen)
    table.to_csv(out)
    return f"{len(table)} evaluations"


def _table(chosen: argparse.Namespace) -> Evaluations:
    """The evaluations, also of a journal without a result."""
    from quell.errors import FileError
    from quell.journal import read_journal

    try:
        return open_result(chosen).evaluations
    except FileError:
        from quell.loading.journals import SQLITE

        path = Path(chosen.run)
        if not path.is_file():
            raise
        with open(path, "rb") as file:
            if file.read(len(SQLITE)) != SQLITE:
                raise
        return read_journal(path).evaluations


def _summary(chosen: argparse.Namespace, out: Path) -> str:
    from quell.results.table import HEADER, summary_rows

    result = open_result(chosen)
    rows = [[row.name, *map(float, row.figures)] for row in summary_rows(result.posterior)]
    _write_csv(out, ("parameter", *HEADER), rows)
    return f"the summary of {_parameters(result)}"


def _runs(chosen: argparse.Namespace, out: Path) -> str:
    from quell.loading import load
    from quell.studies.result import StudyResult

    study = load(chosen.run)
    if not isinstance(study, StudyResult):
        raise CommandError("--what runs is for a study; this is a single run")
    study.to_csv(out)
    return f"{len(study)} runs"


def _netcdf(chosen: argparse.Namespace, out: Path) -> str:
    result = open_result(chosen)
    draws = 1000 if chosen.draws is None else chosen.draws
    try:
        import_module("h5netcdf")
        tree = result.to_arviz(draws, rng=chosen.rng)
    except ImportError:
        raise CommandError(
            "netCDF needs xarray and h5netcdf: pip install 'quell[arviz]', or export a .csv"
        ) from None
    tree.to_netcdf(out, engine="h5netcdf")
    return f"4 x {draws} draws of {_parameters(result)}, evaluations and evidence"


_WRITERS = {"draws": _draws, "evaluations": _evaluations, "summary": _summary, "runs": _runs}


def _parameters(result: Result | StackedResult) -> str:
    n = len(result.posterior.names)
    return f"{n} parameter{'' if n == 1 else 's'}"


def _write_csv(out: Path, header: Any, rows: list[list[Any]]) -> None:
    """A table; text is never taken for a formula, numbers come back as they are."""
    import csv

    from quell.text import csv_cell

    with open(out, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([csv_cell(name) for name in header])
        writer.writerows([[csv_cell(cell) for cell in row] for row in rows])
