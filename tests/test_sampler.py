"""Ask and tell: what is asked, what may be told, and that nothing else matters."""

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from quell import InferenceFailed, Problem, Sampler, Settings, infer
from quell.evaluations import rng_for
from quell.vbmc.subset import MOST_POINTS, RENEWAL

QUICK = Settings(final_components=0)
NAMES = ("wiqr", "viqr", "imiqr", "eig", "npro", "pro")


def make(dimension=1, target=lambda _theta: 0.0, **changes):
    box = {
        "lower": np.full(dimension, -10.0), "upper": np.full(dimension, 10.0),
        "plausible_lower": np.full(dimension, -3.0), "plausible_upper": np.full(dimension, 3.0),
    }  # fmt: skip
    return Problem(target, **(box | {"noise": "exact"} | changes))


def sampler(dimension=1, *, seed=1, settings=QUICK, noise="exact", **changes):
    return Sampler(make(dimension, noise=noise), seed=seed, settings=settings, **changes)


def height(points):
    """Log density of a standard normal without its constant."""
    return -0.5 * np.sum(np.square(np.atleast_2d(points)), axis=1)


def feed(engine, rounds, n=5):
    for _ in range(rounds):
        points = engine.ask(n)
        engine.tell(points, height(points))


def vector(result):
    return result.posterior.mixture.to_vector()


class TestAsk:
    def test_shape_and_what_is_pending(self):
        engine = sampler(2)
        points = engine.ask(3)
        assert points.shape == (3, 2)
        np.testing.assert_array_equal(engine.pending, points)
        assert [ask.index for ask in engine.asked] == [0, 1, 2]
        assert engine.ask().shape == (1, 2)

    def test_no_point_twice_however_many_before_any_answer(self):
        points = sampler(2).ask(30)
        assert len(np.unique(points, axis=0)) == 30

    @pytest.mark.parametrize("noise", ["exact", "reported"])
    @pytest.mark.parametrize("name", NAMES)
    def test_batches_keep_apart(self, name, noise):
        """Pending points repel under every acquisition function."""
        settings = Settings(final_components=0, acquisition=name)
        engine = sampler(noise=noise, settings=settings)
        sds = None if noise == "exact" else 0.5
        points = engine.ask(12)
        engine.tell(points, height(points), sds)
        batch = np.sort(np.concatenate([engine.ask(1), engine.ask(2)])[:, 0])
        assert np.diff(batch).min() > 0.05  # a posterior of SD 1

    def test_integers_may_repeat(self):
        problem = make(noise="exact", integer=[True], lower=-2, upper=2, plausible_lower=-1,
                       plausible_upper=1)  # fmt: skip
        engine = Sampler(problem, seed=1, settings=QUICK)
        points = engine.ask(10)
        engine.tell(points, height(points))
        more = engine.ask(8)
        np.testing.assert_array_equal(more, np.rint(more))
        engine.tell(more, height(more))  # each answers one of its kind
        assert len(engine.pending) == 0

    def test_start_comes_first(self):
        engine = sampler(start=[[0.25], [0.5]])
        np.testing.assert_array_equal(engine.ask(2), [[0.25], [0.5]])
        assert [ask.origin for ask in engine.asked] == ["start", "start"]

    @pytest.mark.parametrize("n", [0, -1, 1.5, True, "two"])
    def test_bad_numbers(self, n):
        with pytest.raises(ValueError, match="n must be"):
            sampler().ask(n)


class TestTell:
    def test_any_order_any_subset(self):
        engine = sampler(2)
        points = engine.ask(6)
        engine.tell(points[[4, 1]], height(points[[4, 1]]))
        np.testing.assert_array_equal(engine.pending, points[[0, 2, 3, 5]])
        engine.tell(points[3], height(points[3])[0])
        assert engine.evaluations.index.tolist() == [4, 1, 3]
        assert engine.evaluations.origin == ("design",) * 3

    def test_points_of_the_users_own(self):
        engine = sampler()
        engine.ask(2)
        engine.tell([[0.5], [-0.5]], [-0.125, -0.125])
        assert engine.evaluations.origin == ("user", "user")
        assert engine.evaluations.index.tolist() == [-1, -1]
        assert len(engine.pending) == 2

    def test_a_design_of_ones_own_needs_no_other(self):
        engine = sampler()
        grid = np.linspace(-3, 3, 12)[:, None]
        engine.tell(grid, height(grid))
        engine.ask(1)
        assert len(engine.history) == 1
        assert engine.asked[0].origin == "search"

    def test_starts_are_asked_for_all_the_same(self):
        engine = sampler(start=[0.123])
        grid = np.linspace(-3, 3, 12)[:, None]
        engine.tell(grid, height(grid))
        np.testing.assert_array_equal(engine.ask(), [[0.123]])

    def test_digits_lost_on_the_way(self):
        engine = sampler(2)
        points = engine.ask(2)
        engine.tell(np.array([[float(f"{v:.7g}") for v in p] for p in points]), height(points))
        assert len(engine.pending) == 0
        assert engine.evaluations.index.tolist() == [0, 1]

    def test_failures(self):
        engine = sampler(2)
        points = engine.ask(3)
        engine.tell(points, [np.nan, -np.inf, -1.0], errors=["no licence", "", ""])
        table = engine.evaluations
        assert table.error[0] == "no licence"
        assert table.ok.tolist() == [False, False, True]
        assert table.zero_density.tolist() == [False, True, False]
        assert len(engine.pending) == 0

    def test_seconds(self):
        engine = sampler()
        points = engine.ask(2)
        engine.tell(points, height(points), seconds=[3.0, 4.0])
        assert engine.evaluations.seconds.tolist() == [3.0, 4.0]

    @pytest.mark.parametrize(
        ("arguments", "match"),
        [
            (([[0.0]], [np.nan]), "errors"), (([[99.0]], [0.0]), "points"),
            (([[0.0, 1.0]], [0.0]), "points"), (([[0.0]], [0.0, 1.0]), "values"),
            (([[0.0]], [0.0], [0.5]), "sds"), (([[0.0]], ["x"]), "values"),
            (([[0.0]], [np.nan], None, ["a", "b"]), "errors"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_refused_and_changes_nothing(self, arguments, match):
        engine = sampler()
        engine.ask(1)
        with pytest.raises(ValueError, match=match):
            engine.tell(*arguments)
        assert len(engine.evaluations) == 0
        assert len(engine.pending) == 1

    def test_reported_noise_needs_sds(self):
        engine = sampler(noise="reported")
        with pytest.raises(ValueError, match="sds must be given"):
            engine.tell([[0.0]], [0.0])
        engine.tell([[0.0]], [0.0], [np.nan])
        engine.tell([[0.0]], [np.nan], errors=["failed"])
        assert len(engine.evaluations) == 2


class TestAutoNoise:
    def test_sds_settle_it(self):
        engine = sampler(noise="auto")
        points = engine.ask(2)
        engine.tell(points, height(points), 0.5)
        assert engine.problem.noise == "reported"

    def test_zero_sds_settle_it(self):
        engine = sampler(noise="auto")
        points = engine.ask(2)
        engine.tell(points, height(points), 0.0)
        assert engine.problem.noise == "exact"

    def test_bare_numbers_are_asked_for_again(self):
        engine = sampler(noise="auto")
        points = engine.ask(3)
        engine.tell(points, height(points))
        np.testing.assert_array_equal(engine.ask(), points[:1])
        assert engine.asked[0].origin == "check"
        assert not (engine.ask() == points[0]).any()  # once is enough
        engine.tell(points[0], height(points[0])[0])
        assert engine.problem.noise == "exact"
        assert (engine.evaluations.sd == 0).all()

    def test_two_answers_for_one_point(self):
        engine = sampler(noise="auto")
        point = engine.ask()
        engine.tell(point, [-1.0])
        engine.tell(engine.ask(), [-1.5])
        assert len(engine.evaluations) == 2
        with pytest.raises(InferenceFailed, match='noise="unknown"'):
            engine.ask()
        with pytest.raises(InferenceFailed, match=r"-1\.0 and -1\.5"):
            engine.result()

    def test_unsettled_there_is_no_result(self):
        engine = sampler(noise="auto")
        grid = np.linspace(-3, 3, 12)[:, None]
        engine.tell(grid, height(grid))
        with pytest.raises(InferenceFailed, match="not settled"):
            engine.result()


class TestForget:
    def test_some_and_all(self):
        engine = sampler(2)
        points = engine.ask(4)
        engine.forget(points[1:3])
        np.testing.assert_array_equal(engine.pending, points[[0, 3]])
        engine.forget()
        assert engine.pending.shape == (0, 2)
        fresh = engine.ask(3)
        assert not any((points == p).all(axis=1).any() for p in fresh)

    def test_told_after_all(self):
        engine = sampler()
        points = engine.ask(2)
        engine.forget()
        engine.tell(points, height(points))
        assert engine.evaluations.index.tolist() == [0, 1]
        assert engine.evaluations.origin == ("design", "design")

    def test_what_is_not_pending(self):
        engine = sampler()
        engine.ask()
        with pytest.raises(ValueError, match=r"\[0\.5\], which is not pending"):
            engine.forget([0.5])

    def test_by_itself_after_some_time(self):
        engine = sampler(pending_timeout=1000.0)
        engine.ask(2)
        waiting = engine._engine.pending.asked
        for index, asked in waiting.items():
            waiting[index] = replace(asked, at=asked.at - 1001.0)
        points = engine.ask(1)
        np.testing.assert_array_equal(engine.pending, points)

    @pytest.mark.parametrize("seconds", [0, -1.0])
    def test_bad_times(self, seconds):
        with pytest.raises(ValueError, match="pending_timeout"):
            sampler(pending_timeout=seconds)

    def test_forgotten_points_do_not_hold_the_run_up(self):
        engine = sampler()
        engine.ask(10)
        engine.forget()
        feed(engine, 3)
        assert len(engine.history) >= 1


class TestResult:
    def test_is_right(self):
        engine = sampler()
        feed(engine, 4)
        result = engine.result()
        assert abs(result.log_evidence - np.log(np.sqrt(2 * np.pi) / 20)) < 0.1
        assert result.evaluations.n_counted == 20
        assert engine.best.log_joint == pytest.approx(np.max(result.evaluations.log_joint))

    def test_before_there_is_any(self):
        engine = sampler()
        assert engine.best is None
        with pytest.raises(InferenceFailed, match="no posterior") as caught:
            engine.result()
        assert len(caught.value.evaluations) == 0

    def test_uses_the_last_evaluations(self):
        engine = sampler()
        feed(engine, 2)
        feed(engine, 1, n=3)
        assert engine.result().iterations[-1].n_evaluations == 13

    def test_looking_changes_nothing(self):
        """Results, histories and best points in between do not change what is asked."""
        quiet, curious = sampler(), sampler()
        for _ in range(4):
            expected = quiet.ask(4)
            points = curious.ask(4)
            np.testing.assert_array_equal(points, expected)
            for engine in (quiet, curious):
                engine.tell(points[:2], height(points[:2]))
            assert curious.is_stable is False
            if curious.history:
                curious.result()
            for engine in (quiet, curious):
                engine.tell(points[2:], height(points[2:]))
        np.testing.assert_array_equal(vector(quiet.result()), vector(curious.result()))

    def test_is_a_function_of_seed_asks_and_tells(self):
        one, same, other = sampler(seed=3), sampler(seed=3), sampler(seed=4)
        for engine in (one, same, other):
            feed(engine, 3)
        np.testing.assert_array_equal(one.evaluations.theta, same.evaluations.theta)
        np.testing.assert_array_equal(vector(one.result()), vector(same.result()))
        assert not np.array_equal(one.evaluations.theta, other.evaluations.theta)

    def test_infer_is_a_loop_over_it(self):
        def noisy(theta, rng):
            return float(height(theta)[0]) + 0.5 * rng.standard_normal(), 0.5

        problem = make(target=noisy, noise="auto")
        result = infer(problem, budget=14, seed=5, settings=QUICK, progress=False)
        by_hand = Sampler(problem, seed=5, settings=QUICK)
        for _ in range(14):
            point = by_hand.ask()
            value, sd = noisy(point[0], rng_for(5, by_hand.asked[0].index))
            by_hand.tell(point, [value], [sd])
        np.testing.assert_array_equal(by_hand.evaluations.theta, result.evaluations.theta)
        np.testing.assert_array_equal(vector(by_hand.result()), vector(result))


def test_from_several_threads():
    engine = sampler(2)

    def work():
        for _ in range(4):
            point = engine.ask()
            engine.tell(point, height(point))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(engine.evaluations.index.tolist()) == list(range(12))


def test_a_big_archive():
    """Ten thousand points at once: asking takes seconds of CPU, not minutes."""
    rng = np.random.default_rng(0)
    archive = np.clip(rng.normal(0, 1.5, (10_000, 3)), -9, 9)
    engine = sampler(3, noise="reported")
    engine.tell(archive, height(archive) + rng.standard_normal(10_000), 1.0)
    started = time.thread_time()
    points = engine.ask(2)
    assert time.thread_time() - started < 10  # 2 on an idle machine: benchmarks/bench_archive.py
    assert MOST_POINTS - RENEWAL <= engine.history[-1]["n_training"] <= MOST_POINTS
    engine.tell(points, height(points), 1.0)
    result = engine.result()
    np.testing.assert_allclose(result.posterior.mean(), 0, atol=0.2)
    np.testing.assert_allclose(result.posterior.sd(), 1, atol=0.2)


def test_repr():
    engine = sampler()
    points = engine.ask(2)
    engine.tell(points[0], np.nan, errors="lost")
    assert repr(engine) == "Sampler: 1 evaluations (1 failed), 1 pending, seed 1"


@pytest.mark.parametrize(
    ("arguments", "error", "match"),
    [
        ({"problem": "x"}, TypeError, "problem"), ({"settings": {}}, TypeError, "settings"),
        ({"seed": -1}, ValueError, "seed"), ({"start": [99.0]}, ValueError, "start"),
        ({"evaluations": 3}, ValueError, "evaluations"), ({"journal": 3}, TypeError, "journal"),
    ],
)  # fmt: skip
def test_bad_arguments(arguments, error, match):
    arguments = {"problem": make()} | arguments
    with pytest.raises(error, match=match):
        Sampler(arguments.pop("problem"), **arguments)
