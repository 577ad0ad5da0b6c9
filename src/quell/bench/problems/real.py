"""The ten problems of Acerbi (2020): models of real experiments, with their data.

With QUELL_DATA set they have the real data and the ground truth stored with them. Without it the
data are simulated by each model itself, at the parameters its module documents (``GENERATING``)
and from a fixed seed, and the truth about them comes with the package.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any, Protocol, cast

import numpy as np

from quell.bench import data
from quell.bench.problems.base import Benchmark
from quell.bench.problems.model import Model
from quell.bench.problems.registry import Entry
from quell.bench.truth import Truth
from quell.bench.truth.shipped import shipped_truth
from quell.bench.truth.stored import stored_truth

#: The seed of simulated data; a problem's place in the list goes with it.
DATA_SEED = 20201206
#: Further models whose data are simulated like this.
OTHER_MODELS = ("logreg", "lotka_volterra")


class ModelModule(Protocol):
    """What the module of a model offers."""

    def read(self, key: str) -> Any:
        """The real data."""

    def simulate_data(self, key: str, rng: np.random.Generator) -> Any:
        """Data of the same kind from the model itself."""

    def build(self, key: str, data: Any) -> Model:
        """The model with these data."""


def module_of(key: str) -> ModelModule:
    """The module of a problem's model, imported at first use."""
    name = key.rsplit("_", 1)[0]  # two subjects or cells share a model
    return cast(ModelModule, import_module(f"quell.bench.problems.{name}"))


def data_of(key: str) -> Any:
    """The problem's data: the real ones if QUELL_DATA is set, else simulated ones."""
    return module_of(key).read(key) if data.kind() == "real" else simulated_data(key)


def simulated_data(key: str) -> Any:
    """Data of one of the ten problems, or of another model, from itself; the same every time."""
    place = [*REAL, *OTHER_MODELS].index(key)
    return module_of(key).simulate_data(key, np.random.default_rng([DATA_SEED, place]))


def real_problem(key: str, _dimension: int) -> Benchmark:
    """The problem with this name."""
    kind, observed = data.kind(), data_of(key)
    model = module_of(key).build(key, observed)
    return Benchmark(
        name=key,
        make_truth=partial(_truth, key, model.names, observed, kind == "real"),
        data=kind,
        **vars(model),
    )


def _truth(key: str, names: tuple[str, ...], observed: Any, real: bool) -> Truth:
    return stored_truth(key, names) if real else shipped_truth(key, observed)


#: Problem, dimension, what it is, what its noise is in mode "noisy".
_ENTRIES = (
    ("ricker", 3, "counts of a chaotic population (Wood 2010)", "synthetic likelihood, SD 1.3"),
    ("addm_s1", 4, "choices by attentional drift diffusion (Krajbich 2010)", "IBS, SD 2.8"),
    ("addm_s2", 4, "the same, a second subject", "IBS, SD 2.8"),
    ("timing", 5, "reproduced time intervals (Acerbi 2012)", "IBS, SD 2.2"),
    ("multisensory_s1", 6, "causal inference from two senses (Acerbi 2018)", "IBS, SD 1.3"),
    ("multisensory_s2", 6, "the same, a second subject", "IBS, SD 1.3"),
    ("neuronal_v1", 7, "spike counts of a V1 cell (Goris 2015)", "emulated, SD 2"),
    ("neuronal_v2", 7, "the same, a V2 cell", "emulated, SD 2"),
    ("rodent", 9, "choices of a rat with history terms (Akrami 2018)", "IBS, SD 3.18"),
    ("gandk", 4, "draws of a g-and-k distribution (Price 2018)", "synthetic likelihood, SD 0.14"),
)
REAL = {
    key: Entry(partial(real_problem, key), dimension, text, noise=noise)
    for key, dimension, text, noise in _ENTRIES
}

#: What a reader of results should know, by problem and kind of data.
NOTES = {
    ("rodent", "real"): (
        "rodent: the stored log evidence is 0.52 above an independent check, so that an exact\n"
        "method has an LML loss of 0.52 against it."
    ),
    ("ricker", "real"): (
        "ricker: the stored truth belongs to synthetic likelihoods of 400 (posterior) and 8000\n"
        "(evidence) simulations; one evaluation uses 100, is noisier, and lower on average."
    ),
    ("ricker", "simulated"): (
        "ricker: the truth belongs to synthetic likelihoods of 3000 simulations; one evaluation\n"
        "uses 100, is noisier, and lower on average."
    ),
}
