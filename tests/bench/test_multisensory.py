import itertools

import numpy as np
import pytest
import scipy.io
from helpers.estimators import check_estimators
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from quell.bench.problems import BenchError, multisensory

KEYS = ("multisensory_s1", "multisensory_s2")
MIDDLE = np.array(multisensory.GENERATING["multisensory_s2"])


def every(step, data):
    return multisensory.Data(*(np.array(a[::step]) for a in vars(data).values()))


@pytest.fixture(scope="module")
def simulated():
    return {key: multisensory.simulate_data(key, np.random.default_rng(11)) for key in KEYS}


@pytest.fixture(scope="module")
def small_data(simulated):
    """43 trials, of all conditions."""
    return every(20, simulated["multisensory_s2"])


@pytest.fixture(scope="module")
def small(small_data):
    return multisensory.build("multisensory_s2", small_data)


def trial_by_trial(theta, data):
    total = 0.0
    for j, s_vest, s_vis, response in zip(*vars(data).values(), strict=True):
        v, delta = np.sqrt(theta[j] ** 2 + theta[3] ** 2), s_vest - s_vis
        window = norm.cdf((theta[5] + delta) / v) - norm.cdf((-theta[5] + delta) / v)
        same = theta[4] / 2 + (1 - theta[4]) * window
        total += np.log(same if response == 1 else 1 - same)
    return total


@settings(max_examples=25, deadline=None)
@given(st.lists(st.floats(0, 1), min_size=6, max_size=6))
def test_exact_value_is_the_sum_over_trials(small, small_data, unit):
    theta = small.lower + np.array(unit) * (small.upper - small.lower)
    assert small.exact(theta) == pytest.approx(trial_by_trial(theta, small_data), abs=1e-10)


def test_exact_takes_any_shape_and_is_finite_on_all_corners(small):
    boxes = [(small.lower, small.upper), (small.plausible_lower, small.plausible_upper)]
    corners = np.array([c for box in boxes for c in itertools.product(*zip(*box, strict=True))])
    values = small.exact(corners.reshape(2, 64, 6))
    assert values.shape == (2, 64)
    assert np.isfinite(values).all()
    assert values[1, 3] == small.exact(corners[67])


@pytest.mark.parametrize(
    ("parameter", "bad"), [(0, 0.0), (3, -1.0), (4, 1.1), (5, -2.0), (5, np.nan)]
)
def test_outside_the_box(small, parameter, bad):
    theta = MIDDLE.copy()
    theta[parameter] = bad
    np.testing.assert_array_equal(np.isfinite(small.exact([theta, MIDDLE])), [False, True])
    assert small.exact(theta) == -np.inf
    for noisy in (small.simulator, small.fast):
        with pytest.raises(BenchError, match="theta must lie in the box"):
            noisy(theta, np.random.default_rng(1))


def test_simulated_responses_have_the_exact_probabilities():
    n, rng = 40_000, np.random.default_rng(2)
    condition, s_vest, s_vis = (
        np.tile(a, n) for a in ([0, 1, 2, 2], [5.0, -7.5, 20, 0], [0, 2.5, 0, 40])
    )
    responses = multisensory.respond(MIDDLE, condition, s_vest, s_vis, rng).reshape(n, 4)
    expected = multisensory.same_probability(MIDDLE, condition[:4], (s_vest - s_vis)[:4])
    sd = np.sqrt(expected * (1 - expected) / n)
    assert (np.abs((responses == 1).mean(0) - expected) < 4 * sd).all()
    assert set(np.unique(responses)) == {1, 2}


def test_estimates_are_unbiased_and_know_their_noise(small):
    check_estimators(small, MIDDLE, np.random.default_rng(4))


def test_simulator_works_on_the_worst_corners(small):
    rng = np.random.default_rng(5)
    for theta in (
        [0.5, 0.5, 0.5, 0.5, 0.005, 0.25],
        [0.5, 0.5, 0.5, 0.5, 0.005, 180.0],
        [80.0, 80.0, 80.0, 80.0, 0.5, 0.25],
    ):
        value, sd = small.simulator(theta, rng)
        assert abs(value - small.exact(theta)) < 5 * sd


@pytest.mark.parametrize("key", KEYS)
def test_simulated_data_have_the_size_of_the_real_ones(simulated, key):
    data, theta = simulated[key], np.array(multisensory.GENERATING[key])
    model = multisensory.build(key, data)
    assert tuple(np.bincount(data.condition)) == multisensory.TRIALS[key]
    exact = model.exact(theta)
    assert exact > model.exact(theta * [1, 1, 1, 1, 1, 2.5]) + 20
    for value, sd in (f(theta, np.random.default_rng(6)) for f in (model.simulator, model.fast)):
        assert abs(value - exact) < 5 * sd
        assert 1 < sd < 2
    with pytest.raises(ValueError, match="read-only"):
        data.s_vis[0] = 0


def cells(*items):
    array = np.empty((1, len(items)), dtype=object)
    array[0, :] = items
    return array


def tables(response=1.0):
    rows = [np.full((n, 5), response) for n in multisensory.TRIALS["multisensory_s1"]]
    return cells(cells(*rows), cells(*rows))


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"unity": 1.0}, "there is no 'unity_data'"),
        (
            {"unity_data": cells(cells(np.ones((3, 5)), np.ones((2, 5)), np.ones((2, 5))), 1)},
            "shapes",
        ),
        ({"unity_data": tables(response=3.0)}, "neither 1 nor 2"),
        ({"unity_data": tables(response=np.nan)}, "not finite"),
    ],
)
def test_a_file_with_other_content_is_named(tmp_path, monkeypatch, variables, says):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(
        BenchError, match=r"there is no data/acerbidokka2018/acerbidokka2018_data.mat"
    ):
        multisensory.read("multisensory_s1")
    path = tmp_path / multisensory.FILE
    path.parent.mkdir(parents=True)
    scipy.io.savemat(path, variables)
    with pytest.raises(BenchError, match=f"acerbidokka2018_data.mat cannot be used: .*{says}"):
        multisensory.read("multisensory_s1")


def test_a_file_cut_short_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    path = tmp_path / multisensory.FILE
    path.parent.mkdir(parents=True)
    scipy.io.savemat(path, {"unity_data": tables()})
    assert len(multisensory.read("multisensory_s1").response) == 1069
    whole = path.read_bytes()
    for size in (0, 100, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(BenchError, match=r"acerbidokka2018_data.mat cannot be used"):
            multisensory.read("multisensory_s1")
