import importlib.util
import json
import sys
import types
from dataclasses import replace

import numpy as np
import pytest

import quell
from quell.bench import BenchError
from quell.bench.algorithms import ALGORITHMS, Algorithm
from quell.bench.answers import Answer, Estimate, Interrupted, checkpoint_rows
from quell.bench.compact import restore_posterior
from quell.bench.protocols import at_own_stop
from quell.bench.single import Spec, perform
from quell.settings import Settings

FIELDS = [
    "problem", "dim", "algorithm", "mode", "seed", "noise", "noise_jitter", "budget",
    "stop_early", "evaluations", "lml_loss", "lml_loss_checked", "mmtv", "gskl", "log_evidence",
    "log_evidence_sd", "evidence_method", "elbo", "elbo_sd", "converged", "status", "tests",
    "overhead_cpu_seconds_per_evaluation", "wall_seconds", "trace", "trace_kind", "posterior",
    "settings", "settings_digest", "version", "commit", "engine", "libraries", "kernels", "cpu",
    "fast", "data", "mean_shift_in_sds", "own_stop", "total_cpu_seconds",
]  # fmt: skip
TIMES = ("overhead_cpu_seconds_per_evaluation", "wall_seconds", "total_cpu_seconds")
SPEC = Spec.make("halfnormal", "quell", 3, mode="exact", noise=0.5, noise_jitter=0.2, budget=20)


PROBLEM = quell.Problem(
    None, lower=-10, upper=10, plausible_lower=-3, plausible_upper=3, noise="exact"
)
POINTS = np.linspace(-4, 4, 15)[:, None]


@pytest.fixture(scope="module")
def record():
    return perform(SPEC)


def test_record_has_all_fields_as_plain_data(record):
    assert sorted(record) == sorted(FIELDS)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert record["evaluations"] == record["budget"] == 20
    assert record["status"] in ("too short to tell", "suspect")  # of 20 evaluations
    assert record["tests"]["stable_evaluations_needed"] == 40
    assert Spec.of_record(record) == SPEC


def test_the_same_spec_gives_the_same_record(record):
    again = perform(SPEC)
    for name in set(FIELDS) - set(TIMES):
        assert again[name] == record[name], name


def test_a_run_for_calibration_records_ranks():
    spec = Spec.make("conjugate", "quell", 5, mode="exact", dim=2, budget=20)
    record = perform(spec)
    assert sorted(record) == sorted([*FIELDS, "ranks"])
    assert len(record["ranks"]) == 2
    assert all(0 <= rank <= 999 for rank in record["ranks"])
    assert record["lml_loss"] < 1  # against the truth about the data of this seed


def test_trace_ends_with_the_run(record):
    counts = [point["evaluations"] for point in record["trace"]]
    assert counts == sorted(set(counts))
    assert counts[-1] == 20
    assert {"lml_loss", "gskl", "mmtv"} <= set(record["trace"][0])
    last = record["trace"][-1]
    for name in ("lml_loss", "gskl", "mmtv", "log_evidence", "log_evidence_sd", "status"):
        assert last[name] == record[name], name


#: The evidence of the first is by importance sampling, that of the second the ELBO.
@pytest.mark.parametrize("algorithm", ["quell", "viqr"])
def test_a_trace_has_what_a_run_with_that_budget_returns(algorithm, monkeypatch):
    for name in ("DRAWS", "FINAL_DRAWS"):
        monkeypatch.setattr(f"quell.bench.single.{name}", 5000)
    spec = Spec.make("halfnormal", algorithm, 5, mode="exact", noise=1.0, budget=25)
    record = perform(spec)
    assert record["trace_kind"] == "as returned"
    row = next(point for point in record["trace"] if point["evaluations"] >= 20)
    shorter = perform(replace(spec, budget=row["evaluations"]))
    for name in set(row) - {"evaluations", "status"}:
        assert row[name] == shorter[name] != record[name], name
    assert row["status"] == shorter["status"]


def test_a_checkpoint_that_fails_is_on_record_and_costs_no_other(monkeypatch):
    def fail(*_):
        raise np.linalg.LinAlgError("no polish")

    monkeypatch.setattr("quell.bench.own.end_at", fail)
    *others, last = perform(SPEC)["trace"]
    assert others
    for point in others:
        assert point["error"] == "LinAlgError: no polish"
        assert point["lml_loss"] == point["gskl"] == point["mmtv"] == "inf"
    assert "error" not in last
    assert last["gskl"] < np.inf


def test_posterior_can_be_rebuilt(record):
    posterior = restore_posterior(record["posterior"])
    draws = posterior.sample(1000, np.random.default_rng(1))
    assert ((draws < 0) & (draws > -20)).all()
    with pytest.raises(ValueError, match="draws"):
        restore_posterior({"kind": "draws"})


def test_checkpoints_are_at_most_twelve_and_end_with_the_last():
    counts = list(range(10, 605, 5))
    rows = checkpoint_rows(counts)
    assert len(rows) == 12
    assert rows[-1] == len(counts) - 1
    assert checkpoint_rows([10]) == [0]


def settings_of(name):
    return ALGORITHMS[name].run.settings


def test_settings_of_algorithms():
    assert settings_of("imiqr").acquisition == "imiqr"
    assert settings_of("quell") == settings_of("quell-8") == Settings()
    assert settings_of("quell-viqr").acquisition == "viqr"
    assert settings_of("quell-pro").acquisition == "pro"
    assert not settings_of("quell-uniform").output_scale_prior
    assert settings_of("quell-tails") == Settings(heavy_tails=True)
    maps = {name: algorithm.bounded_map for name, algorithm in ALGORITHMS.items()}
    assert maps["quell-viqr"] == maps["quell"] == maps["pyvbmc"] == "soft" != maps["viqr"]
    assert maps["quell-probit"] == "probit"


def test_whether_a_run_may_stop_early_is_on_record(record):
    assert record["settings"]["stop_early"] is False
    assert perform(replace(SPEC, stop_early=True))["settings"]["stop_early"] is True
    assert perform(replace(SPEC, algorithm="map"))["settings"]["stop_early"] is False


def test_the_answer_at_the_own_stop_is_that_of_a_run_that_stops():
    """To the last digit: noting it changes nothing in a run that goes on."""
    spec = Spec.make("normal", "quell", 5000, mode="exact", dim=1, budget=90)
    whole, stopped = perform(spec), perform(replace(spec, stop_early=True))
    assert "own_stop" not in stopped
    assert stopped["evaluations"] < whole["evaluations"] == 90
    assert whole["own_stop"] == {name: stopped[name] for name in whole["own_stop"]}
    assert {"lml_loss", "gskl", "mmtv", "status"} <= set(whole["own_stop"])
    [again] = at_own_stop([whole])
    for name in ("evaluations", "mmtv", "log_evidence", "stop_early"):
        assert again[name] == stopped[name]
    assert "trace" not in again


def test_the_polish_of_the_answer_at_the_own_stop_is_not_part_of_the_run(monkeypatch):
    own = sys.modules["quell.bench.own"]
    monkeypatch.setattr(own, "solution_is_final", lambda *_: True)
    engine = types.SimpleNamespace(cpu_seconds=7.0, settings=Settings())
    asked = []

    def result():
        engine.cpu_seconds += 5.0
        asked.append(1)
        return quell.fit(PROBLEM, (POINTS, -0.5 * POINTS[:, 0] ** 2), seed=1)

    stop = own.OwnStop(types.SimpleNamespace(engine=engine, result=result))
    for _ in range(2):
        assert stop(types.SimpleNamespace(state=None)) is None
    assert engine.cpu_seconds == 7.0
    assert len(asked) == 1
    assert stop.answer[1]["evaluations"] == 0  # all were given


def test_a_run_that_would_not_have_stopped_is_the_same_under_both_protocols(record):
    assert record["own_stop"] is None
    [again] = at_own_stop([record])
    assert again["stop_early"]
    assert (again["mmtv"], again["trace"]) == (record["mmtv"], record["trace"])
    failed = {**record, "error": "E: no"}
    assert [r["stop_early"] for r in at_own_stop([record, failed])] == [True, True]
    of_a_baseline = {k: v for k, v in failed.items() if k != "own_stop"} | {"algorithm": "wsabi"}
    assert len(list(at_own_stop([record, of_a_baseline]))) == 1


def always_standard_normal(problem, *, start, seed, budget, stop_early):
    """An algorithm that evaluates the target, does not look, and never changes its mind."""
    assert (start.shape, seed, budget, stop_early) == ((2,), 0, 20, False)
    for _ in range(budget):
        problem.evaluate(start)

    def sample(n, rng):
        return rng.standard_normal((n, 2))

    guess = Estimate(0.25, 0.5, np.zeros(2), np.eye(2), sample)
    return Answer(guess, {"evaluations": budget}, iter([(10, guess)]))


def test_an_algorithm_is_added_by_one_entry(monkeypatch):
    entry = Algorithm("guess", "a standard normal", always_standard_normal, bounded_map="logit")
    monkeypatch.setitem(ALGORITHMS, entry.name, entry)
    record = perform(Spec.make("normal", "guess", 0, mode="exact", dim=2, budget=20))
    assert record["algorithm"] == "guess"
    assert (record["evaluations"], record["lml_loss"], record["log_evidence_sd"]) == (20, 0.25, 0.5)
    # The second parameter has an SD of 2, not 1.
    assert 0.1 < record["mmtv"] < 0.2
    assert [point["evaluations"] for point in record["trace"]] == [10]


def test_the_check_of_an_algorithm_comes_before_its_run(monkeypatch):
    def missing():
        raise BenchError("install it first")

    entry = Algorithm("guess", "a standard normal", always_standard_normal, check=missing)
    monkeypatch.setitem(ALGORITHMS, entry.name, entry)
    with pytest.raises(BenchError, match="install it first"):
        Spec.make("normal", "guess", 0)


def test_a_crash_of_the_algorithm_is_on_record(monkeypatch):
    def crash(*_, **__):
        raise ZeroDivisionError("oh")

    monkeypatch.setitem(ALGORITHMS, "quell", replace(ALGORITHMS["quell"], run=crash))
    record = perform(SPEC)
    assert record["error"] == "ZeroDivisionError: oh"
    assert Spec.of_record(record) == SPEC


def test_an_interrupted_run_does_not_count(monkeypatch):
    engine = sys.modules["quell.run.engine"]
    absorb, calls = engine.absorb, []

    def interrupted_later(*arguments):
        calls.append(1)
        if len(calls) > 12:
            raise KeyboardInterrupt
        return absorb(*arguments)

    # The engine returns what it has so far, which is no finished run.
    monkeypatch.setattr(engine, "absorb", interrupted_later)
    with pytest.raises(Interrupted):
        perform(SPEC)


@pytest.mark.skipif(importlib.util.find_spec("pyvbmc") is not None, reason="PyVBMC is installed")
def test_a_peer_that_is_not_installed():
    with pytest.raises(BenchError, match="pip install pyvbmc"):
        Spec.make("normal", "pyvbmc", 0)


class FakeVBMC:
    """Answers like PyVBMC, with the exact posterior of the normal problem."""

    def __init__(self, target, x0, *bounds, options, seed):
        assert [np.shape(array) for array in (x0, *bounds)] == [(1, 2)] * 5
        assert options["specify_target_noise"]
        assert options["max_fun_evals"] == options["min_fun_evals"] == 20
        self.pair, self.rng = target(x0), np.random.default_rng(seed)
        self.iteration_history = {"func_count": np.array([10, 15, 20])}

    def sample(self, n, orig_flag, balance_flag):
        assert orig_flag
        assert balance_flag
        return self.rng.standard_normal((n, 2)) * [1, 2], None

    def determine_best_vp(self, max_idx):
        return self, -0.1 * max_idx, 0.3, max_idx

    def optimize(self):
        names = ("func_count", "elbo", "elbo_sd", "success_flag", "version")
        return self, dict(zip(names, (20, 0.25, 0.5, True, "0"), strict=True))


def test_adapter_of_pyvbmc(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyvbmc", types.SimpleNamespace(VBMC=FakeVBMC))
    record = perform(Spec.make("normal", "pyvbmc", 0, mode="exact", noise=2.0, dim=2, budget=20))
    assert sorted(record) == sorted(set(FIELDS) - {"status", "tests", "own_stop"})
    assert (record["lml_loss"], record["log_evidence_sd"]) == (0.25, 0.5)
    assert record["mmtv"] < 0.02
    assert record["gskl"] < 0.001
    assert [point["evaluations"] for point in record["trace"]] == [10, 15, 20]
    assert record["trace_kind"] == "as it stood"
    assert np.shape(record["posterior"]["draws"]) == (500, 2)
