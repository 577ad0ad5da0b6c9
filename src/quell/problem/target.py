"""Calling the user's log-likelihood: whatever it does becomes an `Outcome`.

A function called with one point θ (D,) may return a number, an array with one entry, or a pair
(value, SD) as a tuple, a list or an array with two entries. A *vectorised* one is called with
points (n, D) and returns n values, or a tuple (values, SDs) of n each; one SD may stand for all.

If the function has a parameter called ``rng`` it is given a generator under that name; a
vectorised one is given a list of generators, one for each row, so that what happens at a point
does not depend on the batch it came in.
"""

import copy
import inspect
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quell.arrays import FloatArray
from quell.problem.noise import Noise, settle
from quell.problem.outcome import Outcome
from quell.problem.signals import is_interrupt
from quell.text import printable

LONGEST_TRACEBACK = 10_000  # characters of it kept, half from its beginning and half from its end
LONGEST_MESSAGE = 300  # characters of an exception's message kept in the one-line description


def accepts_rng(function: Callable[..., Any]) -> bool:
    """Whether ``function`` takes ``rng``; ``TypeError`` if it cannot be called with a point.

    A function whose signature Python does not know is called without.

    >>> accepts_rng(lambda theta, rng: 0.0), accepts_rng(lambda theta: 0.0)
    (True, False)
    """
    if not callable(function):
        raise TypeError(
            "log_likelihood must be a function of the parameters, got an object of type "
            f"{type(function).__name__}"
        )
    method = vars(type(function)).get("__call__")  # of an object that is called like a function
    for test, what in (
        (inspect.iscoroutinefunction, "an async function"),
        (inspect.isgeneratorfunction, "a generator function"),
        (inspect.isasyncgenfunction, "an async generator function"),
    ):
        if test(function) or test(method):
            raise TypeError(
                f"log_likelihood must return its value when called, but it is {what} (wrap it in "
                "an ordinary function)"
            )
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    by_name = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    rng = signature.parameters.get("rng")
    takes_rng = rng is not None and rng.kind in by_name
    try:
        signature.bind(None, **({"rng": None} if takes_rng else {}))
    except TypeError as error:
        raise TypeError(
            "log_likelihood must be callable with the parameters as its one positional argument"
            f"{' and rng by name' if takes_rng else ''}, but its signature is {signature} "
            f"({error}; use functools.partial or a lambda to fix other arguments)"
        ) from None
    return takes_rng


@dataclass(frozen=True, eq=False)
class Target:
    """The user's function and how to call it.

    >>> target = Target(lambda theta: -np.sum(theta**2), "exact", False, False)
    >>> target.evaluate(np.array([1.0, 2.0])).value
    -5.0
    >>> bad = Target(lambda theta: 1 / 0, "exact", False, False)
    >>> bad.evaluate(np.array([1.0])).error
    'ZeroDivisionError: division by zero'
    """

    function: Callable[..., Any]
    noise: Noise
    vectorised: bool
    takes_rng: bool

    def evaluate(self, theta: FloatArray, rng: np.random.Generator | None = None) -> Outcome:
        """The outcome at θ (D,); raises only what is no failure of the function: an interrupt.

        ``sys.exit`` is one, unless a signal brought it: it would end the program of everybody else
        too. So are exceptions that are no ``Exception``, as of libraries that end what takes too
        long, or whose compiled code panics.
        """
        if self.vectorised:
            return self._batch(theta[None, :], [rng])[0]
        start = time.perf_counter()
        try:
            outcome = _read_one(self._call(theta, _generator(rng)), self.noise)
        except BaseException as error:
            outcome = _raised(error)
        return replace(outcome, seconds=time.perf_counter() - start)

    def evaluate_many(
        self, thetas: FloatArray, rngs: Sequence[np.random.Generator | None]
    ) -> list[Outcome]:
        """The outcomes at the points ``thetas`` (n, D), with one generator (or None) each.

        Where a vectorised function raises on a batch, each of its points is tried on its own:
        the failure belongs to some of the points and need not take the others with it.
        """
        if not self.vectorised:
            return [self.evaluate(theta, rng) for theta, rng in zip(thetas, rngs, strict=True)]
        if len(thetas) == 0:
            return []
        untouched = [copy.deepcopy(rng) for rng in rngs]  # the failed call may draw from its own
        outcomes = self._batch(thetas, rngs)
        if len(thetas) > 1 and outcomes[0].kind == "exception":
            return [self.evaluate(t, rng) for t, rng in zip(thetas, untouched, strict=True)]
        return outcomes

    def _batch(
        self, thetas: FloatArray, rngs: Sequence[np.random.Generator | None]
    ) -> list[Outcome]:
        n = len(thetas)
        start = time.perf_counter()
        try:
            outcomes = _read_many(self._call(thetas, list(map(_generator, rngs))), n, self.noise)
        except BaseException as error:
            outcomes = [_raised(error)] * n
        seconds = (time.perf_counter() - start) / n
        return [replace(outcome, seconds=seconds) for outcome in outcomes]

    def _call(self, theta: FloatArray, rng: Any) -> Any:
        theta = theta.copy()  # the function may write into its argument
        return self.function(theta, rng=rng) if self.takes_rng else self.function(theta)


def _generator(rng: np.random.Generator | None) -> np.random.Generator:
    return np.random.default_rng() if rng is None else rng


def _bounded(text: str) -> str:
    """A traceback of bearable length."""
    left_out = len(text) - LONGEST_TRACEBACK
    if left_out <= 0:
        return text
    half = LONGEST_TRACEBACK // 2
    return f"{text[:half]}\n... {left_out} characters left out ...\n{text[-half:]}"


def _raised(error: BaseException) -> Outcome:
    """The outcome for what the function raised; an interrupt is raised again."""
    if is_interrupt(error):
        raise error
    try:
        message = printable(" ".join(str(error).split()))
    except Exception:  # a broken __str__ must not end the run
        message = "(its message cannot be printed)"
    if len(message) > LONGEST_MESSAGE:
        message = message[: LONGEST_MESSAGE - 3] + "..."
    name = type(error).__name__
    text = _bounded("".join(traceback.format_exception(error)))
    line = f"{name}: {message}" if message else name
    return Outcome.failure(line, kind="exception", traceback=text)


def _read_one(returned: Any, noise: Noise) -> Outcome:
    """The outcome for what the function returned at one point."""
    if isinstance(returned, tuple | list):
        if len(returned) != 2:
            return Outcome.failure(
                f"the target returned a {type(returned).__name__} of {len(returned)} entries "
                "(return the log-likelihood, or the pair (value, sd))",
                kind="bad return",
            )
        return settle(returned[0], returned[1], True, noise)
    if np.shape(returned) == (2,):
        value, sd = returned if isinstance(returned, np.ndarray) else np.asarray(returned)
        return settle(value, sd, True, noise)
    return settle(returned, None, False, noise)


def _read_many(returned: Any, n: int, noise: Noise) -> list[Outcome]:
    """The outcomes for what a vectorised function returned at ``n`` points."""
    is_pair = isinstance(returned, tuple)
    if is_pair and len(returned) != 2:
        return _same_failure(f"a tuple of {len(returned)} entries", n)
    values, sds = returned if is_pair else (returned, None)
    values = _entries(values)
    if len(values) != n:
        return _same_failure(f"{len(values)} values", n)
    sds = [None] if sds is None else _entries(sds)
    if len(sds) not in (1, n):
        return _same_failure(f"{len(sds)} SDs", n)
    sds = sds * n if len(sds) == 1 else sds
    return [settle(value, sd, is_pair, noise) for value, sd in zip(values, sds, strict=True)]


def _entries(returned: Any) -> list[Any]:
    array = returned if isinstance(returned, np.ndarray) else np.asarray(returned)
    return list(array.reshape(-1))  # a masked array keeps its mask


def _same_failure(what: str, n: int) -> list[Outcome]:
    text = (
        f"the vectorised target returned {what} for {n} {'point' if n == 1 else 'points'} (return "
        f"an array of shape ({n},), or a tuple of two: values and SDs)"
    )
    return [Outcome.failure(text, kind="bad return")] * n
