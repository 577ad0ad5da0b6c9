"""The code of the pages for users runs as it stands, from top to bottom."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.skipif(not DOCS.is_dir(), reason="the documentation is not part of this source tree")
@pytest.mark.parametrize("page", ["results.md", "priors.md", "baselines.md", "problems.md"])
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
    for page in ("results.md", "priors.md", "baselines.md", "problems.md"):
        for link in re.findall(r"\]\(([^)#]+)", (DOCS / page).read_text(encoding="utf-8")):
            assert link.startswith("http") or (DOCS / link).is_file(), (page, link)
