import itertools
import os
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from helpers.estimators import check_estimators
from scipy.special import ndtr
from scipy.stats import binomtest, norm

from quell.bench.problems import addm
from quell.bench.problems.addm_trials import FILE, SUBJECTS, drift
from quell.bench.problems.base import BenchError

KEYS = ["addm_s1", "addm_s2"]
DATA = os.environ.get("QUELL_DATA")
needs_data = pytest.mark.skipif(
    not DATA, reason="QUELL_DATA is not set, so there are no data and no reference values"
)


def chosen_trials(data, which):
    return replace(data, **{name: array[which].copy() for name, array in vars(data).items()})


@pytest.fixture(scope="module")
def small():
    """Ten simulated trials of S2 with early responses, which are the cheapest."""
    data = addm.simulate_data("addm_s2", np.random.default_rng(11))
    return chosen_trials(data, np.sort(np.argsort(data.bin, kind="stable")[:10]))


def plain_likelihood(theta, data):
    """The grid recursion as the benchmark's documents state it, trial by trial."""
    sigma, d, beta, lapse = theta
    size, s = 301, sigma * np.sqrt(0.1)
    h, g = 2 / size, np.linspace(-1 + 0.5 / size, 1 - 0.5 / size, size)
    total = 0.0
    for a, b, items, c, k in zip(*vars(data).values(), strict=True):
        p, f = np.zeros(size), 1.0
        p[size // 2] = 1 / h
        for item in items[:k]:
            mu = d * 0.1 * (a - beta * b if item == 1 else beta * a - b)
            left = h * np.sum(p * (1 - ndtr((1 - g - mu) / s)))
            right = h * np.sum(p * ndtr((-1 - g - mu) / s))
            f = f - left - right
            new = h * norm.pdf(g[:, None] + mu, g, s).T @ p
            with np.errstate(all="ignore"):
                p = f * new / (h * new.sum())
        hit = left if c == 1 else right
        hit = hit if np.isfinite(hit) else 0.0
        total += np.log((1 - lapse) * hit + lapse / (2 * data.bins))
    return total


@needs_data
def test_ties_between_bins_are_decided_as_in_the_original():
    s1, s2 = addm.read("addm_s1"), addm.read("addm_s2")
    assert (s1.item.shape, s2.item.shape) == ((100, 146), (100, 55))
    assert (s1.bin[34], s2.bin[40]) == (104, 21)
    for data, trial, bin_ in ((s1, 38, 72), (s2, 8, 8), (s2, 50, 8)):
        # The bin in which a fixation ends half-way still belongs to it.
        assert data.item[trial - 1, bin_ - 1] == data.item[trial - 1, bin_ - 2]
        assert data.item[trial - 1, bin_ - 1] != data.item[trial - 1, bin_]


BOX = [(parameter.lower, parameter.upper) for parameter in addm.PARAMETERS]


@pytest.mark.parametrize(
    "theta",
    [
        *addm.GENERATING.values(),
        (0.2, 0.1, 0.9, 0.03),
        (0.2, 2.0, 0.1, 0.03),
        *itertools.product(*BOX[:3], (0.01,)),
    ],
)
def test_exact_likelihood_is_that_of_the_grid(small, theta):
    value = addm.build("addm_s2", small).exact(theta)
    assert value == pytest.approx(plain_likelihood(theta, small), abs=1e-8)


@pytest.mark.parametrize("key", KEYS)
def test_everywhere_in_the_box_is_a_likelihood(key):
    model = addm.build(key, addm.simulate_data(key, np.random.default_rng(1)))
    points = np.array(list(itertools.product(*BOX)))
    values = model.exact(points)
    assert np.isfinite(values).all()
    assert (values < 0).all()
    for theta, value in zip(points, values, strict=True):
        estimate, sd = model.fast(theta, np.random.default_rng(2))
        assert abs(estimate - value) < 6 * sd


def test_trials_need_not_be_sorted(small):
    order = np.random.default_rng(3).permutation(len(small.bin))
    mixed = chosen_trials(small, order)
    theta = np.array(addm.GENERATING["addm_s2"])
    for rule in (addm.BENCHMARK_RULE, addm.ACCURATE_RULE):
        p, q = addm.Crossing(small, rule)(theta), addm.Crossing(mixed, rule)(theta)
        np.testing.assert_allclose(q, p[order], rtol=1e-12)


def test_accurate_rule_has_converged(small):
    finer = np.polynomial.legendre.leggauss(601)
    for theta in ((0.1, 0.5, 0.5, 0.01), (0.1, 5.0, 0.0, 0.01), addm.GENERATING["addm_s2"]):
        p = addm.Crossing(small, addm.ACCURATE_RULE)(np.array(theta))
        q = addm.Crossing(small, finer)(np.array(theta))
        np.testing.assert_allclose(p, q, rtol=0, atol=1e-12)


@pytest.mark.parametrize("theta", [(0.82, 0.25, 0.51, 0.01), (0.3, 0.4, 0.2, 0.01)])
def test_walks_backwards_and_forwards_hit_alike(small, theta):
    theta, rng, n = np.array(theta), np.random.default_rng(4), 20_000
    probability = addm.Crossing(small, addm.ACCURATE_RULE)(theta)
    mu = drift(theta, small.left[:, None], small.right[:, None], small.item)
    never_lapses = np.array([*theta[:3], 0.0])
    tested = np.argsort(-probability)[:4]
    for i in tested:
        side, last = small.choice[i], small.bin[i]
        hits = len(addm.walks(theta, mu[i], side, last, rng)(n))
        assert binomtest(hits, n, probability[i]).pvalue > 1e-3
        many = chosen_trials(small, np.full(n, i))
        choice, response = addm.simulate(never_lapses, many, rng)
        hits = np.count_nonzero((choice == side) & (response == last))
        assert binomtest(hits, n, probability[i]).pvalue > 1e-3
    assert probability[tested].min() > 20 / n


def test_estimates_are_unbiased_and_know_their_noise(small):
    # The grid of the exact likelihood is nearly the simulator's law for so few trials.
    model = addm.build("addm_s2", small)
    check_estimators(model, addm.GENERATING["addm_s2"], np.random.default_rng(5))


@pytest.mark.parametrize("key", KEYS)
def test_simulated_data_are_like_the_real_ones(key):
    data = addm.simulate_data(key, np.random.default_rng(6))
    assert data.item.shape == (100, SUBJECTS[key].bins)
    assert set(np.unique(data.item)) == set(np.unique(data.choice)) == {1, 2}
    assert 1 <= data.bin.min() <= data.bin.max() <= data.bins
    assert not data.bin.flags.writeable
    again = addm.simulate_data(key, np.random.default_rng(6))
    assert all(np.array_equal(a, b) for a, b in zip(*map(_arrays, (data, again)), strict=True))
    model, rng = addm.build(key, data), np.random.default_rng(7)
    exact = model.exact(addm.GENERATING[key])
    assert exact > model.exact(model.plausible_upper) + 50
    value, sd = model.simulator(addm.GENERATING[key], rng)
    assert abs(value - exact) < 5 * sd


def _arrays(data):
    return vars(data).values()


def test_lapses_are_uniform_and_late_walks_have_no_bin(small):
    many = chosen_trials(small, np.arange(len(small.bin)).repeat(600))
    rng = np.random.default_rng(8)
    choice, response = addm.simulate(np.array([0.1, 0.0, 0.0, 0.2]), many, rng)
    # Nearly no walk crosses, so that every response is a lapse.
    late = response == many.bins + 1
    assert late.mean() == pytest.approx(0.8, abs=0.02)
    assert (choice[late] == 1).all()
    assert choice[~late].mean() == pytest.approx(1.5, abs=0.06)
    assert response[~late].mean() == pytest.approx((1 + many.bins) / 2, abs=2)


def test_missing_file_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(BenchError, match="krajbichetal2010_2subjs"):
        addm.read("addm_s1")


HEADER = "subject,trial,fixnum,fixdur,leftval,rightval,rt,choice,roi,revfixnum\n"
ROW = "13,{},1,500,1,2,500,{},1,1\n"


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("", "no rows"),
        (HEADER, "no rows"),
        (HEADER + ROW.format(1, 0), "1 trials"),
        (HEADER + ROW.format(1, "left"), "left"),
        (HEADER + ROW.format(1, "nan"), "not a finite number"),
        (HEADER + ROW.format(1, 3), "choice must be 0 or 1"),
        (HEADER + ROW.replace("500,1,2", "-5,1,2").format(1, 0), "positive duration"),
        (HEADER.replace("fixdur", "time") + ROW.format(1, 0), "fixdur"),
        (HEADER + "13,1\n", "cannot be used"),
    ],
)
def test_damaged_file_is_named(tmp_path, monkeypatch, content, problem):
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(BenchError, match=problem) as caught:
        addm.read("addm_s1")
    assert str(path) in str(caught.value)


@needs_data
def test_truncated_file_is_named(tmp_path, monkeypatch):
    path = tmp_path / FILE
    path.parent.mkdir(parents=True)
    shutil.copyfile(Path(DATA) / FILE, path)
    path.write_bytes(path.read_bytes()[:5000])
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(BenchError, match="krajbichetal2010_2subjs"):
        addm.read("addm_s2")
