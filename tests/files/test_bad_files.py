"""Files that are damaged, of another kind, or hostile: one clear sentence, and nothing else."""

import io
import json
import os
import pickle
import random
import struct
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from helpers.files import assert_equal

import quell
from quell import FileError
from quell.archive import Archive, pack
from quell.archive.members import MOST_MEMBERS
from quell.archive.npy import from_npy, to_npy
from quell.archive.plain import from_json

FORMAT_1 = Path(__file__).parent / "data" / "format-1.quell"
WHOLE = FORMAT_1.read_bytes()


def load_bytes(data, path):
    path.write_bytes(data)
    return quell.load(path)


def members(data=WHOLE):
    """The members of a file as bytes, by name."""
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {member.filename: file.read(member) for member in file.infolist()}


def rebuilt(changes=(), **options):
    """The whole file with other members, as a foreign program may write it."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", **options) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, data in [*(members() | dict(changes)).items()]:
            if data is not None:
                file.writestr(name, data)
    return stream.getvalue()


def with_json(name="result.json", **changes):
    return rebuilt({name: json.dumps(json.loads(members()[name]) | changes).encode()})


def test_a_rebuilt_file_is_as_good(tmp_path):
    assert_equal(load_bytes(rebuilt(), tmp_path / "fit.quell"), quell.load(FORMAT_1))


class TestDamage:
    def test_cut_off_anywhere(self, tmp_path):
        for length in [*range(1, 400, 7), *range(400, len(WHOLE), 397), len(WHOLE) - 1]:
            with pytest.raises(FileError, match=r"cut off|Quell"):
                load_bytes(WHOLE[:length], tmp_path / "fit.quell")

    def test_any_byte_changed(self, tmp_path):
        """It fails by a `FileError`, or changes nothing."""
        whole = quell.load(FORMAT_1)
        rng = random.Random(1)
        refused = 0
        places = [
            *range(0, 60),
            *rng.sample(range(len(WHOLE)), 150),
            *range(len(WHOLE) - 60, len(WHOLE)),
        ]
        for place in places:
            data = bytearray(WHOLE)
            data[place] ^= 1 << rng.randrange(8)
            try:
                again = load_bytes(bytes(data), tmp_path / "fit.quell")
            except FileError:
                refused += 1
            else:
                assert_equal(again, whole)
        assert refused > 0.9 * 150

    def test_any_byte_changed_with_the_checksum_mended(self, tmp_path):
        """What a checksum does not show: loading either fails by a `FileError` or ends."""
        rng = random.Random(2)
        refused = 0
        for name, data in members().items():
            for _ in range(20 if name.endswith("json") else 2):
                changed = bytearray(data)
                changed[rng.randrange(len(changed))] = rng.randrange(256)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    try:
                        load_bytes(
                            rebuilt({name: bytes(changed)}), tmp_path / "fit.quell"
                        ).summary()
                    except FileError:
                        refused += 1
        assert refused > 10

    def test_bytes_after_the_end(self, tmp_path):
        with pytest.raises(FileError, match="cut off"):
            load_bytes(WHOLE + b"more", tmp_path / "fit.quell")

    @pytest.mark.parametrize("name", sorted(members()))
    def test_a_member_is_missing(self, name, tmp_path):
        with pytest.raises(FileError):
            load_bytes(rebuilt({name: None}), tmp_path / "fit.quell")


class TestOtherThings:
    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "is empty"),
            (b"my thesis", "no file of Quell's"),
            (rebuilt({"format.json": None}), "a zip file, but was not written by Quell"),
            (with_json("format.json", file="other"), "a zip file, but was not written by Quell"),
            (with_json("format.json", format="1"), "a zip file, but was not written by Quell"),
            (with_json("format.json", format=2), r"has format 2, and this version of Quell \(.*\) "
             "reads format 1: install the latest one"),
            (with_json("format.json", kind="recipe"), "has no result but a 'recipe'"),
        ],
    )  # fmt: skip
    def test_are_refused_by_name(self, content, words, tmp_path):
        with pytest.raises(FileError, match=words) as caught:
            load_bytes(content, tmp_path / "fit.quell")
        assert "fit.quell" in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_nothing_there(self, tmp_path):
        with pytest.raises(FileError, match="there is no file"):
            quell.load(tmp_path / "none.quell")

    def test_no_path(self):
        with pytest.raises(TypeError, match="path must be a path, got int"):
            quell.load(3)
        with pytest.raises(FileError, match="there is no file"):
            quell.load("a\0b")

    @pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read all")
    def test_a_file_that_may_not_be_read(self, saved):
        saved.chmod(0)
        with pytest.raises(FileError, match="Permission denied"):
            quell.load(saved)


class Evil:
    """What a pickle may do: run a command. Here it would leave a file."""

    def __reduce__(self):
        return os.system, ("touch quell-was-here",)


def npy(header):
    text = header.encode().ljust(118 - 10) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def object_array():
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.array([Evil()], dtype=object), allow_pickle=True)
    return stream.getvalue()


class TestHostile:
    @pytest.mark.parametrize(
        ("changes", "words"),
        [
            ({"../evil.json": b"{}"}, "a member '../evil.json'"),
            ({"/etc/evil.npy": b""}, "a member '/etc/evil.npy'"),
            ({"evil.pkl": pickle.dumps(Evil())}, "a member 'evil.pkl'"),
            ({"surrogate/x.npy": object_array()}, "surrogate/x: it is no plain array"),
            ({"surrogate/x.npy": pickle.dumps(Evil())}, "surrogate/x: it is no array"),
            ({"surrogate/x.npy": npy(
                "{'descr': '<f8', 'fortran_order': False, 'shape': (99999999999, 2), }")},
             "claims the shape"),
            ({"surrogate/x.npy": npy(
                "{'descr': '<f8', 'fortran_order': False, 'shape': (0, 9, 9, 9), }")}, "4 axes"),
            ({"surrogate/x.npy": npy(
                "{'descr': '<f8', 'fortran_order': False, 'shape': (__import__('os'),), }")},
             "no plain array"),
            ({"surrogate/x.npy": to_npy(np.zeros((3, 3)))}, r"an array of shape \(3, 3\)"),
            ({"surrogate/x.npy": to_npy(np.full((63, 2), np.inf))}, "x|shape"),
            ({"posterior/weights.npy": to_npy(np.array([True]))}, "type bool"),
            ({"posterior/lengths.npy": to_npy(np.array([np.nan, 1.0]))}, "lengths"),
            ({"posterior/lengths.npy": to_npy(np.array([-1.0, 1.0]))}, "lengths"),
            ({"surrogate/weights.npy": to_npy(np.zeros(8))}, "weights|shape"),
            ({"result.json": b"[" * 100_000}, "nested too deeply"),
            ({"result.json": b"[" * 30 + b"]" * 30}, "nested too deeply"),
            ({"result.json": b'{"elbo": 1, "elbo": 2}'}, "an entry twice"),
            ({"result.json": b'{"elbo": NaN}'}, "no JSON"),
            ({"result.json": b"\xff\xfe"}, "decode"),
            ({"result.json": b"9" * 10_000}, "digits|no dict"),
        ],
    )  # fmt: skip
    def test_members(self, changes, words, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with pytest.raises(FileError, match=words):
            load_bytes(rebuilt(changes), tmp_path / "fit.quell")
        assert [path.name for path in tmp_path.iterdir()] == ["fit.quell"]

    @pytest.mark.parametrize(
        "changes",
        [
            {"elbo": "a lot"}, {"elbo": [1.0]}, {"elbo": True}, {"chosen": 0}, {"chosen": 10**9},
            {"chosen": 1.0}, {"seed": "1"}, {"reasons": "because"}, {"reasons": [3]},
            {"verdict": {}}, {"verdict": {"stability": {}, "findings": []}},
            {"settings": {"batch": -1}}, {"settings": {"acquisition": 3}}, {"settings": None},
            {"problem": {}}, {"problem": None}, {"integer": [1, 2]}, {"integer": [True]},
            {"support": {"share": 2.0}}, {"support": {}}, {"space": {"names": ["a", "a"]}},
            {"history": {"columns": ["../x"], "others": {}}},
            {"history": {"columns": [], "others": {}}},
            {"evaluations": {"origin": ["nowhere"] * 40, "error": [""] * 40}},
            {"evaluations": {"origin": [], "error": []}},
            {"prior": {"kind": "pickle"}}, {"prior": {}}, {"prior": 3},
            {"prior": {"kind": "independent", "marginals": [None, None]}},
            *(
                {"prior": {"kind": "independent", "marginals": [
                    {"name": name, "args": args, "kwds": kwds}, None]}}
                for name, args, kwds in (
                    ("rv_continuous", [], {}), ("os", [], {}), ("__class__", [], {}),
                    ("rv_histogram", [[1, 2]], {}), ("norm", ["1"], {}), ("norm", [1] * 13, {}),
                    ("norm", [], {"no": 1}), ("poisson", [3], {}), ("norm", [0, -1], {}),
                    ("multivariate_normal", [0], {}),
                )
            ),
        ],
    )  # fmt: skip
    def test_plain_data(self, changes, tmp_path):
        with pytest.raises(FileError):
            load_bytes(with_json(**changes), tmp_path / "fit.quell")

    def test_a_zip_bomb(self, tmp_path):
        """Compressed members are refused before they are unpacked."""
        huge = to_npy(np.zeros(10_000_000))
        data = rebuilt({"surrogate/x.npy": huge}, compression=zipfile.ZIP_DEFLATED)
        started = time.process_time()
        with pytest.raises(FileError, match="is compressed"):
            load_bytes(data, tmp_path / "fit.quell")
        assert time.process_time() - started < 1.0

    def test_a_member_twice(self, tmp_path):
        stream = io.BytesIO(WHOLE)
        with zipfile.ZipFile(stream, "a") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            file.writestr("result.json", "{}")
        with pytest.raises(FileError, match=r"'result\.json' twice"):
            load_bytes(stream.getvalue(), tmp_path / "fit.quell")

    def test_too_many_members(self, tmp_path):
        data = rebuilt({f"a/{i}.json": b"" for i in range(MOST_MEMBERS + 1)})
        with pytest.raises(FileError, match=r"claims 200.. members"):
            load_bytes(data, tmp_path / "fit.quell")

    @pytest.mark.parametrize(("offset", "value"), [(10, 60_000), (12, 2**32 - 1), (16, 2**31)])
    def test_a_list_of_members_that_lies(self, offset, value, tmp_path):
        """The count, the length and the place of the list, at the end of the file."""
        data = bytearray(WHOLE)
        form = "<H" if offset == 10 else "<L"
        struct.pack_into(form, data, len(data) - 22 + offset, value)
        with pytest.raises(FileError):
            load_bytes(bytes(data), tmp_path / "fit.quell")

    def test_members_that_share_their_bytes(self, tmp_path):
        """Many entries of the list that point at one large member: together more than the file."""
        big = to_npy(np.zeros(100_000))
        data = bytearray(rebuilt({"a/a.npy": big, "a/b.npy": b""}))
        entry = data.rindex(b"PK\x01\x02", 0, data.rindex(b"a/b.npy"))
        struct.pack_into("<LL", data, entry + 20, 2 * len(data), 2 * len(data))
        with pytest.raises(FileError, match="claim"):
            load_bytes(bytes(data), tmp_path / "fit.quell")


def test_arrays_and_plain_data_alone():
    for array in (np.zeros((0, 3)), np.array(1.5), np.arange(4), np.array([True]), -np.zeros(1)):
        again = from_npy(to_npy(array))
        np.testing.assert_array_equal(again, array)
        assert again.shape == array.shape
        assert np.signbit(again).tolist() == np.signbit(array).tolist()
    with pytest.raises(TypeError, match="complex"):
        to_npy(np.array([1j]))
    with pytest.raises(ValueError, match="neither true nor false"):
        from_npy(to_npy(np.array([True]))[:-1] + b"\2")
    with pytest.raises(ValueError, match="an entry twice"):
        from_json(b'{"a": 1, "a": 2}')


def test_the_same_data_are_the_same_bytes():
    once, again = (pack({"format.json": {"a": 1}, "b/c.npy": np.ones(3)}) for _ in range(2))
    assert once == again
    archive = Archive(io.BytesIO(once), "memory")
    assert archive.names == ("format.json", "b/c.npy")
    with pytest.raises(ValueError, match=r"'b/d\.npy' is missing"):
        archive.array("b/d", 3)
