"""The paper's variants beside each other: acquisition functions, and whitening, under noise.

1. ``viqr``, ``imiqr`` and ``npro`` on rosenbrock D = 2 with noise of SD 3: the paper's claims are
   that VIQR and IMIQR are close and NPRO is far behind.
2. ``viqr`` and ``nowv`` on cigar D = 4, a correlated normal, with noise of SD 1: the paper's claim
   is that whitening helps where parameters are correlated.

Budget 50 (D + 2), the same seeds for all; three times as many of ``viqr`` and ``npro`` on
rosenbrock, for that is the claim of a decisive difference. Resumable: finished runs stay in the
file.
"""

from campaign import campaign_parser, finished

from quell.bench.runner import run
from quell.bench.tables import markdown_table

#: Problem, dimension, SD of the noise, variants, and how many times ``--runs`` of them.
COMPARISONS = [
    ("rosenbrock", 2, 3.0, ["viqr", "npro"], 3),
    ("rosenbrock", 2, 3.0, ["imiqr"], 1),
    ("cigar", 4, 1.0, ["viqr", "nowv"], 1),
]


def main() -> None:
    options = campaign_parser(__doc__, "variants.jsonl").parse_args()
    if not options.only_table:
        for problem, dim, noise, variants, times in COMPARISONS:
            seeds = range(options.first_seed, options.first_seed + times * options.runs)
            run([problem], variants, seeds, mode="exact", noise=noise, dim=dim,
                jobs=options.jobs, out=options.out)  # fmt: skip
    print(markdown_table(finished(options.out)))


if __name__ == "__main__":
    main()
