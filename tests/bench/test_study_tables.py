"""Tables of a whole study: all algorithms, half the budget, noise; and which rows they are of."""

import json

import pytest

from quell.bench import published
from quell.bench.algorithms_table import algorithms_table
from quell.bench.chosen import chosen_rows
from quell.bench.halfway import at_half, halfway_table
from quell.bench.noise_table import noise_table
from quell.bench.problems import BenchError
from quell.cli import main

TRUTH = -2.0


def row(seed=0, **fields):
    """A full run on timing with the noise of its simulator."""
    error = 0.1 * (seed + 1)
    trace = [
        {"evaluations": n, "lml_loss": error * 350 / n, "gskl": 17.5 / n, "mmtv": 17.5 / n,
         "log_evidence": TRUTH - error * 350 / n, "log_evidence_sd": 0.2}
        for n in (90, 170, 180, 350)
    ]  # fmt: skip
    return {
        "problem": "timing", "dim": 5, "algorithm": "quell", "mode": "noisy", "noise": None,
        "noise_jitter": 0.0, "budget": 350, "stop_early": False, "seed": seed, "fast": True,
        "data": "real", "lml_loss": error, "lml_loss_checked": error, "gskl": 0.05, "mmtv": 0.05,
        "log_evidence": TRUTH - error, "log_evidence_sd": 0.2, "elbo": TRUTH - error,
        "evaluations": 350, "overhead_cpu_seconds_per_evaluation": 0.02, "engine": "a",
        "trace": trace, "trace_kind": "as returned", "own_stop": None, **fields,
    }  # fmt: skip


def emulated(noise, seed=0, jitter=0.0, **fields):
    return row(seed, mode="exact", noise=noise, noise_jitter=jitter, fast=False, **fields)


def line_of(text, *words):
    return next(line for line in text.splitlines() if all(word in line for word in words))


class TestChosenRows:
    def test_by_algorithm_and_problem(self):
        rows = [row(), row(algorithm="viqr"), row(problem="rodent", dim=9)]
        assert chosen_rows(rows) == rows
        assert chosen_rows(rows, algorithms=["viqr"]) == rows[1:2]
        assert chosen_rows(rows, problems=["rodent"]) == rows[2:]
        with pytest.raises(BenchError, match="no run in these files"):
            chosen_rows(rows, algorithms=["npro"])

    def test_the_papers_setting(self):
        others = [emulated(3.0), emulated(2.0, jitter=0.2), row(budget=200), row(problem="normal")]
        assert chosen_rows([row(), *others], paper=True) == [row()]

    def test_protocols(self):
        stopped = {"mmtv": 0.3, "evaluations": 200}
        rows = [row(0), row(1, own_stop=stopped), row(2, stop_early=True)]
        assert chosen_rows(rows, protocol="full") == rows[:2]
        own = chosen_rows(rows, protocol="own", paper=True)
        assert [(one["seed"], one["evaluations"]) for one in own] == [(0, 350), (1, 200)]
        assert own[1]["mmtv"] == 0.3
        assert all(one["stop_early"] for one in own)


class TestAlgorithms:
    def test_counts_medians_and_what_there_is_not(self):
        rows = [row(0), row(1), row(2, mmtv=0.4), row(0, algorithm="viqr", mmtv=0.12)]
        rows += [row(0, problem="rodent", dim=9, budget=550)]
        text = algorithms_table(rows)
        assert line_of(text, "timing", "2 of 3").split()[1:7] == ["2", "of", "3", "1", "of", "1"]
        assert "all     3 of 4  1 of 1" in text
        assert line_of(text.split("MMTV, median")[1], "timing").split()[1:] == [".05", ".12"]
        assert line_of(text.split("MMTV, median")[1], "rodent").split()[1:] == [".05", "-"]
        assert "No runs of imiqr, eig, npro" in text
        assert "MIXED" not in text
        assert "MIXED: runs of quell" in algorithms_table([*rows, row(5, engine="b")])

    def test_one_kind_of_noise_after_another(self):
        text = algorithms_table([row(), emulated(2.2)], markdown=True)
        assert "| timing, own | 1 of 1 |" in text
        assert "| timing, 2.2 | 1 of 1 |" in text

    def test_no_evidence_is_not_a_bad_one(self):
        lost = {"lml_loss": "nan", "lml_loss_checked": "nan", "evidence_method": "none"}
        text = algorithms_table([row(algorithm="gp-imiqr", **lost)])
        losses = text.split("LML:")[1].split("gsKL, median")[0]
        assert set(line_of(losses, "timing").split()[1:]) == {"-"}
        assert "1 of 1" in text


class TestHalfway:
    def test_the_last_checkpoint_before_half(self):
        first, second = at_half([row(0), row(1)])
        assert (first["evaluations"], second["evaluations"]) == (170, 170)
        assert first["mmtv"] == pytest.approx(17.5 / 170)
        assert second["lml_loss_checked"] == pytest.approx(0.2 * 350 / 170)
        failed = {**row(2), "error": "ValueError: no", "trace": []}
        late = row(3, trace=row()["trace"][2:])
        assert ["error" in one for one in at_half([row(0), failed, late])] == [False, True, True]
        assert at_half([row(4, trace=[])]) == []

    def test_beside_others_after_all_of_it(self):
        rows = [row(seed) for seed in range(4)] + [row(seed, algorithm="viqr") for seed in (0, 1)]
        rows += [row(0, algorithm="pyvbmc", mmtv=0.2)]
        text = halfway_table(rows)
        half = line_of(text, "Quell, half").split()
        assert half[-6:] == ["4", "170", ".51", ".1", ".1", "1.00"]
        assert line_of(text, "VBMC-VIQR, whole").split()[-6:-4] == ["2", "350"]
        assert line_of(text, "PyVBMC, earlier").split()[-6:-1] == ["5", "350", ".13", ".45", ".12"]
        assert line_of(text, "PyVBMC, published").split()[-6:-4] == ["100", "220"]
        assert "Quell: 4 of 4 runs are usable at half the budget, 4 of 4 after the whole." in text
        assert "PyVBMC's after the whole budget, of 1 comparison: LML 0, gsKL 0, MMTV 1." in text

    def test_figures_of_others_stand_once_beside_the_emulated_noise(self):
        text = halfway_table([row(0), row(1), emulated(2.2, 0), emulated(2.2, 1), emulated(3.0)])
        assert text.count("PyVBMC, published") == 1
        places = [text.index(words) for words in ("Quell, half", "PyVBMC, published", "own noise")]
        assert places == sorted(places)
        assert "SD 3 " not in text

    def test_nothing_to_follow(self):
        assert halfway_table([row(trace=[])]).startswith("no runs of quell")

    def test_runs_made_here_are_of_the_papers_problems(self):
        assert set(published.MEASURED_RUNS) == {one.problem for one in published.MEASURED}
        for one in published.MEASURED:
            assert one.evaluations == 50 * (one.dim + 2)


class TestNoise:
    def test_levels_and_what_there_is_not(self):
        rows = [emulated(sd, seed, mmtv=0.02 * sd) for sd in (1.0, 3.0) for seed in (0, 1)]
        rows += [emulated(7.0, mmtv=0.9), emulated(2.0), emulated(2.0, jitter=0.4, mmtv=0.07)]
        text = noise_table(rows, markdown=True)
        assert (
            "| timing | quell | - | .15 / .02 (2/2) | .15 / .06 (2/2) | - | .1 / .9 (0/1) |" in text
        )
        assert "| timing | quell | .1 / .05 (1/1) | - | .1 / .07 (1/1) | - |" in text

    def test_one_level_is_no_sweep(self):
        assert noise_table([emulated(1.0)]).count("No runs at two levels or more yet.") == 2


@pytest.mark.parametrize("about", ["algorithms", "half", "noise"])
def test_command(about, tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    runs = [row(seed) for seed in range(2)] + [emulated(sd) for sd in (1.0, 2.0, 3.0)]
    path.write_text("".join(json.dumps(one) + "\n" for one in runs))
    assert main(["bench", "table", str(path), "--about", about, "--markdown"]) == 0
    assert "| timing" in capsys.readouterr().out


def test_command_with_a_choice_of_rows(tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(row(seed)) + "\n" for seed in range(2)))
    assert main(["bench", "table", str(path), "--paper", "--protocol", "own"]) == 0
    assert "quell, own stop" in capsys.readouterr().out
    assert main(["bench", "table", str(path), "--problem", "rodent"]) == 2
    assert "no run in these files" in capsys.readouterr().err
