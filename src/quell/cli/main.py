"""Runs the command that was asked for."""

import errno
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from quell.cli.errors import DONE, INTERRUPTED, REFUSED, is_for_one_line
from quell.cli.parser import build_parser

#: What standard output may answer: the disk is full, a quota is used up, the terminal is gone.
UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code (see `quell.cli.errors`)."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what a terminal has no character for is written out
            stream.reconfigure(errors="backslashreplace")
    parser = build_parser()
    chosen = parser.parse_args(arguments)
    try:
        code = int(chosen.action(chosen))
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        print("quell: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as head, has seen enough
        _leave_standard_output()
        return DONE
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        _leave_standard_output()
        print(f"quell: cannot write to standard output: {error.strerror}", file=sys.stderr)
        return REFUSED
    except Exception as error:
        if not is_for_one_line(error):
            raise
        from quell.text import printable

        print(f"quell: {printable(' '.join(str(error).split()))}", file=sys.stderr)
        return REFUSED


def _leave_standard_output() -> None:
    """What is still to be written goes nowhere, so that Python does not complain at its end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
