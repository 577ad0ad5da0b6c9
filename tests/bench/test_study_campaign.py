"""The study of benchmarks/study.py: its runs and their order, and how it is made and continued."""

import json
import multiprocessing
import os
import re
import signal
import threading
import time
from collections import Counter
from dataclasses import asdict

import pytest
from helpers.benchmarks import FOLDER, benchmark_module

from quell.bench.problems import PROBLEMS
from quell.bench.provenance import engine_digest
from quell.bench.records import read_records

pytest.importorskip("pyvbmc", reason="the study has runs of PyVBMC")
study = benchmark_module("study")
study_plan = benchmark_module("study_plan")
Batch = benchmark_module("campaign").Batch
TEN = {
    "ricker", "addm_s1", "addm_s2", "timing", "multisensory_s1", "multisensory_s2",
    "neuronal_v1", "neuronal_v2", "rodent", "gandk",
}  # fmt: skip
OTHER_KINDS = {"regression": 3, "hierarchical": 5, "constraint": 2, "lotka_volterra": 8}
TINY = study.Part("tiny", "a test", (Batch(("normal",), ("quell",), dim=1, budget=12),), runs=2)
COMMAND = ["--simulated", "--first-seed", "5000"]


@pytest.fixture(scope="module")
def planned():
    """The specs of every part, on simulated data."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("QUELL_DATA", raising=False)
        return {part.name: part.specs(100) for part in study.PARTS}


@pytest.fixture
def simulated(monkeypatch, tmp_path):
    """Data are simulated, and the study is made in a folder of the test."""
    monkeypatch.delenv("QUELL_DATA", raising=False)
    return tmp_path / "study"


def run(folder, *arguments, parts=(TINY,)):
    study.main([*COMMAND, "--out", str(folder), *arguments], parts)


def lines_of(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize("part", ["quell", "viqr"])
def test_the_ten_problems_twenty_times_one_seed_after_another(planned, part):
    specs = planned[part]
    assert len(specs) == 200
    for place, seed in enumerate(range(100, 120)):
        some = specs[10 * place : 10 * (place + 1)]
        assert {spec.problem for spec in some} == TEN
        assert {(spec.seed, spec.algorithm) for spec in some} == {(seed, part)}
    # IBS by its law; emulated where the paper has it; synthetic likelihoods by simulation.
    kinds = {(s.problem, s.mode, s.fast, s.noise) for s in specs}
    assert ("timing", "noisy", True, None) in kinds
    assert ("neuronal_v2", "exact", False, 2.0) in kinds
    assert ("ricker", "noisy", False, None) in kinds
    assert len(kinds) == 10
    assert all(spec.budget == 50 * (spec.dim + 2) and not spec.stop_early for spec in specs)


def test_most_valuable_first(planned):
    assert list(planned)[:4] == ["quell", "viqr", "noise", "jitter"]
    assert list(planned)[-2:] == ["imiqr", "peers"]
    assert sum(map(len, planned.values())) == 1166
    assert len({spec for specs in planned.values() for spec in specs}) > 1110  # few twice


def test_noise_and_what_is_told_of_it(planned):
    swept = {"timing", "multisensory_s1", "neuronal_v1"}
    noise = Counter((s.problem, s.algorithm, s.noise) for s in planned["noise"])
    assert {key[0] for key in noise} == swept
    assert {key[2] for key in noise} == {None, 1.0, 3.0, 5.0, 7.0}
    assert set(noise.values()) == {5}
    told = Counter((s.problem, s.algorithm, s.noise_jitter) for s in planned["jitter"])
    assert {key[2] for key in told} == {0.0, 0.2, 0.4, 0.8}
    assert {s.noise for s in planned["jitter"]} == {2.0}
    assert len(told) == 3 * 2 * 4
    assert set(told.values()) == {5}


def test_the_others(planned):
    count = Counter(spec.algorithm for spec in planned["variants"])
    assert count == dict.fromkeys(("npro", "nowv", "map", "old", "eig", "wsabi"), 50)
    assert Counter(spec.algorithm for spec in planned["imiqr"]) == {"imiqr": 50}
    assert Counter(spec.algorithm for spec in planned["peers"]) == {"gp-imiqr": 8, "pyvbmc": 8}
    assert len({spec.problem for spec in planned["peers"]}) == 4
    assert all(spec.mode == "exact" and spec.noise for spec in planned["emulated"])
    further = {(spec.problem, spec.dim, spec.noise): spec for spec in planned["further"]}
    assert set(further) == {
        ("multisensory_both", 12, None), ("halfnormal", 2, None), ("banana", 6, None),
        ("banana", 10, None), ("logreg", 5, None), ("cigar", 15, None),
        *((name, dim, sd) for sd in (None, 1.0) for name, dim in OTHER_KINDS.items()),
    }  # fmt: skip
    assert len(planned["further"]) == 5 * len(further)
    assert further["cigar", 15, None].budget == 750
    assert further["multisensory_both", 12, None].fast


def test_posteriors_of_the_runs_in_pictures_are_kept():
    parts = {part.name: part for part in study.PARTS}
    record = {"posterior": {"x": 1 / 3}, "settings": {}, "mmtv": 1 / 3}
    for name, pictured in {"quell": 5, "viqr": 5, "noise": 1}.items():
        kept = [parts[name].kept({**record, "seed": seed}, 100) for seed in range(100, 120)]
        assert sum("posterior" in one for one in kept) == pictured
        assert kept[0]["posterior"] == record["posterior"]
        assert sum("settings" in one for one in kept) == 1
        assert {one["mmtv"] for one in kept} == {0.33333333}


@pytest.mark.usefixtures("in_this_process")
def test_a_study_is_made_continued_and_listed(simulated, capsys):
    run(simulated, "--list")
    assert "tiny  2        0     0       2" in capsys.readouterr().out
    run(simulated, "--runs", "1")
    path = simulated / "tiny.jsonl"
    first = path.read_text()
    assert {record["seed"] for record in lines_of(path)} == {5000}
    run(simulated)
    text = capsys.readouterr().out
    assert "tiny  2        2     0       0" in text
    assert path.read_text().startswith(first)
    records = lines_of(path)
    # One run of each kind says in full what it found, and by which settings.
    assert [("posterior" in r, "settings" in r) for r in records] == [(True, True), (False, False)]
    assert all(r["trace"] and "own_stop" in r and r["settings_digest"] for r in records)
    assert all(r["mmtv"] == float(f"{r['mmtv']:.8g}") for r in records)
    assert {r["engine"] for r in records} == {engine_digest()}
    run(simulated)
    assert lines_of(path) == records
    (simulated / "other.jsonl").write_text(first)  # a run that two parts have counts once
    run(simulated, "--table", parts=(TINY, study.Part("other", "a test", TINY.batches, 1)))
    text = capsys.readouterr().out
    assert re.search(r"\| normal \| 1 \|.*\| quell \| full budget \| 2 \|", text)
    assert "own stop" in text


@pytest.mark.usefixtures("in_this_process")
def test_a_part_and_a_time_limit(simulated, capsys, monkeypatch):
    other = study.Part("other", "for this test too", TINY.batches, 1)
    run(simulated, "--part", "other", parts=(TINY, other))
    assert [path.name for path in simulated.iterdir()] == ["other.jsonl"]
    clock = iter([0.0, 0.0, *[1e9] * 1000])  # when the study begins, before the first run, after
    monkeypatch.setattr(study, "monotonic", lambda: next(clock))
    run(simulated, "--minutes", "1", "--jobs", "1", parts=(TINY, other))
    assert len(lines_of(simulated / "tiny.jsonl")) == 1
    text = capsys.readouterr().out
    assert "the time is over with 1 of its runs left" in text
    with pytest.raises(SystemExit):
        run(simulated, "--part", "none")
    assert "invalid choice" in capsys.readouterr().err


@pytest.mark.usefixtures("in_this_process")
def test_another_version_is_not_mixed_and_nothing_is_begun(simulated):
    simulated.mkdir()
    path = simulated / "tiny.jsonl"
    spec = TINY.specs(5000)[0]
    path.write_text(json.dumps({**asdict(spec), "engine": "older"}) + "\n")
    before = path.read_text()
    other = study.Part("other", "comes before it", TINY.batches, 1)
    with pytest.raises(SystemExit, match=r"older; this is .*mv .*tiny.jsonl .*--mixed"):
        run(simulated, parts=(other, TINY))
    assert path.read_text() == before
    assert not (simulated / "other.jsonl").exists()
    run(simulated, "--mixed")
    assert len(read_records([path]).runs) == 2


def test_ctrl_c_loses_only_runs_under_way(simulated):
    slow = study.Part("slow", "a run of an hour", (Batch(("student",), ("imiqr",), dim=8),), 1)

    def interrupt():
        while not multiprocessing.active_children():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    # The next part is begun once the last run of this one is on file.
    threading.Thread(target=interrupt_after, args=(simulated / "slow.jsonl", interrupt)).start()
    with pytest.raises(SystemExit, match="the same command continues"):
        run(simulated, "--runs", "1", parts=(TINY, slow))
    assert not multiprocessing.active_children()
    assert len(lines_of(simulated / "tiny.jsonl")) == 1
    assert lines_of(simulated / "slow.jsonl") == []


def interrupt_after(path, interrupt):
    while not path.exists():
        time.sleep(0.01)
    interrupt()


def test_costs_are_those_of_the_nearest_runs():
    spec = TINY.specs(5000)[0]

    def record(seconds, **changes):
        return {**asdict(spec), "total_cpu_seconds": seconds, **changes}

    assert study_plan.Costs([]).seconds(spec) == 12 * study_plan.SECONDS["quell"]
    elsewhere = record(40.0, problem="lumpy", dim=4, budget=20)
    assert study_plan.Costs([elsewhere]).seconds(spec) == 24.0
    noisy = record(5.0, noise=3.0)
    assert study_plan.Costs([elsewhere, noisy]).seconds(spec) == 5.0
    same = [record(seconds, seed=seed) for seed, seconds in enumerate((1.0, 2.0, 9.0))]
    assert study_plan.Costs([elsewhere, noisy, *same]).seconds(spec) == 2.0
    assert set(study_plan.SECONDS) == {
        name for part in study.PARTS for batch in part.batches for name in batch.algorithms
    }


def test_the_page_lists_every_problem_and_part():
    page = (FOLDER.parent / "docs" / "problems.md").read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in [*PROBLEMS, *(part.name for part in study.PARTS)])


def test_the_parts_and_their_runs_without_data(tmp_path, monkeypatch, capsys, planned):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path / "nowhere"))
    runs = [{"problem": "ricker", "dim": 3, "algorithm": "quell", "mode": "noisy", "noise": None,
             "noise_jitter": 0.0, "budget": 250, "stop_early": False, "seed": seed, "commit": "abc",
             "engine": "def"} for seed in (100, 101)]  # fmt: skip
    text = "".join(json.dumps(run) + "\n" for run in [*runs, {**runs[0], "error": "no"}])
    (tmp_path / "quell.jsonl").write_text(text)
    study.main(["--parts", "--out", str(tmp_path)])
    output = capsys.readouterr().out
    assert "| `quell` | Quell on the ten problems | abc | def | 200 | 2 | 1 |" in output
    assert "| `further` | problems beyond the paper's, Quell | - | - | 70 | 0 | 0 |" in output
    assert {part.name: part.planned for part in study.PARTS} == {
        name: len(specs) for name, specs in planned.items()
    }


def test_published_medians_are_those_on_file(stored):
    configs = stored["configs"]
    for row in study.FURTHER_PYVBMC:
        suffix = "_exhaust" if row.problem == "cigar" else ""
        config = configs[f"{row.problem}_D{row.dim}{suffix}"]
        medians = config["published"]
        assert (row.lml_loss, row.gskl, row.mmtv, row.usable) == pytest.approx(
            (medians["elbo_err"][0], medians["gskl"][0], medians["mmtv"][0], medians["usable"])
        )
        budget = study.CIGAR_BUDGET if row.problem == "cigar" else 50 * (row.dim + 2)
        assert config["max_fun_evals"] == budget


def test_real_data_unless_asked_otherwise(monkeypatch, capsys):
    monkeypatch.delenv("QUELL_DATA", raising=False)
    with pytest.raises(SystemExit):
        study.main(["--list"], (TINY,))
    assert "export QUELL_DATA" in capsys.readouterr().err
    monkeypatch.setenv("QUELL_DATA", "somewhere")
    with pytest.raises(SystemExit):
        study.main(["--list", "--simulated"], (TINY,))
    assert "unset it" in capsys.readouterr().err
    assert study.parse((TINY,), []).out == "benchmarks/results/study"
    with pytest.raises(SystemExit):
        study.main(["--minutes", "0"], (TINY,))
    assert "--minutes must be positive" in capsys.readouterr().err
