"""The script of docs/one-page.md runs as it stands, and is one page."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "one-page.md"


@pytest.mark.skipif(not PAGE.is_file(), reason="the documentation is not part of this source tree")
def test_the_algorithm_on_one_page(capsys):
    [script] = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert script.count("\n") < 100
    names: dict[str, object] = {"__name__": "page"}
    exec(compile(script, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out
    counts = [int(count) for count in re.findall(r"(\d+) evaluations  ELBO", printed)]
    assert counts[0] == 10
    assert 70 < counts[-1] <= 80  # iterations end after five steps, with looks in between
    assert abs(names["estimate"].value - np.log(np.pi / 192)) < 1.0
    mean, sd = names["posterior"].mean(), names["posterior"].sd()
    np.testing.assert_allclose(mean, [0.0, -0.5], atol=0.8)
    np.testing.assert_allclose(sd, [1.0, np.sqrt(0.75)], rtol=0.6)
