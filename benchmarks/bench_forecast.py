"""What more evaluations were forecast to buy, beside what they did buy.

    python benchmarks/bench_forecast.py FILE.jsonl ...

From records of `quell bench run`. *Now*: the error of the posterior that a run expects of itself,
beside its gsKL to the truth. *Later*: runs of the same problem and seed with two budgets; what the
smaller one forecasts for the larger one's evaluations, beside what came.
"""

import argparse
from glob import glob

import numpy as np

from quell.bench.records import read_records
from quell.diagnostics.forecast import forecast


def key(record: dict) -> tuple:
    """What two runs share that differ in their budget."""
    return tuple(record[name] for name in ("problem", "dim", "mode", "noise", "seed"))


def history(record: dict) -> list[dict]:
    """What `forecast` reads of a history; earlier records have the SD of the ELBO in the trace."""
    sds = [(p["evaluations"], p.get("elbo_sd", p.get("log_evidence_sd"))) for p in record["trace"]]
    return [
        {"n_evaluations": n, "elbo_sd": sd, "warmup": False, "believable": True}
        for n, sd in sds
        if sd is not None
    ]


def ratios(name: str, said: list[float], came: list[float]) -> None:
    ratio = np.log2(np.array(came) / np.array(said))
    ratio = ratio[np.isfinite(ratio)]
    if not len(ratio):
        return
    low, middle, high = 2 ** np.quantile(ratio, [0.1, 0.5, 0.9])
    within = np.mean(np.abs(ratio) < np.log2(3))
    print(f"{name} ({len(ratio)} runs): came / expected, median {middle:.2f}, 10 to 90 % "
          f"{low:.2f} to {high:.2f}; within a factor 3 in {100 * within:.0f} %")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=sorted(glob("benchmarks/results/*.jsonl")))
    parser.add_argument("--algorithm", default="quell")
    chosen = parser.parse_args()
    runs = [
        record
        for record in read_records(chosen.files).runs.values()
        if record["algorithm"] == chosen.algorithm and "convexity" in record.get("tests", {})
    ]
    if not runs:
        raise SystemExit("no run in these files says what error it expects")
    ratios("error of the posterior now  ", [r["tests"]["convexity"] for r in runs],
           [r["gskl"] for r in runs])  # fmt: skip
    larger = {}
    for record in sorted(runs, key=lambda r: r["budget"]):
        larger[key(record)] = record
    error, sd = [], []
    for record in runs:
        later = larger[key(record)]
        if later["budget"] <= record["budget"]:
            continue
        more = later["evaluations"] - record["evaluations"]
        said = forecast(
            history(record), record["log_evidence_sd"], record["tests"]["convexity"], more
        )
        error.append((said.error, later["gskl"]))
        sd.append((said.sd, later["log_evidence_sd"]))
    for name, found in (
        ("error of the posterior later", error),
        ("SD of the log evidence later", sd),
    ):
        if found:
            ratios(name, *map(list, zip(*found, strict=True)))


if __name__ == "__main__":
    main()
