"""Every random stream of a run, in one table.

A stream is the generator of ``SeedSequence(seed, spawn_key=key)``. What the algorithm draws begins
with `RESERVED`, a number that no index of an evaluation reaches, so that no stream of an
evaluation, nor any that the target spawns from it, meets one of the algorithm:

=========================================  ==================================  ===================
stream                                     key                                 made by
=========================================  ==================================  ===================
an evaluation, whoever makes it            (index,)                            `rng_for`
what the target spawns from that           (index, i, ...)                     the target
an evaluation made again after a failure   (RESERVED, ATTEMPT, index, n)       `rng_for_attempt`
the first design                           (RESERVED, DESIGN)                  `rng_for_design`
first points from an earlier result        (RESERVED, START)                   `rng_for_start`
a step of the algorithm                    (RESERVED, STEP, step)              `rng_for_step`
a map for heavy tails tried in a step      (RESERVED, STEP, step, 1)           `rng_for_tails`
the last polish of a result                (RESERVED, FINISH, step)            `rng_for_finish`
parameters and data of a calibration       (RESERVED, CALIBRATION, ...)        `rng_for_calibration`
draws by which runs are stacked            (RESERVED, STACK)                   `rng_for_stack`
=========================================  ==================================  ===================

Those of the benchmark (`BenchStream`) are of seeds with a mark, ``SeedSequence([seed, mark])``, or
of one mark on a generator it is given (`substream`).

The keys of evaluations are a promise: a recorded evaluation can be made again with its own random
numbers. NumPy cuts numbers of a key into words of 32 bits and strings them together, so no number
may be larger than `RESERVED`, and every kind of key has a length of its own.
"""

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from quell.checks import integer

#: Begins the keys of the algorithm; the largest number of one word.
RESERVED = 2**32 - 1
#: The mark of what is tried beside the usual way of a step.
TRIED_TAILS = 1


class Purpose(IntEnum):
    """The second number of the keys of the algorithm."""

    STEP = 0
    FINISH = 1
    DESIGN = 2
    START = 3
    ATTEMPT = 4
    CALIBRATION = 5
    STACK = 6


class BenchStream(IntEnum):
    """Marks of the benchmark's streams; far from any number that a target would spawn by."""

    METRICS = 7  #: draws from a posterior for its metrics
    RANKS = 8  #: draws among which the true parameters are ranked
    CONJUGATE_DATA = 9  #: data of the problem by which calibration is checked
    ORDER = 10  #: the order in which points under evaluation end
    LINEAR_DATA = 11  #: data of the problem with a normal posterior
    NOISE = 1_000_000_001  #: noise of an evaluation, on the stream of its own
    JITTER = 1_000_000_002  #: what its reported SD is off by, on the same


def as_generator(given: np.random.Generator | int) -> np.random.Generator:
    """The generator itself, or that of a seed; ``TypeError`` for anything else.

    >>> bool(as_generator(3).random() == np.random.default_rng(3).random())
    True
    """
    if isinstance(given, np.random.Generator):
        return given
    if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 0:
        raise TypeError(
            "rng must be a seed (a non-negative integer) or a numpy.random.Generator "
            f"(numpy.random.default_rng(seed)), got {given!r:.100}"
        )
    return np.random.default_rng(int(given))


def rng_for_bench(seed: int, stream: BenchStream) -> np.random.Generator:
    """The generator of something the benchmark draws beside a run with this seed."""
    return np.random.default_rng([seed, stream])


def substream(rng: np.random.Generator, mark: int) -> np.random.Generator:
    """A generator that follows from the seed of ``rng``, whatever was drawn from it.

    >>> rng = np.random.default_rng(1)
    >>> first = substream(rng, 5).random()
    >>> rng.random() != first, substream(rng, 5).random() == first
    (True, True)
    """
    seed = rng.bit_generator.seed_seq
    if not isinstance(seed, np.random.SeedSequence):
        raise TypeError("the generator must be made from a seed, as by numpy.random.default_rng")
    return np.random.default_rng(
        np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, mark))
    )


def rng_for_tails(rng: np.random.Generator) -> np.random.Generator:
    """The generator of a map for heavy tails that is tried in a step, whose generator is given.

    >>> rng = np.random.default_rng(1)
    >>> rng_for_tails(rng).random() == rng_for_tails(rng).random()
    True
    """
    return substream(rng, TRIED_TAILS)


def rng_for(seed: int | Sequence[int], index: int) -> np.random.Generator:
    """The generator for the evaluation with this index, whichever worker runs it.

    Parameters
    ----------
    seed
        The seed of the run, as in ``result.seed``.
    index
        The number of the evaluation, as in ``result.evaluations.index`` and ``sampler.asked``.

    Returns
    -------
    numpy.random.Generator
        The one the target was given, or will be, at its beginning.

    Examples
    --------
    >>> bool(rng_for(1, 7).random() == rng_for(1, 7).random())
    True
    """
    index = integer("index", index, least=0)
    if index >= RESERVED:
        raise ValueError(f"index must be below {RESERVED}, got {index!r}")
    if seed is None:
        raise ValueError("seed must be given, for without one no stream can be repeated")
    return _generator(seed, index)


def rng_for_attempt(seed: int, index: int, attempt: int) -> np.random.Generator:
    """The generator of an evaluation; ``attempt`` counts those before it that failed.

    A repeated attempt has a stream of its own: a simulation that failed by chance may succeed.
    """
    if not attempt:
        return rng_for(seed, index)
    return _generator(seed, RESERVED, Purpose.ATTEMPT, index, attempt)


def rng_for_design(seed: int) -> np.random.Generator:
    """The generator of the first points, drawn at random in the plausible box."""
    return _generator(seed, RESERVED, Purpose.DESIGN)


def rng_for_start(seed: int) -> np.random.Generator:
    """The generator by which an earlier result becomes first points."""
    return _generator(seed, RESERVED, Purpose.START)


def rng_for_step(seed: int, step: int) -> np.random.Generator:
    """The generator of one step of the algorithm: a search for a point, or an absorption."""
    return _generator(seed, RESERVED, Purpose.STEP, step)


def rng_for_finish(seed: int, step: int) -> np.random.Generator:
    """The generator of the last polish, of a result asked for at this step."""
    return _generator(seed, RESERVED, Purpose.FINISH, step)


def rng_for_calibration(seed: int, *part: int) -> np.random.Generator:
    """The generator of the parameters of a calibration, or of a ``part`` of it."""
    return _generator(seed, RESERVED, Purpose.CALIBRATION, *part)


def rng_for_stack(seed: int) -> np.random.Generator:
    """The generator of the draws by which runs are stacked; the seed is that of the stack."""
    return _generator(seed, RESERVED, Purpose.STACK)


def _generator(seed: int | Sequence[int], *key: int) -> np.random.Generator:
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))
