"""The models with real data beside the values stored for them."""

import json

import numpy as np
import pytest

from quell.bench.problems import summarised
from quell.bench.problems.real import REAL, data_of, module_of

EXACT = [key for key in REAL if key not in ("ricker", "gandk")]
#: Values drawn from simulator and shortcut, and how well the mean SD is then known.
REPEATS = {
    "addm_s1": (6, 30, 0.01),
    "addm_s2": (6, 30, 0.01),
    "timing": (3, 40, 0.01),
    "multisensory_s1": (20, 20, 0.02),
    "multisensory_s2": (20, 20, 0.02),
    "rodent": (10, 10, 0.01),
}


@pytest.fixture(scope="module")
def model(data_folder):  # noqa: ARG001 (skips without data)
    models = {}

    def build(key):
        if key not in models:
            models[key] = module_of(key).build(key, data_of(key))
        return models[key]

    return build


@pytest.fixture(scope="module")
def about(data_folder):
    def read(file, key):
        return json.loads((data_folder / file).read_text(encoding="utf-8"))[key]

    return read


@pytest.mark.parametrize("key", EXACT)
def test_exact_values(model, about, key):
    points = about("reference_loglik.json", key)["points"]
    values = model(key).exact([point["theta"] for point in points])
    np.testing.assert_allclose(values, [point["loglik"] for point in points], rtol=0, atol=1e-6)


@pytest.mark.parametrize("key", list(REPEATS))
def test_noisy_values(model, about, key):
    rng, (*counts, precision) = np.random.default_rng(21), REPEATS[key]
    for entry in about("reference_loglik.json", key)["ibs"]:
        sd = entry["reported_sd_mean"]
        for estimator, n in zip((model(key).simulator, model(key).fast), counts, strict=True):
            values, sds = np.transpose([estimator(entry["theta"], rng) for _ in range(n)])
            assert sds.mean() == pytest.approx(sd, rel=precision)
            assert abs(values.mean() - entry["exact_loglik"]) < 4 * sd / np.sqrt(n)
            error = sd * np.sqrt(1 / n + 1 / entry["n"])
            assert abs(values.mean() - entry["mean"]) < 4 * error


@pytest.mark.parametrize("key", list(REAL))
def test_noise(model, about, key):
    noise = about("truth.json", key)["noise"]
    if key not in EXACT:
        assert noise["Nsim"] == summarised.SIMULATIONS
        assert noise["bootstrap_resamples"] == summarised.RESAMPLES
    elif key in REPEATS:
        assert model(key).emulated_sd == noise["sigma_at_MAP_in_paper"]
        assert noise["Nreps"] == module_of(key).REPEATS
    else:
        assert model(key).emulated_sd == noise["sigma"]
