"""Tables about one question: the peer at equal evaluations, evidence and ELBO, unusable runs."""

import json

import pytest

from quell.bench.beside_peer import beside_peer
from quell.bench.evidence_table import evidence_table
from quell.bench.implied import implied_truth
from quell.bench.published import PYVBMC, REAL, median
from quell.bench.unusable import unusable_table
from quell.cli import main

TRUTH = -2.26
KEYS = {"elbo_error": "elbo_err", "gskl": "gskl", "mmtv": "mmtv", "evaluations": "evals"}


def row(seed=0, **fields):
    """A run on rosenbrock with noise of SD 3: published at 170 evaluations."""
    error = 0.1 * (seed + 1)
    return {
        "problem": "rosenbrock", "dim": 2, "algorithm": "quell", "mode": "exact", "noise": 3.0,
        "noise_jitter": 0.0, "budget": 200, "stop_early": False, "seed": seed, "fast": False,
        "data": "", "lml_loss": error, "lml_loss_checked": error, "gskl": 0.02, "mmtv": 0.05,
        "log_evidence": TRUTH - error, "log_evidence_sd": 0.2, "elbo": TRUTH - 2 * error,
        "evaluations": 200, "evidence_method": "importance sampling", "status": "stable",
        **fields,
    }  # fmt: skip


def trace(*counts):
    return [
        {"evaluations": n, "lml_loss": 100 / n, "gskl": 10 / n, "mmtv": 1 / n, "elbo": -3.0}
        for n in counts
    ]


def lines(text, who):
    """The rows of the table, not what is counted below it."""
    return [line for line in text.splitlines() if who in line and "the median is" not in line]


class TestBesidePyVBMC:
    def test_runs_of_equal_length_own_stops_and_whole_budgets(self):
        runs = [row(seed) for seed in range(3)]
        runs += [row(seed, budget=170, evaluations=170, mmtv=0.07) for seed in range(5)]
        runs += [row(seed, stop_early=True, evaluations=90 + seed) for seed in range(3)]
        text = beside_peer(runs)
        (peer,) = lines(text, "PyVBMC, own stop")
        assert "170 [155, 185]  .23 [.1, .38]" in peer
        assert peer.split()[-1] == ".72"
        (same,) = lines(text, "Quell, same")
        assert same.split()[2:5] == ["5", "170", ".6"]  # runs, evaluations, error of the ELBO
        assert " .3 [.2, .4] " in same  # of the log evidence
        assert "1.0 / .02 / .07" in same
        assert same.split()[-3:] == [".80", "/", "1.00"]
        (own,) = lines(text, "Quell, own stop")
        assert "91 [90, 92]" in own
        assert lines(text, "Quell, whole")[0].split()[2:4] == ["3", "200"]
        # Medians: errors of the ELBO .6 (equal evaluations) and .4 against .228.
        same_tally = "Quell, same: the median is smaller than PyVBMC's on so many targets: "
        assert same_tally + "ELBO 0 of 1, gsKL 1 of 1, MMTV 1 of 1." in text

    def test_checkpoints_where_there_are_no_runs_of_that_length(self):
        runs = [row(seed, trace=trace(50, 160, 200)) for seed in range(3)]
        (same,) = lines(beside_peer(runs), "Quell, same")
        assert "same (as the run went)" in same
        assert "160" in same
        assert same.split()[8] == ".62"  # the last before 170
        assert same.split()[-1] == "-"
        boosted = [{**run, "trace_kind": "as returned"} for run in runs]
        assert lines(beside_peer(boosted), "same (boosted)")

    def test_checkpoints_that_have_an_evidence_are_not_taken_for_an_elbo(self):
        rows = [{"evaluations": 100, "lml_loss": 0.3, "gskl": 0.1, "mmtv": 0.1,
                 "log_evidence": TRUTH - 0.3}]  # fmt: skip
        runs = [row(seed, trace=rows, trace_kind="as returned") for seed in range(2)]
        (same,) = lines(beside_peer(runs), "same (boosted)")
        assert same.split("100", 1)[1].split()[:2] == ["-", ".3"]

    def test_whole_runs_that_note_their_own_stop(self):
        stopped = {"evaluations": 120, "mmtv": 0.11, "elbo": TRUTH - 0.7, "lml_loss": 0.6}
        runs = [row(0, own_stop=stopped), row(1, own_stop=None), row(2, own_stop=stopped)]
        (own,) = lines(beside_peer(runs), "Quell, own stop")
        assert own.split()[3:5] == ["3", "120"]
        assert " .11 [" in own
        (whole,) = lines(beside_peer(runs), "Quell, whole")
        assert " .05 [" in whole

    def test_other_runs_are_left_out(self):
        others = [row(algorithm="viqr"), row(noise_jitter=0.3), row(mode="noisy", noise=None)]
        assert beside_peer(others).startswith("no runs of quell")

    def test_failed_runs_count(self):
        failed = {k: v for k, v in row(3).items() if k not in ("lml_loss", "gskl", "mmtv")}
        text = beside_peer([row(0), row(1), {**failed, "error": "ValueError: no"}])
        (whole,) = lines(text, "Quell, whole")
        assert "inf / inf / inf" in whole
        assert whole.split()[-3] == ".67"

    def test_published_figures_are_those_of_the_file(self, stored):
        for published in PYVBMC:
            noise = published.noise or None
            found = [
                config["published"]
                for config in stored["configs"].values()
                if (config["target"], config["D"], config["noise_sd"])
                == (published.problem, published.dim, noise)
            ]
            for figures in found:
                assert figures["usable"] == published.usable
                for name, key in KEYS.items():
                    assert list(getattr(published, name)) == figures[key]
            assert len(found) == (published not in REAL)

    def test_a_median(self):
        assert {median(row.evaluations) for row in PYVBMC} >= {70.0, 338.0, 220.0}


def test_evidence_beside_the_elbo():
    runs = [row(seed) for seed in range(4)]
    text = evidence_table(runs)
    # The error of the ELBO is twice that of the evidence in every run.
    assert "4     .25  .5    0.50 ×/÷ 1.00  4 of 4" in text
    worse = [row(s, elbo=TRUTH - 0.05 * (s + 1), algorithm="other") for s in range(4)]
    assert "0 of 4" in evidence_table(worse)
    assert "1.00 ×/÷ 1.67  4 of 8" in evidence_table([*runs, *worse])
    assert evidence_table(runs, markdown=True).startswith("| problem | D |")
    assert evidence_table([row(evidence_method="elbo")]).startswith("no runs")


def test_a_baseline_without_an_elbo_has_no_row_beside_it():
    with_both = [row(seed) for seed in range(3)]
    without = [row(seed, algorithm="wsabi", evidence_method="quadrature") for seed in range(3)]
    for run in without:
        del run["elbo"]
    assert evidence_table([*with_both, *without]) == evidence_table(with_both)


def test_unusable_runs_one_by_one():
    runs = [row(seed) for seed in range(9)]
    assert unusable_table(runs) == "all runs are usable"
    bad = [row(20, mmtv=0.3, status="unstable"), row(21, lml_loss=1.5), row(22, gskl="nan")]
    text = unusable_table([*runs, *bad])
    _, no_number, worst, other, *_ = text.splitlines()
    assert "3 of 12" in no_number
    assert no_number.split()[-5:] == ["22", "2.3", "nan", ".05", "stable"]
    assert worst.split() == ["20", "2.1", ".02", ".3", "unstable"]
    assert other.split() == ["21", "1.5", ".02", ".05", "stable"]
    many = unusable_table([row(seed, mmtv=0.5) for seed in range(10)])
    assert "10 of 10" in many
    assert "and 4 more" in many
    failed = {**row(), "error": "ValueError: no"}
    assert "failed" in unusable_table([failed])


class TestImpliedTruth:
    def test_rounded_rows(self):
        runs = [
            {"log_evidence": round(-34.8931 + d, 3), "lml_loss": round(abs(d), 5)}
            for d in (0.31234, -0.12345, 0.0712)
        ]
        assert implied_truth(runs) == pytest.approx(-34.8931, abs=1e-3)

    def test_small_losses_are_told_apart_by_their_fit(self):
        runs = [{"log_evidence": d, "lml_loss": abs(d)} for d in (1e-4, -2e-3, 3e-3, 1e-3)]
        assert implied_truth(runs) == pytest.approx(0.0, abs=1e-9)

    def test_losses_from_different_truths_tell_nothing(self):
        assert implied_truth([row(0), row(1, lml_loss=0.9)]) is None
        assert implied_truth([]) is None


@pytest.mark.parametrize("about", ["pyvbmc", "evidence", "unusable"])
def test_command(about, tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    runs = [row(0), row(1), row(2, mmtv=0.6)]
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    for form in ([], ["--markdown"]):
        assert main(["bench", "table", "--about", about, *form, str(path)]) == 0
        assert ("| " in capsys.readouterr().out) == bool(form)
    assert main(["bench", "table", "--about", about, "--csv", str(path)]) == 2
    assert "no --csv form" in capsys.readouterr().err


def test_a_table_without_its_runs_is_one_line(tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    path.write_text(json.dumps(row()) + "\n")
    assert main(["bench", "table", "--about", "overhead", str(path)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize("make", [beside_peer, evidence_table, unusable_table])
def test_runs_of_several_versions_are_marked(make):
    runs = [row(seed, commit="a", mmtv=0.3) for seed in range(3)]
    assert "MIXED" not in make(runs)
    runs.append(row(3, commit="b", mmtv=0.3))
    for markdown in (False, True):
        text = make(runs, markdown=markdown)
        assert "MIXED: runs of quell are of 2 versions: 3 of a, 1 of b" in text
