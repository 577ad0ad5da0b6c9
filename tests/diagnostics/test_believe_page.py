"""The page that reasons point to has a section on every test."""

from pathlib import Path

import numpy as np
from helpers.cases import make_case

from quell.diagnostics import judge
from quell.diagnostics.check import PAGE

ROOT = Path(__file__).parents[2]


def test_every_test_has_a_section():
    found = judge(np.random.default_rng(0), make_case()).findings
    page = (ROOT / PAGE).read_text(encoding="utf-8")
    sections = {line.removeprefix("### ") for line in page.splitlines() if line.startswith("###")}
    # Each is about one test, or about one warning, which has the words of its message.
    assert {name for name in sections if " " not in name} == {
        *(finding.test for finding in found), "stability",
    }  # fmt: skip
