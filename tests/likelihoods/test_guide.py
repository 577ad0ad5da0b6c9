"""The code of docs/likelihoods.md runs as it stands."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "likelihoods.md"


@pytest.mark.skipif(not GUIDE.is_file(), reason="the documentation is not part of this source tree")
def test_code_of_the_guide(capsys):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 9
    names: dict[str, object] = {"__name__": "guide"}
    for block in blocks:
        exec(compile(block, str(GUIDE), "exec"), names)
    printed = capsys.readouterr().out
    assert "repeats, " in printed
    assert "unfinished=" in printed
    assert "unfinished=0" not in printed
    assert names["sd"] > 0
