"""``quell report``: all about a run, a stack, a study or several runs in one HTML file."""

import argparse
from typing import Any

from quell.cli.runs import RUN

EPILOG = """\
examples:
  quell report fit.quell                          writes report.html
  quell report run.quelljournal --out now.html    of a run under way, or after a crash
  quell report a.quell b.quell --out both.html    two runs of one problem: do they agree?
  quell report all.quell                          a stack: several runs as one
  quell report fits --title Subjects              the folder of a study"""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "report", help="write a report of runs as one HTML file", epilog=EPILOG,
        description="Write all about a run into one file that any browser opens without a network.",
    )  # fmt: skip
    parser.add_argument("runs", nargs="+", metavar="RUN",
                        help=f"{RUN}; several are runs of one problem")  # fmt: skip
    parser.add_argument("--out", default="report.html", metavar="FILE",
                        help="the file to write (report.html)")  # fmt: skip
    parser.add_argument("--title", default="", help="what stands at its top")
    parser.set_defaults(action=run)


def run(chosen: argparse.Namespace) -> int:
    """Write it, and say where it is."""
    from quell.pages.files import report_files
    from quell.text import printable

    print(printable(str(report_files(chosen.runs, chosen.out, title=chosen.title))))
    return 0
