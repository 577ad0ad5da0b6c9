"""The table of what runs said of themselves."""

from quell.bench.single import Spec
from quell.bench.verdicts import expected_table, verdict_table


def record(status, *, seed, loss=0.1, problem="normal"):
    spec = Spec.make(problem, "quell", seed, mode="exact", dim=2)
    scores = {"lml_loss": loss, "gskl": 0.1, "mmtv": 0.1}
    return {**vars(spec), **scores, **({"status": status} if status else {})}


def test_counts_and_shares():
    text = verdict_table(
        [
            record("stable", seed=1),
            record("stable", seed=2),
            record("suspect", seed=3),
            record("too short to tell", seed=4),
            record("stable", seed=5, loss=3.0),
            record("unstable", seed=6, loss="nan"),
            record("", seed=7, loss=9.0),  # made before there was a status
        ]
    )
    lines = [line.split() for line in text.split("\n\n")[0].splitlines()]  # without the legend
    [good, every_good] = [line for line in lines if "usable" in line]
    [bad, every_bad] = [line for line in lines if "unusable" in line]
    assert good[good.index("usable") + 1 :] == ["2", "1", "0", "1", "0.50", "[0.15,", "0.85]"]
    assert bad[1:] == ["1", "0", "1", "0", "0.50", "[0.09,", "0.91]"]
    assert every_good[:2] == ["all", "usable"]
    assert every_good[2:] == good[good.index("usable") + 1 :]
    assert every_bad == bad


def test_without_unusable_runs_there_is_no_row_for_them():
    text = verdict_table([record("stable", seed=1)])
    assert "unusable" not in text.split("\n\n")[0]


def test_what_was_expected_beside_what_came_out():
    runs = [record("stable", seed=seed) for seed in range(1, 6)]
    figures = [(0.02, 0.01), (0.04, 0.03), (0.12, 0.1), (0.3, 0.5)]
    for run, (expected, found) in zip(runs, figures, strict=False):
        run |= {"tests": {"expected_mmtv": expected}, "mmtv": found}
    lines = [line.split() for line in expected_table(runs).splitlines()[-3:]]
    assert lines == [
        ["0", "to", "0.05", "2", "0.030", "0.020", "0.028", "0"],
        ["0.1", "to", "0.15", "1", "0.120", "0.100", "0.100", "0"],
        ["over", "0.2", "1", "0.300", "0.500", "0.500", "1"],
    ]
    assert expected_table([record("stable", seed=1)]) == ""
