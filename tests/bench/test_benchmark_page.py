"""The tables of docs/benchmark.md are what the commands named there print today."""

import re

import pytest
from helpers.benchmarks import FOLDER, benchmark_module

make_page = benchmark_module("make_page")
PAGE = FOLDER.parent / "docs" / "benchmark.md"


@pytest.fixture(scope="module")
def page():
    if not PAGE.is_file():
        pytest.skip("the documentation is not part of this source tree")
    return PAGE.read_text(encoding="utf-8")


def test_the_blocks_are_what_their_commands_print(page, monkeypatch):
    # Nothing on the page may depend on data that not everybody has.
    monkeypatch.delenv("QUELL_DATA", raising=False)
    blocks = make_page.BLOCK.findall(page)
    assert len(blocks) >= 4
    for _, command, content, _ in blocks:
        assert content.strip() == make_page.printed(command), command


def test_every_block_has_an_end(page):
    assert page.count("<!-- made by:") == page.count("<!-- end -->")
    assert page.count("<!-- made by:") == len(make_page.BLOCK.findall(page))


def test_links_and_pictures_exist(page):
    for link in re.findall(r"\]\(([^)#]+)\)", page):
        assert link.startswith("http") or (PAGE.parent / link).is_file(), link


def test_a_changed_block_is_noticed_and_mended(tmp_path, monkeypatch, capsys):
    path = tmp_path / "page.md"
    path.write_text("a\n<!-- made by: quell --about -->\nold\n<!-- end -->\nb\n")
    monkeypatch.setattr(make_page, "PAGE", path)
    monkeypatch.setattr(make_page, "printed", lambda command: f"new {command}")
    assert make_page.main(["--check"]) == 1
    assert "make page" in capsys.readouterr().err
    assert "old" in path.read_text()
    assert make_page.main(["--no-pictures"]) == 0
    assert "new quell --about" in path.read_text()
    assert path.read_text().startswith("a\n")
    assert make_page.main(["--check"]) == 0


def test_only_commands_of_quell_make_blocks():
    with pytest.raises(SystemExit, match="not by rm"):
        make_page.printed("rm x")
