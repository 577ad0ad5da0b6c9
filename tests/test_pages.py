"""The code of the pages for users runs as it stands, from top to bottom."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

from quell import Settings

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of this source tree")
@pytest.mark.parametrize(
    "page", ["results.md", "priors.md", "baselines.md", "problems.md", "report.md"]
)
@pytest.mark.filterwarnings("ignore::quell.BudgetWarning")
def test_the_code_of_a_page(page, capsys):
    for extra in {"results.md": ["pandas", "xarray", "h5netcdf"]}.get(page, []):
        pytest.importorskip(extra)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) > 2
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks:
        exec(compile(block, str(page), "exec"), names)
    assert capsys.readouterr().out


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of this source tree")
def test_links_between_pages():
    for page in (
        "results.md",
        "priors.md",
        "baselines.md",
        "deviations.md",
        "problems.md",
        "report.md",
    ):
        for link in re.findall(r"\]\(([^)#]+)", (DOCS / page).read_text(encoding="utf-8")):
            assert link.startswith("http") or (DOCS / link).is_file(), (page, link)


def rows(text):
    """The cells of the rows of tables in Markdown."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of this source tree")
class TestDeviations:
    """The page that says where Quell departs from the paper."""

    def cells(self, column):
        text = (DOCS / "deviations.md").read_text(encoding="utf-8")
        return [row[column] for row in rows(text) if set(row[0]) != {"-"}]

    def test_every_default_that_is_not_the_papers_has_a_row(self):
        ours, paper = Settings(), Settings.variant("paper-viqr")
        departs = {f.name for f in fields(Settings)
                   if getattr(ours, f.name) != getattr(paper, f.name)}  # fmt: skip
        assert len(departs) > 10
        named = " ".join(self.cells(5))
        assert not {name for name in departs if f"{name}=" not in named}

    def test_switches_are_those_of_the_paper(self):
        paper = Settings.variant("paper-viqr")
        switches = re.findall(r"`(\w+=[^`(]+)`", " ".join(self.cells(5)))
        found = [assignment.split("=") for text in switches for assignment in text.split(", ")]
        assert len(found) > 10
        for name, value in found:
            assert repr(getattr(paper, name)) == value.replace('"', "'"), name

    def test_every_row_says_what_was_measured(self):
        for measured in self.cells(4):
            assert measured == "measured" or re.search(r"\]\(|not measured|no difference", measured)
