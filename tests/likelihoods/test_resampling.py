import numpy as np
import pytest

from quell.likelihoods import bootstrap_sd, jackknife_sd, synthetic_log_likelihood
from quell.likelihoods.resampling import least_simulations

UNITS = 10.0 ** np.array([5, 0, -3])
FORMS = [
    {},
    {"estimator": "unbiased"},
    {"estimator": "unbiased_log"},
    {"shrinkage": 0.3},
    {"jitter": 1e-3},
]


@pytest.fixture(scope="module")
def simulated():
    """Forty simulations of three correlated summaries in very different units."""
    rng = np.random.default_rng(1)
    mixing = np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0], [-0.5, 0.4, 0.7]])
    return (rng.standard_normal((40, 3)) @ mixing.T) * UNITS, np.array([0.5, 1.0, -0.5]) * UNITS


class Known(np.random.Generator):
    """A generator whose resamples are known: ``rows`` (resamples, n)."""

    def __init__(self, rows):
        super().__init__(np.random.PCG64(1))
        self.rows = rows

    def integers(self, n, size):
        assert size == self.rows.shape
        assert n == size[1]
        return self.rows.copy()


@pytest.mark.parametrize("form", FORMS)
def test_the_bootstrap_is_that_of_resampled_rows(simulated, form):
    x, observed = simulated
    rows = np.random.default_rng(2).integers(40, size=(30, 40))
    values = [synthetic_log_likelihood(x[row], observed, **form) for row in rows]
    sd = bootstrap_sd(x, observed, Known(rows), n_bootstrap=30, **form)
    assert sd == pytest.approx(np.std(values, ddof=1), rel=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_the_jackknife_is_that_of_rows_left_out(simulated, form):
    x, observed = simulated
    values = [
        synthetic_log_likelihood(np.delete(x, i, axis=0), observed, **form) for i in range(40)
    ]
    expected = np.sqrt(39 / 40 * np.sum((values - np.mean(values)) ** 2))
    assert jackknife_sd(x, observed, **form) == pytest.approx(expected, rel=1e-9)


def test_chunks_change_nothing(simulated, monkeypatch):
    whole = bootstrap_sd(*simulated, np.random.default_rng(3), n_bootstrap=50)
    whole_jackknife = jackknife_sd(*simulated)
    monkeypatch.setattr("quell.likelihoods.resampling._CHUNK", 9 * 7)
    assert bootstrap_sd(*simulated, np.random.default_rng(3), n_bootstrap=50) == pytest.approx(
        whole
    )
    assert jackknife_sd(*simulated) == pytest.approx(whole_jackknife)


@pytest.mark.parametrize("method", ["jackknife", "bootstrap"])
@pytest.mark.parametrize(
    ("n", "d", "distance", "form"),
    [
        (100, 4, 0.0, {}),
        (100, 4, 2.0, {"estimator": "unbiased"}),
        (100, 8, 1.0, {"estimator": "unbiased_log"}),
        (30, 8, 1.0, {"shrinkage": "auto"}),
    ],
)
def test_sds_are_the_spread_of_repeated_values(method, n, d, distance, form):
    rng, repeats = np.random.default_rng(4), 250
    observed = np.eye(d)[0] * distance
    values, sds = [], []
    for i in range(repeats):
        x = rng.standard_normal((n, d))
        values.append(synthetic_log_likelihood(x, observed, **form))
        if method == "jackknife":
            sds.append(jackknife_sd(x, observed, **form))
        elif i % 5 == 0:
            sds.append(bootstrap_sd(x, observed, rng, n_bootstrap=300, **form))
    spread = np.std(values, ddof=1)
    # The spread itself is known to 5 %; the bootstrap is up to 15 % too wide.
    assert 0.9 < np.mean(sds) / spread < (1.2 if method == "jackknife" else 1.3)
    if method == "jackknife":
        z = (values - np.mean(values)) / sds
        assert 0.85 < z.std() < 1.1


def test_values_below_the_floor_count_as_the_floor(simulated):
    x, observed = simulated
    floor = synthetic_log_likelihood(x, observed) + 100
    bootstrap = bootstrap_sd(x, observed, np.random.default_rng(5), floor=floor)
    assert bootstrap == pytest.approx(0.0, abs=1e-12)
    assert jackknife_sd(x, observed, floor=floor) == pytest.approx(0.0, abs=1e-12)
    far = np.array([100.0, 0, 0]) * UNITS
    assert np.isfinite(jackknife_sd(x, far, estimator="unbiased", floor=-1e4))


def test_resamples_without_a_covariance():
    x = np.random.default_rng(6).standard_normal((20, 2))
    x = np.column_stack([x, x.sum(1)])
    with pytest.raises(ValueError, match="singular"):
        jackknife_sd(x, np.zeros(3), jitter=0.0)


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"n_bootstrap": 1}, ValueError, "n_bootstrap must be an integer of at least 2"),
        ({"estimator": "best"}, ValueError, "estimator must be one of"),
        ({"rng": 3}, TypeError, "rng must be"),
    ],
)
def test_bad_input(simulated, arguments, error, says):
    arguments = {"rng": np.random.default_rng(1)} | arguments
    with pytest.raises(error, match=says):
        bootstrap_sd(*simulated, **arguments)


def test_fewest_simulations():
    assert least_simulations(13, "plain", None, "jackknife") == 15
    assert least_simulations(13, "plain", None, "bootstrap") == 56
    assert least_simulations(13, "plain", "auto", "bootstrap") == 3
    assert least_simulations(2, "unbiased", None, "jackknife") == 7
