"""What a journal costs per evaluation: CPU and wall time of recording, and of reading it again.

    python benchmarks/bench_journal.py [--evaluations 2000] [--dim 6] [--folder FOLDER]

Records asks and tells as a sequential run does, one by one, without any algorithm behind them.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from quell import Evaluations, Problem, Settings, read_journal
from quell.evaluations import Answered, Asked, Origin
from quell.journal import Journal
from quell.problem.outcome import Outcome


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--evaluations", type=int, default=2000)
    parser.add_argument("--dim", type=int, default=6)
    parser.add_argument("--folder", type=Path, default=None, help="where to write; a new one")
    given = parser.parse_args()
    n, dim = given.evaluations, given.dim
    problem = Problem(
        lambda _: 0.0, lower=np.full(dim, -9.0), upper=np.full(dim, 9.0),
        plausible_lower=np.full(dim, -1.0), plausible_upper=np.full(dim, 1.0),
    )  # fmt: skip
    points = np.random.default_rng(0).uniform(-1, 1, (n, dim))
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "run.quelljournal"
        journal = Journal(path)
        nothing = Evaluations.empty(problem.names)
        journal.begin(problem, Settings(), 1, np.empty((0, dim)), nothing)
        wall, cpu = time.perf_counter(), time.process_time()
        for i, theta in enumerate(points):
            asked = Asked(i, theta, Origin.SEARCH)
            journal.append([asked])
            outcome = Outcome(float(-(theta @ theta)), 1.0, seconds=60.0, reported=True)
            journal.append([Answered(asked, outcome)])
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        journal.close()
        size = path.stat().st_size
        print(f"{n} evaluations, D = {dim}, one ask and one tell each, both synced to the disk")
        print(f"CPU  {1e3 * cpu / n:.2f} ms per evaluation (the bar: 5)")
        print(f"wall {1e3 * wall / n:.2f} ms per evaluation")
        print(f"file {size / n:.0f} bytes per evaluation")
        started = time.process_time()
        assert len(read_journal(path).evaluations) == n
        print(f"read {1e3 * (time.process_time() - started) / n:.2f} ms per evaluation")


if __name__ == "__main__":
    main()
