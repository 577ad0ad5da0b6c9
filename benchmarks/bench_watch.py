"""What a watcher costs the run that it watches: the same run with and without one, in turns.

The target sleeps, so that there is a journal to follow for a while. For every run: its duration,
and the CPU time of its own process. A watcher is `quell watch` in another process, writing lines.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import quell

#: How often the watchers look: not at all, as by default, and as often as they may.
WATCHERS = {"no watcher": None, "every 1 s": 1.0, "every 0.1 s": 0.1}


def target(theta):
    time.sleep(0.05)
    return -0.5 * float(theta @ theta)


def one_run(journal: str, evaluations: int) -> None:
    """The run that is measured, in a process of its own."""
    problem = quell.Problem(
        target, lower=[-9, -9], upper=[9, 9], plausible_lower=[-2, -2], plausible_upper=[2, 2],
        noise="exact",
    )  # fmt: skip
    settings = quell.Settings(stop_early=False)
    began = time.perf_counter()
    quell.infer(
        problem, budget=evaluations, seed=5000, journal=journal, progress=False, settings=settings
    )
    wall = time.perf_counter() - began
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(wall, usage.ru_utime + usage.ru_stime)


def measure(every: float | None, evaluations: int) -> tuple[float, float, float]:
    """Duration and CPU seconds of a run, and CPU seconds of its watcher."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Path(folder) / "run.quelljournal"
        command = [sys.executable, __file__, "--journal", str(journal)]
        run = subprocess.Popen(
            [*command, "--evaluations", str(evaluations)], stdout=subprocess.PIPE, text=True
        )
        watcher = None
        if every is not None:
            while not journal.exists() or not journal.stat().st_size:
                time.sleep(0.05)
            watcher = subprocess.Popen(
                [sys.executable, "-m", "quell", "watch", str(journal), "--every", str(every)],
                stdout=subprocess.DEVNULL,
            )
        out, _ = run.communicate()
        wall, cpu = map(float, out.split()[-2:])
        watched = 0.0
        if watcher is not None:
            _, _, usage = os.wait4(watcher.pid, 0)  # the run has ended, and so does it
            watched = usage.ru_utime + usage.ru_stime
        return wall, cpu, watched


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--evaluations", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--journal", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.journal:
        one_run(chosen.journal, chosen.evaluations)
        return
    found = {name: [] for name in WATCHERS}
    for _ in range(chosen.rounds):
        for name, every in WATCHERS.items():
            found[name].append(measure(every, chosen.evaluations))
    print(f"median of {chosen.rounds} runs of {chosen.evaluations} evaluations")
    print(f"{'':14}{'run, s':>10}{'run, CPU s':>12}{'watcher, CPU s':>16}")
    for name, rows in found.items():
        wall, cpu, watched = (statistics.median(column) for column in zip(*rows, strict=True))
        print(f"{name:14}{wall:10.2f}{cpu:12.2f}{watched:16.2f}")


if __name__ == "__main__":
    main()
