"""An external program as a log-likelihood; see :func:`command` for what it reads and writes."""

import json
import os
import re
import shlex
import shutil
import signal
from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.checks import coordinate_names, seconds
from quell.likelihoods.programs import TimedOut, run_program
from quell.text import printable

#: Characters of the program's standard error that are kept.
LONGEST_TAIL = 1000
#: A place for a number in an argument: a name in braces, with a format or without.
PLACE = re.compile(r"\{([^{}:]+)(:[^{}]*)?\}")
SEED = "seed"


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
        names = coordinate_names(self.names, len(theta))
        question = {"names": names, "theta": theta.tolist(), SEED: int(rng.integers(2**32))}
        numbers = {SEED: question[SEED], **dict(zip(names, theta.tolist(), strict=True))}
        argv = [self.argv[0], *(_filled(part, numbers) for part in self.argv[1:])]
        try:
            code, output, errors = run_program(
                argv, json.dumps(question), timeout=self.timeout, cwd=self.cwd, env=self.env
            )
        except TimedOut as late:
            raise CommandFailed(
                f"{self._name()} was stopped after {self.timeout:g} s{_tail(late.errors)}"
            ) from None
        if code != 0:
            how = f"exit code {code}" if code > 0 else f"signal {_signal_name(-code)}"
            raise CommandFailed(f"{self._name()} ended with {how}{_tail(errors)}")
        try:
            return _read(output)
        except (ValueError, TypeError, KeyError) as error:
            raise CommandFailed(f"{self._name()}: {error}{_tail(errors)}") from None

    def __repr__(self) -> str:
        return f"command({shlex.join(self.argv)})"

    def _name(self) -> str:
        return repr(os.path.basename(self.argv[0]))


def command(
    argv: Sequence[str | PathLike[str]],
    *,
    names: Sequence[str] | None = None,
    timeout: float | None = None,
    cwd: str | PathLike[str] | None = None,
    env: Mapping[str, str] | None = None,
) -> Command:
    """A log-likelihood that starts the program ``argv`` for every evaluation.

    The program reads one JSON object from its standard input, ::

        {"names": ["a", "b"], "theta": [0.5, 2.0], "seed": 1234567}

    or gets what it needs as arguments: in ``["simulate", "{a}", "--rate={b}", "--seed", "{seed}"]``
    the names in braces are replaced by their numbers, with all digits, or in the format after a
    colon (``{a:.3f}``, ``{n:d}``). Other braces are left alone. "seed" is there so that the
    program's own random numbers can be those of the evaluation; it is a function of the run's
    seed and the evaluation's index.

    It writes its answer as the last line of its standard output: one number, the log-likelihood,
    or two, with the SD of its noise (``-12.5 0.3``); or a JSON object with "value" and, if it
    knows it, "sd". Infinity is allowed in either form (zero density is -inf, or -Infinity).

    An exit code other than 0, no answer, or one that cannot be read is a failed evaluation, with
    the end of what the program wrote to its standard error in the message.

    Parameters
    ----------
    argv
        The program and its arguments: there is no shell.
    names
        Names of the parameters, passed on to the program; x1 .. xD by default.
    timeout
        Seconds after which the program, and all it has started, is killed: the evaluation has
        failed. It is killed as well when the run is, in whatever way.
    cwd, env
        Working folder, and variables added to the environment, which is that of the process that
        evaluates.

    Returns
    -------
    A function to be passed to :class:`quell.Problem`; it can be sent to other processes.

    Examples
    --------
    >>> import sys
    >>> program = "import json, sys; t = json.load(sys.stdin)['theta']; print(-t[0]**2, 0.5)"
    >>> target = command([sys.executable, "-c", program])
    >>> target(np.array([3.0]), np.random.default_rng(1))
    (-9.0, 0.5)
    >>> program = "import sys; print(-float(sys.argv[1])**2)"
    >>> command([sys.executable, "-c", program, "{a}"], names=["a"])(
    ...     np.array([3.0]), np.random.default_rng(1))
    -9.0
    """
    if isinstance(argv, str | bytes | PathLike):
        raise TypeError(
            f"argv must be a list of the program and its arguments, got the single {argv!r}: "
            "no shell splits it into words (use shlex.split)"
        )
    parts = tuple(fspath(part) if isinstance(part, PathLike) else part for part in argv)
    if not parts or not all(isinstance(part, str) and "\0" not in part for part in parts):
        raise ValueError(
            f"argv must be a non-empty list of strings without zero characters, got {argv!r}"
        )
    timeout = None if timeout is None else seconds("timeout", timeout)
    folder = None if cwd is None else fspath(cwd)
    if folder is not None and not os.path.isdir(folder):
        raise ValueError(f"cwd must be a folder, got {folder!r}")
    folder = None if folder is None else os.path.abspath(folder)
    variables = None if env is None else {str(name): str(env[name]) for name in env}
    path = None if variables is None else variables.get("PATH")
    program = parts[0]
    # A path in it is looked up from the working folder, a bare name in PATH.
    place = os.path.join(folder or "", program) if os.path.dirname(program) else program
    if shutil.which(place, path=path) is None:
        raise ValueError(f"argv[0]: there is no program {program!r} that can be run")
    names = None if names is None else coordinate_names(names, len(tuple(names)))
    _check_places(parts, names)
    return Command(parts, names, timeout, folder, variables)


def _check_places(argv: Sequence[str], names: Sequence[str] | None) -> None:
    """``ValueError`` for an argument that is a place for a number nobody has."""
    for i, part in enumerate(argv[1:], 1):
        found = [name for name, _ in PLACE.findall(part)]
        if SEED in found and names is not None and SEED in names:
            raise ValueError(
                f"argv[{i}] has {{{SEED}}}, which is both a parameter and the seed of an "
                "evaluation; rename the parameter"
            )
        alone = re.fullmatch(r"\{(\w+)(:[^{}]*)?\}", part)
        if alone is None or alone[1] == SEED:
            continue
        known = re.fullmatch(r"x[1-9]\d*", alone[1]) if names is None else alone[1] in names
        if not known:
            text = "x1, x2, ... (pass names= for others)" if names is None else ", ".join(names)
            raise ValueError(
                f"argv[{i}] is {part!r}, but there is no parameter {alone[1]!r}; the names are "
                f"{text}, and {SEED!r} (with a space behind the brace it is left as it is)"
            )


def _filled(part: str, numbers: Mapping[str, float]) -> str:
    """An argument with numbers in their places.

    >>> _filled("--rate={b} {c}", {"a": 1.0, "b": 0.1})
    '--rate=0.1 {c}'
    """

    def number(place: re.Match[str]) -> str:
        if place[1] not in numbers:
            return place[0]
        value, form = numbers[place[1]], (place[2] or ":")[1:]
        if not form:
            return repr(value)
        return format(int(value) if form.endswith("d") and value == int(value) else value, form)

    return PLACE.sub(number, part)


def _signal_name(number: int) -> str:
    """A signal as people know it.

    >>> _signal_name(9), _signal_name(77)
    ('SIGKILL', '77')
    """
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)


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
    lines = errors[-LONGEST_TAIL:].splitlines()
    return f"; standard error: {cut}" + "\n".join(map(printable, lines))
