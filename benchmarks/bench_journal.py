"""What a journal costs per evaluation: CPU and wall time of recording, and of reading it again.

    python benchmarks/bench_journal.py [--evaluations 2000] [--dim 6] [--budget 200]

Records asks and tells as a sequential run does, one by one, without any algorithm behind them;
then once more with the result so far (a snapshot) after every fifth. The snapshot is the last one
of a run with this budget, which also tells what it costs to make them.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

import quell.run.session
from quell import Evaluations, Problem, Settings, infer, load, read_journal
from quell.evaluations import Answered, Asked, Origin
from quell.journal import Journal
from quell.journal.snapshots import About
from quell.problem.outcome import Outcome
from quell.run.so_far import snapshot_of

EVERY = Settings().batch


def make_problem(dim: int) -> Problem:
    def target(theta, rng):
        return -0.5 * float(theta @ theta) + rng.standard_normal(), 1.0

    return Problem(
        target, lower=np.full(dim, -9.0), upper=np.full(dim, 9.0),
        plausible_lower=np.full(dim, -1.0), plausible_upper=np.full(dim, 1.0),
    )  # fmt: skip


def real_snapshots(problem: Problem, budget: int, folder: str) -> bytes:
    """Run with a journal, print what its snapshots cost, and return the last one."""
    made: list[tuple[float, bytes]] = []

    def timed(engine):
        started = time.process_time()
        data, about = snapshot_of(engine)
        made.append((time.process_time() - started, data))
        return data, about

    quell.run.session.snapshot_of = timed
    path = Path(folder) / "real.quelljournal"
    how = {"budget": budget, "seed": 5000, "progress": False, "journal": path}
    settings = Settings(stop_early=False)
    started = time.process_time()
    infer(problem, settings=settings, **how)
    whole = time.process_time() - started
    seconds, sizes = [m[0] for m in made], [len(m[1]) for m in made]
    print(f"a run of {budget} evaluations, {whole:.1f} CPU s, made {len(made)} snapshots:")
    print(
        f"  CPU  {1e3 * sum(seconds) / budget:.2f} ms per evaluation, "
        f"{100 * sum(seconds) / whole:.2f} % of the run; at most {1e3 * max(seconds):.1f} ms each"
    )
    print(f"  size {max(sizes) / 1e3:.0f} kB at most")
    for what, act in (("the same call again", lambda: infer(problem, settings=settings, **how)),
                      ("quell.load", lambda: load(path))):  # fmt: skip
        started = time.perf_counter()
        act()
        print(f"  {what}: {1e3 * (time.perf_counter() - started):.0f} ms")
    return made[-1][1]


def record(problem: Problem, n: int, path: Path, snapshot: bytes | None) -> None:
    dim = problem.dimension
    points = np.random.default_rng(0).uniform(-1, 1, (n, dim))
    journal = Journal(path)
    nothing = Evaluations.empty(problem.names)
    journal.begin(problem, Settings(), 1, np.empty((0, dim)), nothing)
    wall, cpu = time.perf_counter(), time.process_time()
    for i, theta in enumerate(points):
        asked = Asked(i, theta, Origin.SEARCH)
        if snapshot is not None and i % EVERY == 0:
            journal.keep(snapshot, About(i, i // EVERY))
        journal.append([asked])
        outcome = Outcome(float(-(theta @ theta)), 1.0, seconds=60.0, reported=True)
        journal.append([Answered(asked, outcome)])
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    journal.close()
    print(f"CPU  {1e3 * cpu / n:.2f} ms per evaluation (the bar: 5)")
    print(f"wall {1e3 * wall / n:.2f} ms per evaluation")
    print(f"file {path.stat().st_size / n:.0f} bytes per evaluation")
    started = time.process_time()
    assert len(read_journal(path).evaluations) == n
    print(f"read {1e3 * (time.process_time() - started) / n:.2f} ms per evaluation")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--dim", type=int, default=6)
    parser.add_argument("--budget", type=int, default=200, help="of the run that is really made")
    parser.add_argument("--folder", type=Path, default=None, help="where to write; a new one")
    given = parser.parse_args()
    problem = make_problem(given.dim)
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        n = given.evaluations
        print(f"{n} evaluations, D = {given.dim}, one ask and one tell each, synced to the disk")
        record(problem, n, Path(folder) / "run.quelljournal", None)
        snapshot = real_snapshots(problem, given.budget, folder)
        print(f"recording with {len(snapshot) / 1e3:.0f} kB after every {EVERY} evaluations:")
        record(problem, n, Path(folder) / "with.quelljournal", snapshot)


if __name__ == "__main__":
    main()
