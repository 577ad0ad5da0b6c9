import json
import multiprocessing
import os
import signal
import threading
import time

import pytest

from quell.bench import BenchError
from quell.bench.runner import describe, run
from quell.bench.single import Spec
from quell.bench.workers import perform_all
from quell.workers.process_per_call import worker_conditions

TIMES = ("wall_seconds", "overhead_cpu_seconds_per_evaluation", "total_cpu_seconds")
TINY = {"mode": "exact", "noise": 1.0, "budget": 15, "progress": False}


def seeds_in(path):
    records = [json.loads(line) for line in path.read_text().splitlines()]
    return sorted(record["seed"] for record in records)


def test_campaign_in_parallel_is_continued_and_never_repeats(tmp_path):
    path = tmp_path / "runs.jsonl"
    how = TINY | {"dim": 1, "jobs": 2, "out": path}
    summary = run("normal", "quell", range(2), **how)
    assert (summary.done, summary.skipped, summary.failed, summary.lost) == (2, 0, 0, 0)
    assert seeds_in(path) == [0, 1]
    before = path.read_text()
    lines = before.splitlines()
    # As if it had been killed while writing the second line.
    path.write_text(lines[0] + "\n" + lines[1][:-40])
    summary = run("normal", "quell", [0, 1, 1], **how)
    assert (summary.done, summary.skipped, summary.damaged_lines) == (1, 1, 1)
    first, torn, again = path.read_text().splitlines()
    assert (first, torn) == (lines[0], lines[1][:-40])
    old, new = json.loads(lines[1]), json.loads(again)
    for times in TIMES:
        del old[times], new[times]
    assert old == new
    after = path.read_text()
    assert run("normal", "quell", range(2), **how).skipped == 2
    assert path.read_text() == after


def test_nothing_is_started_when_the_request_is_wrong(tmp_path):
    path = tmp_path / "runs.jsonl"
    for wrong in ({"jobs": 0}, {"dim": 7}, {"noise": -1.0}, {"budget": 2}):
        with pytest.raises(BenchError):
            run("rosenbrock", "quell", [0], out=path, **{**TINY, **wrong})
    assert not path.exists()


def test_a_run_that_cannot_be_made_and_one_whose_process_dies():
    good = Spec.make("rosenbrock", "quell", 0, mode="exact")
    wrong = Spec(**{**good.__dict__, "problem": "none"})

    def kill():
        while not (children := multiprocessing.active_children()):
            time.sleep(0.01)
        os.kill(children[0].pid, signal.SIGKILL)

    threading.Thread(target=kill).start()
    spec, record, error = next(perform_all([good], 1))
    assert (spec, record) == (good, None)
    assert "died" in error
    [(spec, record, error)] = perform_all([wrong], 1)
    assert (spec, record) == (wrong, None)
    assert "unknown problem" in error


def test_leaving_the_iterator_ends_the_runs_under_way():
    specs = [Spec.make("rosenbrock", "quell", seed, mode="exact") for seed in range(2)]
    runs = perform_all(specs, 2)
    thread = threading.Timer(
        0.5, lambda: os.kill(multiprocessing.active_children()[0].pid, signal.SIGKILL)
    )
    thread.start()
    next(runs)
    assert multiprocessing.active_children()
    runs.close()
    assert not multiprocessing.active_children()


def test_workers_use_one_thread(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("MKL_NUM_THREADS", raising=False)
    with worker_conditions():
        assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "1"
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ


def test_describe():
    spec = Spec.make("rosenbrock", "quell", 4, mode="exact", noise=1.0)
    scores = {"lml_loss": 0.1, "gskl": "inf", "mmtv": 0.05, "wall_seconds": 3.2}
    assert describe(spec, scores) == (
        "rosenbrock D2 exact noise 1 quell seed 4: LML loss 0.1  gsKL inf  MMTV 0.05  (3 s)"
    )
    assert describe(spec, None, "it died").endswith("FAILED, it died")
    assert describe(spec, {"error": "E: no"}).endswith("FAILED, E: no")


@pytest.mark.usefixtures("in_this_process")
def test_versions_are_not_mixed(tmp_path):
    """Runs of one kind by another version: refused, unless that is wanted; other kinds do not."""
    out = tmp_path / "runs.jsonl"
    setting = {"mode": "exact", "dim": 1, "budget": 15, "progress": False, "out": out}
    run("normal", seeds=[0], **setting)
    record = json.loads(out.read_text())
    out.write_text(json.dumps(record | {"engine": "another"}) + "\n")
    with pytest.raises(BenchError, match=r"by another version .another; this is .*--mixed"):
        run("normal", seeds=[0, 1], **setting)
    assert run("normal", seeds=[0], **setting).skipped == 1  # nothing to add
    assert run("halfnormal", seeds=[0], **(setting | {"dim": None})).done == 1
    assert run("normal", seeds=[0, 1], mixed=True, **setting).done == 1
