"""Running a program to its end, to a time-out, or to the end of the run."""

import atexit
import contextlib
import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from quell.likelihoods import watchdog

#: Seconds for which the output of a program that was killed is waited for: a process that was not
#: found may still hold it.
LAST_WORDS = 0.5
_counter = itertools.count()


class TimedOut(Exception):
    """The program took too long; ``errors`` is what it wrote to its standard error."""

    def __init__(self, errors: str) -> None:
        super().__init__(errors)
        self.errors = errors


def run_program(
    argv: Sequence[str],
    question: str,
    *,
    timeout: float | None = None,
    cwd: str | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a program that reads the question.

    However this ends, nothing that the program has started outlives a time-out or an interrupt,
    and nothing a run that is killed.

    >>> run_program([sys.executable, "-c", "print(input()[::-1])"], "abc")
    (0, 'cba\\n', '')
    """
    mark = f"QUELL_PROGRAM_{os.getpid()}_{time.time_ns()}_{next(_counter)}"
    environment = {**os.environ, **(env or {}), mark: "1"}
    with _watched(mark) as process_is, subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd,
        env=environment, text=True, errors="replace", start_new_session=True,
    ) as process:  # fmt: skip
        try:
            process_is(process.pid)
            output, errors = process.communicate(question, timeout)
        except subprocess.TimeoutExpired:
            _kill(process, mark)
            raise TimedOut(_last_words(process)) from None
        except BaseException:  # an interrupt must not leave the program behind
            _kill(process, mark)
            raise
    return process.returncode, output, errors


def _kill(process: "subprocess.Popen[str]", mark: str) -> None:
    if hasattr(os, "killpg"):
        watchdog.kill_all(process.pid, mark)
    else:  # pragma: no cover
        process.kill()


def _last_words(process: "subprocess.Popen[str]") -> str:
    """What a killed program wrote to its standard error, as far as that can be had."""
    try:
        return process.communicate(timeout=LAST_WORDS)[1]
    except subprocess.TimeoutExpired as late:
        words = late.stderr or b""
        return words if isinstance(words, str) else words.decode(errors="replace")


@contextmanager
def _watched(mark: str) -> "Iterator[_Watched]":
    """While it lasts, what has the mark ends with this process; call it with the group's number."""
    watched = _Watched(mark)
    watched(0)  # before there is anything to end
    try:
        yield watched
    finally:
        _tell(f"- 0 {mark}\n")


class _Watched:
    def __init__(self, mark: str) -> None:
        self._mark = mark

    def __call__(self, group: int) -> None:
        _tell(f"+ {group} {self._mark}\n")


class _Watchdog:
    """The watchdog of a process: a process itself."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", watchdog.__file__, str(self.owner)],
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/",
            start_new_session=True,
        )  # fmt: skip
        atexit.register(self.dismiss)

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode())
        self.process.stdin.flush()

    def dismiss(self) -> None:
        if self.owner == os.getpid() and self.process.stdin is not None:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
            self.process.wait()


_lock = threading.Lock()
#: One for each process that starts programs.
_dog: _Watchdog | None = None


def _tell(line: str) -> None:
    """Tell the watchdog of this process; a run goes on without one, where there cannot be one."""
    global _dog
    if not hasattr(os, "killpg") or not sys.executable or getattr(sys, "frozen", False):
        return
    with _lock, contextlib.suppress(OSError):
        if _dog is None or _dog.owner != os.getpid():
            _dog = _Watchdog()
        try:
            _dog.tell(line)
        except OSError:  # it was ended by somebody
            _dog = _Watchdog()
            _dog.tell(line)
