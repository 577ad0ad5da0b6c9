"""The journal: what is recorded, what is refused, and runs that go on where they ended."""

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from helpers.problems import QUICK, box, noisy

import quell
from quell import InferenceFailed, JournalError, Problem, Sampler, Settings, infer, read_journal
from quell.evaluations import Answered, Asked, Forgotten, Origin
from quell.evaluations.events import this_process
from quell.journal import Journal
from quell.journal.rows import COLUMNS, Row, checksum
from quell.journal.store import _INSERT, _SCHEMA, _SELECT
from quell.problem import Outcome


def query(path, statement):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


class Counted:
    """A target that counts its calls and can raise something at one of them (from 1)."""

    def __init__(self, raise_at=None, error=KeyboardInterrupt, target=noisy):
        self.n, self.raise_at, self.error, self.target = 0, raise_at, error, target

    def __call__(self, theta, rng):
        self.n += 1
        if self.n == self.raise_at:
            raise self.error
        return self.target(theta, rng)


def run(path, target=noisy, problem=None, **changes):
    problem = Problem(target, **box()) if problem is None else problem
    how = {"budget": 14, "seed": 1, "settings": QUICK, "progress": False, "journal": path}
    return infer(problem, **(how | changes))


def same(a, b):
    for column in ("theta", "value", "sd", "log_prior", "index"):
        np.testing.assert_array_equal(
            getattr(a.evaluations, column), getattr(b.evaluations, column)
        )
    assert a.evaluations.origin == b.evaluations.origin
    assert a.evaluations.error == b.evaluations.error
    assert (a.elbo, a.elbo_sd) == (b.elbo, b.elbo_sd)
    np.testing.assert_array_equal(a.posterior.mixture.to_vector(), b.posterior.mixture.to_vector())


@pytest.fixture(scope="module")
def whole():
    """The run nobody interrupted, without a journal."""
    return run(None)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("journal") / "run.quelljournal"
    run(path)
    return path


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.quelljournal"


class TestContinuation:
    def test_a_journal_changes_nothing(self, path, whole):
        same(run(path), whole)

    def test_a_finished_run_returns_after_one_look_at_the_target(self, finished, whole):
        target = Counted()
        same(run(finished, target), whole)
        assert target.n == 1
        assert len(read_journal(finished).evaluations) == 14
        same(run(finished, target, journal_check=False), whole)
        assert target.n == 1

    @pytest.mark.parametrize("moment", [1, 2, 6, 11, 13, 14])
    def test_an_interrupted_run_goes_on(self, path, whole, moment):
        first = Counted(moment)
        try:
            run(path, first)
        except KeyboardInterrupt:
            assert moment <= 10
        second = Counted()
        same(run(path, second), whole)
        compared = 0 if moment == 1 else 1  # there was nothing to compare with
        assert first.n - 1 + second.n == 14 + compared

    def test_more_than_once(self, path, whole):
        targets = [Counted(4), Counted(5), Counted(3)]
        for target in targets:
            try:
                run(path, target)
            except KeyboardInterrupt:
                continue
        same(run(path), whole)

    def test_with_a_larger_budget(self, path, whole):
        run(path, budget=12)
        target = Counted()
        same(run(path, target), whole)
        assert target.n == 3  # one to compare the target with the journal

    def test_a_smaller_budget_loses_nothing(self, finished):
        assert run(finished, budget=5).evaluations.n_counted == 14

    def test_an_exact_target_under_auto(self, path):
        def exact(theta):
            return -0.5 * float(theta[0] ** 2)

        def flaky(theta):
            flaky.n += 1
            if flaky.n in (2, 12):  # in the middle of the second look, and later
                raise KeyboardInterrupt
            return exact(theta)

        flaky.n = 0
        with pytest.raises(KeyboardInterrupt):
            run(path, flaky)
        run(path, flaky)
        same(run(path, exact), run(None, exact))

    def test_failures_are_recorded_and_come_back(self, path):
        def target(theta, rng):
            if rng.random() < 0.3:
                raise ValueError("no licence")
            return noisy(theta, rng)

        first = run(path, target, budget=13)
        assert first.evaluations.n_failed > 0
        same(run(path, target, budget=13), first)
        saved = read_journal(path)
        assert saved.evaluations.error == first.evaluations.error
        rows = query(path, "SELECT traceback FROM events WHERE failure != ''")
        assert all("no licence" in row[0] for row in rows)

    def test_head_start_and_start(self, path):
        points = np.linspace(-2, 2, 6)[:, None]
        given = (points, -0.5 * points[:, 0] ** 2, np.full(6, 0.5))
        how = {"evaluations": given, "start": [[0.3], [0.4]], "budget": 8}
        whole = run(None, **how)
        with pytest.raises(KeyboardInterrupt):
            run(path, Counted(3), **how)
        same(run(path, **how), whole)
        same(run(path, budget=8), whole)  # they need not be given again
        with pytest.raises(JournalError, match="start"):
            run(path, start=[0.5])
        with pytest.raises(JournalError, match="evaluations: 6 in the journal, 1 others"):
            run(path, evaluations=([[0.0]], [0.0], [0.5]))

    def test_without_a_seed_the_drawn_one_is_kept(self, path):
        with pytest.raises(KeyboardInterrupt):
            run(path, Counted(5), seed=None)
        first = read_journal(path)
        result = run(path, seed=None)
        assert result.seed == first.seed
        np.testing.assert_array_equal(result.evaluations.theta[:4], first.evaluations.theta)

    def test_a_callback_that_stopped_the_run_stops_it_again(self, path):
        target = Counted()

        def callback(update):
            return update.iteration >= 1

        first = run(path, target, budget=50, callback=callback)
        n = target.n
        second = run(path, target, budget=50, callback=callback)
        assert target.n == n + 1  # one to compare the target with the journal
        same(first, second)

    def test_a_noisy_target_without_sd_fails_again(self, path):
        target = Counted(target=lambda theta, rng: noisy(theta, rng)[0])
        for _ in range(2):
            with pytest.raises(InferenceFailed, match='noise="unknown"'):
                run(path, target)
        assert target.n == 3  # one to compare the target with the journal


class TestSampler:
    def test_asks_tells_and_forgets_come_back(self, path):
        problem = Problem(lambda _: 0.0, **box(2), noise="exact")
        with Sampler(problem, seed=2, journal=path) as sampler:
            points = sampler.ask(6)
            sampler.tell(points[[5, 0]], [-1.0, -2.0], seconds=7.0)
            sampler.tell([[0.5, 0.5]], [-0.25])
            sampler.forget(points[2])
        seen = []
        with Sampler(problem, journal=path, on_replay=lambda *n: seen.append(n)) as sampler:
            np.testing.assert_array_equal(sampler.pending, points[[1, 3, 4]])
            assert sampler.evaluations.index.tolist() == [5, 0, -1]
            assert sampler.evaluations.seconds[0] == 7.0
            assert sampler.seed == 2
            sampler.tell(points[2], -3.0)
            assert sampler.evaluations.index[-1] == 2
        assert seen == [(2, 3), (3, 3)]

    def test_what_follows_does_not_depend_on_the_break(self, path):
        problem = Problem(lambda _: 0.0, **box(), noise="exact")

        def step(sampler, n):
            points = sampler.ask(n)
            sampler.tell(points[::-1], -0.5 * points[::-1, 0] ** 2)

        straight = Sampler(problem, seed=2, settings=QUICK)
        for n in (4, 7, 2, 3):
            step(straight, n)
            with Sampler(problem, seed=2, settings=QUICK, journal=path) as sampler:
                step(sampler, n)
                np.testing.assert_array_equal(sampler.evaluations.theta, straight.evaluations.theta)

    def test_a_closed_one_takes_nothing_more(self, path):
        sampler = Sampler(Problem(lambda _: 0.0, **box(), noise="exact"), journal=path)
        sampler.close()
        sampler.close()
        with pytest.raises(JournalError, match="closed"):
            sampler.ask()


class TestAnotherRun:
    @pytest.mark.parametrize(
        ("changes", "lines"),
        [
            ({"upper": 11.0}, r"problem\.upper\[0\]: 10\.0 in the journal, 11\.0 now"),
            ({"names": ["a"]}, r'problem\.names\[0\]: "x1" in the journal, "a" now'),
            ({"noise": "unknown"}, r'problem\.noise: "auto" in the journal, "unknown" now'),
            ({"prior": lambda theta: -abs(float(theta[0]))}, r"problem\.prior"),
        ],
    )
    def test_problem(self, finished, changes, lines):
        with pytest.raises(JournalError, match=lines):
            run(finished, problem=Problem(noisy, **(box() | changes)))

    def test_map_of_bounded_parameters(self, finished):
        assert read_journal(finished).version == quell.__version__
        with pytest.raises(JournalError, match=r'problem\.bounded\[0\]: "soft" in the journal'):
            run(finished, problem=Problem(noisy, bounded="probit", **box()))

    def test_settings(self, finished):
        with pytest.raises(JournalError, match=r"settings\.batch: 5 in the journal, 3 now"):
            run(finished, settings=Settings(final_components=0, batch=3))

    def test_seed(self, finished):
        with pytest.raises(JournalError, match="seed: 1 in the journal, 2 now"):
            run(finished, seed=2)

    def test_its_evaluations_are_a_head_start(self, finished, whole):
        table = read_journal(finished).evaluations
        np.testing.assert_array_equal(table.theta, whole.evaluations.theta)
        result = run(None, evaluations=table, seed=9, budget=3)
        assert (len(result.evaluations), result.evaluations.n_counted) == (17, 3)


HOLD = """
import sys, time
from quell.journal import Journal
journal = Journal(sys.argv[1])
print("open", flush=True)
time.sleep(60)
"""


def hold(path):
    """Another process that has the journal open."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "open\n"
    return process


class TestTwoProcesses:
    def test_the_second_is_refused_until_the_first_is_dead(self, path):
        other = hold(path)
        try:
            with pytest.raises(JournalError, match=f"in use by process .*:{other.pid}' since"):
                run(path)
        finally:
            other.kill()
            other.wait()
            other.stdout.close()
        assert path.with_name(path.name + ".lock").exists()  # stale, and no obstacle
        run(path, budget=10)
        assert not path.with_name(path.name + ".lock").exists()

    def test_twice_in_one_process(self, path):
        problem = Problem(lambda _: 0.0, **box(), noise="exact")
        with Sampler(problem, seed=1, journal=path) as first:
            with pytest.raises(JournalError, match="in use by this process"):
                Sampler(problem, journal=path)
            first.ask()
        Sampler(problem, journal=path).close()

    def test_writing_in_spite_of_the_lock_is_noticed(self, path):
        problem = Problem(lambda _: 0.0, **box(), noise="exact")
        with Sampler(problem, seed=1, journal=path) as sampler:
            sampler.ask()
            with sqlite3.connect(path) as intruder:
                intruder.execute(
                    'INSERT INTO events SELECT 2, kind, call, "index", theta, origin, value, sd, '
                    "reported, error, failure, seconds, note, traceback, who, at, checksum "
                    "FROM events WHERE id = 1"
                )
            intruder.close()
            with pytest.raises(JournalError, match="another process has written"):
                sampler.ask()

    def test_reading_a_run_under_way(self, path):
        problem = Problem(lambda _: 0.0, **box(), noise="exact")
        with Sampler(problem, seed=1, journal=path) as sampler:
            points = sampler.ask(2)
            sampler.tell(points[0], -1.0)
            seen = read_journal(path)
        assert (len(seen.evaluations), len(seen.pending)) == (1, 1)
        assert seen.who[0].endswith(f":{os.getpid()}")
        assert repr(seen) == "Journal: Evaluations: 1 row, 1 counted, 1 pending, seed 1"


def damage(path, words, page=4096):
    """Overwrite every page of the file that has the words."""
    content = bytearray(path.read_bytes())
    for start in range(page, len(content), page):
        if words in content[start : start + page]:
            content[start : start + page] = b"\xff" * page
    path.write_bytes(content)


class TestDamage:
    @pytest.fixture
    def long(self, path):
        """A journal of many pages, and its table."""
        problem = Problem(lambda _: 0.0, **box(3), noise="exact")
        points = np.random.default_rng(0).uniform(-3, 3, (300, 3))
        with Sampler(problem, seed=1, journal=path) as sampler:
            for i in range(0, 300, 10):
                sampler.tell(points[i : i + 10], -(points[i : i + 10] ** 2).sum(axis=1))
        return problem, points

    def test_a_page_in_the_middle(self, path, long):
        problem, points = long
        damage(path, json.dumps(points[150].tolist()).encode())
        with pytest.warns(UserWarning, match="was damaged.*could be read and are used.*lost"):
            sampler = Sampler(problem, seed=1, journal=path)
        n = len(sampler.evaluations)
        assert 200 < n < 300
        known = {tuple(point) for point in points}
        assert all(tuple(theta) in known for theta in sampler.evaluations.theta)
        sampler.close()
        assert path.with_name(path.name + ".damaged").exists()
        with Sampler(problem, seed=1, journal=path) as again:  # in order from now on
            assert len(again.evaluations) == n

    def test_a_file_that_is_cut_off(self, path, long):
        problem, _ = long
        content = path.read_bytes()
        path.write_bytes(content[: len(content) * 6 // 10])
        with pytest.warns(UserWarning, match="was damaged"):
            sampler = Sampler(problem, seed=1, journal=path)
        assert 100 < len(sampler.evaluations) < 300
        sampler.close()

    def test_a_changed_number(self, path, long):
        problem, _ = long
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE events SET value = value + 1e-9 WHERE id = 7")
        connection.close()
        with pytest.warns(UserWarning, match="checksum of row 7"):
            sampler = Sampler(problem, seed=1, journal=path)
        assert len(sampler.evaluations) == 299
        sampler.close()

    def test_a_lost_beginning(self, path, long):
        problem, points = long
        damage(path, b'"plausible_lower"')
        with pytest.raises(JournalError, match="does not say any more what problem"):
            Sampler(problem, seed=1, journal=path)
        np.testing.assert_array_equal(read_journal(path).evaluations.theta, points)

    @pytest.mark.parametrize("content", [b"hello, world" * 100, b"\x00" * 5000])
    def test_something_else(self, path, content):
        path.write_bytes(content)
        with pytest.raises(JournalError, match=r"no journal|cannot"):
            run(path)
        assert path.read_bytes() == content
        with pytest.raises(JournalError, match=r"journal"):
            read_journal(path)

    def test_another_database(self, path):
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE precious (x)")
        connection.close()
        with pytest.raises(JournalError, match="SQLite file, but no journal"):
            run(path)

    def test_another_format(self, finished, path):
        path.write_bytes(finished.read_bytes())
        with sqlite3.connect(path) as connection:
            connection.execute("PRAGMA user_version = 99")
        connection.close()
        before = path.read_bytes()
        for look in (run, read_journal):
            with pytest.raises(JournalError, match=r"format 99, .* install the latest one"):
                look(path)
        with pytest.raises(quell.FileError, match="format 99"):
            quell.load(path)
        assert path.read_bytes() == before

    def test_an_empty_file_is_a_new_journal(self, path, whole):
        path.touch()
        same(run(path), whole)


class TestPlaces:
    def test_a_folder_that_is_not_there(self, tmp_path):
        target = Counted()
        with pytest.raises(JournalError, match="folder that does not exist"):
            run(tmp_path / "no" / "run.quelljournal", target)
        assert target.n == 0

    def test_a_folder_itself(self, tmp_path):
        with pytest.raises(JournalError, match="is a folder"):
            run(tmp_path)

    def test_a_name_that_is_too_long(self, tmp_path):
        with pytest.raises(JournalError, match="cannot be one: File name too long"):
            run(tmp_path / ("a" * 400))

    def test_no_journal_to_read(self, path):
        with pytest.raises(JournalError, match="there is no journal"):
            read_journal(path)

    def test_strange_names(self, tmp_path):
        strange = tmp_path / "a 'b' \"c\" ?mode=ro #1 %20 ü.quelljournal"
        result = run(strange, budget=10)
        assert len(read_journal(strange).evaluations) == result.evaluations.n_counted

    def test_only_plain_data(self, finished):
        assert b"pickle" not in finished.read_bytes()
        rows = query(finished, "SELECT typeof(theta), typeof(value) FROM events")
        assert {kind for row in rows for kind in row} <= {"text", "real", "null"}


def test_rows_survive_exactly():
    values = (0.1 + 0.2, -np.inf, np.nan, 5e-324, 1.7976931348623157e308, 0.0)
    for value in values:
        finite = bool(np.isfinite(value))
        row = Row("tell", 3, 4, (value if finite else 1.0, 1 / 3), "search", value,
                  error="" if finite else "no density")  # fmt: skip
        assert repr(through_sqlite(row)) == repr(row)


@pytest.mark.parametrize(
    "event",
    [
        Asked(3, np.array([0.1 + 0.2, -4.0]), Origin.START, at=12.5),
        Forgotten(7),
        Answered(Asked(4, np.array([1 / 3]), Origin.SEARCH), Outcome(-2.5, 0.5, reported=True)),
        Answered(Asked(4, np.array([1 / 3]), Origin.CHECK), Outcome(-2.5, note="mind"), "host:1"),
        Answered(Asked(-1, np.array([2.0]), Origin.USER), Outcome(-1.0, seconds=3.0), "host:1"),
        Answered(Asked(-1, np.array([2.0]), Origin.GIVEN), Outcome(-1.0, 0.25), "host:1"),
        Answered(
            Asked(5, np.array([2.0]), Origin.DESIGN),
            Outcome.failure("it broke", kind="exception", traceback="line 1"), "host:1",
            final=False,
        ),
    ],
)  # fmt: skip
def test_events_survive_exactly(event):
    back = through_sqlite(Row.of(event, 1)).event()
    assert type(back) is type(event)
    if isinstance(event, Forgotten):
        assert back == event
        return
    asked, found = (e if isinstance(e, Asked) else e.asked for e in (event, back))
    assert (found.index, found.origin) == (asked.index, asked.origin)
    assert isinstance(found.origin, Origin)
    np.testing.assert_array_equal(found.theta, asked.theta)
    if isinstance(event, Asked):
        assert found.at == event.at
    else:
        assert repr(back.outcome) == repr(event.outcome)
        assert back.final == event.final
        assert back.who == (event.who or this_process())


@pytest.mark.parametrize("version", ["now", "before"])
def test_a_value_of_minus_zero(path, version):
    """SQLite makes it zero, which must not look like damage."""
    problem = Problem(lambda _: 0.0, **box(), noise="exact")
    with Sampler(problem, seed=1, journal=path) as sampler:
        sampler.tell([[0.5], [1.0]], [-0.0, -1.0])
    if version == "before":
        [values] = query(path, "SELECT * FROM events WHERE id = 1")
        entries = [-0.0 if name == "value" else v for name, v in
                   zip(COLUMNS, values[1:-1], strict=True)]  # fmt: skip
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE events SET checksum = ? WHERE id = 1",
                               (checksum(tuple(entries)),))  # fmt: skip
        connection.close()
    assert read_journal(path).n_lost == 0
    with Sampler(problem, journal=path) as sampler:
        assert sampler.evaluations.value.tolist() == [0.0, -1.0]


def through_sqlite(row):
    """The row after it has been in a database."""
    values = row.values()
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(_SCHEMA[1])
        connection.execute(_INSERT, (1, *values))
        return Row.of_values(connection.execute(_SELECT).fetchone()[1:])


@pytest.mark.parametrize("change", [{"kind": "tale"}, {"origin": "nowhere"}])
def test_a_row_of_no_known_kind_is_damaged(change):
    row = replace(Row("tell", 1, 2, (1.0,), "search", -1.0), **change)
    assert through_sqlite(row) is None


def test_a_journal_opened_for_nothing_is_new(path):
    Journal(path).close()
    journal = Journal(path)
    assert journal.is_new
    journal.close()
