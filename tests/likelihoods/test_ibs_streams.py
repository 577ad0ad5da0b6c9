import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.likelihoods.ibs_law import harmonic_sums
from quell.likelihoods.ibs_streams import Streams


class Recorder:
    """Draws with hit probabilities p (n,), kept for each trial in the order they were made."""

    def __init__(self, p, seed):
        self.p, self.rng = np.asarray(p), np.random.default_rng(seed)
        self.drawn = [[] for _ in self.p]
        self.calls = []

    def __call__(self, rows):
        self.calls.append(len(rows))
        hits = self.rng.random(len(rows)) < self.p[rows]
        for trial, hit in zip(rows, hits, strict=True):
            self.drawn[trial].append(bool(hit))
        return hits

    def gaps(self, trial):
        """Misses before each hit, and those after the last one, by walking along the draws."""
        finished, misses = [], 0
        for hit in self.drawn[trial]:
            if hit:
                finished.append(misses)
            misses = 0 if hit else misses + 1
        return finished, misses


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.02, 1.0), min_size=1, max_size=6),
    st.integers(1, 12),
    st.integers(1, 40),
    st.integers(0, 2**32),
)
def test_estimates_are_those_of_the_gaps_between_hits(p, repeats, rows, seed):
    draw = Recorder(p, seed)
    streams = Streams(draw, len(p), limit=repeats, rows=rows)
    assert streams.run(repeats, 10**9)
    estimates = streams.estimates(repeats)
    for trial in range(len(p)):
        first, second = harmonic_sums(np.array(draw.gaps(trial)[0][:repeats]))
        assert estimates.value[trial] == pytest.approx(-first.mean())
        assert estimates.variance[trial] == pytest.approx(second.sum() / repeats**2)
    assert not estimates.censored.any()
    assert streams.drawn == sum(draw.calls) == sum(map(len, draw.drawn))
    assert max(draw.calls) <= max(rows, len(p))


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(0.0, 0.5), min_size=1, max_size=6),
    st.integers(1, 8),
    st.integers(1, 200),
    st.integers(0, 2**32),
)
def test_what_a_budget_cuts_off(p, repeats, budget, seed):
    draw = Recorder(p, seed)
    streams = Streams(draw, len(p), limit=repeats, rows=1000)
    finished = streams.run(repeats, budget)
    assert streams.drawn <= budget
    estimates = streams.estimates(repeats)
    assert finished == (not estimates.censored.any())
    for trial in range(len(p)):
        gaps, under_way = draw.gaps(trial)
        if len(gaps) < repeats:
            gaps.append(under_way)  # as if the next draw were a hit
            assert estimates.censored[trial] == 1 / len(gaps)
        first, second = harmonic_sums(np.array(gaps[:repeats]))
        assert estimates.value[trial] == pytest.approx(-first.mean())
        assert estimates.variance[trial] == pytest.approx(second.sum() / len(first) ** 2)


def test_a_budget_is_shared_fairly_and_used():
    draw = Recorder(np.zeros(10), 1)
    streams = Streams(draw, 10, limit=1, rows=10**6)
    assert not streams.run(1, 12_345)
    lengths = [len(drawn) for drawn in draw.drawn]
    assert max(lengths) == min(lengths)
    assert 12_335 <= streams.drawn <= 12_345


def test_a_second_run_goes_on_where_the_first_stopped():
    draw = Recorder(np.full(20, 0.3), 2)
    streams = Streams(draw, 20, limit=50, rows=10_000)
    assert streams.run(1, 10**6)
    before = streams.drawn
    assert streams.run(50, 10**6)
    assert streams.drawn > before
    first, _ = harmonic_sums(np.array([draw.gaps(trial)[0][:50] for trial in range(20)]))
    np.testing.assert_allclose(streams.estimates(50).value, -first.mean(1))


@pytest.mark.parametrize("p", [0.5, 0.01])
def test_few_calls_and_little_waste(p):
    draw = Recorder(np.full(50, p), 3)
    streams = Streams(draw, 50, limit=40, rows=10**6)
    streams.run(40, 10**9)
    assert len(draw.calls) < 30
    assert streams.drawn < 1.1 * 50 * 40 / p


@pytest.mark.parametrize(
    ("p", "per_repeat", "covered"), [(0.1, 5, True), (0.01, 50, True), (0.01, 5, False)]
)
def test_the_cut_makes_values_too_high(p, per_repeat, covered):
    """By less than a nat for what was cut off, where the hits were about to come."""
    rng, n = np.random.default_rng(4), 150
    errors, cut = [], []
    for _ in range(n):
        streams = Streams(lambda rows: rng.random(len(rows)) < p, 50, limit=2, rows=10**5)
        assert not streams.run(2, 50 * 2 * per_repeat)
        estimates = streams.estimates(2)
        errors.append(estimates.value.sum() - 50 * np.log(p))
        cut.append(estimates.censored.sum())
    assert np.mean(errors) > 4 * np.std(errors) / np.sqrt(n)
    assert (np.mean(errors) < np.mean(cut)) == covered
