import itertools
import json
import os
from pathlib import Path

import numpy as np
import pytest
from helpers.estimators import check_estimators
from scipy.io import savemat
from scipy.stats import binomtest, norm

from quell.bench.problems import timing
from quell.bench.problems.base import BenchError

DATA = os.environ.get("QUELL_DATA")
needs_data = pytest.mark.skipif(
    not DATA, reason="QUELL_DATA is not set, so there are no data and no reference values"
)
MODE = timing.GENERATING["timing"]
BOX = [(parameter.lower, parameter.upper) for parameter in timing.PARAMETERS]


@pytest.fixture(scope="module")
def small():
    """A trial of each interval, from a simulated data set."""
    data = timing.simulate_data("timing", np.random.default_rng(11))
    return timing.Data(data.interval[::252].copy(), data.bin[::252].copy())


def trapezoid(y, dx):
    return (y.sum(-1) - 0.5 * y[..., 0] - 0.5 * y[..., -1]) * dx


def plain_likelihood(theta, data):
    """The formulas as the benchmark's documents state them."""
    w_s, w_m, mu_p, sigma_p, lapse = theta
    t, total = np.linspace(0, 2, 101), 0.0
    for i, q in zip(data.interval, data.bin, strict=True):
        s, centre = timing.INTERVALS[i], 0.02 * q + 0.01
        x = np.linspace(max(0, s - 5 * w_s * s), s + 5 * w_s * s, 401)
        weight = norm.pdf(x, s, w_s * s)
        weight /= trapezoid(weight, x[1] - x[0])
        posterior = norm.pdf(x[:, None], t, w_s * t + 2.2e-16) * norm.pdf(t, mu_p, sigma_p)
        mean = trapezoid(posterior * t, 0.02) / trapezoid(posterior, 0.02)
        tau = mean / (1 + w_m**2)
        p = norm.cdf(centre + 0.01, tau, w_m * tau) - norm.cdf(centre - 0.01, tau, w_m * tau)
        p = trapezoid(weight * p, x[1] - x[0])
        total += np.log((1 - lapse) * p + lapse / 100)
    return total


@needs_data
def test_the_stored_box_which_differs_by_rounding_is_inside():
    with open(Path(DATA) / "truth.json", encoding="utf-8") as file:
        truth = json.load(file)["timing"]
    model = timing.build("timing", timing.read("timing"))
    assert np.isfinite(model.exact([truth["LB"], truth["UB"]])).all()


@needs_data
def test_trials_are_those_of_the_documents():
    data = timing.read("timing")
    assert data.counts.sum(1).tolist() == [252] * 6
    assert (data.bin.min(), data.bin.max()) == (5, 55)


@pytest.mark.parametrize(
    "theta",
    [MODE, *itertools.product((0.05, 0.25), (0.05, 0.25), (0.6, 0.975), (0.075, 0.375), (0.02,))],
)
def test_exact_likelihood_is_that_of_the_formulas(small, theta):
    value = timing.build("timing", small).exact(theta)
    assert value == pytest.approx(plain_likelihood(theta, small), abs=1e-7)


def test_everywhere_in_the_box_is_a_likelihood(small):
    model, rng = timing.build("timing", small), np.random.default_rng(1)
    points = np.array(list(itertools.product(*BOX)))
    values = model.exact(points)
    assert np.isfinite(values).all()
    assert (values < 0).all()
    assert np.isfinite([model.fast(theta, rng) for theta in points]).all()


def test_halves_are_rounded_away_from_zero():
    responses = np.array([0.0, 0.005, 0.0199, 0.0201, 0.61, 1.999])
    assert timing.to_bin(responses).tolist() == [-1, 0, 0, 1, 30, 99]


@pytest.mark.parametrize(
    "theta",
    [
        MODE,
        (0.5, 0.5, 0.9, 0.75, 0.01),
        (0.01, 0.02, 1.95, 0.0375, 0.01),
        (0.25, 0.05, 0.6, 0.3, 0.02),
    ],
)
def test_draws_by_cells_are_draws(theta):
    theta, rng, n = np.array(theta), np.random.default_rng(2), 1 << 14
    observer, never_lapses = timing.Observer(theta), np.array([*theta[:4], 0.0])
    for i in (0, 5):
        plain = timing.simulate(never_lapses, np.full(20 * n, i), rng)
        seen = np.unique(plain[(plain >= 0) & (plain < 100)])
        counts = np.zeros((6, 100), dtype=np.int64)
        counts[i, seen] = 1
        for (stream, _), q in zip(observer.streams(counts, rng), seen, strict=True):
            hits, likely = len(stream(n)), np.mean(plain == q)
            error = np.sqrt(likely * (1 - likely) * n * (1 + 1 / 20))
            assert abs(hits - likely * n) < 4.5 * error + 1


def test_bins_of_cells_hold_all_responses_from_there():
    # The second observer's target does not rise everywhere with the measurement.
    rng = np.random.default_rng(4)
    for theta in (MODE, (0.5, 0.01, 0.3, 0.75, 0.01), (0.25, 0.5, 1.95, 0.0375, 0.01)):
        observer = timing.Observer(np.array(theta))
        for interval in timing.INTERVALS:
            first, last = observer.cell_bins(interval)
            z = rng.standard_normal((2, 50_000))
            sensory, motor = np.searchsorted(timing.CELL_EDGES, z) - 1
            cell, response = 256 * sensory + motor, observer.respond(interval, *z)
            valid = response != timing.NONE
            assert (first[cell] <= response)[valid].all()
            assert (response <= last[cell])[valid].all()


@pytest.mark.parametrize(
    "theta",
    [
        MODE,
        (0.5, 0.2, 0.9, 0.75, 0.01),
        (0.5, 0.5, 0.3, 0.0375, 0.05),
        (0.5, 0.01, 1.95, 0.75, 0.01),
        (0.01, 0.01, 0.8, 0.75, 0.01),
    ],
)
def test_fast_estimator_has_the_probabilities_of_the_simulator(theta):
    theta, rng, n = np.array(theta), np.random.default_rng(3), 600_000
    for i in (0, 5):
        response = timing.simulate(theta, np.full(n, i), rng)
        bins = np.arange(0, 100, 5)
        data = timing.Data(np.full(len(bins), i), bins)
        probabilities = np.exp(timing.LogProbabilities(data).simulated(theta))
        for q, p in zip(bins, probabilities, strict=True):
            assert binomtest(np.count_nonzero(response == q), n, p).pvalue > 1e-4


def test_measurements_below_zero_part_simulator_and_exact_likelihood(small):
    log_p = timing.LogProbabilities(small)
    wide, narrow = np.array([0.5, 0.1, 0.9, 0.5, 0.01]), np.array([0.1, 0.1, 0.9, 0.5, 0.01])
    # Where bins have probability at all, the exact one has the share of what is above 0 on top.
    lost = log_p.simulated(wide) - log_p.benchmark(wide)
    assert lost.min() == pytest.approx(np.log(norm.cdf(2)), abs=2e-3)
    assert log_p.simulated(narrow) == pytest.approx(log_p.benchmark(narrow), abs=1e-4)


def test_estimates_are_unbiased_and_know_their_noise(small):
    check_estimators(timing.build("timing", small), MODE, np.random.default_rng(5))


def test_simulated_data_are_like_the_real_ones():
    data = timing.simulate_data("timing", np.random.default_rng(6))
    assert data.counts.sum(1).tolist() == [252] * 6
    assert not data.bin.flags.writeable
    again = timing.simulate_data("timing", np.random.default_rng(6))
    assert np.array_equal(data.bin, again.bin)
    model = timing.build("timing", data)
    exact = model.exact(MODE)
    assert exact > model.exact(model.plausible_lower) + 50
    value, sd = model.fast(MODE, np.random.default_rng(7))
    assert abs(value - exact) < 5 * sd


def test_missing_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(BenchError, match="acerbi2012internal"):
        timing.read("timing")


def variables(*, xrange=timing.INTERVALS, trials=252, response=0.7):
    """What a file like the real one holds, in two runs."""
    number = np.repeat(np.arange(1.0, 7.0), trials)
    rows = np.column_stack([xrange[0] + 0 * number, response + 0 * number, number])
    runs = np.empty(2, dtype=object)
    runs[:] = rows[:100], rows[100:]
    run = {"X": runs, "xrange": xrange}
    return {"acerbi2012time": {"exp3": np.array([run, run], dtype=object)}}


@pytest.fixture
def data_file(tmp_path, monkeypatch):
    path = tmp_path / timing.FILE
    path.parent.mkdir(parents=True)
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    return path


def test_file_like_the_real_one_is_read(data_file):
    savemat(data_file, variables())
    data = timing.read("timing")
    assert (data.bin == 35).all()
    assert data.counts.sum(1).tolist() == [252] * 6


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ({"other": 1.0}, "acerbi2012time"),
        (variables(xrange=timing.INTERVALS + 0.1), "xrange"),
        (variables(trials=251), "252 trials"),
        (variables(response=2.5), "later than 2 s"),
        (variables(response=-0.1), "negative"),
        (variables(response=np.nan), "252 trials"),
    ],
)
def test_file_with_other_content_is_named(data_file, content, problem):
    savemat(data_file, content)
    with pytest.raises(BenchError, match=problem) as caught:
        timing.read("timing")
    assert str(data_file) in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"not a MATLAB file", bytes(5000)])
def test_damaged_file_is_named(data_file, content):
    data_file.write_bytes(content)
    with pytest.raises(BenchError, match="acerbi2012internal"):
        timing.read("timing")


@needs_data
def test_truncated_file_is_named(data_file):
    data_file.write_bytes((Path(DATA) / timing.FILE).read_bytes()[:100_000])
    with pytest.raises(BenchError, match="acerbi2012internal"):
        timing.read("timing")
