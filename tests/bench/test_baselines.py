"""Baselines and peers as algorithms of the benchmark."""

import sys

import numpy as np
import pytest

from quell.bench.algorithms import ALGORITHMS
from quell.bench.answers import Interrupted
from quell.bench.single import Spec, perform
from quell.bench.tables import markdown_table

FINAL = {"lml_loss", "gskl", "mmtv", "log_evidence", "log_evidence_sd", "evaluations", "trace"}


@pytest.fixture(scope="module")
def little_work():
    with pytest.MonkeyPatch.context() as patch:
        for module in ("wsabi", "gp_imiqr"):
            patch.setattr(sys.modules[f"quell.baselines.{module}"], "N_DRAWS", 1000)
            patch.setattr(sys.modules[f"quell.baselines.{module}"], "BURN_IN", 500)
        patch.setattr(sys.modules["quell.baselines.gp_imiqr"], "N_CANDIDATES", 200)
        patch.setattr(sys.modules["quell.baselines.gp_imiqr"], "N_STARTS", 1)
        patch.setattr("quell.bench.answers.CHECKPOINTS", 6)
        patch.setattr("quell.bench.peers.MOMENT_DRAWS", 10_000)
        yield


def spec(algorithm, **changes):
    how = {"mode": "exact", "noise": 0.5, "dim": 1, "budget": 12} | changes
    return Spec.make("normal", algorithm, 5000, **how)


@pytest.fixture(scope="module")
def records(little_work):  # noqa: ARG001
    names = ("wsabi", "wsabi-noise", "gp-imiqr", "gp-imiqr-fair")
    return {name: perform(spec(name)) for name in names}


def test_records_are_complete(records):
    for name, record in records.items():
        assert "error" not in record, name
        assert set(record) >= FINAL
        assert record["evaluations"] == 12
        assert record["trace_kind"] == "as returned"
        counts = [point["evaluations"] for point in record["trace"]]
        assert counts == sorted(counts)
        assert 2 <= len(counts) <= 6
        assert counts[-1] == 12
        assert np.shape(record["posterior"]["draws"]) == (500, 1)
        assert record["posterior"]["kind"] == "draws"
        assert record["mmtv"] < 0.5
        last = record["trace"][-1]
        assert (last["gskl"], last["log_evidence"]) == (record["gskl"], record["log_evidence"])


def test_the_options_are_on_record(records):
    assert records["wsabi"]["settings"] == {"algorithm": "wsabi", "noise_aware": False}
    assert records["wsabi-noise"]["settings"]["noise_aware"] is True
    assert records["gp-imiqr"]["settings"] == {"algorithm": "gp-imiqr", "fair": False}
    assert records["gp-imiqr-fair"]["settings"]["fair"] is True
    assert {ALGORITHMS[name].bounded_map for name in records} == {"logit"}


def test_only_wsabi_has_an_evidence(records):
    for name, record in records.items():
        has = name.startswith("wsabi")
        assert np.isfinite(float(record["lml_loss"])) == has
        assert record["evidence_method"] == ("wsabi" if has else "none")


def test_all_of_them_go_into_one_table(records):
    text = markdown_table(list(records.values()))
    assert all(f"| {name} |" in text for name in records)


def test_the_same_spec_gives_the_same_record(records):
    again = perform(spec("wsabi"))
    for name in ("log_evidence", "gskl", "mmtv", "posterior"):
        assert again[name] == records["wsabi"][name]


@pytest.mark.usefixtures("little_work")
def test_a_run_that_was_cut_short_is_no_record(monkeypatch):
    engine = sys.modules["quell.baselines.engine"].BaselineEngine
    absorbed, calls = engine._absorbed, []

    def interrupted_later(self, rng):
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return absorbed(self, rng)

    monkeypatch.setattr(engine, "_absorbed", interrupted_later)
    with pytest.raises(Interrupted):
        perform(spec("wsabi"))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("stop_early", [False, True])
@pytest.mark.usefixtures("little_work")
def test_pyvbmc_itself(stop_early):
    pytest.importorskip("pyvbmc")
    record = perform(spec("pyvbmc", dim=2, budget=15, noise=None, stop_early=stop_early))
    assert "error" not in record
    assert 10 <= record["evaluations"] <= 15
    assert record["evaluations"] == 15 or stop_early
    assert record["lml_loss"] < 5
    assert np.shape(record["posterior"]["draws"]) == (500, 2)
    assert record["trace"][-1]["evaluations"] == record["evaluations"]
