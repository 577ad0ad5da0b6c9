"""Estimates of the log evidence beside each other: their bias, spread, and coverage.

From runs of ``quell`` that ``make bench-synthetic`` (or ``bench-real``) has made. Three estimates
per run: the ELBO; the evidence of the surrogate's mean, by importance sampling; and what is
reported, which adds half of the variance that points do not share (``quell.vbmc.evidence``). That
part is not in the records, but its square is in the reported variance, next to the ELBO's and a
small Monte Carlo error. Errors are against the checked truth where a problem has one.
"""

import argparse
from collections import defaultdict
from typing import Any

import numpy as np
from campaign import finished

from quell.bench.calibration import covered
from quell.bench.problems import load

FILES = ["benchmarks/results/synthetic.jsonl"]


def estimates(record: dict[str, Any]) -> list[tuple[float, float]]:
    """Value and SD of the three estimates."""
    sd, elbo_sd = record["log_evidence_sd"], record["elbo_sd"]
    convexity = float(np.sqrt(max(0.0, sd**2 - elbo_sd**2)))
    reported = record["log_evidence"]
    return [(record["elbo"], elbo_sd), (reported - convexity, elbo_sd), (reported, sd)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=FILES)
    groups = defaultdict(list)
    for path in parser.parse_args().files:
        for record in finished(path):
            if record["algorithm"] == "quell" and "error" not in record:
                groups[record["problem"], record["dim"], record["noise"] or 0].append(record)
    heads = ("ELBO", "of the mean", "reported")
    print(f"{'target':26}{'runs':>5}" + "".join(f"{head:>25}" for head in heads))
    print(" " * 31 + "     bias    SD  covered" * 3)
    for (problem, dim, noise), records in groups.items():
        if len(records) < 10:
            continue
        truth = load(problem, dim).truth
        checked = getattr(truth, "log_evidence_checked", None)
        aim = truth.log_evidence if checked is None else checked
        line = f"{f'{problem} D{dim}, SD {noise:g}':26}{len(records):5}"
        for column in zip(*map(estimates, records), strict=True):
            error = np.array([value - aim for value, _ in column])
            share = np.mean([covered(abs(e), sd) for e, (_, sd) in zip(error, column, strict=True)])
            line += f"{error.mean():9.3f}{error.std():6.3f}{share:9.2f} "
        print(line)


if __name__ == "__main__":
    main()
