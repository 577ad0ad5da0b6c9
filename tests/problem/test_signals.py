"""What a target raises is its failure; what a signal raises in the middle of it is not."""

import signal
import sys
from functools import partial

import pytest
from helpers.problems import QUICK, make, noisy

import quell


class Panic(BaseException):
    """As libraries raise it that end what takes too long, or whose compiled code panics."""


class Leave:
    def __call__(self, _number, _frame):
        raise SystemExit(143)

    def method(self, number, frame):
        self(number, frame)


@pytest.fixture
def handled():
    """Sets the handler of SIGTERM; the one before comes back."""
    before = signal.getsignal(signal.SIGTERM)
    yield partial(signal.signal, signal.SIGTERM)
    signal.signal(signal.SIGTERM, before)


def told_to_end(_theta):
    signal.raise_signal(signal.SIGTERM)


@pytest.mark.parametrize("vectorised", [False, True])
def test_what_is_no_exception_is_a_failure(vectorised):
    def target(_):
        raise Panic("index out of bounds")

    outcome = make(target, vectorised=vectorised).evaluate([0.5])
    assert (outcome.kind, outcome.error) == ("exception", "Panic: index out of bounds")


@pytest.mark.parametrize(
    "handler", [lambda *_: sys.exit(143), Leave(), Leave().method, partial(Leave.__call__, None)]
)
def test_a_signal_that_ends_the_program_is_not_swallowed(handled, handler):
    handled(handler)
    with pytest.raises(SystemExit, match="143"):
        make(told_to_end).evaluate([0.5])


def test_an_alarm_of_the_targets_own_is_a_failure(handled):
    def ring(_number, _frame):
        raise TimeoutError("too slow")

    handled(ring)
    assert make(told_to_end).evaluate([0.5]).error == "TimeoutError: too slow"


def test_it_ends_a_study_too(handled, tmp_path):
    handled(lambda *_: sys.exit(143))
    problems = {"a": make(told_to_end), "b": make(noisy)}
    with pytest.raises(SystemExit, match="143"):
        quell.study(problems, folder=tmp_path, budget=12, settings=QUICK, progress=False)
