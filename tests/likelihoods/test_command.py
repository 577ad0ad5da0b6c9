"""External programs as log-likelihoods."""

import os
import pickle
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import quell
from quell import Problem, Settings, infer
from quell.likelihoods.command import CommandFailed, command

BOX = {"lower": -10, "upper": 10, "plausible_lower": -3, "plausible_upper": 3}
PYTHON = [sys.executable, "-S", "-c"]
READ = "import json, sys, os, time; q = json.load(sys.stdin); t = q['theta']\n"


def program(text, **changes):
    return command([*PYTHON, READ + text], **changes)


def call(target, theta=(1.0, 2.0), seed=1):
    return target(np.array(theta), np.random.default_rng(seed))


@pytest.mark.parametrize(
    ("line", "answer"),
    [
        ('{"value": -1.5, "sd": 0.5}', (-1.5, 0.5)), ('{"value": -1.5}', -1.5),
        ("-1.5 0.5", (-1.5, 0.5)), ("-1.5, 0.5", (-1.5, 0.5)), ("[-1.5, 0.5]", (-1.5, 0.5)),
        ("-1.5", -1.5), ("hello\\n\\n-2\\n", -2.0), ('{"value": -Infinity}', -np.inf),
        ("-inf", -np.inf), ('{"value": -1, "sd": null}', (-1, None)),
    ],
)  # fmt: skip
def test_answers(line, answer):
    assert call(program(f"print('''{line}''')")) == answer


def test_what_the_program_is_told():
    target = program("print(json.dumps({'value': t[0], 'sd': q['seed'], 'names': 0}) if "
                     "q['names'] == ['a', 'b'] else 'wrong')", names=["a", "b"])  # fmt: skip
    value, seed = call(target, (0.1 + 0.2, 3.0), seed=4)
    assert value == 0.1 + 0.2
    assert seed == np.random.default_rng(4).integers(2**32)
    assert call(target, seed=5)[1] != seed
    assert call(program("print(len(q['names']))")) == 2


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (r"sys.stderr.write('\x1b[2J'); sys.exit(3)", r"standard error: \\x1b\[2J"),
        ("sys.stderr.write('no model'); sys.exit(3)", "exit code 3; standard error: no model"),
        ("os.kill(os.getpid(), 9)", "signal SIGKILL"), ("pass", "no answer"),
        ("print('hello')", "cannot be read: 'hello'"), ("print('1 2 3')", "one or two numbers"),
        ("print('{}')", 'no "value"'), ("1 / 0", "ZeroDivisionError"),
    ],
)  # fmt: skip
def test_failures_say_why(text, match):
    with pytest.raises(CommandFailed, match=match):
        call(program(text))


def test_only_the_end_of_a_long_standard_error():
    with pytest.raises(CommandFailed) as caught:
        call(program("sys.stderr.write('x' * 100000 + 'the end'); sys.exit(1)"))
    assert str(caught.value).endswith("the end")
    assert len(str(caught.value)) < 2000


def test_a_timeout_kills_the_program_and_its_children(tmp_path):
    """The grandchild would write the file after its parent is gone."""
    late = tmp_path / "late"
    inner = f"import time; time.sleep(1.5); open({str(late)!r}, 'w')"
    text = f"import subprocess; subprocess.run([sys.executable, '-S', '-c', {inner!r}])"
    started = time.monotonic()
    with pytest.raises(CommandFailed, match=r"stopped after 0\.7 s"):
        call(program(text, timeout=0.7))
    time.sleep(max(0.0, 2.5 - (time.monotonic() - started)))
    assert not late.exists()


def gone(pid, seconds=30.0):
    """Whether a process ends before long; a zombie is gone."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            with open(f"/proc/{pid}/stat") as file:
                if file.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.02)
    return False


def wait_for(path, seconds=60.0):
    """What a file has, once there is something in it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.02)
    raise AssertionError(f"nothing in {path}")


linux = pytest.mark.skipif(not os.path.isdir("/proc/self"), reason="looks into /proc")


@linux
def test_a_timeout_kills_what_has_left_its_session(tmp_path):
    """And does not wait for it to close the program's output, which it has inherited."""
    file = tmp_path / "pid"
    inner = "import time; time.sleep(100)"
    text = (
        "import subprocess\n"
        f"p = subprocess.Popen([sys.executable, '-S', '-c', {inner!r}], start_new_session=True)\n"
        f"open({str(file)!r}, 'w').write(str(p.pid))\ntime.sleep(100)"
    )
    for timeout in (4, 40):  # more, if the machine was too busy to start anything
        started = time.monotonic()
        with pytest.raises(CommandFailed, match=f"stopped after {timeout} s"):
            call(program(text, timeout=timeout))
        assert time.monotonic() - started < 90
        if file.exists():
            break
    assert gone(int(file.read_text()))


KILLED = """
import sys
import numpy as np
from quell.likelihoods import command
code = (
    "import os, subprocess, sys, time\\n"
    "inner = [sys.executable, '-S', '-c', 'import time; time.sleep(100)']\\n"
    "p = subprocess.Popen(inner, start_new_session=True)\\n"
    "open(sys.argv[1], 'w').write(f'{os.getpid()} {p.pid} ')\\ntime.sleep(100)"
)
command([sys.executable, "-S", "-c", code, sys.argv[1]])(np.zeros(1), np.random.default_rng(1))
"""


@linux
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_run_leaves_no_program_behind(tmp_path, how):
    file = tmp_path / "pids"
    run = subprocess.Popen([sys.executable, "-c", KILLED, str(file)])
    pids = [int(word) for word in wait_for(file).split()]
    os.kill(run.pid, how)
    run.wait()
    assert all(gone(pid) for pid in pids)


def test_unknown_signals_have_a_number():
    with pytest.raises(CommandFailed, match=r"signal (40|SIGRT)"):
        call(program("os.kill(os.getpid(), 40)"))


def test_numbers_as_arguments():
    text = "import sys; print(sys.argv[1:])"
    argv = ["{a}", "--rate={b:.2f}", "{a}/{b}", "--seed", "{seed}", "{c} {", '{"a": 1}', "{b:d}"]
    target = command([*PYTHON, text, *argv], names=["a", "b"])
    with pytest.raises(CommandFailed, match="cannot be read") as caught:
        call(target, (0.1 + 0.2, 3.0), seed=4)
    seed = np.random.default_rng(4).integers(2**32)
    words = ["0.30000000000000004", "--rate=3.00", "0.30000000000000004/3.0", "--seed", str(seed),
             "{c} {", '{"a": 1}', "3"]  # fmt: skip
    assert f"cannot be read: {str(words)!r}" in str(caught.value)
    assert call(command([*PYTHON, "import sys; print(sys.argv[1])", "{x2}"])) == 2.0


def test_the_environment_is_not_sent_along(monkeypatch):
    monkeypatch.setenv("QUELL_SECRET", "swordfish")
    target = program("print(int(os.environ['A'] + os.environ['QUELL_SECRET']))", env={"A": "1"})
    assert b"swordfish" not in pickle.dumps(target)
    monkeypatch.setenv("QUELL_SECRET", "7")  # that of the process that evaluates
    assert call(target) == 17


def test_help_has_the_protocol():
    for word in ('"theta"', "standard input", "standard output", "{seed}"):
        assert word in quell.likelihoods.command.__doc__


def test_arguments_are_not_seen_by_a_shell(tmp_path):
    nasty = f"; touch {tmp_path}/owned $(touch {tmp_path}/owned) '\" *"
    target = command([*PYTHON, "import sys; print(len(sys.argv[1]))", nasty])
    assert call(target) == len(nasty)
    assert os.listdir(tmp_path) == []


def test_folder_and_environment(tmp_path):
    text = "print(int(os.getcwd() == t and 0 or os.environ['QUELL_TEST'] == 'yes'))"
    assert call(program(text, env={"QUELL_TEST": "yes"}, cwd=tmp_path)) == 1
    script = tmp_path / "simulate"
    script.write_text(f"#!{sys.executable}\nprint(-7.5)\n")
    script.chmod(0o755)
    assert call(command(["./simulate"], cwd=tmp_path)) == -7.5


def test_in_a_run_with_failures_on_record(tmp_path):
    text = (
        "import random\nr = random.Random(q['seed'])\n"
        "if r.random() < 0.2: sys.exit('no licence left')\n"
        "print(-0.5 * t[0] ** 2 + r.gauss(0, 0.5), 0.5)"
    )
    how = {"budget": 14, "seed": 1, "progress": False, "settings": Settings(final_components=0)}
    result = infer(Problem(program(text), **BOX), **how, journal=tmp_path / "run.quelljournal")
    table = result.evaluations
    assert 0 < table.n_failed < 10
    assert any("no licence left" in error for error in table.error)
    again = infer(Problem(program(text), **BOX), **how)
    np.testing.assert_array_equal(table.value, again.evaluations.value)


def test_travels_to_other_processes():
    target = program("print(-1)", timeout=5.0, names=["a", "b"])
    assert call(pickle.loads(pickle.dumps(target))) == -1
    assert "command(" in repr(target)


@pytest.mark.parametrize(
    ("argv", "changes", "match"),
    [
        ("ls -l", {}, "list of the program"),
        ([], {}, "non-empty"),
        ([3], {}, "list of strings"),
        ([sys.executable, "a\0b"], {}, "without zero characters"),
        (["quell-has-no-such-program"], {}, "no program"),
        ([sys.executable], {"timeout": 0}, "timeout"),
        ([sys.executable], {"cwd": "quell-has-no-such-folder"}, "cwd"),
        ([sys.executable], {"names": ["a", "a"]}, "names"),
        ([sys.executable, "{b}"], {"names": ["a"]}, "no parameter 'b'; the names are a"),
        ([sys.executable, "{rate}"], {}, "no parameter 'rate'; the names are x1"),
        ([sys.executable, "-{seed}"], {"names": ["seed"]}, "rename the parameter"),
    ],
)
def test_bad_arguments(argv, changes, match):
    with pytest.raises((TypeError, ValueError), match=match):
        command(argv, **changes)
