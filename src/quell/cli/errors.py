"""What a command line is told in one line, and the exit codes."""

#: 0: done. 1: done, but the answer is no: a result that is not usable, runs that failed. 2: the
#: request cannot be fulfilled. 130: interrupted, as shells have it.
DONE, NOT_GOOD, REFUSED, INTERRUPTED = 0, 1, 2, 130

EXIT_CODES = """\
exit codes:
  0    done
  1    done, but the answer is no: a result that is not usable, runs that failed
  2    the request cannot be fulfilled (one line says why)
  130  interrupted by Ctrl-C"""


class CommandError(ValueError):
    """A request that cannot be fulfilled; the message is one sentence."""


def is_for_one_line(error: BaseException) -> bool:
    """Whether an error is about what was asked for, and not a fault of the program."""
    if isinstance(error, CommandError):
        return True
    from quell.bench.problems.base import BenchError
    from quell.errors import FileError, JournalError

    return isinstance(error, BenchError | FileError | JournalError)


def need_matplotlib(what: str) -> None:
    """`CommandError` where there is nothing to draw with."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise CommandError(f"{what} with matplotlib: pip install 'quell[plots]'") from None
