"""Faults during a run, each of them made for real; `tests/faults/test_fault_table.py` runs them."""

import contextlib
import io
import os
import signal
import sqlite3
import sys
import threading
import time
from concurrent.futures import BrokenExecutor, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
from fault_cases import ARGUMENTS, PROBLEMS, SAMPLERS, Case, problem, run
from fault_files import FILES
from helpers.problems import QUICK, noisy

from quell import Sampler, infer
from quell.cli import main
from quell.likelihoods import command
from quell.study import study


def about(result):
    """How a run with failed evaluations went."""
    table = result.evaluations
    errors = "; ".join(dict.fromkeys(text for text in table.error if text))
    return f"failed evaluations, recorded and avoided: {errors}"


def where_positive(effect):
    """A target with an effect at positive parameters."""

    def target(theta, rng):
        return effect() if theta[0] > 1.5 else noisy(theta, rng)

    return target


def fail():
    raise ValueError("the solver did not converge")


def lambda_in_a_process_pool(_):
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        return run(lambda theta, rng: noisy(theta, rng), executor=executor)


def die_once(theta, rng):
    with contextlib.suppress(FileExistsError):
        os.close(os.open(os.environ["QUELL_FAULT"], os.O_CREAT | os.O_EXCL))
        os._exit(9)
    return noisy(theta, rng)


def dying_worker(folder):
    os.environ["QUELL_FAULT"] = str(folder / "died")
    try:
        with ProcessPoolExecutor(1, get_context("spawn")) as executor:
            result = run(die_once, executor=executor)
    finally:
        del os.environ["QUELL_FAULT"]
    assert (folder / "died").exists()
    assert sorted(result.evaluations.index.tolist()) == list(range(12))
    return f"its evaluation is made again; {result.evaluations.n_failed} of 12 evaluations failed"


def interrupt_where_positive(theta, rng):
    if theta[0] > 1.5:
        raise KeyboardInterrupt
    return noisy(theta, rng)


def interrupted_worker(_):
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        return about(run(interrupt_where_positive, executor=executor))


def stuck_workers(_):
    release = threading.Event()
    with ThreadPoolExecutor(2) as executor:
        try:
            return run(lambda _theta: release.wait(60), executor=executor, timeout=0.05)
        finally:
            release.set()


class Broken(Executor):
    def submit(self, _function, /, *_arguments):
        raise BrokenExecutor("out of order")


def interrupted(_):
    def callback(_update):
        raise KeyboardInterrupt

    result = run(callback=callback, budget=20)
    return "a result", f"the best so far; its first reason: {result.reasons[0]}"


def number_alone(theta, rng):
    return noisy(theta, rng)[0]


TARGETS = [
    Case("the target raises at some points", "the run goes on", "ValueError: the solver",
         lambda _: about(run(where_positive(fail)))),
    Case("the target returns nan", "the run goes on", "nan",
         lambda _: about(run(where_positive(lambda: (np.nan, 0.5))))),
    Case("the target returns −inf", "the run goes on", "zero density",
         lambda _: about(run(where_positive(lambda: (-np.inf, 0.5))))),
    Case("the target returns text", "the run goes on", "number",
         lambda _: about(run(where_positive(lambda: "good")))),
    Case("the target returns a negative SD", "the run goes on", "SD must be positive",
         lambda _: about(run(where_positive(lambda: (-1.0, -0.5))))),
    Case('a number without SD under noise="reported"', "the run goes on", "without an SD",
         lambda _: about(run(where_positive(lambda: -1.0)))),
    Case('a noisy target without SD under noise="auto"', "InferenceFailed", 'noise="unknown"',
         lambda _: run(number_alone, noise="auto"), hide=(r"-?\d+\.\d+",)),
    Case("the target calls sys.exit", "the run goes on", "SystemExit: no licence",
         lambda _: about(run(where_positive(lambda: sys.exit("no licence"))))),
    Case("a worker process is interrupted", "the run goes on", "no answer in 3 attempts",
         interrupted_worker),
    Case("nearly every evaluation fails", "InferenceFailed", "10 of 10 evaluations failed",
         lambda _: run(lambda _theta: fail())),
    Case("an evaluation takes too long", "the run goes on", "timed out",
         lambda _: about(run(where_positive(lambda: time.sleep(30)), timeout=0.2))),
    Case("Ctrl-C", "a result", "interrupted", interrupted),
    Case("a lambda in a process pool", "TypeError", "cannot be sent", lambda_in_a_process_pool,
         hide=(r"(?<=processes: ).*(?=\. Define)",)),
    Case("a worker process dies", "the run goes on", "0 of 12 evaluations failed", dying_worker),
    Case("all workers hang", "InferenceFailed", "still busy", stuck_workers),
    Case("the executor breaks", "InferenceFailed", "out of order",
         lambda _: run(executor=Broken())),
]  # fmt: skip


def program(code, **changes):
    """A run whose target is a program that always does the same."""
    target = command([sys.executable, "-c", code], **changes)
    return run(lambda theta, rng: target(theta, rng))


PYTHON = (r"'python[^']*'",)
PROGRAMS = [
    Case("a program that does not exist", "ValueError", "no program",
         lambda _: command(["no-such-simulator"])),
    Case("a command line as one string", "TypeError", "no shell",
         lambda _: command("simulate --fast")),
    Case("a program that ends with an error", "InferenceFailed", "out of memory",
         lambda _: program("import sys; sys.exit('out of memory')"), hide=PYTHON),
    Case("a program that answers nonsense", "InferenceFailed", "cannot be read",
         lambda _: program("print('about five')"), hide=PYTHON),
]  # fmt: skip


def journal_of_another_problem(folder):
    run(journal=folder / "run.quelljournal")
    infer(problem(upper=[11.0]), journal=folder / "run.quelljournal", settings=QUICK)


def journal_of_another_seed(folder):
    run(journal=folder / "run.quelljournal")
    run(journal=folder / "run.quelljournal", seed=2)


def journal_of_another_target(folder):
    run(journal=folder / "run.quelljournal")
    run(lambda theta, rng: (noisy(theta, rng)[0] + 1, 0.5), journal=folder / "run.quelljournal")


def journal_in_use(folder):
    with Sampler(problem(), seed=1, journal=folder / "run.quelljournal"):
        run(journal=folder / "run.quelljournal")


def some_other_file(folder):
    (folder / "thesis.txt").write_text("It was a dark and stormy night. " * 40)
    run(journal=folder / "thesis.txt")


def changed_number(folder):
    path = folder / "run.quelljournal"
    run(journal=path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE events SET value = value + 1 WHERE id = 6")
        connection.commit()
    run(journal=path)


def changed_seed(folder):
    path = folder / "run.quelljournal"
    run(journal=path)
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE meta SET value = '3' WHERE key = 'seed'")
        connection.commit()
    run(journal=path, seed=None)


def link_in_place_of_the_lock(folder):
    (folder / "thesis.txt").write_text("It was a dark and stormy night. " * 40)
    (folder / "run.quelljournal.lock").symlink_to(folder / "thesis.txt")
    try:
        run(journal=folder / "run.quelljournal")
    finally:
        assert (folder / "thesis.txt").read_text().startswith("It was")


def journal_without_its_log(folder):
    """As an earlier version left it that was killed, moved without its second file."""
    with contextlib.closing(sqlite3.connect(folder / "run.quelljournal")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    run(journal=folder / "run.quelljournal")


def full_disk(folder):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    path = folder / "run.quelljournal"

    calls = []

    def target(theta, rng):
        calls.append(1)
        if len(calls) == 11:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
        return noisy(theta, rng)

    try:
        run(target, journal=path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


JOURNALS = [
    Case("a journal in a folder that does not exist", "JournalError", "does not exist",
         lambda folder: run(journal=folder / "no" / "run.quelljournal")),
    Case("a folder as journal", "JournalError", "is a folder", lambda folder: run(journal=folder)),
    Case("the journal of another problem", "JournalError", "10.0 in the journal, 11.0 now",
         journal_of_another_problem),
    Case("the journal of another seed", "JournalError", "1 in the journal, 2 now",
         journal_of_another_seed),
    Case("the target was changed since the journal was written", "JournalError", "another target",
         journal_of_another_target, hide=(r"-?\d+\.\d+(?= \(SD)", r"(?<=at \[).*?(?=\])")),
    Case("a journal that is in use", "JournalError", "in use", journal_in_use),
    Case("another file as journal", "JournalError", "left as it is",
         some_other_file, hide=(r"\(file.*?\)",)),
    Case("a number in a journal was changed", "warning", "checksum of row 6", changed_number),
    Case("the seed in a journal was changed", "JournalError", "checksum", changed_seed),
    Case("an older journal without its second file", "JournalError", "Put that back",
         journal_without_its_log),
    Case("a name of SQLite's as journal", "JournalError", "path of a file",
         lambda _: run(journal=":memory:")),
    Case("another file in place of a journal's lock", "JournalError", "no lock of a journal",
         link_in_place_of_the_lock),
    Case("the disk becomes full", "InferenceFailed", "cannot write to the journal", full_disk,
         hide=(r"(?<=: ).*?(?=\. The last)", r"(?<=last evaluation, ).*(?=, is not)")),
]  # fmt: skip


def studied(folder, problems, **changes):
    how = {"folder": folder, "budget": 12, "settings": QUICK, "progress": False}
    return study(problems, **(how | changes))


def one_run_fails(folder):
    problems = {"good": problem(), "bad": problem(lambda _theta: fail())}
    good, bad = studied(folder, problems).rows
    assert good.evaluations == 12
    return f"the others are finished; the row of this one says: {bad.error}"


def shell(*words):
    """Exit code, in words, and standard error of the command line."""
    errors = io.StringIO()
    with contextlib.redirect_stderr(errors):
        try:
            code = main([*words])
        except SystemExit as error:
            code = error.code
    return f"exit code {code}", errors.getvalue()


CAMPAIGNS = [
    Case("a study with a number as seeds", "TypeError", "range(4)",
         lambda folder: studied(folder, {"a": problem()}, seeds=4)),
    Case("a study whose names differ by case only", "ValueError", "upper and lower case",
         lambda folder: studied(folder, {"a": problem(), "A": problem()})),
    Case("one run of a study fails", "the run goes on", "solver did not converge", one_run_fails),
    Case("a benchmark problem that does not exist", "exit code 2", "rosenbrock",
         lambda folder: shell("bench", "run", "--problem", "rosenbrok", "--out", f"{folder}/a")),
    Case("records that cannot be written", "exit code 2", "cannot write",
         lambda folder: shell("bench", "run", "--problem", "normal", "--mode", "exact",
                              "--out", str(folder / "no" / "runs.jsonl"))),
    Case("records that do not exist", "exit code 2", "cannot read",
         lambda folder: shell("bench", "table", str(folder / "runs.jsonl"))),
]  # fmt: skip

GROUPS = {
    "The problem": PROBLEMS,
    "Arguments of a run": ARGUMENTS,
    "During a run: targets and workers": TARGETS,
    "Programs as targets": PROGRAMS,
    "Journals": JOURNALS,
    "Files": FILES,
    "Ask and tell": SAMPLERS,
    "Studies and benchmarks": CAMPAIGNS,
}
