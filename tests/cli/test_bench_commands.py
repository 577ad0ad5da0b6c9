import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict

import pytest
from helpers.benchmarks import perform_here

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


def test_the_package_can_be_run_as_the_command():
    command = [sys.executable, "-m", "quell", "--version"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert run.stdout == f"quell {quell.__version__}\n"


def test_list_says_which_data_are_in_use(capsys, monkeypatch):
    monkeypatch.delenv("QUELL_DATA", raising=False)
    assert call("bench", "list") == 0
    text = capsys.readouterr().out
    for word in ("rosenbrock", "multisensory_s1", "IBS, SD 1.3", "viqr", "pyvbmc"):
        assert word in text
    assert "data simulated from their models: QUELL_DATA is not set" in text
    monkeypatch.setenv("QUELL_DATA", "some/folder")
    assert call("bench", "list") == 0
    text = capsys.readouterr().out
    assert "the data in QUELL_DATA=some/folder" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "COMMAND"),
        (["bensch"], "invalid choice"),
        (["bench", "run"], "--problem"),
        (["bench", "run", "--problem", "rosenbrok"], "did you mean 'rosenbrock'?"),
        (["bench", "run", "--problem", "normal", "--algorithm", "vigr"], "did you mean 'viqr'?"),
        (["bench", "run", "--problem", "timming"], "did you mean 'timing'?"),
        (["bench", "run", "--problem", "Rodent"], "did you mean 'rodent'?"),
        (["bench", "run", "--problem", "normal", "--mode", "loud"], "invalid choice"),
        (["bench", "run", "--problem", "normal", "--mode", "exact", "--noise", "loud"], "--noise"),
        (["bench", "run", "--problem", "normal", "--fast"], "no fast path"),
        (["bench", "run", "--problem", "normal", "--fast", "--mode", "exact"], "mode noisy"),
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


REAL_RUN = ["bench", "run", "--problem", "rodent", "--runs", "1", "--out", "f.jsonl"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "there is no data/akrami2018_data.csv in QUELL_DATA="),
        ("", "akrami2018_data.csv cannot be used"),
        ("s1,s2,y\n1,2\n", "akrami2018_data.csv cannot be used"),
        ("\x00\x01 no table\n\n", "akrami2018_data.csv cannot be used"),
    ],
)
def test_missing_and_damaged_data(capsys, tmp_path, monkeypatch, content, words):
    if content is not None:
        (tmp_path / "data").mkdir()
        (tmp_path / "data" / "akrami2018_data.csv").write_text(content)
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert call(*REAL_RUN) == 2
    assert words in one_line(capsys)
    assert not (tmp_path / "f.jsonl").exists()


def test_damaged_truth_shows_before_the_first_run(capsys, tmp_path, monkeypatch):
    folder = os.environ.get("QUELL_DATA")
    if not folder:
        pytest.skip("QUELL_DATA is not set, so there is no file to damage")
    (tmp_path / "data").symlink_to(os.path.join(folder, "data"))
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    for content, words in ((None, "there is no truth.json"), ("{}", "no usable entry for rodent")):
        if content is not None:
            (tmp_path / "truth.json").write_text(content)
        assert call(*REAL_RUN) == 2
        assert words in one_line(capsys)
        assert not (tmp_path / "f.jsonl").exists()


def test_an_output_that_is_no_file_is_refused_before_the_first_run(capsys, tmp_path):
    for place in (tmp_path, "/dev/null"):
        assert call("bench", "run", "--problem", "normal", "--out", place) == 2
        assert "cannot write" in one_line(capsys)


def test_a_wrong_request_leaves_a_file_as_it_is(capsys, tmp_path):
    path = tmp_path / "f.jsonl"
    path.write_text('{"torn')
    assert call("bench", "run", "--problem", "normal", "nomal", "--out", path) == 2
    assert "did you mean 'normal'?" in one_line(capsys)
    assert path.read_text() == '{"torn'


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
    scores = {"lml_loss": 0.1, "lml_loss_checked": 0.1, "gskl": 0.2, "mmtv": 0.05}
    scores |= {"log_evidence_sd": 0.1, "overhead_cpu_seconds_per_evaluation": 0.1}
    path = tmp_path / "f.jsonl"
    path.write_text(json.dumps({**asdict(spec), **scores}) + '\n{"torn')
    assert call("bench", "table", path) == 0
    captured = capsys.readouterr()
    assert "banana (D = 2), exact, noise none, budget 200" in captured.out
    assert captured.err == "quell: 1 damaged lines ignored\n"
    assert call("bench", "table", "--markdown", path) == 0
    assert capsys.readouterr().out.startswith("| problem |")
    assert call("bench", "table", "--csv", path) == 0
    assert capsys.readouterr().out.startswith("problem,dim,data,")
    assert call("bench", "table", "--csv", "--markdown", path) == 2
    assert "not allowed with" in one_line(capsys)
    path.write_text("")
    assert call("bench", "table", path) == 2
    assert "no runs" in one_line(capsys)


def test_run_with_the_shortcut_is_on_record(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("QUELL_DATA", raising=False)
    monkeypatch.setattr("quell.bench.runner.perform_all", perform_here)
    path = tmp_path / "f.jsonl"
    command = ["bench", "run", "--problem", "multisensory_s1", "--runs", "1", "--budget", "15"]
    assert call(*command, "--fast", "--out", path) == 0
    assert call(*command, "--mode", "exact", "--noise", "paper", "--out", path) == 0
    fast, emulated = map(json.loads, path.read_text().splitlines())
    assert (fast["mode"], fast["fast"], fast["noise"]) == ("noisy", True, None)
    assert (emulated["mode"], emulated["fast"], emulated["noise"]) == ("exact", False, 1.3)
    assert fast["data"] == emulated["data"] == "simulated"
    assert call(*command, "--fast", "--out", path) == 0
    assert "1 were in the file already" in capsys.readouterr().err


def heed_interrupts():
    """Children of a shell's background job ignore them, and hand that on to their own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_an_interrupted_campaign_is_continued(tmp_path):
    path = tmp_path / "f.jsonl"
    command = [sys.executable, "-m", "quell.cli", "bench", "run", "--problem", "normal"]
    command += [*TINY, "--dim", "1", "--out", str(path), "--runs"]
    # So many runs that the signal comes long before the last one, on a slow machine too.
    process = subprocess.Popen(
        [*command, "500"], stderr=subprocess.PIPE, text=True, preexec_fn=heed_interrupts
    )
    for _ in range(600):
        if path.exists() and path.read_text().endswith("\n"):
            break
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    assert errors.splitlines()[-1].startswith("quell: interrupted; finished runs are in")
    assert "Traceback" not in errors
    seeds = [json.loads(line)["seed"] for line in path.read_text().splitlines()]
    n = len(seeds)
    assert seeds == list(range(n))
    assert 1 <= n < 500
    done = subprocess.run(
        [*command, str(n + 1)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0
    assert f"1 runs done, {n} were in the file already" in done.stderr
    seeds = [json.loads(line)["seed"] for line in path.read_text().splitlines()]
    assert seeds == list(range(n + 1))
