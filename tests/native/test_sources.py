"""A compiled module is used only with the C files it was made of."""

import subprocess
import sys

import pytest

import quell.native
from quell.native import kernels
from quell.native.digest import source_digest


def test_the_digest_changes_with_every_file(tmp_path):
    digests = {source_digest(tmp_path)}
    for name, text in (("a.c", "1"), ("a.c", "2"), ("b.h", "2"), ("c.txt", "2")):
        (tmp_path / name).write_text(text)
        digests.add(source_digest(tmp_path))
    assert len(digests) == 4  # the text file does not count


@pytest.mark.skipif(kernels is None, reason="the kernels are not compiled here")
def test_the_module_here_is_of_the_files_here():
    assert kernels.sources == source_digest()


@pytest.mark.skipif(kernels is None, reason="the kernels are not compiled here")
def test_one_of_other_files_is_not_used_and_that_is_said(monkeypatch):
    monkeypatch.setattr(quell.native, "source_digest", lambda: "other")
    with pytest.warns(UserWarning, match=r"compile them again with 'python hatch_build\.py'"):
        assert quell.native._load() is None


def test_they_can_be_turned_off(monkeypatch):
    monkeypatch.setenv("QUELL_NATIVE", "0")
    assert quell.native._load() is None


def test_importing_them_is_quick():
    command = "import time, quell.native.digest as d; t = time.process_time(); d.source_digest();"
    command += "print(time.process_time() - t)"
    printed = subprocess.run(
        [sys.executable, "-c", command], capture_output=True, text=True, check=True
    )
    assert float(printed.stdout) < 0.1
