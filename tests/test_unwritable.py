"""Nowhere to write to, or not these characters: the display gives up, and the run goes on."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.problems import QUICK, make, noisy

import quell


class Full(io.StringIO):
    """A file on a full disk."""

    def write(self, _text):
        raise OSError(28, "No space left on device")


def closed():
    file = io.StringIO()
    file.close()
    return file


def ascii_only():
    return io.TextIOWrapper(io.BytesIO(), encoding="ascii")


@pytest.mark.parametrize("progress", ["auto", "bar", "log"])
@pytest.mark.parametrize("make_file", [Full, closed, ascii_only])
def test_a_run_goes_on(monkeypatch, make_file, progress):
    monkeypatch.setattr(sys, "stderr", make_file())
    result = quell.infer(make(noisy), budget=12, seed=1, settings=QUICK, progress=progress)
    assert result.evaluations.n_counted == 12


@pytest.mark.parametrize("progress", ["auto", "bar", "log"])
@pytest.mark.parametrize("make_file", [Full, closed, ascii_only])
def test_a_study_goes_on(monkeypatch, tmp_path, make_file, progress):
    monkeypatch.setattr(sys, "stderr", make_file())
    done = quell.study(
        {"µ": make(noisy)}, folder=tmp_path, budget=12, settings=QUICK, progress=progress
    )
    assert [row.evaluations for row in done.rows] == [12]


def test_lines_are_there_without_the_characters_that_are_missing(monkeypatch):
    file = ascii_only()
    monkeypatch.setattr(sys, "stderr", file)
    quell.infer(make(noisy), budget=12, seed=1, settings=QUICK, progress="auto")
    file.flush()
    assert rb"log evidence -" in file.buffer.getvalue()
    assert rb"\xb1" in file.buffer.getvalue()


def command(*words, output, **environment):
    """Run the command line in a process of its own; its exit code and its standard error."""
    done = subprocess.run(
        [sys.executable, "-m", "quell", *map(str, words)], stdout=output, stderr=subprocess.PIPE,
        text=True, env=os.environ | environment, check=False,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "fit.quell"
    quell.infer(make(noisy), budget=12, seed=1, settings=QUICK, progress=False).save(path)
    return path


def test_the_command_line_writes_out_what_a_terminal_has_no_character_for(saved, tmp_path):
    with open(tmp_path / "shown", "wb") as file:
        assert command("show", saved, output=file, PYTHONIOENCODING="ascii") == (0, "")
    assert rb" \xb1 " in (tmp_path / "shown").read_bytes()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_the_command_line_says_that_the_disk_is_full(saved):
    with open("/dev/full", "wb") as file:
        code, errors = command("show", saved, output=file)
    text = "quell: cannot write to standard output: No space left on device\n"
    assert (code, errors) == (2, text)
