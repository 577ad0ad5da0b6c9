"""The campaigns of benchmarks/: the runs they ask for, the options, and the tables they print."""

import argparse
import json
from collections import Counter
from dataclasses import asdict, replace

import pytest
from helpers.benchmarks import FOLDER, benchmark_module

from quell.bench.records import read_records
from quell.bench.single import Spec

campaign_module = benchmark_module("campaign")
campaigns = benchmark_module("campaigns")
#: Campaigns whose runs are kept in benchmarks/results.
KEPT = [campaign for campaign in campaigns.CAMPAIGNS if campaign is not campaigns.STRESS]
SCORES = {
    "lml_loss": 0.1, "lml_loss_checked": 0.1, "gskl": 0.2, "mmtv": 0.05, "elbo": -2.0,
    "log_evidence_sd": 0.1, "overhead_cpu_seconds_per_evaluation": 0.1,
}  # fmt: skip


def options_of(campaign, *arguments):
    parser = argparse.ArgumentParser()
    campaign.add_options(parser)
    return parser.parse_args(arguments)


def specs_of(campaign, *arguments):
    return campaign.specs(options_of(campaign, *arguments))


def committed(campaign):
    return read_records([FOLDER / "results" / f"{campaign.name}.jsonl"]).runs


def test_synthetic_has_noisy_targets_first_and_more_of_them():
    specs = specs_of(campaigns.SYNTHETIC)
    assert len(specs) == 10 * 10 + 5 * 40
    assert all(spec.noise for spec in specs[:200])
    assert not any(spec.noise for spec in specs[200:])
    assert min(spec.seed for spec in specs) == 100
    few = specs_of(campaigns.SYNTHETIC, "--exact-runs", "0", "--noisy-runs", "1")
    assert [spec.seed for spec in few] == [100] * 5


def test_real_has_a_few_seeds_of_everything_first(monkeypatch):
    monkeypatch.delenv("QUELL_DATA", raising=False)
    specs = specs_of(campaigns.REAL)
    assert len(specs) == len(set(specs)) == 10 * 2 * 10 + 6
    assert {spec.seed for spec in specs[:40]} == {100, 101}
    assert Counter(spec.algorithm for spec in specs) == {"quell": 106, "viqr": 100}
    simulated = [spec for spec in specs if spec.mode == "noisy" and spec.problem == "timing"]
    assert [spec.seed for spec in simulated] == [100]
    one = specs_of(campaigns.REAL, "--runs", "1", "--algorithms", "viqr", "--first-seed", "7")
    assert {(spec.algorithm, spec.seed) for spec in one} == {("viqr", 7)}
    assert len(one) == 10


def test_variants_has_more_seeds_where_a_decisive_difference_is_claimed():
    count = Counter((spec.problem, spec.algorithm) for spec in specs_of(campaigns.VARIANTS))
    assert count == {
        ("rosenbrock", "viqr"): 30, ("rosenbrock", "npro"): 30, ("rosenbrock", "imiqr"): 10,
        ("cigar", "viqr"): 10, ("cigar", "nowv"): 10,
    }  # fmt: skip


def test_in_flight_is_about_the_problem_of_choice():
    specs = specs_of(campaigns.IN_FLIGHT, "--problem", "banana", "--runs", "3")
    assert {spec.problem for spec in specs} == {"banana"}
    assert Counter(spec.algorithm for spec in specs) == {"quell": 3, "quell-8": 3}


def test_stress_has_every_problem_in_all_its_dimensions_two_seeds_first():
    specs = specs_of(campaigns.STRESS)
    targets = Counter((spec.problem, spec.dim, spec.noise) for spec in specs)
    assert set(targets.values()) == {10}
    assert {problem for problem, _, _ in targets} == set(campaigns.STRESS_PROBLEMS)
    assert {dim for problem, dim, _ in targets if problem == "regression"} == {3, 5, 8}
    assert {noise for _, _, noise in targets} == {None, 1.0, 2.5}
    assert {spec.seed for spec in specs[: 2 * len(targets)]} == {100, 101}
    assert {(spec.mode, spec.algorithm) for spec in specs} == {("exact", "quell")}
    assert all(spec.budget == 50 * (spec.dim + 2) for spec in specs)


def test_table_of_worst_cases_counts_nonsense(tmp_path, capsys):
    specs = specs_of(campaigns.STRESS, "--runs", "4")
    ring, funnel = (
        [asdict(spec) for spec in specs if (spec.problem, spec.dim, spec.noise) == key]
        for key in (("ring", 2, None), ("funnel", 4, 2.5))
    )
    good = {**SCORES, "mean_shift_in_sds": 0.2}
    records = [
        {**ring[0], **good},
        {**ring[1], **good, "lml_loss": 3e3},
        {**ring[2], **good, "gskl": "inf", "mean_shift_in_sds": "inf"},
        {**ring[3], "error": "ValueError: no"},
        {**funnel[0], **good},
        {**funnel[1], **good, "lml_loss": 2.0},
    ]
    path = tmp_path / "runs.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    campaign_module.main(campaigns.CAMPAIGNS, ["stress", "--only-table", "--out", str(path)])
    first, second = (line for line in capsys.readouterr().out.splitlines() if " D" in line)
    # Problems in the order of the list; runs, worst evidence, share usable, nonsense, failed.
    assert first.split()[:4] == ["ring", "D2,", "SD", "0"]
    assert first.split()[4] == "4"
    assert "(inf)" in first
    assert first.split()[-7:-3] == ["(inf)", "0.25", "[0.05,", "0.70]"]
    assert first.split()[-3:] == ["2", "1", "100"]
    assert second.split()[:5] == ["funnel", "D4,", "SD", "2.5", "2"]
    assert second.split()[-3:] == ["0", "0", "100"]
    campaign_module.main(campaigns.CAMPAIGNS, ["stress", "--only-table", "--out", str(path)])
    assert "2 of 6 runs are nonsense" in capsys.readouterr().out


@pytest.mark.parametrize("campaign", KEPT, ids=lambda campaign: campaign.name)
def test_committed_runs_are_those_of_the_campaign(campaign, data_folder):  # noqa: ARG001
    """So the committed files, whose records are older than some fields, are continued."""
    assert set(specs_of(campaign)) <= set(committed(campaign))


@pytest.mark.parametrize("campaign", KEPT, ids=lambda campaign: campaign.name)
def test_table_of_the_committed_runs(campaign, capsys, monkeypatch):
    monkeypatch.chdir(FOLDER.parent)
    campaign_module.main(campaigns.CAMPAIGNS, [campaign.name, "--only-table"])
    text = capsys.readouterr().out
    shown = {record["problem"] for record in committed(campaign).values()}
    assert all(problem in text for problem in shown if problem != "logreg")


def test_a_campaign_is_made_continued_and_printed(tmp_path, capsys):
    path = tmp_path / "runs.jsonl"
    tiny = campaign_module.Campaign(
        "tiny", "For this test.", (campaign_module.Batch(("halfnormal",), ("quell", "viqr")),)
    )
    # One of the two runs is on record, by an older version that did not note its commit.
    [known, _] = specs_of(tiny, "--runs", "1", "--first-seed", "3")
    path.write_text(json.dumps({**asdict(known), **SCORES}) + "\n")
    more = Spec.make("normal", "quell", 0, mode="exact", dim=1, budget=15)
    tiny = replace(tiny, batches=(*tiny.batches, OneRun(more)))
    command = ["tiny", "--runs", "1", "--first-seed", "3", "--algorithms", "quell"]
    for _ in range(2):
        campaign_module.main([tiny], [*command, "--out", str(path)])
        assert "| halfnormal | 2 |" in capsys.readouterr().out
        first, second = map(json.loads, path.read_text().splitlines())
        assert "commit" not in first
        assert (second["problem"], "commit" in second) == ("normal", True)


class OneRun:
    """A batch with one run that ends soon."""

    algorithms = ("quell",)

    def __init__(self, spec):
        self.spec = spec

    def specs(self, *_):
        return [self.spec]


def test_what_cannot_be_done_is_one_line(tmp_path):
    for arguments, words in (
        (["synthetic", "--only-table", "--out", str(tmp_path / "none")], "without --only-table"),
        (["in-flight", "--problem", "bananna", "--out", str(tmp_path / "f")], "did you mean"),
    ):
        with pytest.raises(SystemExit, match=words):
            campaign_module.main(campaigns.CAMPAIGNS, arguments)
    (tmp_path / "empty").touch()
    with pytest.raises(SystemExit, match="no finished run"):
        campaign_module.finished(str(tmp_path / "empty"))
