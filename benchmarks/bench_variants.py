"""The paper's variants beside each other: acquisition functions, and whitening, under noise.

1. ``viqr``, ``imiqr`` and ``npro`` on rosenbrock D = 2 with noise of SD 3: the paper's claims are
   that VIQR and IMIQR are close and NPRO is far behind.
2. ``viqr`` and ``nowv`` on cigar D = 4, a correlated normal, with noise of SD 1: the paper's claim
   is that whitening helps where parameters are correlated.

Budget 50 (D + 2), the same seeds for all. Resumable: finished runs stay in the file.
"""

import argparse

from quell.bench.records import read_records
from quell.bench.runner import run
from quell.bench.tables import markdown_table

#: Problem, dimension, SD of the noise, variants.
COMPARISONS = [
    ("rosenbrock", 2, 3.0, ["viqr", "imiqr", "npro"]),
    ("cigar", 4, 1.0, ["viqr", "nowv"]),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--first-seed", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", default="benchmarks/results/variants.jsonl")
    parser.add_argument("--only-table", action="store_true", help="print what is there already")
    options = parser.parse_args()
    if not options.only_table:
        seeds = range(options.first_seed, options.first_seed + options.runs)
        for problem, dim, noise, variants in COMPARISONS:
            run([problem], variants, seeds, mode="exact", noise=noise, dim=dim,
                jobs=options.jobs, out=options.out)  # fmt: skip
    print(markdown_table(read_records([options.out]).runs.values()))


if __name__ == "__main__":
    main()
