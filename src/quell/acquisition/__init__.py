"""Acquisition functions: where to evaluate the likelihood next.

``viqr``, ``imiqr``, ``eig``, ``prospective`` the functions, each its paper's formula; ``wiqr``
the default, between the first two; ``climb`` the way to where the posterior is; ``noise`` the
noise to expect of a new point; ``regularise`` points to keep away from; ``search`` finds the best
point; ``situation`` what a function is given and must provide.
Beneath them: ``score`` and ``lookahead`` what all share, ``interquantile`` what the three
``..iqr`` share, ``draws`` quasi-random numbers, ``ensemble`` MCMC.

>>> import numpy as np
>>> from quell.gp import GaussianProcess, TrainingData
>>> from quell.mixture import Mixture
>>> data = TrainingData.from_arrays([[-1.0], [0.0]], [-0.5, 0.0], noise_sd=0.5)
>>> gp = GaussianProcess.condition(data, [[0.0, 0.0, -5.0, 0.0, 0.0, 0.0]])
>>> situation = Situation.of(gp, Mixture([1.0], [[0.0]], [1.0], [1.0]))
>>> rng, box = np.random.default_rng(0), SearchBox([-2.5], [2.5])
>>> score = by_name("viqr").prepare(rng, situation)
>>> found = maximise(score, box, candidates(rng, situation, box))
>>> bool(0.7 < found.x[0] < 1.3)
True
"""

from quell.acquisition.climb import Climb
from quell.acquisition.eig import ExpectedInformationGain
from quell.acquisition.imiqr import IMIQR
from quell.acquisition.noise import NoiseTable
from quell.acquisition.prospective import NoisyProspective, Prospective
from quell.acquisition.search import (
    SearchBox,
    SearchResult,
    candidates,
    expand_box,
    maximise,
)
from quell.acquisition.situation import Acquisition, Score, Situation
from quell.acquisition.viqr import VIQR
from quell.acquisition.wiqr import WIQR
from quell.checks import choice

_BY_NAME: dict[str, type[Acquisition]] = {
    "wiqr": WIQR,
    "viqr": VIQR,
    "imiqr": IMIQR,
    "eig": ExpectedInformationGain,
    "npro": NoisyProspective,
    "pro": Prospective,
}


def by_name(name: str) -> Acquisition:
    """The acquisition function of this name: wiqr, viqr, imiqr, eig, npro or pro.

    >>> by_name("viqr")
    VIQR(n_points=100)
    """
    return _BY_NAME[choice("acquisition", name, list(_BY_NAME))]()


__all__ = [
    "IMIQR",
    "VIQR",
    "WIQR",
    "Acquisition",
    "Climb",
    "ExpectedInformationGain",
    "NoiseTable",
    "NoisyProspective",
    "Prospective",
    "Score",
    "SearchBox",
    "SearchResult",
    "Situation",
    "by_name",
    "candidates",
    "expand_box",
    "maximise",
]
