import itertools
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import lognorm, nbinom

from quell.bench import data as data_folder
from quell.bench.problems import BenchError, neuronal, neuronal_trials

needs_data = pytest.mark.skipif(
    data_folder.folder() is None,
    reason="QUELL_DATA is not set, so there are no reference values to compare with",
)
KEYS = ("neuronal_v1", "neuronal_v2")
#: ds, log10 σ, c, n_e, n_l of the two cells.
FIXED = {
    "neuronal_v1": (
        0.886173951591468,
        -0.463062374186733,
        642.425443794774,
        0.001,
        8.65532672683422,
    ),
    "neuronal_v2": (
        1,
        -0.272638945416596,
        72.8822298534178,
        0.00789002312857097,
        0.101380347749067,
    ),
}


def thinned(trials, step, rng):
    """Every ``step``-th trial, with phases, durations and a normalisation of its own."""
    some = {name: np.array(value[::step]) for name, value in vars(trials).items()}
    some["phase"] = np.where(
        np.isnan(some["phase"]), np.nan, rng.uniform(0, 360, some["phase"].shape)
    )
    some["duration"] = rng.uniform(0.5, 1.5, len(some["duration"]))
    some["normalisation"] = some["normalisation"] * rng.uniform(
        0.9, 1.1, some["normalisation"].shape
    )
    return neuronal_trials.Trials(**some)


@pytest.fixture(scope="module")
def simulated():
    return {key: neuronal.simulate_data(key, np.random.default_rng(11)) for key in KEYS}


@pytest.fixture(scope="module")
def small(simulated):
    """Few trials of each cell, blanks among them."""
    rng = np.random.default_rng(12)
    return {
        key: neuronal.Data(thinned(data.mixtures, 111, rng), thinned(data.tuning, 9, rng))
        for key, data in simulated.items()
    }


def trial_by_trial(key, theta, data):
    """The definition, with loops over trials, gratings and frames."""
    ds, log_sigma, c, n_e, n_l = FIXED[key]
    t1, f0, a, b, g, rho, v = theta
    total = lognorm(0.3, scale=np.exp(1.15)).logpdf(rho)
    for trials in (data.mixtures, data.tuning):
        tf = trials.temporal[:, 0]
        w0 = np.round(np.mean(tf[~np.isnan(tf)]))
        for i in range(len(trials.count)):
            mean_power = 0.0
            blank = np.isnan(trials.contrast[i, 0])
            for k in range(120):
                even = odd = tuned = 0.0
                for j in range(0 if blank else trials.contrast.shape[1]):
                    phi = 2 * np.pi * trials.temporal[i, j] * k / 120 + np.radians(
                        trials.phase[i, j]
                    )
                    r = trials.temporal[i, j] / w0
                    amplitude = trials.contrast[i, j] * r**0.25 * np.exp(-0.125 * (r**2 - 1))
                    delta = np.radians(t1) - np.radians(trials.orientation[i, j])
                    square = 1 if (delta + np.pi / 2) % (2 * np.pi) < np.pi else -1
                    cos2 = np.cos(delta) ** 2
                    o = (cos2 * np.exp((a**2 - 1) * (cos2 - 1))) ** (b / 2)
                    o *= 1 + ds / 2 * (square - 1)
                    s = trials.spatial[i, j] / f0
                    f = s**b * np.exp(-b / 2 * (s**2 - 1))
                    tuned += amplitude * o * f * np.cos(phi)
                    even += amplitude * np.cos(phi)
                    odd += amplitude * np.sin(phi)
                signal = n_e + max(0.0, tuned) + g * np.hypot(even, odd)
                pool = 10 ** (2 * log_sigma) + trials.normalisation[i, k]
                mean_power += max(0.0, signal / pool) ** rho / 120
            mu = max(0.01, trials.duration[i] * (n_l + c * mean_power))
            pmf = nbinom(1 / v, 1 / (1 + v * mu)).pmf(trials.count[i])
            total += np.log(1e-10 + (1 - 1e-10) * pmf)
    return total


@pytest.mark.parametrize("key", KEYS)
def test_exact_value_is_the_sum_over_trials(small, key):
    model = neuronal.build(key, small[key])

    # The recordings are no argument of the property: hypothesis would print them.
    @settings(max_examples=6, deadline=None)
    @given(unit=st.lists(st.floats(0, 1), min_size=7, max_size=7))
    def check(unit):
        # Away from directions at right angles to a grating's, where cos² is nothing but rounding.
        theta = model.lower + np.array(unit) * (model.upper - model.lower)
        theta[0] = np.floor(min(theta[0], model.upper[0] - 1)) + 0.3
        expected = trial_by_trial(key, theta, small[key])
        assert model.exact(theta) == pytest.approx(expected, rel=1e-11, abs=1e-8)

    check()


@pytest.mark.parametrize("key", KEYS)
def test_exact_value_near_the_mode_is_the_sum_over_trials(small, key):
    theta = neuronal.GENERATING[key]
    expected = trial_by_trial(key, theta, small[key])
    assert neuronal.build(key, small[key]).exact(theta) == pytest.approx(expected, abs=1e-9)


def test_exact_takes_any_shape_and_is_finite_on_all_corners(small):
    for key in KEYS:
        model = neuronal.build(key, small[key])
        boxes = [(model.lower, model.upper), (model.plausible_lower, model.plausible_upper)]
        corners = np.array([c for b in boxes for c in itertools.product(*zip(*b, strict=True))])
        values = model.exact(corners.reshape(2, 128, 7))
        assert values.shape == (2, 128)
        assert np.isfinite(values).all()
        assert values[1, 3] == model.exact(corners[131])


def test_outside_the_box(small):
    model = neuronal.build("neuronal_v1", small["neuronal_v1"])
    middle = np.array(neuronal.GENERATING["neuronal_v1"])
    for parameter, bad in ((1, 0.0), (5, -1.0), (6, 0.0), (0, np.nan)):
        theta = middle.copy()
        theta[parameter] = bad
        np.testing.assert_array_equal(np.isfinite(model.exact([theta, middle])), [False, True])
        assert model.exact(theta) == -np.inf
    with pytest.raises(BenchError, match=r"shape \(..., 7\), got \(6,\)"):
        model.exact(middle[:6])


@pytest.mark.parametrize(("key", "trials"), [("neuronal_v1", 45), ("neuronal_v2", 83)])
def test_simulated_data_have_the_size_and_kind_of_the_real_ones(simulated, key, trials):
    data = simulated[key]
    assert data.mixtures.contrast.shape == (1760, 9)
    assert data.tuning.contrast.shape == (trials, 1)
    assert np.isnan(data.mixtures.contrast).all(1).sum() == 160
    np.testing.assert_allclose(
        np.unique(np.nansum(data.mixtures.contrast, 1).round(9)), [0, 1 / 3, 1]
    )
    assert (data.mixtures.normalisation[-160:] == 0).all()
    model = neuronal.build(key, data)
    theta = np.array(neuronal.GENERATING[key])
    exact = model.exact(theta)
    assert exact > model.exact(theta + 20 * np.eye(7)[0]) + 50
    assert model.simulator is None
    assert model.fast is None
    with pytest.raises(ValueError, match="read-only"):
        data.tuning.count[0] = 1


def test_simulated_counts_have_the_variance_of_the_model(simulated):
    for key in KEYS:
        theta, data = np.array(neuronal.GENERATING[key]), simulated[key]
        mean = neuronal.MeanCounts(neuronal_trials.CELLS[key], data)(theta)
        z = (np.concatenate([data.mixtures.count, data.tuning.count]) - mean) / np.sqrt(
            mean + theta[6] * mean**2
        )
        assert abs(z.mean()) < 4 / np.sqrt(len(z))
        assert z.var() == pytest.approx(1, abs=0.2)


@needs_data
def test_preferred_temporal_frequencies_and_blanks_of_the_recordings():
    """The numbers the description of the data gives."""
    for key, mixtures, tuning, blanks in (("neuronal_v1", 6, 8, 7), ("neuronal_v2", 4, 4, 14)):
        data = neuronal.read(key)
        for trials, preferred in ((data.mixtures, mixtures), (data.tuning, tuning)):
            at_preferred = replace(trials, temporal=trials.temporal * 0 + preferred)
            np.testing.assert_allclose(at_preferred.drive, np.nan_to_num(trials.contrast))
            ratio = trials.temporal / preferred
            weight = ratio**0.25 * np.exp(-0.125 * (ratio**2 - 1))
            np.testing.assert_allclose(trials.drive, np.nan_to_num(trials.contrast * weight))
        assert np.isnan(data.mixtures.contrast).all(1).sum() == 160
        assert np.isnan(data.tuning.contrast).all(1).sum() == blanks


def written(folder, key, change):
    """The two files of a cell with simulated data, after ``change(name, run)``."""
    data, cell = neuronal.simulate_data(key, np.random.default_rng(1)), neuronal_trials.CELLS[key]
    (folder / "data" / "goris2015").mkdir(parents=True, exist_ok=True)
    for name, trials in (("tp", data.mixtures), ("sf", data.tuning)):
        trial = {"duration": trials.duration, "spikeCount": trials.count}
        fields = {
            "ori": "orientation",
            "tf": "temporal",
            "ph": "phase",
            "sf": "spatial",
            "con": "contrast",
        }
        for field, ours in fields.items():
            columns = np.empty(9, dtype=object)
            for j in range(9):
                shown = getattr(trials, ours)
                columns[j] = shown[:, j] if j < shown.shape[1] else np.full(len(shown), np.nan)
            trial[field] = columns
        run = {
            "exp": {"trial": trial},
            "mod": {"normalization": {"normResp": trials.normalisation}},
        }
        change(name, run)
        path = folder / "data" / "goris2015" / f"{cell.stem}_{name}.mat"
        scipy.io.savemat(path, {"S": {name: run}})
    return data


def test_files_are_read_as_written(tmp_path, monkeypatch):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    data = written(tmp_path, "neuronal_v2", lambda _name, _run: None)
    again = neuronal.read("neuronal_v2")
    for part in ("mixtures", "tuning"):
        for name, value in vars(getattr(data, part)).items():
            np.testing.assert_array_equal(getattr(getattr(again, part), name), value)


def drop_normalisation(name, run):
    if name == "tp":
        del run["mod"]


def negative_count(name, run):
    if name == "sf":
        run["exp"]["trial"]["spikeCount"] = run["exp"]["trial"]["spikeCount"] - 100


def fewer_trials(name, run):
    if name == "sf":
        run["exp"]["trial"]["duration"] = np.ones(7)


def half_blank(name, run):
    if name == "tp":
        run["exp"]["trial"]["tf"][3] = np.full(1760, np.nan)


def negative_pool(name, run):
    if name == "tp":
        run["mod"]["normalization"]["normResp"] = np.full((1760, 120), -1.0)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (drop_normalisation, "_tp.mat cannot be used: there is no 'mod'"),
        (negative_count, "_sf.mat cannot be used: .*spike count"),
        (fewer_trials, r"_sf.mat cannot be used: duration has shape \(7,\), expected \(83,\)"),
        (half_blank, "_tp.mat cannot be used: a trial has nan"),
        (negative_pool, "_tp.mat cannot be used: normResp"),
    ],
)
def test_a_file_with_other_content_is_named(tmp_path, monkeypatch, change, says):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(BenchError, match=r"there is no data/goris2015/m620r12_tp.mat"):
        neuronal.read("neuronal_v2")
    written(tmp_path, "neuronal_v2", change)
    with pytest.raises(BenchError, match=says):
        neuronal.read("neuronal_v2")


def test_a_file_cut_short_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    written(tmp_path, "neuronal_v1", lambda _name, _run: None)
    path = tmp_path / "data" / "goris2015" / "m620r35_tp.mat"
    path.write_bytes(path.read_bytes()[:100_000])
    with pytest.raises(BenchError, match=r"m620r35_tp.mat cannot be used"):
        neuronal.read("neuronal_v1")
