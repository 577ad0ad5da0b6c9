"""Names, colours and lines of the algorithms in figures, and of the metrics and problems.

An algorithm looks the same in every figure. Colours are those of Okabe and Ito; there are fewer of
them than algorithms, so the lesioned variants, which have a figure of their own, share the colours
of others and differ in their lines.
"""

from __future__ import annotations

from typing import NamedTuple

from quell.bench.metrics import USABLE
from quell.plots.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    VERMILLION,
    Look,
)

LOOKS: dict[str, Look] = {
    "quell": Look(BLUE, "-", "o"),
    "viqr": Look(VERMILLION, (0, (5, 1)), "s"),
    "imiqr": Look(ORANGE, (0, (5, 1, 1, 1)), "^"),
    "eig": Look(GREEN, "-.", "v"),
    "npro": Look(PURPLE, (0, (2, 1)), "D"),
    "gp-imiqr": Look(SKY, (0, (8, 2)), "P"),
    "wsabi": Look(BLACK, ":", "X"),
    "pyvbmc": Look(GREY, (0, (3, 1, 1, 1, 1, 1)), "*"),
    "nowv": Look(GREEN, (0, (4, 2)), "<"),
    "map": Look(BLACK, "-.", ">"),
    "old": Look(PURPLE, ":", "h"),
}
#: What legends call them; the paper's names for the paper's algorithms.
NAMES = {
    "quell": "Quell", "viqr": "VBMC-VIQR", "imiqr": "VBMC-IMIQR", "eig": "VBMC-EIG",
    "npro": "VBMC-NPRO", "gp-imiqr": "GP-IMIQR", "wsabi": "WSABI-L", "pyvbmc": "PyVBMC",
    "nowv": "VBMC-NOWV", "map": "VBMC-MAP", "old": "VBMC-OLD",
}  # fmt: skip
#: The algorithms of the main figures and of the lesion study, in the order of their legends.
MAIN = ("quell", "viqr", "imiqr", "eig", "npro", "gp-imiqr", "wsabi", "pyvbmc")
LESIONS = ("nowv", "map", "old")
LESIONED = ("quell", "viqr", *LESIONS, "gp-imiqr")
#: Metrics of the posterior that the paper does not ask of an algorithm made for the evidence.
NOT_ASKED = {"wsabi": ("gskl", "mmtv")}

#: The paper's nine problems in the order of its figures, and how it calls them; g-and-k has a
#: figure of its own.
PROBLEMS = {
    "ricker": "Ricker", "addm_s1": "aDDM S1", "addm_s2": "aDDM S2", "timing": "Timing",
    "multisensory_s1": "Multisensory S1", "multisensory_s2": "Multisensory S2",
    "neuronal_v1": "Neuronal V1", "neuronal_v2": "Neuronal V2", "rodent": "Rodent",
}  # fmt: skip
TITLES = {**PROBLEMS, "gandk": "g-and-k"}
#: The paper's SDs of emulated noise, at which its figures along runs are made; problems without
#: one have their own noise only.
PAPER_SDS = {
    "addm_s1": 2.8, "addm_s2": 2.8, "timing": 2.2, "multisensory_s1": 1.3, "multisensory_s2": 1.3,
    "neuronal_v1": 2.0, "neuronal_v2": 2.0, "rodent": 3.18,
}  # fmt: skip
#: The problems of its figures against noise.
AGAINST_NOISE = ("timing", "multisensory_s1", "neuronal_v1")


class Metric(NamedTuple):
    """A metric in figures: its key in records, its name, and the value to stay below."""

    key: str
    title: str
    target: float


LML = Metric("lml_loss", "LML loss", USABLE["lml_loss"])
GSKL = Metric("gskl", "gsKL", USABLE["gskl"])
MMTV = Metric("mmtv", "MMTV", USABLE["mmtv"])


def asked(algorithm: str, metric: Metric) -> bool:
    """Whether figures show this metric of this algorithm.

    >>> asked("wsabi", LML), asked("wsabi", MMTV)
    (True, False)
    """
    return metric.key not in NOT_ASKED.get(algorithm, ())
