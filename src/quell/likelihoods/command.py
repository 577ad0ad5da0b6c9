"""An external program as a log-likelihood.

The program is started once per evaluation, without a shell. It reads one JSON object from its
standard input,

    {"names": ["a", "b"], "theta": [0.5, 2.0], "seed": 1234567}

and writes its answer as the last line of its standard output: a JSON object with "value" and, if
it knows it, "sd"; or one or two numbers. Infinity is allowed in either form (zero density is
-Infinity, or -inf). "seed" is there so that the program's own random numbers can be those of the
evaluation; it is a function of the run's seed and the evaluation's index.

An exit code other than 0, no answer, or one that cannot be read is a failed evaluation, with the
end of what the program wrote to its standard error in the message.
"""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.checks import coordinate_names, seconds

#: Characters of the program's standard error that are kept.
LONGEST_TAIL = 1000


class CommandFailed(RuntimeError):
    """The program gave no answer; the message says why, with the end of its standard error."""


class Command:
    """A log-likelihood that asks a program; made by :func:`command`."""

    def __init__(
        self, argv: tuple[str, ...], names: tuple[str, ...] | None, timeout: float | None,
        cwd: str | None, env: dict[str, str] | None,
    ) -> None:  # fmt: skip
        self.argv, self.names, self.timeout, self.cwd, self.env = argv, names, timeout, cwd, env

    def __call__(self, theta: FloatArray, rng: np.random.Generator) -> Any:
        """The value at θ (D,), or the pair (value, SD)."""
        question = {
            "names": coordinate_names(self.names, len(theta)),
            "theta": theta.tolist(),
            "seed": int(rng.integers(2**32)),
        }
        code, output, errors = self._run(json.dumps(question))
        if code != 0:
            how = f"exit code {code}" if code > 0 else f"signal {signal.Signals(-code).name}"
            raise CommandFailed(f"{self._name()} ended with {how}{_tail(errors)}")
        try:
            return _read(output)
        except (ValueError, TypeError, KeyError) as error:
            raise CommandFailed(f"{self._name()}: {error}{_tail(errors)}") from None

    def __repr__(self) -> str:
        return f"command({shlex.join(self.argv)})"

    def _name(self) -> str:
        return repr(os.path.basename(self.argv[0]))

    def _run(self, question: str) -> tuple[int, str, str]:
        """Exit code, standard output and standard error."""
        with subprocess.Popen(
            self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            cwd=self.cwd, env=self.env, text=True, errors="replace", start_new_session=True,
        ) as process:  # fmt: skip
            try:
                output, errors = process.communicate(question, self.timeout)
            except subprocess.TimeoutExpired:
                _kill(process)
                _, errors = process.communicate()
                raise CommandFailed(
                    f"{self._name()} was stopped after {self.timeout:g} s{_tail(errors)}"
                ) from None
            except BaseException:  # an interrupt must not leave the program behind
                _kill(process)
                raise
        return process.returncode, output, errors


def command(
    argv: Sequence[str | PathLike[str]],
    *,
    names: Sequence[str] | None = None,
    timeout: float | None = None,
    cwd: str | PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Command:
    """A log-likelihood that starts the program ``argv`` for every evaluation.

    Parameters
    ----------
    argv
        The program and its arguments, each as it is: there is no shell.
    names
        Names of the parameters, passed on to the program; x1 .. xD by default.
    timeout
        Seconds after which the program, and all it has started, is killed: the evaluation has
        failed.
    cwd, env
        Working folder, and variables added to the environment.

    Returns
    -------
    A function to be passed to :class:`quell.Problem`; it can be sent to other processes. What
    the program reads and writes is described in :mod:`quell.likelihoods.command`.

    Examples
    --------
    >>> import sys
    >>> program = "import json, sys; t = json.load(sys.stdin)['theta']; print(-t[0]**2, 0.5)"
    >>> target = command([sys.executable, "-c", program])
    >>> target(np.array([3.0]), np.random.default_rng(1))
    (-9.0, 0.5)
    """
    if isinstance(argv, str | bytes | PathLike):
        raise TypeError(
            f"argv must be a list of the program and its arguments, got the single {argv!r}: "
            "no shell splits it into words (use shlex.split)"
        )
    parts = tuple(fspath(part) for part in argv)
    if not parts or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"argv must be a non-empty list of strings, got {argv!r}")
    timeout = None if timeout is None else seconds("timeout", timeout)
    folder = None if cwd is None else fspath(cwd)
    if folder is not None and not os.path.isdir(folder):
        raise ValueError(f"cwd must be a folder, got {folder!r}")
    variables = None if env is None else {**os.environ, **env}
    path = None if variables is None else variables.get("PATH")
    program = parts[0]
    # A path in it is looked up from the working folder, a bare name in PATH.
    place = os.path.join(folder or "", program) if os.path.dirname(program) else program
    if shutil.which(place, path=path) is None:
        raise ValueError(f"argv[0]: there is no program {program!r} that can be run")
    return Command(
        parts, None if names is None else coordinate_names(names, len(tuple(names))), timeout,
        folder, variables,
    )  # fmt: skip


def _read(output: str) -> Any:
    """What the last line of the output says: a value, or a value and its SD."""
    lines = output.strip().splitlines()
    if not lines:
        raise ValueError("it wrote no answer to its standard output")
    line = lines[-1]
    try:
        answer = json.loads(line)
    except ValueError:
        try:
            answer = [float(word) for word in line.replace(",", " ").split()]
        except ValueError:
            raise ValueError(f"its answer cannot be read: {line[:200]!r}") from None
    if isinstance(answer, dict):
        if "value" not in answer:
            raise ValueError(f'its answer has no "value": {line[:200]!r}')
        return (answer["value"], answer["sd"]) if "sd" in answer else answer["value"]
    if isinstance(answer, list):
        if len(answer) not in (1, 2):
            raise ValueError(f"its answer must be one or two numbers, got {line[:200]!r}")
        return answer[0] if len(answer) == 1 else (answer[0], answer[1])
    return answer


def _tail(errors: str) -> str:
    """The end of the standard error, to be put after a message."""
    errors = errors.strip()
    if not errors:
        return " (nothing on its standard error)"
    cut = "..." if len(errors) > LONGEST_TAIL else ""
    return f"; standard error: {cut}{errors[-LONGEST_TAIL:]}"


def _kill(process: "subprocess.Popen[str]") -> None:
    """End a program and everything it has started."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if hasattr(os, "killpg"):
            os.killpg(process.pid, signal.SIGKILL)
        else:  # pragma: no cover
            process.kill()
