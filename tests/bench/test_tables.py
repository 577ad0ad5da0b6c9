from quell.bench.tables import render


def record(seed=0, **fields):
    return {
        "problem": "banana", "dim": 2, "algorithm": "quell", "mode": "exact", "noise": 1.0,
        "noise_jitter": 0.0, "budget": 200, "stop_early": False, "seed": seed,
        "lml_loss": 0.1 * (seed + 1), "gskl": 0.01, "mmtv": 0.05,
        "overhead_cpu_seconds_per_evaluation": 0.123, **fields,
    }  # fmt: skip


def test_one_row_per_group_with_aligned_columns():
    text = render([record(0), record(1), record(2), record(0, algorithm="viqr")])
    lines = text.splitlines()
    assert len(lines) == 3
    header, first, second = lines
    for column in ("algorithm", "runs", "gsKL [95 %]", "usable [95 %]", "ms/eval"):
        place = header.index(column)
        assert first[place - 1] == second[place - 1] == " "
        assert first[place] != " "
    assert "0.2 [0.1, 0.3]" in first
    assert "1.00 [0.44, 1.00]" in first
    assert first.endswith(" 123")
    assert second.split()[4] == "viqr"


def test_everything_but_the_seed_tells_groups_apart():
    changes = [
        {}, {"noise": None}, {"noise": 2.0}, {"noise_jitter": 0.3}, {"budget": 100},
        {"mode": "noisy", "noise": None}, {"stop_early": True}, {"dim": 6},
    ]  # fmt: skip
    text = render([record(**change) for change in changes])
    assert len(text.splitlines()) == 1 + len(changes)
    assert "1 jitter 0.3" in text
    assert "quell (stops early)" in text
    assert " own " in text


def test_failed_runs_count_against_the_algorithm():
    failed = {k: v for k, v in record(1).items() if k not in ("lml_loss", "gskl", "mmtv")}
    failed["error"] = "InferenceFailed: no"
    cells = render([record(0), failed, {**failed, "seed": 2}]).splitlines()[1]
    assert "3 (2 failed)" in cells
    assert "inf [0.1, inf]" in cells
    assert "0.33 [0.06, 0.79]" in cells


def test_infinite_metrics_are_read_back():
    assert "inf [inf, inf]" in render([record(gskl="inf")])


def test_markdown():
    header, rule, row = render([record()], markdown=True).splitlines()
    assert header.count("|") == rule.count("|") == row.count("|")
    assert row.startswith("| banana | 2 | exact | 1 | quell | 200 | 1 |")
