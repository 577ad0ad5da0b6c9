"""Accuracy with 8 points under evaluation at a time beside one at a time, at equal evaluations.

Paired seeds: the same problem, starting point and streams of noise. Resumable: finished runs stay
in the file and are not repeated. Prints the medians of both, the ratio of the medians of MMTV with
its 95 % bootstrap interval over pairs, and how many pairs the sequential run won.
"""

import numpy as np
from campaign import campaign_parser, finished

from quell.bench.runner import run

METRICS = ("lml_loss", "gskl", "mmtv")
ASKED = 1.15


def main() -> None:
    parser = campaign_parser(__doc__, "in-flight.jsonl", runs=40)
    parser.add_argument("--problem", default="multisensory_s1")
    options = parser.parse_args()
    if not options.only_table:
        run(
            [options.problem],
            ["quell", "quell-8"],
            range(options.first_seed, options.first_seed + options.runs),
            mode="exact",
            noise="paper",
            jobs=options.jobs,
            out=options.out,
        )
    table(options.out, options.problem)


def table(path: str, problem: str) -> None:
    """Print the comparison."""
    scores: dict[str, dict[int, list[float]]] = {"quell": {}, "quell-8": {}}
    for record in finished(path):
        if record["problem"] == problem and record["algorithm"] in scores:
            values = [record.get(key, np.inf) for key in METRICS]
            scores[record["algorithm"]][record["seed"]] = values
    seeds = sorted(set(scores["quell"]) & set(scores["quell-8"]))
    if not seeds:
        raise SystemExit(f"no pair of runs of {problem} in {path}")
    pairs = np.array([[scores[name][seed] for name in scores] for seed in seeds])
    print(f"{problem}, {len(seeds)} paired seeds, medians")
    print(f"{'at a time':>9}" + "".join(f"{key:>10}" for key in METRICS))
    for count, medians in zip((1, 8), np.median(pairs, axis=0), strict=True):
        print(f"{count:9}" + "".join(f"{value:10.3g}" for value in medians))
    one, eight = pairs[:, :, METRICS.index("mmtv")].T
    rng = np.random.default_rng(0)
    rows = rng.integers(len(seeds), size=(10_000, len(seeds)))
    ratios = np.median(eight[rows], axis=1) / np.median(one[rows], axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    ratio = np.median(eight) / np.median(one)
    print(f"MMTV, 8 over 1: {ratio:.3f} [{low:.3f}, {high:.3f}]; asked for: at most {ASKED}")
    print(f"one at a time is better in {int(np.sum(one < eight))} of {len(seeds)} pairs")


if __name__ == "__main__":
    main()
