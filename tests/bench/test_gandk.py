import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import psi

from quell.bench import data as data_folder
from quell.bench.problems import BenchError, gandk

needs_data = pytest.mark.skipif(
    data_folder.folder() is None,
    reason="QUELL_DATA is not set, so there are no reference values to compare with",
)
MIDDLE = np.array(gandk.GENERATING["gandk"])
SKEW_T = gandk.Data(2.4, 0.6, 2.3, 0.36)


@pytest.fixture(scope="module")
def simulated():
    return gandk.simulate_data("gandk", np.random.default_rng(1))


def score_by_the_definition(x, at):
    t, c = (x - at.mu) / at.sigma, at.a + at.b
    w = np.sqrt(c + t**2)
    u = t / w
    g = (at.a + 0.5) / (1 + u) - (at.b + 0.5) / (1 - u)
    common = -np.log(2) + psi(c) - 1 / (2 * c) - g * t / (2 * w**3)
    terms = [
        common - psi(at.a) + np.log(1 + u),
        common - psi(at.b) + np.log(1 - u),
        -g * c / (at.sigma * w**3),
        -1 / at.sigma - g * c * t / (at.sigma * w**3),
    ]
    return np.sum(terms, axis=1)


positive = st.floats(0.3, 5)


@settings(max_examples=40, deadline=None)
@given(positive, positive, st.floats(-3, 3), positive, st.integers(0, 2**32))
def test_the_score_is_the_gradient_of_the_log_likelihood(a, b, mu, sigma, seed):
    x, at = 3 * np.random.default_rng(seed).standard_normal(20), np.array([a, b, mu, sigma])
    value, gradient = gandk.score(x, gandk.Data(*at))
    np.testing.assert_allclose(
        gradient, score_by_the_definition(x, gandk.Data(*at)), rtol=1e-9, atol=1e-9
    )
    for i in range(4):
        step = 1e-5 * np.eye(4)[i]
        high, low = (gandk.score(x, gandk.Data(*(at + s)))[0] for s in (step, -step))
        assert gradient[i] == pytest.approx((high - low) / 2e-5, rel=1e-5, abs=1e-4)
    assert np.isfinite(value)


def test_the_density_integrates_to_one():
    def density(x):
        return np.exp(gandk.score(np.array([x]), SKEW_T)[0])

    total = sum(quad(density, *ends)[0] for ends in ((-np.inf, 2.3), (2.3, 10), (10, np.inf)))
    assert total == pytest.approx(1.0, abs=1e-6)


def test_draws_are_those_of_the_definition():
    a, b, g, k = theta = (2.8, 1.2, 1.7, 0.6)
    z = np.random.default_rng(2).standard_normal(10_000)
    skewed = 1 + 0.8 * (1 - np.exp(-g * z)) / (1 + np.exp(-g * z))
    np.testing.assert_allclose(
        gandk.draw(np.array(theta), np.random.default_rng(2)),
        a + b * skewed * (1 + z**2) ** k * z,
        rtol=1e-12,
    )


def test_the_fit_has_no_score_left(simulated):
    x = gandk.draw(MIDDLE, np.random.default_rng(1))
    assert gandk.fit_skew_t(x) == simulated
    value, gradient = gandk.score(x, simulated)
    scales = np.array([simulated.a, simulated.b, 1.0, simulated.sigma])
    assert np.abs(gradient * scales).max() < 1e-2  # of a sum over 10000: far below its spread
    for factor in (0.98, 1.02):
        other = gandk.Data(simulated.a, simulated.b, simulated.mu * factor, simulated.sigma)
        assert gandk.score(x, other)[0] < value


def test_simulated_data_build_and_evaluate(simulated):
    model = gandk.build("gandk", simulated)
    assert model.exact is model.fast is model.emulated_sd is None
    value, sd = model.simulator(MIDDLE, np.random.default_rng(3))
    assert -40 < value < -10
    assert 0.05 < sd < 1
    assert model.simulator(MIDDLE, np.random.default_rng(3)) == (value, sd)
    for corner in (model.lower, model.upper):
        far, far_sd = model.simulator(corner, np.random.default_rng(4))
        assert -10_000 <= far < -1000
        assert 0 < far_sd <= 1000
    with pytest.raises(BenchError, match="in the box"):
        model.simulator([0.0, 1.0, 2.0, 0.5], np.random.default_rng(1))
    alone = gandk.likelihood(simulated, 100).value
    assert alone(MIDDLE, np.random.default_rng(3)) == value


@needs_data
@pytest.mark.parametrize("place", range(4))
def test_reference_values(place):
    """At the first point, near the mode, also the SDs that the bootstrap reports."""
    point = data_folder.read_json("reference_loglik.json")["gandk"]["points"][place]
    model, rng = gandk.build("gandk", gandk.read("gandk")), np.random.default_rng(6)
    n = 80 if place == 0 else 10
    values, sds = np.array([model.simulator(point["theta"], rng) for _ in range(n)]).T
    for other in (point, point["reimplementation"]):
        error = other["sd"] * np.sqrt(1 / n + 1 / other["n_repeats"])
        assert abs(values.mean() - other["mean"]) < 4 * error
        assert sds.mean() == pytest.approx(other["reported_sd_mean"], rel=0.25)
    if place == 0:
        assert sds.mean() == pytest.approx(values.std(ddof=1), rel=0.15)


GOOD = {"a": 2.4, "b": 0.6, "mu": 2.3, "sigma": 0.36, "n_observations": 10_000, "c_fixed": 0.8}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "cannot read"),
        ("[1, 2]", "cannot be used"),
        (json.dumps({k: v for k, v in GOOD.items() if k != "mu"}), "there is no 'mu'"),
        (json.dumps(GOOD | {"mu": "left"}), "left"),
        (json.dumps(GOOD | {"a": float("nan")}), "not finite"),
        (json.dumps(GOOD | {"sigma": -1.0}), "not positive"),
        (json.dumps(GOOD | {"n_observations": 10}), "n_observations is not 10000"),
    ],
)
def test_a_damaged_file_is_named(tmp_path, monkeypatch, text, says):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(BenchError, match=r"there is no data/price2018/gandk_skewt_mle\.json"):
        gandk.read("gandk")
    path = tmp_path / "data" / "price2018" / "gandk_skewt_mle.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    with pytest.raises(BenchError, match=rf"gandk_skewt_mle\.json.*{says}"):
        gandk.read("gandk")
    path.write_text(json.dumps(GOOD) + " ")
    assert gandk.read("gandk") == gandk.Data(2.4, 0.6, 2.3, 0.36)
