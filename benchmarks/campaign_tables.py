"""Tables of the campaigns for which the usual one is not enough."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from quell.bench import PROBLEMS, load
from quell.bench.metrics import BOOTSTRAPS, NONSENSE, nonsense, usable
from quell.calibration.shares import wilson_interval

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


def worst_cases(records: list[Record]) -> str:
    """Medians and worst runs on every target, and how many are usable, nonsense, or failed."""
    titles = "".join(f"{title:>22}" for title in ("LML (worst)", "gsKL (worst)", "MMTV (worst)"))
    lines = [
        f"{'target':28}{'runs':>5}{titles}{'usable':>21}{'nonsense':>9}{'failed':>7}{'ms/eval':>8}"
    ]
    targets: dict[tuple[str, int, float], list[Record]] = {}
    for record in records:
        target = (record["problem"], record["dim"], record["noise"] or 0.0)
        targets.setdefault(target, []).append(record)
    order = list(PROBLEMS)
    for target in sorted(targets, key=lambda target: (order.index(target[0]), *target[1:])):
        lines.append(_worst_line(*target, targets[target]))
    absurd = sum(map(_is_nonsense, records))
    return "\n".join(
        [
            *lines,
            "",
            f"{absurd} of {len(records)} runs are nonsense: off by more than "
            f"{NONSENSE['lml_loss']:g} in the log evidence or by {NONSENSE['mean_shift_in_sds']:g} "
            "true SDs in a mean, or not finite.",
        ]
    )


def _worst_line(problem: str, dim: int, noise: float, mine: list[Record]) -> str:
    line = f"{f'{problem} D{dim}, SD {noise:g}':28}{len(mine):5}"
    for key in METRICS:
        values = [float(r.get(key, np.inf)) for r in mine]
        # By rank, as an infinite value has no part in a mean of two.
        middle = float(np.quantile(values, 0.5, method="higher"))
        line += f"{f'{middle:.3g} ({max(values):.3g})':>22}"
    failed = sum("error" in r for r in mine)
    good = sum("error" not in r and usable(*(float(r[key]) for key in METRICS)) for r in mine)
    low, high = wilson_interval(good, len(mine))
    share = f"{good / len(mine):.2f} [{low:.2f}, {high:.2f}]"
    cost = [r["overhead_cpu_seconds_per_evaluation"] for r in mine if "error" not in r]
    ms = f"{1e3 * np.median(cost):.0f}" if cost else "-"
    return f"{line}{share:>21}{sum(map(_is_nonsense, mine)):9}{failed:7}{ms:>8}"


def _is_nonsense(record: Record) -> bool:
    """Whether the run has an answer, and that is absurd; numbers may be the words inf and nan."""
    return "error" not in record and nonsense(*(float(record[key]) for key in NONSENSE))


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
    rows = np.random.default_rng(0).integers(len(seeds), size=(BOOTSTRAPS, len(seeds)))
    for place, key in enumerate(METRICS):
        one, eight = pairs[:, :, place].T
        ratios = np.median(eight[rows], axis=1) / np.median(one[rows], axis=1)
        low, high = np.quantile(ratios, [0.025, 0.975])
        ratio = np.median(eight) / np.median(one)
        paired = np.exp(np.mean(np.log(eight / one)))
        lines.append(
            f"{key}, 8 over 1: {ratio:.3f} [{low:.3f}, {high:.3f}], in pairs {paired:.3f}; one at "
            f"a time is better in {int(np.sum(one < eight))} of {len(seeds)}"
        )
    lines.append(f"asked for: MMTV at most {ASKED}")
    return "\n".join(lines)
