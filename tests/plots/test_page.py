"""The page on plots: its code runs, and its pictures are there and small."""

import re
from pathlib import Path

import pytest

from quell import plots
from quell.studies.result import Row, StudyResult

PAGE = Path(__file__).parents[2] / "docs" / "plots.md"
LARGEST = 60_000  # bytes

pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="the docs are not part of this copy")


def test_its_code_runs(noisy_result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8").replace('"b"', '"$b"')
    rows = tuple(Row.of(name, 1, noisy_result) for name in ("anna", "ben"))
    study = StudyResult(rows, {(row.problem, 1): noisy_result for row in rows})
    given = {"result": noisy_result, "other": noisy_result, "study": study}
    blocks = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    assert len(blocks) > 8
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), given)
    assert (tmp_path / "corner.pdf").stat().st_size > 1000


def test_it_shows_every_plot_with_a_small_picture():
    text = PAGE.read_text(encoding="utf-8")
    pictures = re.findall(r"!\[(\w+)\]\((.*?)\)", text)
    assert {f"plot_{name}" for name, _ in pictures} == set(plots.__all__)
    for _, path in pictures:
        assert 1000 < (PAGE.parent / path).stat().st_size < LARGEST
