"""Runs the command that was asked for."""

import os
import sys
from collections.abc import Sequence

from quell.cli.errors import DONE, INTERRUPTED, REFUSED, is_for_one_line
from quell.cli.parser import build_parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (see `quell.cli.errors`)."""
    parser = build_parser()
    chosen = parser.parse_args(arguments)
    try:
        return int(chosen.action(chosen))
    except KeyboardInterrupt:
        print("quell: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if not is_for_one_line(error):
            raise
        from quell.text import printable

        print(f"quell: {printable(' '.join(str(error).split()))}", file=sys.stderr)
        return REFUSED
