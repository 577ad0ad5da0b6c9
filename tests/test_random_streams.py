"""Random streams: those of evaluations are a promise, and none of them meets the algorithm's."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quell import Problem, Settings, infer
from quell.streams import (
    RESERVED,
    rng_for,
    rng_for_attempt,
    rng_for_design,
    rng_for_finish,
    rng_for_stack,
    rng_for_start,
    rng_for_step,
)

SEED = 11


def key_words(rng):
    """The words of 32 bits that NumPy makes of the key of a stream: equal words, equal stream."""
    words = []
    for number in rng.bit_generator.seed_seq.spawn_key:
        number = int(number)
        words.append(number & (2**32 - 1))
        while number := number >> 32:
            words.append(number & (2**32 - 1))
    return tuple(words)


def algorithm_streams(n=20):
    """The streams of a run that are not an evaluation's first attempt."""
    return [
        rng_for_design(SEED),
        rng_for_start(SEED),
        rng_for_stack(SEED),
        *(rng_for_step(SEED, step) for step in range(n)),
        *(rng_for_finish(SEED, step) for step in range(n)),
        *(rng_for_attempt(SEED, index, n) for index, n in product(range(n), (1, 2, 3))),
    ]


def test_the_stream_of_an_evaluation_is_a_promise():
    expected = np.random.default_rng(np.random.SeedSequence(3, spawn_key=(5,))).random(4)
    np.testing.assert_array_equal(rng_for(3, 5).random(4), expected)
    np.testing.assert_array_equal(rng_for_attempt(3, 5, 0).random(4), expected)


def test_all_streams_of_a_run_differ():
    evaluations = [rng_for(SEED, index) for index in range(20)]
    spawned = [child for rng in evaluations for child in rng.spawn(4)]
    grandchildren = [child for rng in spawned for child in rng.spawn(3)]
    everything = [*evaluations, *spawned, *grandchildren, *algorithm_streams()]
    assert len({rng.integers(2**63) for rng in everything}) == len(everything)


@given(
    st.lists(st.integers(0, 2**32 - 2), min_size=1, max_size=1),
    st.lists(st.integers(0, 2**40), max_size=4),
)
def test_no_stream_of_an_evaluation_meets_one_of_the_algorithm(index, children):
    """Whatever is spawned from it: the first word of the key is not the reserved one."""
    words = key_words(rng_for(SEED, index[0]))
    assert words[0] != RESERVED
    assert len(words) == 1
    # Children only add words behind it.
    sequence = np.random.SeedSequence(SEED, spawn_key=(*index, *children))
    assert key_words(np.random.default_rng(sequence))[0] == index[0]


def test_streams_of_the_algorithm_begin_with_the_reserved_word():
    keys = [key_words(rng) for rng in algorithm_streams()]
    assert all(key[0] == RESERVED for key in keys)
    # Nor does one begin like another, so that what is spawned from them keeps apart too.
    assert not any(a == b[: len(a)] for a, b in product(keys, keys) if a is not b)


@pytest.mark.parametrize("index", [RESERVED, 2**32, 2**40, -1, True, 1.0])
def test_indices_that_could_meet_it_are_refused(index):
    with pytest.raises(ValueError, match="index must be"):
        rng_for(SEED, index)


def test_a_target_that_spawns_gets_none_of_the_engine_s_numbers():
    """It once did: the k-th child of the stream of evaluation 0 was the algorithm's step k."""
    children = []

    def log_likelihood(theta, rng):
        children.extend(child.integers(2**63) for child in rng.spawn(30))
        return -0.5 * float(theta @ theta) + rng.standard_normal(), 1.0

    box = {"lower": -10, "upper": 10, "plausible_lower": -3, "plausible_upper": 3}
    settings = Settings(final_components=0)
    infer(Problem(log_likelihood, **box), budget=15, seed=SEED, settings=settings, progress=False)
    engine = {rng.integers(2**63) for rng in algorithm_streams(60)}
    assert len(children) == 15 * 30
    assert not engine & set(children)
