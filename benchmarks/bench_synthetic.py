"""Accuracy on the synthetic targets, beside PyVBMC's published medians.

Runs ``quell`` with its default settings and the budget 50 (D + 2) on ten exact and five noisy
targets, and prints medians of the three metrics beside those of PyVBMC 1.5 (its developers' own
population of 100 seeds, October 2026; exact targets capped at 50 (D + 2) evaluations, noisy ones at
75 (D + 2)). Resumable: finished runs stay in the file and are not repeated.
"""

from typing import NamedTuple

import numpy as np
from campaign import campaign_parser, finished

from quell.bench import load
from quell.bench.metrics import usable, wilson_interval
from quell.bench.runner import run


class Row(NamedTuple):
    problem: str
    dim: int
    noise: float
    lml: float
    gskl: float
    mmtv: float
    usable: float


PUBLISHED = [
    Row("normal", 5, 0, 0.0045, 0.00008, 0.0075, 1.00),
    Row("corr", 5, 0, 0.0052, 0.0010, 0.0080, 1.00),
    Row("rosenbrock", 2, 0, 0.020, 0.017, 0.023, 1.00),
    Row("banana", 2, 0, 0.040, 0.124, 0.036, 1.00),
    Row("student", 4, 0, 0.017, 0.025, 0.036, 1.00),
    Row("student", 8, 0, 0.081, 0.212, 0.073, 0.98),
    Row("lumpy", 4, 0, 0.049, 0.014, 0.026, 1.00),
    Row("lumpy", 10, 0, 0.546, 0.444, 0.084, 0.99),
    Row("cigar", 4, 0, 0.0048, 0.0006, 0.0098, 1.00),
    Row("cigar", 8, 0, 0.0092, 0.0014, 0.0082, 1.00),
    Row("rosenbrock", 2, 1, 0.092, 0.017, 0.037, 0.99),
    Row("rosenbrock", 2, 3, 0.228, 0.157, 0.115, 0.72),
    Row("student", 8, 3, 0.833, 0.548, 0.132, 0.57),
    Row("lumpy", 10, 3, 0.656, 0.536, 0.098, 0.87),
    Row("logreg", 5, 3, 0.278, 0.361, 0.146, 0.87),
]


def main() -> None:
    parser = campaign_parser(__doc__, "synthetic.jsonl", runs=None)
    parser.add_argument("--exact-runs", type=int, default=10)
    parser.add_argument("--noisy-runs", type=int, default=40)
    options = parser.parse_args()
    if not options.only_table:
        # Noisy targets first: they are the ones that differ between seeds.
        for row in sorted(PUBLISHED, key=lambda row: row.noise == 0):
            count = options.noisy_runs if row.noise else options.exact_runs
            run(
                [row.problem],
                ["quell"],
                range(options.first_seed, options.first_seed + count),
                mode="exact",
                noise=row.noise or None,
                dim=row.dim,
                jobs=options.jobs,
                out=options.out,
            )
    table(options.out)


def table(path: str) -> None:
    """Print medians of all runs in the file, PyVBMC's in brackets.

    "ELBO" is the error of the ELBO as an estimate of the log evidence, for comparison.
    """
    records = finished(path)
    print(
        f"{'target':22}{'runs':>5}" + "".join(f"{h:>19}" for h in ("LML", "gsKL", "MMTV")), end=""
    )
    print(f"{'ELBO':>9}{'usable':>22}{'ms/eval':>9}")
    for row in PUBLISHED:
        mine = [
            r
            for r in records
            if (r["problem"], r["dim"], r["noise"] or 0) == (row.problem, row.dim, row.noise)
        ]
        if not mine:
            continue
        line = f"{f'{row.problem} D{row.dim}, SD {row.noise:g}':22}{len(mine):5}"
        for key, published in (("lml_loss", row.lml), ("gskl", row.gskl), ("mmtv", row.mmtv)):
            line += (
                f"{np.median([r.get(key, np.inf) for r in mine]):11.4g} ({published:.2g})".rjust(19)
            )
        truth = load(row.problem, row.dim).truth.log_evidence
        line += f"{np.median([abs(r.get('elbo', np.inf) - truth) for r in mine]):9.2g}"
        good = sum("error" not in r and usable(r["lml_loss"], r["gskl"], r["mmtv"]) for r in mine)
        low, high = wilson_interval(good, len(mine))
        cost = [r.get("overhead_cpu_seconds_per_evaluation", np.nan) for r in mine]
        share = f"{good / len(mine):.2f} [{low:.2f}, {high:.2f}]"
        print(f"{line}{share:>22}{1e3 * np.nanmedian(cost):9.0f}")


if __name__ == "__main__":
    main()
