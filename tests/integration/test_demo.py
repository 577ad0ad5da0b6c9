"""The demonstration: a run as it is by default, a report, and a figure."""

import sys

import numpy as np
import pytest

from quell import Settings
from quell.demo import run_demo


@pytest.mark.filterwarnings("ignore::quell.BudgetWarning")
def test_the_demonstration(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    made = run_demo(tmp_path / "new", seed=5300, budget=25, progress=False)
    said = capsys.readouterr().out
    assert made.result.settings == Settings()
    assert made.result.evaluations.n_counted == 25
    assert "the truth is -2.260" in said
    assert str(tmp_path / "new" / "report.html") in said
    assert "Noisy inference on a banana" in made.report.read_text(encoding="utf-8")
    assert made.figure.read_bytes().startswith(b"\x89PNG")
    assert np.isfinite(made.result.log_evidence)


@pytest.mark.filterwarnings("ignore::quell.BudgetWarning")
def test_without_matplotlib_there_is_the_report_alone(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    made = run_demo(tmp_path, seed=5301, budget=15, progress=False)
    assert made.figure is None
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert "matplotlib is not installed" in capsys.readouterr().out
