"""The executor that imitates several workers: random order, the same for the same seed."""

import threading
from concurrent.futures import CancelledError
from dataclasses import replace

import numpy as np
import pytest

import quell
from quell.bench.shuffled import ShuffledExecutor
from quell.bench.single import Spec, perform
from quell.workers.dispatch import Dispatch


def order_of_replies(seed, n=30, workers=8):
    """The order in which calls are answered, a new one following every answer."""
    dispatch = Dispatch(ShuffledExecutor(workers, np.random.default_rng(seed)), what="the function")
    waiting, order = list(range(n)), []
    while waiting or dispatch.n_running:
        while waiting and dispatch.n_free:
            number = waiting.pop(0)
            dispatch.submit(number, pow, number, 2)
        replies = dispatch.wait()
        assert len(replies) == 1
        assert replies[0].value == replies[0].key ** 2
        order.append(replies[0].key)
    return order


def test_every_call_is_answered_in_an_order_that_follows_from_the_seed():
    order = order_of_replies(1)
    assert sorted(order) == list(range(30))
    assert order == order_of_replies(1) != order_of_replies(2)
    # Whoever answers has been among the eight oldest calls without an answer.
    for place, number in enumerate(order):
        unanswered = sorted(order[place:])
        assert number in unanswered[:8]


def test_one_worker_keeps_the_order():
    assert order_of_replies(1, n=10, workers=1) == list(range(10))


def test_nothing_is_made_before_somebody_looks():
    made = []
    executor = ShuffledExecutor(3, np.random.default_rng(0))
    futures = [executor.submit(made.append, number) for number in range(3)]
    assert made == []
    assert [future.done() for future in futures].count(True) == 1
    assert len(made) == 1  # looking again ends no other one before this result is taken
    for future in futures:
        future.result()
    assert sorted(made) == [0, 1, 2]


def test_errors_and_cancelled_calls():
    executor = ShuffledExecutor(2, np.random.default_rng(0))
    wrong, cancelled = executor.submit(pow, 0, -1), executor.submit(pow, 2, 2)
    assert cancelled.cancel()
    with pytest.raises(ZeroDivisionError):
        wrong.result()
    with pytest.raises(CancelledError):
        cancelled.result()


def test_an_interrupted_call_can_be_made_again():
    interrupts = [KeyboardInterrupt]

    def interrupted_once():
        if interrupts:
            raise interrupts.pop()
        return 5

    executor = ShuffledExecutor(2, np.random.default_rng(0))
    future = executor.submit(interrupted_once)
    with pytest.raises(KeyboardInterrupt):
        future.done()
    assert future.result() == 5


def test_infer_with_eight_workers_is_reproducible_and_has_the_streams_of_any_run():
    """All in this thread; an evaluation depends on its index, not on when it is made."""
    threads, values = set(), {}

    def target(theta, rng):
        threads.add(threading.get_ident())
        return -0.5 * float(theta @ theta) + 0.1 * rng.standard_normal(), 0.1

    problem = quell.Problem(
        target, lower=[-9, -9], upper=[9, 9], plausible_lower=[-2, -2], plausible_upper=[2, 2]
    )
    how = {"budget": 30, "seed": 3, "progress": False}
    for run in (0, 1):
        executor = ShuffledExecutor(8, np.random.default_rng(4))
        values[run] = quell.infer(problem, executor=executor, **how).evaluations
    assert threads == {threading.get_ident()}
    np.testing.assert_array_equal(values[0].theta, values[1].theta)
    np.testing.assert_array_equal(values[0].value, values[1].value)
    alone = quell.infer(problem, **how).evaluations
    # The points of the initial design are the same, whoever evaluates them.
    for theta, value in zip(alone.theta[:8], alone.value[:8], strict=True):
        row = np.flatnonzero((values[0].theta == theta).all(axis=1))
        assert values[0].value[row] == value


def test_eight_in_flight_is_a_run_of_its_own_with_the_same_budget():
    spec = Spec.make("halfnormal", "quell-8", 3, mode="exact", noise=0.5, budget=20)
    record, again = perform(spec), perform(spec)
    one_by_one = perform(replace(spec, algorithm="quell"))
    assert record["evaluations"] == spec.budget
    assert again["posterior"] == record["posterior"]
    assert again["mmtv"] == record["mmtv"] != one_by_one["mmtv"]
