"""Evaluation by executors: speed, order, workers that die, time-outs, retries, interruptions."""

import os
import signal
import threading
import time
from concurrent import futures
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from multiprocessing import get_context

import numpy as np
import pytest
from helpers.problems import QUICK, box, make, noisy
from helpers.processes import FORKED

from quell import InferenceFailed, Problem, infer, read_journal
from quell.evaluations import rng_for
from quell.study import study
from quell.workers.dispatch import AWAKE, Dispatch
from quell.workers.executors import count_workers

SPAWN = get_context("spawn")  # a fork of a process with threads may hang


class Deadly:
    """Kills its worker at the first of these evaluations, each once (a file remembers)."""

    def __init__(self, folder, n_deaths, every_time=None):
        self.folder, self.n_deaths, self.every_time = str(folder), n_deaths, every_time

    def __call__(self, theta, rng):
        if self.every_time is not None and rng.random() < self.every_time:
            os.kill(os.getpid(), signal.SIGKILL)
        for i in range(self.n_deaths):
            try:
                os.close(os.open(f"{self.folder}/{i}", os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return noisy(theta, rng)


def run(target=noisy, *, dimension=1, noise="auto", **changes):
    how = {"budget": 16, "seed": 1, "settings": QUICK, "progress": False}
    return infer(Problem(target, **box(dimension), noise=noise), **(how | changes))


def streams_are_right(result):
    table = result.evaluations
    for theta, value, index in zip(table.theta, table.value, table.index, strict=True):
        assert value == noisy(theta, rng_for(1, int(index)))[0]


class Immediate(Executor):
    """Evaluates when asked to, in this thread."""

    def submit(self, function, /, *arguments):
        future = Future()
        future.set_result(function(*arguments))
        return future


class TestThreads:
    def test_one_worker_is_the_sequential_run(self):
        alone = run()
        with ThreadPoolExecutor(1) as executor:
            other = run(executor=executor)
        np.testing.assert_array_equal(alone.evaluations.theta, other.evaluations.theta)
        assert alone.elbo == other.elbo

    def test_several_workers_work_at_a_time_and_streams_stay(self):
        at_once, most, lock = 0, 0, threading.Lock()

        def target(theta, rng):
            nonlocal at_once, most
            with lock:
                at_once += 1
                most = max(most, at_once)
            time.sleep(0.05)
            with lock:
                at_once -= 1
            return noisy(theta, rng)

        with ThreadPoolExecutor(4) as executor:
            result = run(target, executor=executor)
        assert most == 4
        table = result.evaluations
        assert table.n_counted == 16
        assert sorted(table.index.tolist()) == list(range(16))
        assert len(np.unique(table.theta)) == 16
        streams_are_right(result)

    def test_nobody_waits_for_the_slowest(self):
        others, lock, calls = threading.Semaphore(0), threading.Lock(), []

        def target(theta, rng):
            with lock:
                calls.append(1)
                first = len(calls) == 1
            if first:
                for _ in range(11):
                    assert others.acquire(timeout=60)
            else:
                others.release()
            return noisy(theta, rng)

        with ThreadPoolExecutor(2) as executor:
            result = run(target, executor=executor, budget=13)
        assert result.evaluations.index.tolist().index(0) >= 10  # asked for first, told at last
        assert result.iterations[0].n_evaluations < 13

    def test_a_worker_that_is_done_is_met_by_a_point_chosen_before(self, monkeypatch):
        """While two are busy the third point is chosen; a single worker waits for its answer."""
        from quell.run.session import Session

        chosen, begun = [], []
        ask = Session.ask

        def noted(session):
            asked = ask(session)
            chosen.append(asked.index)
            return asked

        def target(theta, rng):
            begun.append(len(chosen))
            while workers > 1 and len(begun) == 1 and len(chosen) < 3:
                time.sleep(0.001)
            return noisy(theta, rng)

        monkeypatch.setattr(Session, "ask", noted)
        for workers in (2, 1):
            chosen.clear()
            begun.clear()
            with ThreadPoolExecutor(workers) as executor:
                run(target, executor=executor, workers=workers, budget=12)
            assert len(chosen) == len(begun) == 12
            if workers == 1:
                assert begun == list(range(1, 13))

    def test_an_exact_target_under_auto(self):
        with ThreadPoolExecutor(3) as executor:
            result = run(lambda theta: -0.5 * float(theta[0] ** 2), executor=executor)
        assert (result.evaluations.sd == 0).all()
        assert result.evaluations.origin.count("check") == 1
        assert result.evaluations.n_counted == 16

    def test_workers_limits_what_is_under_way(self):
        assert run(executor=Immediate(), workers=1).evaluations.n_counted == 16
        with ThreadPoolExecutor(8) as executor:
            assert count_workers(executor) == 8
            assert run(executor=executor, workers=2).evaluations.n_counted == 16

    def test_zero_prior_density_costs_no_worker(self):
        calls = []
        problem = Problem(
            lambda theta, rng: (calls.append(1), noisy(theta, rng))[1], **box(),
            prior=lambda theta: 0.0 if theta[0] > 0 else -np.inf,
        )  # fmt: skip
        with ThreadPoolExecutor(2) as executor:
            result = infer(problem, budget=16, seed=1, settings=QUICK, progress=False,
                           executor=executor)  # fmt: skip
        assert result.evaluations.n_counted == 16
        assert len(calls) == result.evaluations.ok.sum()


class TestProcesses:
    def test_a_worker_that_dies_costs_a_re_evaluation(self, tmp_path):
        with ProcessPoolExecutor(2, FORKED) as executor:
            result = run(Deadly(tmp_path, 2), executor=executor, budget=12)
        assert len(os.listdir(tmp_path)) == 2
        assert result.evaluations.n_counted == 12
        assert result.evaluations.n_failed == 0
        streams_are_right(result)

    def test_an_evaluation_that_always_kills_its_worker_has_failed(self, tmp_path):
        deadly = Deadly(tmp_path, 0, every_time=0.1)
        hit = [i for i in range(12) if rng_for(1, i).random() < 0.1]
        assert len(hit) == 1  # with seed 1
        with ProcessPoolExecutor(2, FORKED) as executor:
            result = run(deadly, executor=executor, budget=12, noise="reported")
        failed = result.evaluations.index[~result.evaluations.ok]
        assert failed.tolist() == hit
        assert "no answer in 3 attempts" in "".join(result.evaluations.error)

    def test_what_cannot_be_sent_is_said_at_once(self):
        with (
            ProcessPoolExecutor(1, SPAWN) as executor,
            pytest.raises(TypeError, match=r"cannot be sent.*top level"),
        ):
            run(lambda _theta: 0.0, executor=executor)

    def test_problems_travel_if_their_functions_do(self):
        import pickle

        problem = pickle.loads(pickle.dumps(Problem(noisy, **box(2))))
        assert problem.evaluate([0.0, 0.0], rng_for(1, 0)).sd == 0.5


class Broken(Executor):
    """Breaks after some evaluations."""

    def __init__(self, n):
        self.n = n

    def submit(self, function, /, *arguments):
        self.n -= 1
        future = Future()
        if self.n < 0:
            raise BrokenExecutor("out of order")
        future.set_result(function(*arguments))
        return future


def test_an_executor_that_breaks_leaves_the_evaluations(tmp_path):
    path = tmp_path / "run.quelljournal"
    with pytest.raises(InferenceFailed, match=r"out of order.*journal") as caught:
        run(executor=Broken(5), workers=2, journal=path)
    assert len(caught.value.evaluations) == 5
    result = run(journal=path)
    assert result.evaluations.n_counted == 16
    streams_are_right(result)


def test_a_wait_is_begun_anew_every_second(monkeypatch):
    """A Ctrl-C that comes just before a wait begins would not be heard before its end."""
    waits = []

    def wait(calls, timeout, how):
        waits.append(timeout)
        return futures.wait(calls, 0.01, how)

    monkeypatch.setattr("quell.workers.dispatch.wait", wait)
    with ThreadPoolExecutor(1) as executor:
        dispatch = Dispatch(executor, what="the function")
        dispatch.submit(0, time.sleep, 0.2)
        assert len(dispatch.wait()) == 1
    assert len(waits) > 1
    assert max(waits) <= AWAKE


class TestTimeouts:
    def slow(self, theta, rng):
        if theta[0] > 1.5:
            time.sleep(30)
        return noisy(theta, rng)

    def test_in_this_process(self):
        before = signal.getsignal(signal.SIGALRM)
        result = run(self.slow, timeout=1.0, budget=12, noise="reported")
        table = result.evaluations
        late = table.theta[:, 0] > 1.5
        assert late.any()
        assert all(text == ("timed out after 1 s" if is_late else "")
                   for text, is_late in zip(table.error, late, strict=True))  # fmt: skip
        assert signal.getsignal(signal.SIGALRM) is before

    def test_a_target_that_swallows_exceptions_is_interrupted_too(self):
        def target(theta, rng):
            try:
                return self.slow(theta, rng)
            except Exception:
                return noisy(theta, rng)

        assert run(target, timeout=0.05, budget=12, noise="reported").evaluations.n_failed > 0

    def test_in_a_worker(self):
        release = threading.Event()

        def target(theta, rng):
            if rng.random() < 0.1:
                release.wait(30)
            return noisy(theta, rng)

        stuck = [i for i in range(12) if rng_for(1, i).random() < 0.1]
        with ThreadPoolExecutor(3) as executor:
            result = run(target, executor=executor, timeout=3.0, budget=12, noise="reported")
            release.set()
        table = result.evaluations
        assert table.index[~table.ok].tolist() == stuck
        assert table.n_counted == 12

    def test_what_a_new_worker_imports_does_not_count(self, tmp_path, monkeypatch):
        (tmp_path / "slow_to_import.py").write_text(
            "import os, time\n"
            "if os.getpid() != int(os.environ['QUELL_PARENT']):\n    time.sleep(6)\n"
            "from helpers.problems import noisy\n"
            "def target(theta, rng):\n    return noisy(theta, rng)\n"
        )
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.setenv("QUELL_PARENT", str(os.getpid()))
        from slow_to_import import target

        with ProcessPoolExecutor(2, SPAWN) as executor:
            result = run(target, executor=executor, timeout=5.0, budget=12, noise="reported")
        assert result.evaluations.n_failed == 0

    def test_when_all_workers_are_stuck(self):
        release = threading.Event()

        def target(_theta, _rng=None):
            release.wait(30)
            return 0.0

        with ThreadPoolExecutor(2) as executor:
            with pytest.raises(InferenceFailed, match="all 2 workers are still busy"):
                run(target, executor=executor, timeout=0.05)
            release.set()

    def test_not_in_another_thread(self):
        caught = []

        def work():
            try:
                run(timeout=1.0)
            except ValueError as error:
                caught.append(str(error))

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert "timeout needs the main thread" in caught[0]


class Leaves:
    """A target that would end the program, or interrupts it, in some of its evaluations."""

    def __init__(self, error, share=0.1):
        self.error, self.share = error, share

    def __call__(self, theta, rng):
        if rng.random() < self.share:
            raise self.error
        return noisy(theta, rng)


LEAVING = [i for i in range(12) if rng_for(1, i).random() < 0.1]


class TestExits:
    def test_sys_exit_in_this_process(self, tmp_path):
        result = run(Leaves(SystemExit(0)), budget=12, journal=tmp_path / "run.quelljournal")
        table = result.evaluations
        assert table.index[~table.ok].tolist() == LEAVING != []
        assert {text for text in table.error if text} == {"SystemExit: 0"}

    def test_of_a_vectorised_target(self):
        def target(thetas, rng):
            return np.array([Leaves(SystemExit)(*row)[0] for row in zip(thetas, rng, strict=True)])

        problem = Problem(target, **box(), noise="unknown", vectorised=True)
        result = infer(problem, budget=12, seed=1, settings=QUICK, progress=False, workers=3)
        assert result.evaluations.n_failed == len(LEAVING)

    @pytest.mark.parametrize("error", [SystemExit("over"), KeyboardInterrupt()])
    @pytest.mark.parametrize("kind", [ThreadPoolExecutor, ProcessPoolExecutor])
    def test_in_a_worker(self, error, kind):
        more = {"mp_context": FORKED} if kind is ProcessPoolExecutor else {}
        with kind(1, **more) as executor:
            result = run(Leaves(error), budget=12, executor=executor, noise="reported")
        table = result.evaluations
        assert table.index[~table.ok].tolist() == LEAVING
        assert type(error).__name__ in table.error[int(np.flatnonzero(~table.ok)[0])]

    def test_one_run_of_a_study(self, tmp_path):
        box_1 = box() | {"noise": "reported"}
        problems = {"a": Problem(Leaves(SystemExit(), 1.1), **box_1), "b": Problem(noisy, **box_1)}
        bad, good = study(problems, folder=tmp_path, budget=12, settings=QUICK, progress=False).rows
        assert "SystemExit" in bad.error
        assert good.evaluations == 12


class TestRetries:
    def test_failures_are_tried_again_with_other_random_numbers(self, tmp_path):
        def target(theta, rng):
            if rng.random() < 0.3:
                raise ValueError("bad luck")
            return noisy(theta, rng)

        path = tmp_path / "run.quelljournal"
        once = run(target, budget=12)
        result = run(target, budget=12, retries=8, journal=path)
        assert once.evaluations.n_failed > 0
        assert result.evaluations.n_failed == 0
        assert result.evaluations.n_counted == 12
        again = run(target, budget=12, retries=8)
        np.testing.assert_array_equal(result.evaluations.value, again.evaluations.value)

    def test_not_for_ever_and_not_for_zero_density(self):
        calls = []

        def target(theta):
            calls.append(1)
            if theta[0] > 2:
                raise ValueError("no")
            return -np.inf if theta[0] > 1 else -0.5 * float(theta[0] ** 2)

        table = run(target, budget=12, retries=2, noise="exact").evaluations
        n_raised = sum("ValueError" in text for text in table.error)
        assert n_raised > 0
        assert len(calls) == 12 + 2 * n_raised

    def test_by_workers(self):
        seen = set()

        def target(theta, rng):
            if theta.tobytes() not in seen:
                seen.add(theta.tobytes())
                raise ValueError("the first time")
            return noisy(theta, rng)

        with ThreadPoolExecutor(3) as executor:
            result = run(target, executor=executor, retries=1, budget=12, noise="reported")
        assert result.evaluations.n_failed == 0


class TestInterruption:
    def test_what_is_done_is_kept_and_what_is_under_way_is_pending(self, tmp_path):
        path = tmp_path / "run.quelljournal"
        blocked = threading.Event()

        def target(theta, rng):
            if rng.random() < 0.1:
                blocked.wait(30)
            return noisy(theta, rng)

        def callback(update):
            if update.n_evaluations >= 14:
                raise KeyboardInterrupt

        with ThreadPoolExecutor(3) as executor:
            result = run(target, executor=executor, callback=callback, journal=path, budget=40,
                         noise="reported")  # fmt: skip
            blocked.set()
        assert any("interrupted" in reason for reason in result.reasons)
        saved = read_journal(path)
        assert len(saved.evaluations) == result.evaluations.n_counted >= 14
        assert len(saved.pending) > 0
        more = run(target, journal=path, budget=20, noise="reported")
        assert more.evaluations.n_counted == 20
        assert sorted(more.evaluations.index.tolist()) == list(range(20))

    def test_a_stable_run_waits_for_what_is_under_way(self, monkeypatch):
        monkeypatch.setattr(
            "quell.run.loop.solution_is_final", lambda state, _: bool(state.history)
        )
        with ThreadPoolExecutor(3) as executor:
            result = run(executor=executor, budget=40)
        assert any("stable" in reason for reason in result.reasons)
        indices = sorted(result.evaluations.index.tolist())
        assert indices == list(range(len(indices)))
        assert len(indices) < 20


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"executor": 3}, TypeError, "executor"), ({"workers": 2}, ValueError, "executor="),
        ({"executor": Immediate(), "workers": 0}, ValueError, "workers"),
        ({"timeout": 0}, ValueError, "timeout"), ({"timeout": "1"}, ValueError, "timeout"),
        ({"retries": -1}, ValueError, "retries"), ({"retries": 1.5}, ValueError, "retries"),
    ],
)  # fmt: skip
def test_bad_arguments(changes, error, match):
    with pytest.raises(error, match=match):
        run(**changes)


def test_one_worker_needs_no_executor():
    problem = make(noisy)
    alone, told = (
        infer(problem, budget=12, seed=1, settings=QUICK, progress=False, workers=workers)
        for workers in (None, 1)
    )
    np.testing.assert_array_equal(alone.evaluations.theta, told.evaluations.theta)
