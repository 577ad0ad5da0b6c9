"""Tables of the campaigns for which the usual one is not enough."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from quell.bench import load
from quell.bench.metrics import BOOTSTRAPS, usable, wilson_interval

Record = dict[str, Any]
METRICS = ("lml_loss", "gskl", "mmtv")
#: The ratio of MMTVs, 8 at a time over one, that is asked for.
ASKED = 1.15


class Published(NamedTuple):
    """Medians that others have published for a target with noise of this SD (0: exact)."""

    problem: str
    dim: int
    noise: float
    lml_loss: float
    gskl: float
    mmtv: float
    usable: float


def beside_published(published: Sequence[Published], records: list[Record]) -> str:
    """Medians of the runs on every target there are runs of; the published ones in brackets.

    "ELBO" is the error of the ELBO as an estimate of the log evidence, for comparison.
    """
    titles = "".join(f"{title:>19}" for title in ("LML", "gsKL", "MMTV"))
    lines = [f"{'target':22}{'runs':>5}{titles}{'ELBO':>9}{'usable':>22}{'ms/eval':>9}"]
    for row in published:
        target = (row.problem, row.dim, row.noise)
        mine = [r for r in records if (r["problem"], r["dim"], r["noise"] or 0) == target]
        if mine:
            lines.append(_target_line(row, mine))
    return "\n".join(lines)


def _target_line(row: Published, mine: list[Record]) -> str:
    line = f"{f'{row.problem} D{row.dim}, SD {row.noise:g}':22}{len(mine):5}"
    for key in METRICS:
        median = np.median([r.get(key, np.inf) for r in mine])
        line += f"{median:11.4g} ({getattr(row, key):.2g})".rjust(19)
    truth = load(row.problem, row.dim).truth.log_evidence
    line += f"{np.median([abs(r.get('elbo', np.inf) - truth) for r in mine]):9.2g}"
    good = sum("error" not in r and usable(r["lml_loss"], r["gskl"], r["mmtv"]) for r in mine)
    low, high = wilson_interval(good, len(mine))
    cost = [r.get("overhead_cpu_seconds_per_evaluation", np.nan) for r in mine]
    share = f"{good / len(mine):.2f} [{low:.2f}, {high:.2f}]"
    return f"{line}{share:>22}{1e3 * np.nanmedian(cost):9.0f}"


def eight_beside_one(records: list[Record]) -> str:
    """``quell-8`` beside ``quell`` on one problem, over the seeds that both have."""
    scores: dict[str, dict[int, list[float]]] = {"quell": {}, "quell-8": {}}
    for record in records:
        if record["algorithm"] in scores:
            values = [record.get(key, np.inf) for key in METRICS]
            scores[record["algorithm"]][record["seed"]] = values
    seeds = sorted(set(scores["quell"]) & set(scores["quell-8"]))
    if not seeds:
        raise SystemExit("no pair of runs of this problem in the file")
    pairs = np.array([[scores[name][seed] for name in scores] for seed in seeds])
    lines = [
        f"{records[0]['problem']}, {len(seeds)} paired seeds, medians",
        f"{'at a time':>9}" + "".join(f"{key:>10}" for key in METRICS),
    ]
    for count, medians in zip((1, 8), np.median(pairs, axis=0), strict=True):
        lines.append(f"{count:9}" + "".join(f"{value:10.3g}" for value in medians))
    one, eight = pairs[:, :, METRICS.index("mmtv")].T
    rows = np.random.default_rng(0).integers(len(seeds), size=(BOOTSTRAPS, len(seeds)))
    ratios = np.median(eight[rows], axis=1) / np.median(one[rows], axis=1)
    low, high = np.quantile(ratios, [0.025, 0.975])
    ratio = np.median(eight) / np.median(one)
    lines += [
        f"MMTV, 8 over 1: {ratio:.3f} [{low:.3f}, {high:.3f}]; asked for: at most {ASKED}",
        f"one at a time is better in {int(np.sum(one < eight))} of {len(seeds)} pairs",
    ]
    return "\n".join(lines)
