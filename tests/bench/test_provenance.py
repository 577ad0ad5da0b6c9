"""The commit on record: of a clean tree, of a changed one, and where there is none."""

import shutil
import subprocess

import pytest

from quell.bench import provenance
from quell.bench.provenance import source_commit, version_of

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    who = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *who, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def package(tmp_path):
    """The folder of a package in a checkout with one commit."""
    folder = tmp_path / "src" / "package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("")
    git(tmp_path, "init", "--quiet")
    (tmp_path / "results").write_text("")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    source_commit.cache_clear()
    yield folder
    source_commit.cache_clear()


def test_a_clean_checkout(package, tmp_path):
    (tmp_path / "results").write_text("changed, but not part of the package")
    assert source_commit(package) == git(tmp_path, "rev-parse", "--short", "HEAD")


@pytest.mark.parametrize("name", ["__init__.py", "new.py"])
def test_a_change_is_marked(package, name):
    (package / name).write_text("1")
    assert source_commit(package) == git(package, "rev-parse", "--short", "HEAD") + "+"


def test_a_package_installed_inside_another_checkout_has_none(package, tmp_path):
    installed = tmp_path / "lib" / "package"
    shutil.copytree(package, installed)
    assert source_commit(installed) == ""


def test_outside_a_checkout_there_is_none(tmp_path):
    assert source_commit(tmp_path) == ""
    assert source_commit(tmp_path / "nowhere") == ""


def test_the_engine_is_what_decides_a_run(tmp_path):
    for name in ("settings.py", "gp/a.py", "plots/b.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("1")
    for name in provenance.ENGINE:
        if name.endswith(".py"):
            (tmp_path / name).write_text("1")

    def digest():
        provenance.engine_digest.cache_clear()
        return provenance.engine_digest(tmp_path)

    first = digest()
    (tmp_path / "plots" / "b.py").write_text("2")
    assert digest() == first
    (tmp_path / "gp" / "a.py").write_text("2")
    assert digest() != first
    provenance.engine_digest.cache_clear()


def test_records_of_before_have_their_commit_for_a_version():
    assert version_of({"engine": "abc", "commit": "1"}) == "abc"
    assert version_of({"commit": "1"}) == "1"
    assert version_of({}) == "unknown"
