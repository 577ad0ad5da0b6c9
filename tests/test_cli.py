import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import pytest

import quell
from quell.bench.single import Spec
from quell.cli import main

TINY = ["--mode", "exact", "--noise", "1", "--budget", "15"]


def call(*arguments):
    try:
        return main([str(argument) for argument in arguments])
    except SystemExit as leave:
        return leave.code


def one_line(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_version(capsys):
    assert call("--version") == 0
    assert capsys.readouterr().out == f"quell {quell.__version__}\n"


def test_list(capsys):
    assert call("bench", "list") == 0
    text = capsys.readouterr().out
    for word in ("rosenbrock", "logreg", "QUELL_DATA", "viqr", "pyvbmc"):
        assert word in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["bensch"], "invalid choice"),
        (["bench", "run"], "--problem"),
        (["bench", "run", "--problem", "rosenbrok"], "did you mean 'rosenbrock'?"),
        (["bench", "run", "--problem", "normal", "--algorithm", "vigr"], "did you mean 'viqr'?"),
        (["bench", "run", "--problem", "normal", "--mode", "loud"], "invalid choice"),
        (["bench", "run", "--problem", "normal", "--noise", "1"], "mode exact"),
        (["bench", "run", "--problem", "normal", "--runs", "0"], "--runs"),
        (["bench", "run", "--problem", "normal", "--jobs", "0"], "jobs"),
        (["bench", "run", "--problem", "normal", "--budget", "3"], "budget"),
        (["bench", "run", "--problem", "normal", "--first-seed", "-1"], "seed"),
        (["bench", "run", "--problem", "corr", "--dim", "3"], "5 dimensions only"),
        (["bench", "run", "--problem", "normal", "--out", "no/such/folder/f.jsonl"], "no/such"),
        (["bench", "table", "none.jsonl"], "cannot read none.jsonl"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(capsys, tmp_path, monkeypatch, arguments, words):
    monkeypatch.chdir(tmp_path)
    assert call(*arguments) == 2
    assert words in one_line(capsys)
    assert list(tmp_path.iterdir()) == []


def test_missing_data(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("QUELL_DATA", raising=False)
    assert call("bench", "run", "--problem", "logreg", "--out", tmp_path / "f.jsonl") == 2
    assert "QUELL_DATA" in one_line(capsys)


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write anywhere"
)
def test_unwritable_file(capsys, tmp_path):
    path = tmp_path / "f.jsonl"
    path.touch(mode=0o444)
    assert call("bench", "run", "--problem", "normal", "--out", path) == 2
    assert "cannot write" in one_line(capsys)


def test_table(capsys, tmp_path):
    spec = Spec.make("banana", "quell", 0, mode="exact")
    scores = {"lml_loss": 0.1, "gskl": 0.2, "mmtv": 0.05}
    scores["overhead_cpu_seconds_per_evaluation"] = 0.1
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps({**asdict(spec), **scores}) + '\n{"torn')
    assert call("bench", "table", path) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[1].startswith("banana")
    assert captured.err == "quell: 1 damaged lines ignored\n"
    assert call("bench", "table", "--markdown", path) == 0
    assert capsys.readouterr().out.startswith("| problem |")
    path.write_text("")
    assert call("bench", "table", path) == 2
    assert "no runs" in one_line(capsys)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupted_campaign_is_continued(tmp_path):
    path = tmp_path / "f.jsonl"
    command = [sys.executable, "-m", "quell.cli", "bench", "run", "--problem", "rosenbrock"]
    command += [*TINY, "--out", str(path), "--runs"]
    process = subprocess.Popen([*command, "2"], stderr=subprocess.PIPE, text=True)
    for _ in range(600):
        if path.exists() and path.read_text().endswith("\n"):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors.splitlines()[-1].startswith("quell: interrupted; finished runs are in")
    assert "Traceback" not in errors
    assert [json.loads(line)["seed"] for line in path.read_text().splitlines()] == [0]
    done = subprocess.run([*command, "2"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0
    assert "1 runs done, 1 were in the file already" in done.stderr
    assert [json.loads(line)["seed"] for line in path.read_text().splitlines()] == [0, 1]
