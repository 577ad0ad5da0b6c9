"""Evaluation by a real Dask cluster of processes, some of which are killed on the way."""

import os
import signal
import threading

import pytest

from quell import InferenceFailed, Problem, Settings, infer, read_journal
from quell.evaluations import rng_for
from quell.study import study
from quell.workers.dispatch import Dispatch
from quell.workers.executors import count_workers, is_dask

distributed = pytest.importorskip(
    "distributed", reason="Dask is not installed (pip install 'quell[dask]')"
)

dask = pytest.importorskip("dask")
QUICK = Settings(final_components=0, stop_early=False)
#: Workers killed in one run: a few, or with ``make test-faults`` one in ten of its kills.
N_KILLS = max(2, int(os.environ.get("QUELL_KILLS", "0")) // 10)
pytestmark = [
    pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="kills workers by a Unix signal"),
    # Tornado and asyncio leave sockets of killed workers to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]


def make_target(folder, *, sleep=0.0, deadly=()):
    """A target that leaves a file for every evaluation begun; some kill their worker.

    Workers do not have this module; functions made in functions are sent by value.
    """
    folder = str(folder)

    def target(theta, rng):
        import os
        import signal
        import time
        import uuid

        value = -0.5 * float(theta[0] ** 2) + 0.5 * rng.standard_normal()
        point = theta.tobytes().hex()
        open(f"{folder}/{point}-{uuid.uuid4()}", "w").close()
        if rng.random() in deadly:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(sleep)
        return value, 0.5

    return target


def draw(index):
    """What a target of `make_target` compares with those deadly, and its value's noise."""
    rng = rng_for(1, index)
    noise = rng.standard_normal()
    return noise, rng.random()


def run(target, client, **changes):
    problem = Problem(
        target, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3, noise="reported"
    )
    how = {"budget": 12, "seed": 1, "settings": QUICK, "progress": False}
    return infer(problem, executor=client.get_executor(), **(how | changes))


@pytest.fixture(scope="module")
def client():
    # Dask looks after this time whether a worker that died is back, and else takes its nanny down:
    # with 15 s, its default, that may hit the absence after another death.
    patience = dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"})
    with (
        patience,
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=60)
        yield client


def is_complete(result, n):
    """Whether every evaluation is there, once, with the values of its own stream."""
    table = result.evaluations
    assert sorted(table.index.tolist()) == list(range(n))
    assert table.n_counted == n
    for theta, value, index, ok in zip(
        table.theta, table.value, table.index, table.ok, strict=True
    ):
        if ok:
            assert value == -0.5 * float(theta[0] ** 2) + 0.5 * draw(int(index))[0]
    return True


def test_workers_are_counted_and_used(client, tmp_path):
    executor = client.get_executor()
    assert is_dask(executor)
    assert count_workers(executor) == 2
    path = tmp_path / "run.quelljournal"
    begun = tmp_path / "begun"
    begun.mkdir()
    result = run(make_target(begun, sleep=0.1), client, journal=path)
    assert is_complete(result, 12)
    assert result.evaluations.n_failed == 0
    assert len(os.listdir(begun)) == 12  # none was made twice
    who = read_journal(path).who
    assert len(set(who)) == 2
    assert not any(name.endswith(f":{os.getpid()}") for name in who)


def test_workers_killed_during_the_run(client, tmp_path):
    """Every few seconds a worker dies, whatever it is doing; nothing is lost or counted twice."""
    budget = 8 * N_KILLS if N_KILLS == 2 else 14 * N_KILLS
    path, begun = tmp_path / "run.quelljournal", tmp_path / "begun"
    begun.mkdir()
    over = threading.Event()
    killed = []

    def kill():
        while not over.wait(1.0) and len(killed) < N_KILLS:
            pids = [pid for pid in client.run(os.getpid).values() if pid not in killed]
            if pids and os.listdir(begun):
                os.kill(pids[0], signal.SIGKILL)
                killed.append(pids[0])
                over.wait(3.0)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        result = run(make_target(begun, sleep=0.6), client, budget=budget, journal=path)
    finally:
        over.set()
        thread.join()
    assert len(killed) == N_KILLS
    assert is_complete(result, budget)
    assert result.evaluations.n_failed == 0
    saved = read_journal(path)
    assert sorted(saved.evaluations.index.tolist()) == list(range(budget))
    assert len(saved.pending) == 0
    assert len(os.listdir(begun)) > budget  # some were made again


def test_an_evaluation_that_kills_every_worker_has_failed(client, tmp_path):
    bad, scheduler = 4, client.cluster.scheduler
    before, scheduler.allowed_failures = scheduler.allowed_failures, 0  # deaths are slow
    try:
        result = run(make_target(tmp_path, deadly=[draw(bad)[1]]), client)
    finally:
        scheduler.allowed_failures = before
    assert is_complete(result, 12)
    table = result.evaluations
    assert table.index[~table.ok].tolist() == [bad]
    [text] = [text for text in table.error if text]
    assert text.startswith("no answer in 2 attempts: KilledWorker")


def test_a_restarted_cluster_only_costs_time(client, tmp_path):
    """Dask forgets all futures then, and cancels them."""
    client.wait_for_workers(2, timeout=60)
    restarted = []

    def callback(_update):
        if not restarted:
            restarted.append(client.restart(timeout=60))

    result = run(make_target(tmp_path, sleep=0.2), client, callback=callback)
    assert restarted
    assert is_complete(result, 12)
    assert result.evaluations.n_failed == 0


def test_a_late_evaluation_occupies_its_worker(client):
    client.wait_for_workers(2, timeout=60)
    stuck = 3
    sleepy = draw(stuck)[1]

    def target(theta, rng):
        import time

        value = -0.5 * float(theta[0] ** 2) + 0.5 * rng.standard_normal()
        if rng.random() == sleepy:
            time.sleep(12.0)
        return value, 0.5

    result = run(target, client, timeout=6.0)
    assert is_complete(result, 12)
    table = result.evaluations
    assert table.index[~table.ok].tolist() == [stuck]
    assert "timed out after 6 s" in table.error


def test_a_worker_that_joins_is_noticed_while_others_work(client, tmp_path, monkeypatch):
    monkeypatch.setattr("quell.workers.dispatch.RECOUNT", 0.2)
    client.wait_for_workers(2, timeout=60)
    go = tmp_path / "go"

    def work(path):
        import os
        import time

        while not os.path.exists(path):
            time.sleep(0.05)
        return 1

    dispatch = Dispatch(client.get_executor(), what="the function")
    try:
        for i in range(2):
            dispatch.submit(i, work, str(go))
        assert dispatch.n_free == 0
        client.cluster.scale(3)
        assert dispatch.wait() == []
        assert dispatch.n_free == 1
    finally:
        go.touch()
        client.cluster.scale(2)
    assert sum(len(dispatch.wait()) for _ in range(dispatch.n_running)) >= 1


def test_a_study_goes_on_when_a_worker_dies(client, tmp_path):
    client.wait_for_workers(2, timeout=60)
    died = str(tmp_path / "died")

    def target(theta, rng):
        import os
        import signal

        if theta[0] > 0 and not os.path.exists(died):
            open(died, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return -0.5 * float(theta[0] ** 2) + 0.5 * rng.standard_normal(), 0.5

    problem = Problem(
        target, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3, noise="reported"
    )
    result = study(
        {"a": problem, "b": problem}, seeds=[1], budget=12, settings=QUICK, progress=False,
        folder=tmp_path / "runs", executor=client.get_executor(),
    )  # fmt: skip
    assert os.path.exists(died)
    assert result.failed == ()
    first, second = (result.result(name) for name in "ab")
    assert is_complete(first, 12)
    assert first.elbo == second.elbo  # one of them was continued on another worker


def test_what_cannot_be_sent_is_said_at_once(client):
    lock = threading.Lock()

    def target(_theta, rng):
        with lock:
            return rng.standard_normal(), 1.0

    with pytest.raises(InferenceFailed, match="cannot be sent to other processes"):
        run(target, client)
