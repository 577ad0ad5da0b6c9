"""Tables of evaluations as columns and as files, and back, bit for bit."""

import csv

import numpy as np
import pytest
from helpers.problems import make, normal, run
from hypothesis import given, settings
from hypothesis import strategies as st

from quell import Evaluations
from quell.evaluations import Origin
from quell.evaluations.columns import COLUMNS, _escaped, _unescaped
from quell.problem import Outcome
from quell.text import FORMULA_BEGINS

HOSTILE = ['=HYPERLINK("http://x")', "value", "theta_value", " @SUM(1)", "a,b\n\"c'\\n", "'=1"]


def same(a, b):
    assert a.names == b.names
    assert a.error == b.error
    assert a.origin == b.origin
    for column in ("theta", "value", "sd", "log_prior", "seconds", "index"):
        one, other = getattr(a, column), getattr(b, column)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes(), column


@pytest.fixture(scope="module")
def table():
    """Awkward numbers, texts and names."""
    rng = np.random.default_rng(1)
    d = len(HOSTILE)
    points = rng.standard_normal((4, d)) * 10.0 ** rng.integers(-300, 300, (4, d))
    points[0, 0], points[1, 1] = -0.0, np.nextafter(0.1, 1)
    table = Evaluations.from_arrays(
        points, [np.pi, -np.inf, np.nan, -1 / 3], [0.1, np.nan, np.nan, 5e-324],
        errors=["", "", "=cmd|' /C calc'!A0 \x1b[2J", ""], names=HOSTILE,
    )  # fmt: skip
    outcome = Outcome(-2.5, 0.3, seconds=1 / 7)
    return table.append(np.zeros(d), outcome, log_prior=-1 / 9, origin=Origin.LOOK, index=2**31)


def test_round_trip_through_a_dict(table):
    same(Evaluations.from_dict(table.to_dict()), table)
    lists = {key: list(column) for key, column in table.to_dict().items()}
    same(Evaluations.from_dict(lists), table)


def test_round_trip_through_a_file(table, tmp_path):
    table.to_csv(tmp_path / "table.csv")
    same(Evaluations.from_csv(tmp_path / "table.csv"), table)
    empty = Evaluations.empty(["a", "b"])
    empty.to_csv(str(tmp_path / "empty.csv"))
    same(Evaluations.from_csv(str(tmp_path / "empty.csv")), empty)


def test_no_cell_is_a_formula(table, tmp_path):
    table.to_csv(tmp_path / "table.csv")
    with open(tmp_path / "table.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    for cell in (cell for row in rows for cell in row):
        assert cell.isprintable()
        if cell.lstrip().startswith(FORMULA_BEGINS):
            float(cell)
            assert "inf" not in cell
    assert rows[0][-len(COLUMNS) :] == list(COLUMNS)


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_text_comes_back(text):
    cell = _escaped(text)
    assert _unescaped(cell) == text
    assert not cell.lstrip().startswith(FORMULA_BEGINS)
    cell.encode("utf-8")


def test_a_file_from_elsewhere(tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text("\ufeffa,b,value,sd\r\n1,2,-3.5,0.1\r\n2,3,-1e999,\r\n\r\n", encoding="utf-8")
    table = Evaluations.from_csv(path)
    assert table.names == ("a", "b")
    assert table.n_failed == 1
    assert table.origin == (Origin.GIVEN,) * 2
    assert np.isnan(table.sd[1])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,value\n1,x\n", r"'x' in row 2, column 'value', where a number must be"),
        ("a,value\n1\n", r"1 cells in row 2, expected 2"),
        ("a,vlaue\n1,2\n", r"must be a column 'value'.*did you mean 'vlaue'"),
        ("value,sd\n1,2\n", "no column of a parameter"),
        ("a,a,value\n1,2,3\n", "all different"),
        ("", "must begin with a row of column names"),
        ("a,value,index\n1,2,1.5\n", "'1.5' in row 2, column 'index'"),
        ("a,value,origin\n1,2,mine\n", "'mine' is not a valid Origin"),
        ("a,value\nnan,2\n", "must be finite"),
    ],
)
def test_files_that_are_no_tables(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        Evaluations.from_csv(path)


def test_columns_of_different_length():
    with pytest.raises(ValueError, match=r"a must have shape \(2,\) like value"):
        Evaluations.from_dict({"a": [1.0], "value": [1.0, 2.0]})


def test_a_head_start_from_a_file(tmp_path):
    problem = make(normal, names=["a"], noise="exact")
    first = run(problem, budget=12)
    first.evaluations.to_csv(tmp_path / "run.csv")
    again = Evaluations.from_csv(tmp_path / "run.csv")
    same(again, first.evaluations)
    from_file = run(problem, budget=3, evaluations=again)
    from_memory = run(problem, budget=3, evaluations=first.evaluations)
    np.testing.assert_array_equal(from_file.evaluations.theta, from_memory.evaluations.theta)
    assert from_file.elbo == from_memory.elbo


def test_a_data_frame_has_the_same_columns(table):
    pytest.importorskip("pandas")
    frame = table.to_pandas()
    assert list(frame.columns) == list(table.to_dict())
    same(Evaluations.from_dict(frame.to_dict("list")), table)
