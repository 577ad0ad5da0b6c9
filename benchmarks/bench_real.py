"""The ten problems: the paper's algorithm and Quell, ten runs each, and a run with the real noise.

Noise is emulated on the exact log-likelihood with the paper's SD, except for ricker and gandk,
which have their own estimators. One more run of each problem whose noise comes from a simulator
has that noise, to show that it agrees. Needs QUELL_DATA for the real data. Resumable: finished
runs stay in the file and are not repeated.
"""

from collections.abc import Sequence

from campaign import campaign_parser, finished

from quell.bench.runner import run
from quell.bench.tables import markdown_table

SIMULATED = ("addm_s1", "addm_s2", "timing", "multisensory_s1", "multisensory_s2", "rodent")
EMULATED = (*SIMULATED, "neuronal_v1", "neuronal_v2")
OWN_NOISE = ("ricker", "gandk")
ALGORITHMS = ("quell", "viqr")


def main() -> None:
    parser = campaign_parser(__doc__, "real.jsonl")
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=ALGORITHMS)
    options = parser.parse_args()
    if not options.only_table:
        campaign(options.algorithms, options.runs, options.first_seed, options.jobs, options.out)
    print(markdown_table(finished(options.out)))


def campaign(algorithms: Sequence[str], runs: int, first: int, jobs: int, out: str) -> None:
    """A few seeds of everything first, so that an interrupted campaign has something of each."""
    steps = sorted({min(runs, count) for count in (2, 5, runs)})
    for count in steps:
        seeds = range(first, first + count)
        for algorithm in algorithms:
            run(EMULATED, [algorithm], seeds, mode="exact", noise="paper", jobs=jobs, out=out)
            run(OWN_NOISE, [algorithm], seeds, mode="noisy", jobs=jobs, out=out)
    if "quell" in algorithms:
        run(SIMULATED, ["quell"], [first], mode="noisy", jobs=jobs, out=out)


if __name__ == "__main__":
    main()
