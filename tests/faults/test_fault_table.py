"""Every fault of docs/faults.md is made, and gets what the page says.

QUELL_WRITE_DOCS=1 writes the page again.
"""

import os
from pathlib import Path

import pytest
from fault_runs import GROUPS

PAGE = Path(__file__).parents[2] / "docs" / "faults.md"
INTRODUCTION = """\
# What happens when something goes wrong

A mistake in what is handed in shows before the first evaluation. What goes wrong in a run costs as
little as possible: a failed evaluation is recorded and the run goes on; when it cannot go on, the
exception has all evaluations (`error.evaluations`), and a journal has them on disk. Paths and
numbers that depend on the machine are left out (…) or shortened below.

This page is written by `tests/faults/test_fault_table.py`, which makes every fault for real.
"""


def cell(text):
    return text.replace("|", "\\|").replace("<", "&lt;").replace("*", "\\*")


def page(rows):
    parts = [INTRODUCTION]
    for group, lines in rows.items():
        parts.append(f"## {group}\n\n| fault | gets | message |\n|---|---|---|")
        parts += [f"| {cell(what)} | {gets} | {cell(text)} |" for what, gets, text in lines]
        parts[-1] += "\n"
    return "\n".join(parts)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="limits file sizes and times as Unix can")
def test_every_fault_gets_what_the_page_says(tmp_path):
    rows, wrong = {}, []
    for group, cases in GROUPS.items():
        rows[group] = []
        for i, case in enumerate(cases):
            folder = tmp_path / f"{group[:4]}{i}"
            folder.mkdir()
            gets, text = case.outcome(folder)
            rows[group].append((case.what, gets, text))
            if gets != case.gets or case.says not in text:
                wrong.append(f"{case.what}: {gets}: {text}")
    assert not wrong, "\n".join(wrong)
    assert sum(map(len, rows.values())) >= 30
    text = page(rows)
    if os.environ.get("QUELL_WRITE_DOCS"):
        PAGE.write_text(text, encoding="utf-8")
    if not PAGE.parent.is_dir():
        pytest.skip("the documentation is not part of this source tree")
    assert PAGE.read_text(encoding="utf-8") == text, "write it again: QUELL_WRITE_DOCS=1"
