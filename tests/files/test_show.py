"""``quell show``: a saved result, a journal or a study, as text."""

import pytest
from helpers.problems import QUICK, make, normal

import quell
from quell.cli import main


def test_a_saved_result(result, saved, capsys):
    assert main(["show", str(saved)]) == 0
    text = capsys.readouterr().out
    assert text.startswith(result.summary())
    assert f"with quell {quell.__version__}, numpy" in text


def test_a_journal_and_a_study(tmp_path, capsys):
    how = {"budget": 12, "seeds": [5001], "settings": QUICK, "progress": False}
    study = quell.study({"a": make(normal, noise="exact")}, folder=tmp_path, **how)
    assert main(["show", str(tmp_path)]) == 0
    assert study.table() in capsys.readouterr().out
    journal = next(tmp_path.glob("*.quelljournal"))
    assert main(["show", str(journal)]) == 0
    assert "from the journal 'a-seed5001.quelljournal', as of" in capsys.readouterr().out
    study.save(tmp_path / "study.quell")
    assert main(["show", str(tmp_path / "study.quell")]) == 0
    assert study.table() in capsys.readouterr().out


@pytest.mark.parametrize("content", [None, b"", b"thesis", b"PK\3\4", b"SQLite format 3\0"])
def test_what_is_none_of_them_gets_one_line(content, tmp_path, capsys):
    path = tmp_path / "thing"
    if content is not None:
        path.write_bytes(content)
    assert main(["show", str(path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("quell: ")
    assert captured.err.count("\n") == 1
