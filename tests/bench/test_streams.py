import numpy as np
import pytest
from scipy.stats import binomtest, kstest

from quell.bench.problems.base import BenchError
from quell.bench.problems.boxed import Box
from quell.bench.problems.streams import (
    LARGEST,
    ibs_from_streams,
    misses_before_hits,
    successes,
    with_lapses,
)


def every(period):
    """A stream in which every ``period``-th draw is a hit, whatever the batches."""
    drawn = 0

    def stream(n):
        nonlocal drawn
        places = np.arange(drawn, drawn + n)
        drawn += n
        return np.flatnonzero(places % period == period - 1)

    return stream


@pytest.mark.parametrize("period", [1, 7, 1000, LARGEST, 3 * LARGEST + 1])
def test_misses_are_counted_across_batches(period):
    misses = misses_before_hits(every(period), 5)
    assert misses.tolist() == [period - 1] * 5


def test_value_and_sd_of_known_draws():
    # Two trials with two misses, one with none, in two repeats.
    value, sd = ibs_from_streams([(every(3), 2), (every(1), 1)], repeats=2)
    assert value == pytest.approx(-2 * (1 + 1 / 2))
    assert sd == pytest.approx(np.sqrt(2 * 2 * (1 + 1 / 4) / 2**2))


def test_misses_are_geometric_and_independent():
    rng, p = np.random.default_rng(1), 0.03
    misses = misses_before_hits(lambda n: np.flatnonzero(rng.random(n) < p), 20_000)
    # Made continuous, a geometric variate is exponential.
    u = 1 - (1 - p) ** misses * (1 - p * rng.random(len(misses)))
    assert kstest(u, "uniform").pvalue > 0.01
    assert abs(np.corrcoef(misses[1:], misses[:-1])[0, 1]) < 4 / np.sqrt(len(misses))


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (1000, 0.01), (70_000, 0.2), (100, 1.0)])
def test_successes_are_independent_tries(n, p):
    rng = np.random.default_rng(2)
    hit = np.zeros(n, dtype=int)
    rounds = 200
    for _ in range(rounds):
        places = successes(n, p, rng)
        assert (np.diff(places) > 0).all()
        hit[places] += 1
    assert binomtest(int(hit.sum()), n * rounds, p).pvalue > 0.001
    # Late places are hit like early ones.
    spread = hit.var() / (rounds * p * (1 - p)) if n >= 1000 else 1.0
    assert spread == pytest.approx(1, abs=4 * np.sqrt(2 / n))
    assert binomtest(int(hit[-1]), rounds, p).pvalue > 0.001


@pytest.mark.parametrize("regular", [0.0, 0.4])
def test_lapses_replace_responses(regular):
    rng, n, rate, responses = np.random.default_rng(3), 200_000, 0.2, 5
    stream = with_lapses(
        lambda n: np.flatnonzero(rng.random(n) < regular), rate, responses, rng
    )  # fmt: skip
    expected = (1 - rate) * regular + rate / responses
    assert binomtest(len(stream(n)), n, expected).pvalue > 0.001


@pytest.fixture
def box():
    return Box(np.array([0.0, -1.0]), np.array([1.0, 1.0]))


def test_likelihood_is_zero_outside_the_box(box):
    exact = box.likelihood(lambda theta: float(theta.sum()))
    assert exact([1.0, 0.5]).shape == ()
    values = exact([[[1.0, 0.5], [1.1, 0.5]], [[np.nan, 0.5], [0.5, -np.inf]]])
    assert values.tolist() == [[1.5, -np.inf], [-np.inf, -np.inf]]
    assert exact(np.empty((0, 2))).shape == (0,)


def test_rounding_at_the_face_of_the_box_is_forgiven(box):
    assert box.likelihood(lambda theta: float(theta[0]))([-1e-12, 0.0]) == 0.0


def test_points_that_are_none_are_refused(box):
    with pytest.raises(BenchError, match=r"shape \(\.\.\., 2\), got \(3,\)"):
        box.likelihood(lambda theta: float(theta.sum()))([0.1, 0.2, 0.3])
    estimator = box.estimator(lambda theta, rng: (float(theta.sum()), rng.random()))
    rng = np.random.default_rng(1)
    assert estimator([0.5, 0.25], rng)[0] == 0.75
    with pytest.raises(BenchError, match="in the box"):
        estimator([0.5, 3.0], rng)
    with pytest.raises(BenchError, match="one point"):
        estimator([[0.5, 0.5]], rng)
