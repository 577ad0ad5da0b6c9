"""The map of the paper names what exists, and leaves no numbered piece out."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "paper-map.md"
#: What the paper and its supplement number.
EQUATIONS = [*map(str, range(1, 12)), *(f"S{n}" for n in range(1, 23))]
TABLES = ["1", "S1", "S2"]
FIGURES = [*map(str, range(1, 5)), *(f"S{n}" for n in range(1, 8))]
SECTIONS = ["1", "2", "2.1", "2.2", "3", "3.1", "3.2", "3.3", "4", "4.1", "4.2", "5"]
SUPPLEMENT = [
    *("A", "A.1", "A.2", "A.3", "B", "B.1", "B.2", "C", "C.1", "C.2", "C.3"),
    *("D", "D.1", "D.2", "D.3", "E", "E.1", "E.2", "E.3", "E.4", "E.5", "E.6"),
]
PIECES = [
    *(f"Eq. {n}" for n in EQUATIONS),
    *(f"Table {n}" for n in TABLES),
    *(f"Figure {n}" for n in FIGURES),
    *(f"Section {n}" for n in SECTIONS),
    *(f"Supplement {n}" for n in SUPPLEMENT),
]
REFERENCE = re.compile(r"`([\w/]+\.py): ([\w.]+)`")


def rows():
    """The rows of all tables: piece, what it is, code, tests, note."""
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if row[0] != "Paper" and set(row[0]) != {"-"}]


def references(*cells):
    return [match for cell in cells for match in REFERENCE.findall(cell)]


@cache
def names_in(file):
    """Functions, classes, constants and "Class.member"s that a file defines; None without it."""
    path = ROOT / file if file.startswith("tests/") else ROOT / "src" / "quell" / file
    if not path.is_file():
        return None
    found = set()
    for node in ast.parse(path.read_text()).body:
        found |= defined(node)
        if isinstance(node, ast.ClassDef):
            members = set().union(*map(defined, node.body))
            found |= {f"{node.name}.{member}" for member in members}
    return found


def defined(node):
    """The names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return {
            leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name)
        }
    return set()


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
class TestRow:
    def test_has_all_cells(self, row):
        assert len(row) == 5

    def test_names_what_exists(self, row):
        for file, name in references(*row):
            names = names_in(file)
            assert names is not None, f"there is no {file}"
            assert name in names, f"{file} has no {name}"

    def test_has_code_or_says_why_not(self, row):
        code = row[2]
        assert references(code) or code.startswith(("not built yet", "nothing to build"))

    def test_backticks_in_code_and_tests_are_references(self, row):
        for cell in row[2:4]:
            assert cell.count("`") == 2 * len(references(cell)), cell

    def test_tests_are_tests(self, row):
        found = references(row[3])
        assert found or row[3] == "none"
        for file, name in found:
            assert file.startswith("tests/")
            assert name.split(".")[-1].startswith("test_")


@pytest.mark.parametrize("piece", PIECES)
def test_no_piece_is_left_out(piece):
    pieces = [row[0] for row in rows()]
    assert any(found == piece or found.startswith(f"{piece}, ") for found in pieces)


def test_no_piece_is_there_twice_and_none_is_invented():
    pieces = [row[0] for row in rows()]
    assert len(set(pieces)) == len(pieces)
    assert {piece.split(", ")[0] for piece in pieces} == set(PIECES)


def test_what_is_built_is_tested():
    untested = [row[0] for row in rows() if references(row[2]) and row[3] == "none"]
    assert not untested
