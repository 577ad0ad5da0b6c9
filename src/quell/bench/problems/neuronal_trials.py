"""The experiments of the neuronal problem: cells, trials, the files they come in, a design.

The real recordings are in MATLAB files; :func:`design` makes trials like theirs without them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quell.arrays import FloatArray
from quell.bench.parsing import parsing, read_mat
from quell.bench.problems.model import ReadOnly

FRAMES, FRAME_RATE = 120, 120.0
#: Trials of the mixture experiment, blanks among them, gratings in a mixture.
MIXTURES, MIXTURE_BLANKS, COMPONENTS = 1760, 160, 9


@dataclass(frozen=True)
class Cell:
    """What is fixed for a cell, and what its experiments were like.

    ``selectivity`` is ds, ``constant`` σ, ``scale`` c, ``early`` n_e and ``late`` n_l. ``stem`` is
    the name of its files. ``tuning_trials`` and ``tuning_blanks`` are counts. Only a simulated
    design uses the rest: a direction (deg), mean and SD of the temporal frequencies (Hz) of the
    mixtures, and the one temporal frequency of the tuning experiment.
    """

    selectivity: float
    constant: float
    scale: float
    early: float
    late: float
    stem: str
    tuning_trials: int
    tuning_blanks: int
    direction: float
    temporal_mean: float
    temporal_sd: float
    temporal_tuning: float


CELLS = {
    "neuronal_v1": Cell(
        selectivity=0.886173951591468,
        constant=10**-0.463062374186733,
        scale=642.425443794774,
        early=0.001,
        late=8.65532672683422,
        stem="m620r35",
        tuning_trials=45,
        tuning_blanks=7,
        direction=230.0,
        temporal_mean=6.0,
        temporal_sd=1.2,
        temporal_tuning=7.5,
    ),
    "neuronal_v2": Cell(
        selectivity=1.0,
        constant=10**-0.272638945416596,
        scale=72.8822298534178,
        early=0.00789002312857097,
        late=0.101380347749067,
        stem="m620r12",
        tuning_trials=83,
        tuning_blanks=14,
        direction=120.0,
        temporal_mean=4.2,
        temporal_sd=0.9,
        temporal_tuning=4.0,
    ),
}


@dataclass(frozen=True, eq=False)
class Trials(ReadOnly):
    """n trials of one experiment, with stimuli of J gratings; NaN where the screen is blank.

    ``duration`` (s) and ``count`` (spikes) are (n,); ``orientation`` and ``phase`` (deg),
    ``temporal`` (Hz) and ``spatial`` (cycles/deg) frequency and ``contrast`` are (n, J);
    ``normalisation`` is M (n, 120).
    """

    duration: FloatArray
    count: FloatArray
    orientation: FloatArray
    temporal: FloatArray
    phase: FloatArray
    spatial: FloatArray
    contrast: FloatArray
    normalisation: FloatArray

    @property
    def drive(self) -> FloatArray:
        """c_j T_j (n, J), zero where the screen is blank.

        The preferred temporal frequency is the mean of the first gratings', rounded.
        """
        preferred = np.floor(np.nanmean(self.temporal[:, 0]) + 0.5)
        ratio = self.temporal / preferred
        weight = ratio**0.25 * np.exp(-0.125 * (ratio**2 - 1))
        return np.nan_to_num(self.contrast * weight)


@dataclass(frozen=True, eq=False)
class Data:
    """The two experiments of a cell: ``mixtures`` of gratings and spatial ``tuning``."""

    mixtures: Trials
    tuning: Trials


def read(key: str) -> Data:
    """The recordings of a cell, from the data folder."""
    cell = CELLS[key]
    with parsing(f"data/goris2015/{cell.stem}_tp.mat") as path:
        run = read_mat(path)["S"]["tp"]
        pool = run["mod"]["normalization"]["normResp"]
        mixtures = _trials(run["exp"]["trial"], MIXTURES, COMPONENTS, pool)
    with parsing(f"data/goris2015/{cell.stem}_sf.mat") as path:
        run = read_mat(path)["S"]["sf"]
        pool = np.ones((cell.tuning_trials, FRAMES))
        tuning = _trials(run["exp"]["trial"], cell.tuning_trials, 1, pool)
    return Data(mixtures, tuning)


def _trials(trial: dict[str, Any], n: int, components: int, pool: Any) -> Trials:
    """The trials of one experiment from the struct in its file, checked."""

    def numbers(what: str, value: Any, shape: tuple[int, ...]) -> FloatArray:
        array = np.array(value, dtype=np.float64)
        if array.shape != shape:
            raise ValueError(f"{what} has shape {array.shape}, expected {shape}")
        return array

    def gratings(what: str) -> FloatArray:
        return numbers(what, list(trial[what])[:components], (components, n)).T.copy()

    trials = Trials(
        duration=numbers("duration", trial["duration"], (n,)),
        count=numbers("spikeCount", trial["spikeCount"], (n,)),
        orientation=gratings("ori"),
        temporal=gratings("tf"),
        phase=gratings("ph"),
        spatial=gratings("sf"),
        contrast=gratings("con"),
        normalisation=numbers("normResp", pool, (n, FRAMES)),
    )
    if not (np.isfinite(trials.duration).all() and (trials.count >= 0).all()):
        raise ValueError("a duration or a spike count is not a number of its kind")
    if not (trials.normalisation >= 0).all():
        raise ValueError("normResp has negative values or nan")
    blank = np.isnan(trials.contrast[:, :1])
    for what in (
        trials.orientation,
        trials.temporal,
        trials.phase,
        trials.spatial,
        trials.contrast,
    ):
        if (np.isnan(what) != blank).any():
            raise ValueError("a trial has nan for some of its stimulus, but not for all of it")
    return trials


def design(key: str, rng: np.random.Generator) -> Data:
    """Trials without counts, in a design of the real one's size and kind.

    Mixtures: 16 directions in steps of 22.5°, five dispersions, total contrast 1 or 1/3, ten
    trials each, and 160 blanks. The gratings of a mixture are 20° apart; their contrasts fall off
    as a Gaussian of SD 2°, 12.5°, 20°, 30° or 55° around its direction. Temporal frequencies are
    normal, rounded to a whole number of frames per cycle. M is √Σ_j (c_j T_j)² in all frames.
    Tuning: one grating of full contrast, at 11 spatial frequencies from 0.1 to 10 cycles/deg.
    All trials take 1 s, all phases are 0.
    """
    cell = CELLS[key]
    offset = 20.0 * np.array([0, -1, 1, -2, 2, -3, 3, -4, 4])
    profile = np.exp(-0.5 * (offset / np.array([[2.0], [12.5], [20.0], [30.0], [55.0]])) ** 2)
    profile /= profile.sum(1, keepdims=True)
    condition = np.arange(MIXTURES - MIXTURE_BLANKS)
    total = np.where(condition // 80 % 2 == 0, 1.0, 1 / 3)
    frequency = rng.normal(cell.temporal_mean, cell.temporal_sd, (len(condition), COMPONENTS))
    mixtures = _shown(
        orientation=(cell.direction + 22.5 * (condition % 16)[:, None] + offset) % 360.0,
        temporal=FRAME_RATE / np.round(FRAME_RATE / frequency.clip(1, 12)),
        spatial=2.5,
        contrast=total[:, None] * profile[condition // 16 % 5],
        blanks=MIXTURE_BLANKS,
    )
    pool = np.sqrt((mixtures.drive**2).sum(1, keepdims=True))
    mixtures = replace(mixtures, normalisation=np.repeat(pool, FRAMES, axis=1))
    shown = np.arange(cell.tuning_trials - cell.tuning_blanks)
    tuning = _shown(
        orientation=cell.direction,
        temporal=cell.temporal_tuning,
        spatial=np.logspace(-1, 1, 11)[shown % 11, None],
        contrast=1.0,
        blanks=cell.tuning_blanks,
    )
    return Data(mixtures, tuning)


def _shown(blanks: int, **stimulus: ArrayLike) -> Trials:
    """Trials of 1 s with a ``stimulus`` that broadcasts to (n, J), then ``blanks``; M is 1."""
    arrays = np.broadcast_arrays(*(np.asarray(value) for value in stimulus.values()))
    blank = np.full((blanks, arrays[0].shape[1]), np.nan)
    padded = [np.concatenate([array, blank]) for array in arrays]
    n = len(padded[0])
    return Trials(
        duration=np.ones(n),
        count=np.zeros(n),
        phase=np.where(np.isnan(padded[0]), np.nan, 0.0),
        normalisation=np.ones((n, FRAMES)),
        **dict(zip(stimulus, padded, strict=True)),
    )
