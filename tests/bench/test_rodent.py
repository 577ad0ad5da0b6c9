import itertools

import numpy as np
import pytest
from helpers.estimators import check_estimators
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.bench.problems import BenchError, rodent

MIDDLE = np.array(rodent.GENERATING["rodent"])


@pytest.fixture(scope="module")
def simulated():
    return rodent.simulate_data("rodent", np.random.default_rng(11))


@pytest.fixture(scope="module")
def small(simulated):
    """A model with 40 trials."""
    first = slice(0, 40)
    data = rodent.Data(simulated.s1[first], simulated.s2[first], simulated.y[first])
    return rodent.build("rodent", data)


def regressors_by_loops(s1, s2):
    """The definition, one trial at a time; index 0 stands for the trial before the first."""
    n = len(s1)
    s1, s2 = {t + 1: v for t, v in enumerate(s1)}, {t + 1: v for t, v in enumerate(s2)}
    omega = {k: np.exp(-k / 20) for k in range(1, 201)}
    total = sum(omega.values())
    x = {t: (s1.get(t - 1, 0.0) - s2[t]) / 2 for t in range(1, n + 1)}
    rows = []
    for t in range(1, n + 1):
        side = -1 if t == 1 else (1 if s1[t - 1] > s2[t - 1] else -1)
        history = sum(omega[k] / total * x.get(t - k + 1, 0.0) for k in range(1, 201))
        past = [s.get(t - back, 0.0) for back in (1, 2) for s in (s1, s2)]
        rows.append([s1[t], s2[t], 1.0, *past, side, history])
    rows = np.array(rows)
    for column in (c for c in range(9) if c != 2):
        low, high = rows[:, column].min(), rows[:, column].max()
        rows[:, column] = 2 * (rows[:, column] - low) / (high - low) - 1
    return rows


def test_regressors_are_those_of_the_definition():
    s1, s2 = np.random.default_rng(1).standard_normal((2, 300))
    np.testing.assert_allclose(
        rodent.regressors(s1, s2), regressors_by_loops(s1, s2), rtol=0, atol=1e-13
    )


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-3, 3), min_size=9, max_size=9))
def test_exact_value_is_the_sum_over_trials(simulated, w):
    n = 50
    data = rodent.Data(simulated.s1[:n], simulated.s2[:n], simulated.y[:n])
    total = 0.0
    for x, y in zip(regressors_by_loops(data.s1, data.s2), data.y, strict=True):
        first = 0.01 + 0.98 / (1 + np.exp(x @ w))
        total += np.log(first if y == 1 else 1 - first)
    assert rodent.build("rodent", data).exact(w) == pytest.approx(total, abs=1e-10)


def test_exact_takes_any_shape_and_is_finite_on_all_corners(small):
    unit = np.array(list(itertools.product([-1.0, 1.0], repeat=9)))
    corners = np.stack([unit * small.upper, unit * small.plausible_upper])
    values = small.exact(corners)
    assert values.shape == (2, 512)
    assert np.isfinite(values).all()
    assert values[1, 5] == small.exact(corners[1, 5])
    assert small.exact([np.nan] * 9) == -np.inf
    assert small.exact(np.full(9, 3.1)) == -np.inf


def test_wrong_points_are_refused(small):
    rng = np.random.default_rng(1)
    with pytest.raises(BenchError, match=r"shape \(..., 9\), got \(8,\)"):
        small.exact(np.zeros(8))
    for noisy in (small.simulator, small.fast):
        with pytest.raises(BenchError, match="in the box"):
            noisy([np.nan] * 9, rng)
        with pytest.raises(BenchError, match="one point"):
            noisy(np.zeros((2, 9)), rng)


def test_estimates_are_unbiased_and_know_their_noise(small):
    check_estimators(small, MIDDLE, np.random.default_rng(3))


def test_simulated_data_have_the_size_of_the_real_ones(simulated):
    model = rodent.build("rodent", simulated)
    assert len(simulated.s1) == 10_000
    assert set(np.unique(simulated.y)) == {1.0, 2.0}
    exact = model.exact(MIDDLE)
    # The weights behind the data are near their maximum, a change of sign is not.
    assert exact > model.exact(-MIDDLE) + 1000
    for value, sd in (f(MIDDLE, np.random.default_rng(4)) for f in (model.simulator, model.fast)):
        assert abs(value - exact) < 5 * sd
        assert 2.5 < sd < 4
    with pytest.raises(ValueError, match="read-only"):
        simulated.s1[0] = 0


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("s1,s2,y\n1,2,1\n", "shape"),
        ("s1,s2,y\n1,2,left\n", "left"),
        ("s1,s2,y\n" + "1,2,3\n" * 20_000, "neither 1 nor 2"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, monkeypatch, text, says):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(BenchError, match=r"there is no data/akrami2018_data.csv"):
        rodent.read("rodent")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "akrami2018_data.csv").write_text(text)
    with pytest.raises(BenchError, match=f"akrami2018_data.csv cannot be used: .*{says}"):
        rodent.read("rodent")
