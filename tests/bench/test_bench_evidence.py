"""The comparison of estimates of the log evidence: its runs, its records, and its table."""

from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
from helpers.benchmarks import benchmark_module

from quell.bench.single import Spec

bench = benchmark_module("bench_evidence")


def test_runs_are_spread_over_the_campaign_and_each_is_there_once(monkeypatch):
    monkeypatch.setattr(
        bench, "TARGETS", (("linear", {"dim": 2, "noise": 2.0}, 2), ("student", {"noise": 3.0}, 1))
    )
    specs = list(bench.specs(3, 6000))
    assert len(set(specs)) == len(specs)
    assert Counter(spec.problem for spec in specs) == {"linear": 6, "student": 3}
    assert [spec.seed for spec in specs if spec.problem == "student"] == [6000, 6001, 6002]
    assert "student" in {spec.problem for spec in specs[:3]}


def test_a_run_leaves_a_record_that_the_table_shows():
    spec = Spec.make("linear", "quell", 5001, mode="exact", dim=1, noise=1.0, budget=16)
    record = bench.perform(spec)
    assert Spec.of_record(record) == spec
    assert abs(record["elbo"] - record["truth"]) < 5 * record["elbo_sd"] + 0.5
    last = bench.table([record]).splitlines()[-1]
    assert last.startswith("linear D1, SD 1 ")


def test_the_table_has_bias_spread_and_coverage_of_each_estimate():
    spec = Spec.make("linear", "quell", 5001, mode="exact", noise=2.0)
    record = {
        **asdict(spec), "truth": -20.0, "elbo": -20.5, "elbo_sd": 0.2, "of_mean": -20.25,
        "convexity": 3.0, "log_evidence": -20.0, "log_evidence_sd": 1.0,
    }  # fmt: skip
    other = {**record, "seed": 5002, "elbo": -20.1}
    line = bench.table([record, other]).splitlines()[-1]
    values = np.array(line.split()[5:], dtype=float).reshape(4, 4)
    elbo, of_mean, whole, reported = values
    assert elbo == pytest.approx([-0.3, -0.3, 0.2, 0.5])
    assert of_mean == pytest.approx([-0.25, -0.25, 0.0, 1.0])
    assert whole == pytest.approx([0.75, 0.75, 0.0, 1.0])  # no more than a nat
    assert reported == pytest.approx([0.0, 0.0, 0.0, 1.0])
