"""The tables of docs/benchmark.md are what the commands named there print today."""

import re

import pytest
from helpers.benchmarks import FOLDER, benchmark_module

from quell.bench.displays.making import DISPLAYS

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


def test_every_figure_is_on_the_page(page):
    assert page.count("<!-- picture:") == page.count("<!-- end of picture -->")
    shown = [name for _, name, _, _ in make_page.PICTURE.findall(page)]
    assert sorted(shown) == sorted(display.name for display in DISPLAYS)


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


def test_runs_that_are_not_there_are_named():
    text = make_page.printed("quell bench table benchmarks/results/study/nothing*.jsonl")
    assert text == "No runs yet: `benchmarks/results/study/nothing*.jsonl`."


def test_a_picture_has_its_caption_or_a_reason(tmp_path, monkeypatch):
    monkeypatch.setattr(make_page, "PICTURES", tmp_path)
    monkeypatch.setattr(make_page, "MATERIAL", ("illustrations/*",))
    monkeypatch.setattr(make_page.data, "kind", lambda: "real")
    blocks = "".join(
        f"<!-- picture: {name} -->\nold\n<!-- end of picture -->\n"
        for name in ("figure1", "figure4")
    )
    page = make_page.with_pictures(f"a\n{blocks}b\n")
    assert "![Figure 1](pictures/benchmark-figure1.png)\n\n**Figure 1: " in page
    assert "**Figure 4** is not made yet: no algorithm has runs at two levels" in page
    assert "old" not in page
    assert [path.name for path in tmp_path.iterdir()] == ["benchmark-figure1.png"]
    assert make_page.with_pictures(page) == page
    monkeypatch.setattr(make_page.data, "kind", lambda: "simulated")
    with pytest.raises(SystemExit, match="QUELL_DATA"):
        make_page.with_pictures(page)


def test_only_commands_of_quell_make_blocks():
    with pytest.raises(SystemExit, match="not by rm"):
        make_page.printed("rm x")
