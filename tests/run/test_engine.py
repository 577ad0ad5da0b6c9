"""The engine: a fold over events, whose properties cost nothing."""

import numpy as np
import pytest

from quell import Evaluations, Problem, Sampler, Settings
from quell.evaluations import Answered, Asked, Forgotten, Origin
from quell.problem import Outcome
from quell.run import engine as engine_module
from quell.run.engine import Engine
from quell.run.pending import Pending

QUICK = Settings(final_components=0)


def problem(dimension=2):
    box = {
        "lower": np.full(dimension, -10.0), "upper": np.full(dimension, 10.0),
        "plausible_lower": np.full(dimension, -3.0), "plausible_upper": np.full(dimension, 3.0),
    }  # fmt: skip
    return Problem(lambda _: 0.0, noise="reported", **box)


def new_engine(seed=1):
    asked = problem()
    return Engine(asked, QUICK, seed, np.empty((0, 2)), Evaluations.empty(asked.names))


def outcome(theta, rng):
    value = -0.5 * float(theta @ theta) + 0.5 * rng.standard_normal()
    return Outcome(value, 0.5, reported=True)


def live(engine, n, rng):
    """Events of a run with up to three points out at a time, some failed, forgotten, user's own."""
    events = []

    def happens(*together):
        events.append(list(together))
        engine.apply(together)

    for step in range(n):
        while len(engine.pending.asked) < 3:
            happens(engine.next())
        out = list(engine.pending.asked.values())
        asked = out[rng.integers(len(out))]
        if step % 7 == 3:
            happens(Forgotten(asked.index))
        elif step % 5 == 4:
            failed = Outcome.failure("it broke", kind="exception")
            happens(Answered(asked, failed, final=False))
            happens(Answered(asked, failed, attempt=1))
        elif step % 9 == 8:
            own = Asked(-1, rng.normal(size=2), Origin.USER)
            happens(
                Answered(own, outcome(own.theta, rng)), Answered(asked, outcome(asked.theta, rng))
            )
        else:
            happens(Answered(asked, outcome(asked.theta, rng)))
    return events


@pytest.fixture(scope="module")
def lived():
    engine = new_engine()
    return engine, live(engine, 30, np.random.default_rng(0))


def test_replay_is_a_fold_over_the_events(lived):
    engine, events = lived
    again = new_engine()
    for together in events:
        again.apply(together)
    assert list(again.pending.asked) == list(engine.pending.asked)
    assert list(again.pending.forgotten) == list(engine.pending.forgotten)
    np.testing.assert_array_equal(again.next().theta, engine.next().theta)
    one, other = again.result(), engine.result()
    assert one.elbo == other.elbo
    np.testing.assert_array_equal(one.posterior.mixture.means, other.posterior.mixture.means)


def test_looking_does_not_change_what_comes_next(lived):
    _, events = lived
    watched, left_alone = new_engine(), new_engine()
    for i, together in enumerate(events):
        watched.apply(together)
        left_alone.apply(together)
        if i % 10 == 0:
            watched.absorb()
            if watched.settled.history:
                watched.result()
    np.testing.assert_array_equal(watched.next().theta, left_alone.next().theta)


def test_properties_never_refit(monkeypatch):
    """What costs time is a method."""
    sampler = Sampler(problem(), seed=1, settings=QUICK)
    rng = np.random.default_rng(3)
    for _ in range(4):
        points = sampler.ask(5)
        sampler.tell(points, [outcome(p, rng).value for p in points], 0.5)
    before = len(sampler.history)

    def refuse(*_, **__):
        raise AssertionError("a property computes")

    for name in ("absorb", "propose", "close_iteration", "end"):
        monkeypatch.setattr(engine_module, name, refuse)
    for name in dir(sampler):
        if isinstance(getattr(type(sampler), name, None), property):
            getattr(sampler, name)
    for name in dir(sampler._engine):
        if isinstance(getattr(Engine, name, None), property):
            getattr(sampler._engine, name)
    assert len(sampler.history) == before
    assert "20 evaluations" in repr(sampler)
    with pytest.raises(AssertionError, match="computes"):
        sampler.ask()


class TestPending:
    """What is out for evaluation."""

    def test_an_answer_after_all(self):
        pending = Pending()
        asked = Asked(0, np.zeros(1), Origin.SEARCH)
        for event in (asked, Forgotten(0)):
            pending.apply(event)
        assert not pending.asked
        assert pending.forgotten == {0: asked}
        pending.apply(Answered(asked, Outcome(1.0)))
        assert not pending.forgotten

    def test_attempts_are_counted_until_the_answer(self):
        pending = Pending()
        asked = Asked(4, np.zeros(1), Origin.SEARCH)
        failed = Answered(asked, Outcome.failure("no", kind="exception"), final=False)
        for event in (asked, failed, failed):
            pending.apply(event)
        assert pending.attempts[4] == 2
        assert 4 in pending.asked
        pending.apply(Answered(asked, Outcome(1.0), attempt=2))
        assert not pending.asked
        assert not pending.attempts

    def test_what_was_never_asked_changes_nothing(self):
        pending = Pending()
        pending.apply(Forgotten(3))
        pending.apply(Answered(Asked(-1, np.zeros(1), Origin.USER), Outcome(1.0)))
        assert not pending.asked
        assert not pending.forgotten

    def test_ages(self):
        pending = Pending()
        for index, at in enumerate((100.0, 300.0, 200.0)):
            pending.apply(Asked(index, np.zeros(1), Origin.SEARCH, at=at))
        assert pending.asked_before(250.0) == [0, 2]
