import json
import os
from dataclasses import asdict

import pytest

from quell.bench import BenchError
from quell.bench.records import Writer, read_records
from quell.bench.single import Spec

SPEC = Spec.make("rosenbrock", "quell", 0, mode="exact", noise=1.0)


def record(seed=0, **fields):
    return {**asdict(SPEC), "seed": seed, "lml_loss": 0.1, **fields}


def test_spec_fills_in_defaults():
    assert (SPEC.dim, SPEC.budget, SPEC.stop_early) == (2, 200, False)
    assert Spec.make("rosenbrock", "quell", 0, mode="exact", noise=1) == SPEC
    assert Spec.of_record(json.loads(json.dumps(record()))) == SPEC


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("rosenbrok", "quell", 0), "did you mean 'rosenbrock'"),
        (("rosenbrock", "vigr", 0), "did you mean 'viqr'"),
        (("rosenbrock", "quell", -1), "negative"),
    ],
)
def test_spec_refuses_what_cannot_be_run(arguments, words):
    with pytest.raises(BenchError, match=words):
        Spec.make(*arguments)


def test_spec_refuses_a_budget_below_the_design():
    with pytest.raises(BenchError, match="at least 16"):
        Spec.make("cigar", "quell", 0, dim=15, budget=15)


def test_round_trip(tmp_path):
    path = tmp_path / "runs.jsonl"
    with Writer(path) as writer:
        for seed in range(3):
            writer.append(record(seed))
    records = read_records([path])
    assert [spec.seed for spec in records.runs] == [0, 1, 2]
    assert (records.damaged, records.repeated) == (0, 0)


def test_a_torn_line_is_left_behind_and_the_next_one_is_whole(tmp_path):
    path = tmp_path / "runs.jsonl"
    whole = json.dumps(record(1))
    path.write_text(json.dumps(record(0)) + "\n" + whole[: len(whole) // 2])
    assert (len(read_records([path]).runs), read_records([path]).damaged) == (1, 1)
    with Writer(path) as writer:
        writer.append(record(1))
    records = read_records([path])
    assert [spec.seed for spec in records.runs] == [0, 1]
    assert records.damaged == 1


def test_foreign_lines_are_counted_not_used(tmp_path):
    path = tmp_path / "runs.jsonl"
    path.write_text('{"problem": "rosenbrock"}\n[1, 2]\n\n' + json.dumps(record()) + "\n")
    records = read_records([path])
    assert (len(records.runs), records.damaged) == (1, 2)


def test_repeated_runs_count_once(tmp_path):
    path = tmp_path / "runs.jsonl"
    with Writer(path) as writer:
        writer.append(record(lml_loss=0.1))
        writer.append(record(lml_loss=0.2))
    records = read_records([path, path])
    assert records.repeated == 3
    assert records.runs[SPEC]["lml_loss"] == 0.2


def test_records_without_the_younger_fields_are_read():
    old = {k: v for k, v in record().items() if k not in ("fast", "data")}
    assert Spec.of_record(old) == SPEC


@pytest.mark.skipif(os.name != "posix", reason="needs limits on the size of files")
def test_a_record_that_cannot_be_written_is_saved_elsewhere(tmp_path, monkeypatch):
    import resource

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "elsewhere"))
    (tmp_path / "elsewhere").mkdir()
    path = tmp_path / "runs.jsonl"
    filler = {"posterior": "x" * 5000}
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Writer(path) as writer:
        writer.append(record(0, **filler))
        size = path.stat().st_size
        # Python ignores the signal that goes with it, so writing fails as on a full disk.
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 1000, limits[1]))
        try:
            with pytest.raises(BenchError, match=r"the finished run is in .*quell-run-"):
                writer.append(record(2, **filler))
            assert path.stat().st_size == size
            with pytest.raises(BenchError, match=r"cannot write .*the finished run is lost"):
                writer.append(record(3, posterior="x" * 20_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    saved = sorted((tmp_path / "elsewhere").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    records = read_records([path, saved[0]])
    assert ([spec.seed for spec in records.runs], records.damaged) == ([0, 2], 0)


def test_files_that_cannot_be_used(tmp_path):
    with pytest.raises(BenchError, match="cannot read"):
        read_records([tmp_path / "none.jsonl"])
    with pytest.raises(BenchError, match="cannot write"):
        Writer(tmp_path / "nowhere" / "runs.jsonl")
    with pytest.raises(BenchError, match="cannot write"):
        Writer(tmp_path)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
def test_devices_are_refused():
    with pytest.raises(BenchError, match="not an ordinary file"):
        Writer("/dev/full")
