"""Journals and rows that nobody wrote like that: changed bits, wrong types, other tables."""

import json
import os
import random
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from helpers.problems import QUICK, box

from quell import JournalError, Problem, Sampler, Settings, infer, read_journal
from quell.journal.journal import Journal
from quell.journal.meta import CHECKSUMS, seal
from quell.journal.rows import COLUMNS, checksum
from quell.studies.folder import StudyFolder
from quell.studies.result import Row

PROBLEM = Problem(lambda _: 0.0, **box(2), noise="exact")


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "run.quelljournal"
    with Sampler(PROBLEM, seed=1, journal=path, start=[[0.5, 0.5]]) as sampler:
        points = sampler.ask(4)
        sampler.tell(points[:3], [-1.0, -2.0, -3.0])
    return path


def execute(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(statement, values)
        connection.commit()


def craft(path, row, **columns):
    """Change a row together with its checksum."""
    with closing(sqlite3.connect(path)) as connection:
        names = ", ".join(f'"{name}"' for name in COLUMNS)
        found = connection.execute(f"SELECT {names} FROM events WHERE id = ?", (row,)).fetchone()
        values = tuple((dict(zip(COLUMNS, found, strict=True)) | columns).values())
        changes = ", ".join(f'"{name}" = ?' for name in COLUMNS)
        statement = f"UPDATE events SET {changes}, checksum = ? WHERE id = ?"
        connection.execute(statement, (*values, checksum(values), row))
        connection.commit()


@pytest.mark.parametrize(
    "columns",
    [
        {"theta": "[1.0]"}, {"theta": "7"}, {"theta": "[1.0, null]"}, {"theta": b"\xff"},
        {"theta": "[" * 100_000}, {"theta": "[NaN, 1.0]"}, {"theta": '["a", "b"]'}, {"theta": None},
        {"value": "high"}, {"value": 1e999}, {"sd": -1.0}, {"origin": ""}, {"origin": "nowhere"},
        {"kind": "tale"}, {"index": -5}, {"index": 2**40}, {"index": None}, {"at": 1e300},
        {"at": None}, {"failure": "bored"}, {"error": None}, {"who": b"me"}, {"call": "one"},
        {"reported": 0.5},
    ],
)  # fmt: skip
def test_a_row_of_another_form_is_damaged(path, columns):
    craft(path, 6, **columns)
    found = read_journal(path)
    assert (len(found.evaluations), found.n_lost) == (2, 1)
    with pytest.warns(UserWarning, match="row 6 has the checksum of a row, but not the form"):
        sampler = Sampler(PROBLEM, journal=path)
    assert len(sampler.evaluations) == 2
    sampler.close()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("problem", 3), ("problem", {}), ("problem", {"names": "ab"}), ("problem", {"names": []}),
        ("settings", []), ("seed", "1"), ("seed", -1), ("seed", True), ("seed", 1.5),
        ("starts", 3), ("starts", [[1.0]]), ("starts", [[1.0, "a"]]),
    ],
)  # fmt: skip
def test_entries_of_another_form(path, key, value):
    """With checksums, so that they look well made; and without, as in earlier versions."""
    with closing(sqlite3.connect(path)) as connection:
        texts = dict(connection.execute("SELECT key, value FROM meta"))
    texts = seal(
        {k: json.loads(text) for k, text in texts.items() if k != CHECKSUMS} | {key: value}
    )
    for k, text in texts.items():
        execute(path, "UPDATE meta SET value = ? WHERE key = ?", text, k)
    for _ in range(2):
        with pytest.raises(JournalError, match=f"its entry '{key}' cannot be read"):
            Sampler(PROBLEM, journal=path)
        assert len(read_journal(path).evaluations) == 3
        execute(path, "DELETE FROM meta WHERE key = ?", CHECKSUMS)


@pytest.mark.parametrize("text", ["{", "[" * 100_000, b"\xff\xfe", "7"])
def test_entries_that_are_no_json(path, text):
    execute(path, "UPDATE meta SET value = ? WHERE key = 'problem'", text)
    with pytest.raises(JournalError, match="cannot be read, or its checksum is wrong"):
        Sampler(PROBLEM, journal=path)
    assert len(read_journal(path).evaluations) == 3


def test_a_changed_seed_is_noticed(path):
    execute(path, "UPDATE meta SET value = '3' WHERE key = 'seed'")
    with pytest.raises(JournalError, match="'seed' cannot be read, or its checksum is wrong"):
        Sampler(PROBLEM, journal=path)
    assert read_journal(path).seed is None


def test_dates_that_are_none_are_left_out(path):
    execute(path, "UPDATE meta SET value = '{\"at\": 1e99}' WHERE key = 'created'")
    assert read_journal(path).version == ""
    with pytest.warns(UserWarning, match="'created'"):
        Sampler(PROBLEM, journal=path).close()


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW events AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
        "SELECT i AS id, * FROM n, old",
        "CREATE VIEW extra AS SELECT 1",
        "CREATE TRIGGER t AFTER INSERT ON old BEGIN DELETE FROM old; END",
    ],
)
def test_views_and_triggers_are_refused(path, statement):
    if "old" in statement:
        execute(path, "ALTER TABLE events RENAME TO old")
    execute(path, statement)
    content = path.read_bytes()
    with pytest.raises(JournalError, match="was not written by quell"):
        Sampler(PROBLEM, journal=path)
    with pytest.raises(JournalError, match="was not written by quell"):
        read_journal(path)
    assert path.read_bytes() == content


def test_any_changed_bit_is_noticed_or_harmless(path):
    """Whatever changes in a file, nobody gets other numbers without a word."""
    good = read_journal(path)
    content = path.read_bytes()
    rng = random.Random(1)
    n_noticed = 0
    written = [place for place in range(100, len(content)) if content[place]]
    for _ in range(150):
        place, bit = rng.choice(written), 1 << rng.randrange(8)
        path.write_bytes(content[:place] + bytes([content[place] ^ bit]) + content[place + 1 :])
        try:
            found = read_journal(path)
        except JournalError:
            n_noticed += 1
            continue
        assert found.seed in (good.seed, None)
        rows = {tuple(row) for row in np.c_[good.evaluations.theta, good.evaluations.value]}
        assert {
            tuple(row) for row in np.c_[found.evaluations.theta, found.evaluations.value]
        } <= rows
        complete = len(found.evaluations) == 3 and found.seed == good.seed
        n_noticed += not complete
    assert n_noticed > 20  # so many bits matter at least


@pytest.mark.parametrize("words", [b'"origin" TEXT', b'"at" REAL'])
def test_a_changed_name_of_a_column_costs_nothing(path, words):
    content = bytearray(path.read_bytes())
    content[content.index(words) + 2] ^= 128  # what SQLite says about it is no text either
    path.write_bytes(content)
    assert len(read_journal(path).evaluations) == 3
    with pytest.warns(UserWarning, match="3 evaluations could be read"):
        sampler = Sampler(PROBLEM, journal=path)
    assert (len(sampler.evaluations), sampler.seed) == (3, 1)
    sampler.close()


def test_lone_surrogates_are_stored(path):
    def target(_theta):
        raise ValueError("no file " + os.fsdecode(b"caf\xe9"))

    box_1 = Problem(target, **box(), noise="exact")
    with suppress(Exception):
        infer(box_1, budget=10, seed=1, journal=path.with_name("b"), settings=QUICK, progress=False)
    table = read_journal(path.with_name("b")).evaluations
    assert len(table) == 10
    assert table.error[0] == "ValueError: no file caf\\udce9"


def test_tracebacks_are_bounded(path):
    def target(_theta):
        raise ValueError("x" * 1_000_000)

    with suppress(Exception):
        infer(Problem(target, **box(), noise="exact"), budget=10, seed=1, settings=QUICK,
              journal=path.with_name("b"), progress=False)  # fmt: skip
    assert path.with_name("b").stat().st_size < 300_000


class TestVersions:
    def test_all_that_wrote_are_recorded(self, path, monkeypatch):
        for version in ("9.9.1", "9.9.1", "9.9.2"):
            monkeypatch.setattr("quell.journal.journal.__version__", version)
            Sampler(PROBLEM, journal=path).close()
        first, *later = read_journal(path).versions
        assert first == read_journal(path).version
        assert later == ["9.9.1", "9.9.2"]
        journal = Journal(path)
        assert [stamp["version"] for stamp in journal.meta["continued"]] == ["9.9.1", "9.9.2"]
        journal.close()

    def test_a_setting_that_is_younger_than_the_journal(self, path):
        """It had its default when the journal was written."""
        with closing(sqlite3.connect(path)) as connection:
            texts = dict(connection.execute("SELECT key, value FROM meta"))
        meta = {k: json.loads(text) for k, text in texts.items() if k != CHECKSUMS}
        del meta["settings"]["evidence"]
        for k, text in seal(meta).items():
            execute(path, "UPDATE meta SET value = ? WHERE key = ?", text, k)
        Sampler(PROBLEM, journal=path).close()
        with pytest.raises(JournalError, match=r"settings\.evidence"):
            Sampler(PROBLEM, journal=path, settings=Settings(evidence="elbo"))


class TestRowsOfStudies:
    @pytest.fixture
    def folder(self, tmp_path):
        folder = StudyFolder(tmp_path)
        folder.journal("a", 1).touch()
        folder.finish(Row("a", 1, -1.25, 0.5, -1.5, 0.25, True, 80, 2, 3.5), 80)
        return folder

    def test_any_changed_bit_is_noticed_or_harmless(self, folder):
        [summary] = Path(folder.path).glob("*.json")
        row, content = folder.finished("a", 1, 80), summary.read_bytes()
        assert row is not None
        assert row.log_evidence == -1.25
        for place in range(len(content)):
            for bit in (1, 4, 64):
                changed = bytes([content[place] ^ bit])
                summary.write_bytes(content[:place] + changed + content[place + 1 :])
                assert folder.finished("a", 1, 80) in (row, None)

    @pytest.mark.parametrize("text", ["[]", "{}", "[" * 100_000, '{"checksum": 1, "row": 3}', "\0"])
    def test_crafted_ones_are_made_again(self, folder, text):
        [summary] = Path(folder.path).glob("*.json")
        summary.write_text(text)
        assert folder.finished("a", 1, 80) is None
        summary.write_bytes(b"\xff\xfe")
        assert folder.finished("a", 1, 80) is None
