"""One run of the benchmark, and the record it leaves."""

from __future__ import annotations

import time
from dataclasses import MISSING, asdict, dataclass, fields
from typing import Any, TypedDict

import numpy as np

from quell.arrays import FloatArray
from quell.bench.algorithms import ALGORITHMS
from quell.bench.answers import Answer, Estimate, Interrupted
from quell.bench.data import VARIABLE, folder
from quell.bench.metrics import DRAWS, FINAL_DRAWS, gskl, lml_loss, mean_shift, mmtv
from quell.bench.problems import BenchError, Benchmark, choose, load
from quell.bench.problems.base import Mode, Noise
from quell.bench.provenance import made_by, settings_digest
from quell.calibration.ranks import RANK_DRAWS, rank
from quell.streams import BenchStream, rng_for_bench
from quell.text import jsonable
from quell.threads import single_threaded


class Setting(TypedDict, total=False):
    """How an algorithm is run on a problem; what is left out has the default of `Spec.make`."""

    mode: Mode
    noise: Noise
    noise_jitter: float
    budget: int | None
    dim: int | None
    stop_early: bool
    fast: bool


@dataclass(frozen=True)
class Spec:
    """What identifies a run: two runs with equal specs are the same run.

    ``noise`` is the SD of emulated noise (None: the problem's own, or none in mode "exact"),
    ``noise_jitter`` the log-normal spread of the SD that is reported. ``fast`` draws the problem's
    own noise by its shortcut. ``data`` says which data it has: "real", "simulated", or "".
    """

    problem: str
    dim: int
    algorithm: str
    mode: Mode
    noise: float | None
    noise_jitter: float
    budget: int
    stop_early: bool
    seed: int
    fast: bool = False
    data: str = ""

    @classmethod
    def make(
        cls,
        problem: str,
        algorithm: str,
        seed: int,
        *,
        mode: Mode = "noisy",
        noise: Noise = None,
        noise_jitter: float = 0.0,
        budget: int | None = None,
        dim: int | None = None,
        stop_early: bool = False,
        fast: bool = False,
    ) -> Spec:
        """A checked spec with the defaults filled in; :class:`BenchError` says what is wrong."""
        benchmark = load(problem, dim)
        choose("algorithm", algorithm, list(ALGORITHMS))
        ALGORITHMS[algorithm].check()
        noise = benchmark.check(mode, noise, noise_jitter, fast=fast)
        least = max(benchmark.dimension, 10) + 1
        if budget is None:
            budget = benchmark.default_budget
        if budget < least:
            raise BenchError(f"{problem} needs a budget of at least {least}, got {budget}")
        if seed < 0:
            raise BenchError(f"seeds must not be negative, got {seed}")
        if benchmark.data:
            _ = benchmark.truth  # a missing or damaged file shows now, not after the first run
        return cls(
            problem=problem,
            dim=benchmark.dimension,
            algorithm=algorithm,
            mode=mode,
            noise=None if noise is None else float(noise),
            noise_jitter=float(noise_jitter),
            budget=int(budget),
            stop_early=bool(stop_early),
            seed=int(seed),
            fast=bool(fast),
            data=benchmark.data,
        )

    @classmethod
    def of_record(cls, record: dict[str, Any]) -> Spec:
        """The spec of the run behind a record."""
        # The last fields are younger than the first records.
        wanted = [f.name for f in fields(cls) if f.default is MISSING or f.name in record]
        return cls(**{name: record[name] for name in wanted})

    def benchmark(self) -> Benchmark:
        """The problem of the run; :class:`BenchError` if its data are not here."""
        benchmark = load(self.problem, self.dim)
        if benchmark.data != self.data:
            raise BenchError(
                f"{self.problem} has {benchmark.data} data here, the run has {self.data} data "
                f"({VARIABLE} is {'not ' * (folder() is None)}set)"
            )
        return benchmark if benchmark.for_seed is None else benchmark.for_seed(self.seed)

    def __str__(self) -> str:
        noise = "" if self.noise is None else f" noise {self.noise:g}"
        how = self.mode + noise + " fast" * self.fast
        return f"{self.problem} D{self.dim} {how} {self.algorithm} seed {self.seed}"


def perform(spec: Spec) -> dict[str, Any]:
    """Run it, and return its record: plain data, ready for JSON.

    The same spec gives the same record, times aside. Its "trace" has the metrics along the run;
    of what, says "trace_kind": of what would have been returned if the run had ended there, with
    its last polish and the status ("as returned"), or of the estimate at the time ("as it stood").
    "own_stop" is the answer when the algorithm would have stopped by its own rule, None if it would
    not have (see `quell.bench.protocols`). Whatever the algorithm raises is recorded under "error":
    a crash is a result too. "version", "commit" and "engine" say which source made the run
    (`quell.bench.provenance`). "total_cpu_seconds" are those of algorithm, target and scores.

    >>> spec = Spec.make("normal", "quell", 1, mode="exact", dim=1, budget=15)
    >>> record = perform(spec)
    >>> record["evaluations"], record["lml_loss"] < 1
    (15, True)
    """
    benchmark, algorithm = spec.benchmark(), ALGORITHMS[spec.algorithm]
    problem = benchmark.as_problem(
        spec.mode,
        spec.noise,
        jitter=spec.noise_jitter,
        fast=spec.fast,
        rng=benchmark.noise_stream(spec.seed),
        bounded=algorithm.bounded_map,
    )
    record: dict[str, Any] = asdict(spec)
    started = time.process_time()
    with single_threaded():
        try:
            answer = algorithm.run(
                problem,
                start=benchmark.start(spec.seed),
                seed=spec.seed,
                budget=spec.budget,
                stop_early=spec.stop_early,
            )
        except (BenchError, Interrupted, MemoryError, OSError):
            raise  # not the algorithm's fault
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            return {**record, "error": text, **made_by()}
        record |= _scores(benchmark, answer, spec.seed)
    if "settings" in record:
        record["settings_digest"] = settings_digest(record["settings"])
    record["total_cpu_seconds"] = time.process_time() - started
    return jsonable({**record, **made_by()})


def _scores(benchmark: Benchmark, answer: Answer, seed: int) -> dict[str, Any]:
    final = answer.final
    scores: dict[str, Any] = {
        **_answer_scores(benchmark, final, seed),
        **answer.fields,
        "trace_kind": answer.trace_kind,
        "trace": _trace(benchmark, answer, seed),
    }
    if answer.own_stop is None:
        scores["own_stop"] = None
    elif isinstance(answer.own_stop, tuple):
        earlier, fields = answer.own_stop
        scores["own_stop"] = {**_answer_scores(benchmark, earlier, seed), **fields}
    if benchmark.generating is not None:
        among = final.sample(RANK_DRAWS, rng_for_bench(seed, BenchStream.RANKS))
        scores["ranks"] = rank(benchmark.generating, among)
    return scores


def _answer_scores(benchmark: Benchmark, final: Estimate, seed: int) -> dict[str, Any]:
    """The scores of what a run returns."""
    truth = benchmark.truth
    draws = final.sample(FINAL_DRAWS if truth.on_box else DRAWS, _metric_rng(seed))
    return {
        **metrics(benchmark, final, draws),
        "lml_loss_checked": lml_loss(final.log_evidence, truth.log_evidence_checked),
        "mean_shift_in_sds": mean_shift(final.mean, truth),
        "log_evidence": final.log_evidence,
        "log_evidence_sd": final.log_evidence_sd,
    }


def _trace(benchmark: Benchmark, answer: Answer, seed: int) -> list[dict[str, Any]]:
    """A row for each checkpoint."""
    return [
        {"evaluations": count, **_trace_scores(benchmark, estimate, seed)}
        for count, estimate in answer.checkpoints
    ]


def _trace_scores(
    benchmark: Benchmark, estimate: Estimate | Exception, seed: int
) -> dict[str, Any]:
    """The metrics of one checkpoint; infinite, as of a failed run, where it would have been one."""
    if isinstance(estimate, Exception):
        infinite = dict.fromkeys(("lml_loss", "gskl", "mmtv"), np.inf)
        return {**infinite, "error": f"{type(estimate).__name__}: {estimate}"}
    scores: dict[str, Any] = {
        **metrics(benchmark, estimate, estimate.sample(DRAWS, _metric_rng(seed))),
        "log_evidence": estimate.log_evidence,
        "log_evidence_sd": estimate.log_evidence_sd,
    }
    return {**scores, "status": estimate.status} if estimate.status else scores


def _metric_rng(seed: int) -> np.random.Generator:
    return rng_for_bench(seed, BenchStream.METRICS)


def metrics(benchmark: Benchmark, estimate: Estimate, draws: FloatArray) -> dict[str, float]:
    """The three metrics of an estimate, of whose posterior ``draws`` (n, D) are given."""
    truth = benchmark.truth
    return {
        "lml_loss": lml_loss(estimate.log_evidence, truth.log_evidence),
        "gskl": gskl(estimate.mean, estimate.covariance, truth),
        "mmtv": mmtv(
            draws,
            truth.reference,
            lower=benchmark.lower,
            upper=benchmark.upper,
            estimator=truth.estimator,
        ),
    }
