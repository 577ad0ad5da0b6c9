import csv
import io

import numpy as np
import pytest

from quell.bench.summary import Group, groups, summarise
from quell.bench.tables import csv_table, markdown_table, number, text_table


def record(seed=0, **fields):
    return {
        "problem": "banana", "dim": 2, "algorithm": "quell", "mode": "exact", "noise": 1.0,
        "noise_jitter": 0.0, "budget": 200, "stop_early": False, "seed": seed, "fast": False,
        "data": "", "lml_loss": 0.1 * (seed + 1), "lml_loss_checked": 0.2 * (seed + 1),
        "gskl": 0.01, "mmtv": 0.05, "log_evidence": -1.0, "log_evidence_sd": 0.25,
        "overhead_cpu_seconds_per_evaluation": 0.123, **fields,
    }  # fmt: skip


def failed(seed, **fields):
    lost = ("lml_loss", "lml_loss_checked", "gskl", "mmtv", "log_evidence", "log_evidence_sd")
    rest = {k: v for k, v in record(seed, **fields).items() if k not in lost}
    return {**rest, "error": "InferenceFailed: no"}


def test_summary_of_a_group():
    summary = summarise([record(seed) for seed in range(3)])
    assert (summary.runs, summary.failed) == (3, 0)
    assert summary.spreads["lml_loss"].median == pytest.approx(0.2)
    assert summary.spreads["lml_loss"].q90 == pytest.approx(0.28)
    interval = summary.spreads["lml_loss"].low, summary.spreads["lml_loss"].high
    assert interval == pytest.approx((0.1, 0.3))
    assert summary.usable.share == 1
    # Losses 0.2, 0.4, 0.6 against the checked truth, an SD of 0.25 each.
    assert summary.coverage.share == pytest.approx(2 / 3)
    assert summary.overhead_ms == pytest.approx(123)
    assert summary.rank_p is None


def test_failed_runs_count_against_the_algorithm():
    summary = summarise([record(0), failed(1), failed(2)])
    assert (summary.runs, summary.failed) == (3, 2)
    assert summary.spreads["gskl"].median == np.inf
    assert summary.usable.share == summary.coverage.share == pytest.approx(1 / 3)
    assert summary.overhead_ms == pytest.approx(123)
    assert np.isnan(summarise([failed(0)]).overhead_ms)
    assert "3 (2 failed)" in text_table([record(0), failed(1), failed(2)])


def test_infinite_and_missing_numbers():
    summary = summarise([record(gskl="inf", mmtv="nan", log_evidence_sd="nan")])
    assert summary.spreads["gskl"].median == summary.spreads["mmtv"].median == np.inf
    assert summary.usable.share == summary.coverage.share == 0
    assert "inf [inf, inf]" in text_table([record(gskl="inf")])


def test_everything_but_the_seed_tells_groups_apart():
    changes = [
        {}, {"noise": None}, {"noise": 2.0}, {"noise_jitter": 0.3}, {"budget": 100},
        {"mode": "noisy", "noise": None}, {"stop_early": True}, {"dim": 6}, {"algorithm": "viqr"},
        {"mode": "noisy", "noise": None, "fast": True}, {"data": "real"}, {"problem": "rodent"},
    ]  # fmt: skip
    assert len(groups([record(**change) for change in changes])) == len(changes)
    assert len(groups([record(0), record(1)])) == 1


def test_groups_are_in_the_order_of_the_list_of_problems():
    names = ["unknown", "banana", "rodent", "ricker", "banana"]
    found = groups([record(problem=name) for name in names])
    assert [group.problem for group in found] == ["ricker", "rodent", "banana", "unknown"]


def test_records_from_before_shortcuts_and_data_are_read():
    old = {k: v for k, v in record().items() if k not in ("fast", "data")}
    assert Group.of(old) == Group.of(record())


def test_text_has_a_heading_per_task_and_aligned_columns_within_160():
    problems = ["multisensory_s1", "multisensory_s2"]
    worst = {"lml_loss": 0.0123, "gskl": 12345.6, "mmtv": 0.123, "lml_loss_checked": 0.00012}
    text = text_table(
        record(seed, problem=problem, dim=6, algorithm=algorithm, data="real", noise=1.3,
               budget=400, **worst)
        for problem in problems for algorithm in ("quell", "gp-imiqr") for seed in range(3)
    )  # fmt: skip
    lines = text.splitlines()
    assert max(map(len, lines)) <= 160
    header = lines[0]
    assert lines[2] == "multisensory_s1 (D = 6), exact, noise 1.3, budget 400, real data"
    rows = [line for line in lines if line.startswith(("quell", "gp-imiqr"))]
    assert len(rows) == 4
    for title in ("runs", "LML", "gsKL", "MMTV", "usable", "covered", "ms"):
        place = header.index(title)
        assert all(row[place - 1] == " " != row[place] for row in rows)
    assert ".0" not in rows[0].split()[0]
    assert rows[0].endswith(" 123")


def test_headings_say_how_the_problem_was_run():
    text = text_table([record(mode="noisy", noise=None, fast=True), record(noise=None)])
    assert "banana (D = 2), noisy (fast), budget 200" in text
    assert "banana (D = 2), exact, noise none, budget 200" in text
    assert "noise 1 jitter 0.3" in text_table([record(noise_jitter=0.3)])
    assert "quell, own stop" in text_table([record(stop_early=True)])


def test_notes_belong_to_problems_and_their_data():
    rodent = text_table([record(problem="rodent", dim=9, data="real")])
    assert "0.52" in rodent
    assert "0.52" not in text_table([record(problem="rodent", dim=9, data="simulated")])
    assert "8000" in markdown_table([record(problem="ricker", dim=3, data="real")])
    assert "3000" in text_table([record(problem="ricker", dim=3, data="simulated")])


def test_tests_of_ranks_are_below_the_table():
    rng = np.random.default_rng(1)
    runs = [record(seed, ranks=rng.integers(1000, size=2).tolist()) for seed in range(40)]
    assert "2 true parameters over 40 data sets: 0." in text_table(runs)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.123456, ".12"), (1.0, "1.0"), (2.345, "2.3"), (9.96, "10"), (12.3, "12"),
     (0.00123, ".0012"), (1.2e-5, "1e-5"), (12345.6, "1e4"), (np.inf, "inf")],
)  # fmt: skip
def test_number(value, text):
    assert number(value) == text


def test_markdown():
    header, rule, row, *_ = markdown_table([record()]).splitlines()
    assert header.count("|") == rule.count("|") == row.count("|")
    assert row.startswith(
        "| banana | 2 | - | exact | 1 | 200 | quell | full budget | 1 | - | .1 [.1, .1] | .1 |"
    )


def test_csv_has_every_number_in_full():
    text = csv_table([record(0), record(1), record(algorithm="viqr")])
    first, second = csv.DictReader(io.StringIO(text))
    assert (first["problem"], first["algorithm"], second["algorithm"]) == (
        "banana",
        "quell",
        "viqr",
    )
    assert float(first["lml_loss_median"]) == pytest.approx(0.15)
    assert float(first["mmtv_q90"]) == 0.05
    assert float(first["coverage"]) == 1.0
    assert float(first["usable_low"]) == pytest.approx(0.342, abs=1e-3)
    assert float(first["overhead_ms"]) == pytest.approx(123)


def test_runs_of_several_versions_are_marked():
    runs = [record(0, engine="a"), record(1, engine="b"), record(2, engine="b")]
    assert "MIXED: runs of quell are of 2 versions: 1 of a, 2 of b" in text_table(runs)
    assert "MIXED" not in text_table(runs[1:])
    assert "MIXED" not in text_table([runs[0], record(1, engine="b", algorithm="viqr")])


def test_runs_that_stop_early_say_after_how_many_evaluations():
    runs = [record(i, stop_early=True, evaluations=90 + i) for i in range(3)]
    line = next(line for line in text_table(runs).splitlines() if line.startswith("quell"))
    assert line.startswith("quell, own stop  3     91 ")
    assert "| quell | own stop | 3 | 91 |" in markdown_table(runs)
    assert "| quell | full budget | 1 | 200 |" in markdown_table([record(evaluations=200)])


def test_algorithms_without_evidence_are_judged_by_their_posterior():
    lost = {"lml_loss": np.nan, "lml_loss_checked": np.nan, "log_evidence_sd": np.nan}
    runs = [record(i, algorithm="gp-imiqr", evidence_method="none", **lost) for i in range(3)]
    summary = summarise(runs)
    assert summary.usable.share == 1
    assert np.isnan(summary.coverage.share)
    line = next(line for line in text_table(runs).splitlines() if line.startswith("gp-imiqr"))
    assert line.split()[1:7] == ["3", "-", "-", "-", "-", "-"]
    assert "inf" not in line
