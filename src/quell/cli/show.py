"""``quell show``: what is in a file."""

import argparse
from typing import Any

from quell.cli.runs import RUN

EPILOG = """\
examples:
  quell show fit.quell                   evidence, parameters, status, and how it was made
  quell show run.quelljournal            the result so far, while the run goes on
  quell show all.quell                   a stack: several runs as one
  quell show fits                        the table of a study, from its folder

Nothing is written, and nothing in the file is executed."""


def add(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "show", help="what is in a saved result, a stack, a journal or a study", epilog=EPILOG,
        description="Print the summary of a result, or the table of a study.",
    )  # fmt: skip
    parser.add_argument("run", metavar="RUN", help=RUN)
    parser.set_defaults(action=run)


def run(chosen: argparse.Namespace) -> int:
    """Print it."""
    from quell.loading.show import show

    print(show(chosen.run))
    return 0
