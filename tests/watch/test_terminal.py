"""``quell watch`` in a terminal and for scripts."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest
from helpers.watching import HOSTILE
from rich.console import Console

from quell.cli import main
from quell.watch.following import Follower
from quell.watch.terminal import curve, follow, view


def look(path):
    follower = Follower(path)
    follower.look()
    return follower


def text_of(state, width=100):
    console = Console(file=io.StringIO(), force_terminal=True, width=width, color_system=None)
    console.print(view(state))
    return console.file.getvalue()


def test_the_view_of_a_finished_run(finished):
    text = text_of(look(finished).state())
    for part in ("finished", "24/24 evaluations", "failed)", "ELBO", "K ", "too short to tell",
                 "log evidence", "density", "workers", "done.quelljournal", "█"):  # fmt: skip
        assert part in text
    assert "\x1b[2J" not in text  # of a name, and of an error
    assert '<img src=x onerror="alert(1)' in text


@pytest.mark.parametrize("width", [60, 80, 100, 200])
def test_the_view_fits(finished, stopped, width):
    for path in (finished, stopped):
        lines = text_of(look(path).state(), width).splitlines()
        assert max(map(len, lines)) <= min(width, 100)


def test_once(finished, capsys):
    assert main(["watch", str(finished), "--once"]) == 0
    assert "24/24 evaluations" in capsys.readouterr().out
    assert main(["watch", str(finished), "--once", "--json"]) == 0
    state = json.loads(capsys.readouterr().out)
    assert state["parameters"] == [HOSTILE, "b"]


def test_a_finished_run_is_shown_and_that_is_all(finished):
    console = Console(file=io.StringIO(), force_terminal=True, width=100, height=40)
    follow(look(finished), every=0.1, console=console)
    assert "24/24 evaluations" in console.file.getvalue()


def test_lines_in_a_pipe(finished, capsys):
    assert main(["watch", str(finished)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("done.quelljournal, finished, 24/24 evaluations")
    assert out.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--every", "0"], "--every"),
        (["--browser", "--port", "99999"], "--port"),
        (["--json"], "--json goes with --once"),
        (["--port", "80"], "go with --browser"),
        (["--once", "--browser"], "not allowed with"),
    ],
)
def test_bad_options(finished, capsys, options, words):
    try:
        code = main(["watch", str(finished), *options])
    except SystemExit as leave:
        code = leave.code
    assert code == 2
    assert words in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.parametrize("options", [[], ["--browser", "--no-open"]])
def test_ctrl_c_ends_the_watch_and_not_the_run(stopped, options):
    before = stopped.read_bytes()
    process = subprocess.Popen(
        [sys.executable, "-m", "quell", "watch", str(stopped), *options], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert "stopped.quelljournal" in process.stdout.readline()  # it is at work
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == "quell: interrupted\n"
    assert stopped.read_bytes() == before


def test_curves():
    assert curve([]) == ""
    assert curve([0.0, 0.0], width=3) == "   "
    assert len(curve(list(range(1000)))) == 24
