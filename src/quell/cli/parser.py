"""The parser of the whole command line."""

import argparse
from typing import Any, NoReturn

from quell.cli import bench, check, compare, completion, demo, export, report, show, watch
from quell.cli.errors import EXIT_CODES, REFUSED

#: The commands in the order of the help: modules, each with a function ``add``. To add a command,
#: write its module and put it here.
COMMANDS = (show, check, report, watch, export, compare, demo, bench, completion)

EXAMPLES = """\
examples:
  quell show fit.quell                what is in a saved result, a journal or a study
  quell check fit.quell               can I believe it? The exit code says so too
  quell report fit.quell              all about it in one HTML file
  quell watch run.quelljournal        follow a run from another terminal, or after a crash
  quell export fit.quell draws.csv    draws from the posterior, for any other program
  quell compare A=a.quell B=b.quell   models by their evidence
  quell COMMAND --help                more, with examples"""


class Parser(argparse.ArgumentParser):
    """Reports a wrong command line in one line, and leaves texts of several lines as they are."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        super().__init__(*arguments, **options)

    def error(self, message: str) -> NoReturn:
        """End with the message."""
        self.exit(REFUSED, f"{self.prog}: {message} (see {self.prog} --help)\n")


class _Version(argparse.Action):
    """Imports the version only when asked for it."""

    def __call__(self, *_: object, **__: object) -> NoReturn:
        from quell.version import __version__

        print(f"quell {__version__}")
        raise SystemExit(0)


def build_parser() -> argparse.ArgumentParser:
    """The parser of the whole command line."""
    parser = Parser(
        prog="quell",
        description="Bayesian inference when the log-likelihood is expensive and noisy.",
        epilog=f"{EXAMPLES}\n\n{EXIT_CODES}",
    )
    parser.add_argument("--version", nargs=0, action=_Version, help="print the version")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for command in COMMANDS:
        command.add(commands)
    parser.set_defaults(parser=parser)  # for completions, which are made from it
    return parser
