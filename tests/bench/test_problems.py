import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import multivariate_normal

import quell
from quell.bench import BenchError, load
from quell.bench.data import data_file
from quell.bench.density import trapezoid
from quell.bench.problems import PROBLEMS
from quell.bench.problems.synthetic import SYNTHETIC
from quell.evaluations import rng_for
from quell.streams import BenchStream, rng_for_step, substream

CASES = [
    ("normal", 5), ("corr", 5), ("halfnormal", 2), ("rosenbrock", 2), ("banana", 2),
    ("banana", 6), ("banana", 10), ("cigar", 4), ("cigar", 8), ("cigar", 15),
    ("lumpy", 4), ("lumpy", 10), ("student", 4), ("student", 8), ("conjugate", 2),
    ("conjugate", 4), ("linear", 2), ("linear", 4),
]  # fmt: skip
#: Problems with new data for every seed, which are not among the stored values.
NEW_DATA = ("conjugate", "linear")
STORED = [*(c for c in CASES if c[0] not in NEW_DATA), ("logreg", 5)]


@pytest.mark.parametrize(("name", "dim"), STORED)
def test_against_stored_values(stored, name, dim):
    expected, problem = stored["targets"][name][str(dim)], load(name, dim)
    points = np.array([row["theta"] for row in expected["reference"]])
    values = np.array([row["logp"] for row in expected["reference"]])
    np.testing.assert_allclose(problem.exact(points), values, rtol=1e-12, atol=1e-11)
    for ours, theirs in (("lower", "lb"), ("upper", "ub")):
        sign = -1 if ours == "lower" else 1
        bounds = [sign * np.inf if value is None else value for value in expected[theirs]]
        np.testing.assert_array_equal(getattr(problem, ours), bounds)
    np.testing.assert_allclose(problem.plausible_lower, expected["plb"], rtol=1e-14)
    np.testing.assert_allclose(problem.plausible_upper, expected["pub"], rtol=1e-14)
    truth = problem.truth
    assert truth.log_evidence == pytest.approx(expected["ln_Z"], abs=1e-11)
    np.testing.assert_allclose(truth.mean, expected["mean"], atol=1e-12)
    np.testing.assert_allclose(truth.covariance, expected["cov"], atol=1e-12)


def test_streams_against_stored_values(stored):
    problem = load("normal", 15)
    width = problem.plausible_upper - problem.plausible_lower
    for seed in (0, 3, 99):
        u = (problem.start(seed) - problem.plausible_lower) / width
        np.testing.assert_allclose(u, stored["start_uniforms"][str(seed)], atol=1e-12)
    for seed in range(5):
        noise = problem.noise_stream(seed).standard_normal(5)
        np.testing.assert_array_equal(noise, stored["noise_check"][str(seed)])


def test_banana_marginal_against_stored_values(stored):
    check = stored["targets"]["banana"]["2"]["marginal_check_x2"]
    density = load("banana", 2).truth.marginals[1]
    np.testing.assert_allclose(density(check["x2"]), check["density"], atol=1e-9)


def test_logreg_draws_and_evidence(stored):
    from quell.bench.problems.logreg import weighted_draws

    problem = load("logreg")
    truth = problem.truth
    _, weights = weighted_draws(problem.exact, truth.mean, truth.covariance, truth.marginals[-1])
    error = weights.std() / weights.mean() / np.sqrt(len(weights))
    assert error < 0.005
    refined = stored["targets"]["logreg"]["5"]["truth_refined"]
    assert np.log(weights.mean()) == pytest.approx(refined["ln_Z"], abs=4 * error)
    assert truth.log_evidence_checked == refined["ln_Z"]
    draws = truth.sample(100_000, np.random.default_rng(1))
    np.testing.assert_allclose(draws.mean(0), refined["mean"], atol=0.03)
    np.testing.assert_allclose(np.cov(draws.T), refined["cov"], atol=0.06)


@pytest.mark.parametrize(("name", "dim"), [c for c in CASES if c[0] != "banana"])
def test_evidence_and_moments_by_importance_sampling(name, dim):
    problem, n = load(name, dim), 60_000
    truth, rng = problem.truth, np.random.default_rng(20)
    # Half from the posterior's normal, widened, half from one three times as wide.
    parts = [multivariate_normal(truth.mean, scale * truth.covariance) for scale in (1.2, 9.0)]
    points = np.concatenate([part.rvs(n // 2, random_state=rng) for part in parts])
    proposal = np.logaddexp(*(part.logpdf(points) for part in parts)) - np.log(2)
    weights = np.exp(problem.exact(points) - proposal - truth.log_evidence)
    error = weights.std() / np.sqrt(n)
    assert error < 0.05
    assert weights.mean() == pytest.approx(1, abs=4.5 * error)
    # The first moments, each in units of its own error.
    centred = (points - truth.mean) * weights[:, None]
    z = centred.mean(0) / (centred.std(0) / np.sqrt(n))
    assert np.abs(z).max() < 4.5
    squares = (points - truth.mean) ** 2 * weights[:, None]
    z = (squares.mean(0) - truth.covariance.diagonal()) / (squares.std(0) / np.sqrt(n))
    assert np.abs(z).max() < 4.5


@pytest.mark.parametrize("name", ["rosenbrock", "banana"])
def test_curved_targets_by_quadrature_on_a_plane(name):
    problem = load(name, 2)
    truth = problem.truth
    sides = [np.linspace(m.lower, min(m.upper, 60), 1201) for m in truth.marginals]
    x1, x2 = np.meshgrid(*sides, indexing="ij")
    area = np.prod([side[1] - side[0] for side in sides])
    mass = np.exp(problem.exact(np.stack([x1, x2], axis=-1))) * area
    assert np.log(mass.sum()) == pytest.approx(truth.log_evidence, abs=1e-6)
    mass /= mass.sum()
    mean = np.array([(mass * x1).sum(), (mass * x2).sum()])
    np.testing.assert_allclose(mean, truth.mean, atol=1e-5)
    cross = (mass * (x1 - mean[0]) * (x2 - mean[1])).sum()
    assert cross == pytest.approx(truth.covariance[0, 1], abs=1e-5)
    step = sides[1][1] - sides[1][0]
    np.testing.assert_allclose(mass.sum(0) / step, truth.marginals[1](sides[1]), atol=1e-5)


@pytest.mark.parametrize("dim", [6, 10])
def test_further_axes_of_the_banana_are_independent_standard_normals(dim):
    points = np.random.default_rng(9).normal(0, 3, (5, dim))
    further = -0.5 * (points[:, 2:] ** 2).sum(1) - 0.5 * (dim - 2) * np.log(2 * np.pi)
    expected = load("banana", 2).exact(points[:, :2]) + further
    np.testing.assert_allclose(load("banana", dim).exact(points), expected, rtol=1e-12)
    truth = load("banana", dim).truth
    assert truth.log_evidence == load("banana", 2).truth.log_evidence
    np.testing.assert_array_equal(truth.covariance[2:, 2:], np.eye(dim - 2))


def test_evidence_of_the_long_cigar_is_a_density_of_its_data():
    """Likelihood N(c; x, S) times prior N(x; c, P) integrates to N(c; c, S + P)."""
    problem = load("cigar", 15)
    centre = 0.5 * (problem.plausible_lower + problem.plausible_upper)
    axes = np.linalg.qr(np.random.default_rng(20260915).standard_normal((15, 15)))[0]
    spread = axes @ np.diag([1e-4] * 14 + [1.0]) @ axes.T
    both = spread + np.diag((problem.plausible_upper - centre) ** 2)
    expected = multivariate_normal(cov=both).logpdf(np.zeros(15))
    assert problem.truth.log_evidence == pytest.approx(expected, abs=1e-9)


def test_student_factor_by_adaptive_quadrature():
    problem = load("student", 1)
    value = quad(lambda x: np.exp(problem.exact([x])), -60, 60, points=[0], limit=200)[0]
    assert np.log(value) == pytest.approx(problem.truth.log_evidence, abs=1e-9)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_marginals_have_unit_mass_and_match_moments_and_draws(name, dim):
    truth = load(name, dim).truth
    draws = truth.sample(40_000, np.random.default_rng(8))
    for i, density in enumerate(truth.marginals):
        x, p = density.grid, density(density.grid)
        assert trapezoid(p, x) == pytest.approx(1, abs=1e-6)
        mean = trapezoid(x * p, x)
        variance = truth.covariance[i, i]
        assert mean == pytest.approx(truth.mean[i], abs=1e-5)
        assert trapezoid((x - mean) ** 2 * p, x) == pytest.approx(variance, rel=1e-4)
        assert abs(draws[:, i].mean() - mean) < 4.5 * np.sqrt(variance / len(draws))
    assert np.linalg.norm(np.cov(draws.T) - truth.covariance) < 0.1 * np.trace(truth.covariance)


@pytest.mark.parametrize(("name", "dim"), CASES)
def test_targets_are_vectorised(name, dim):
    problem = load(name, dim)
    points = np.stack([problem.start(seed) for seed in range(6)]).reshape(2, 3, dim)
    values = problem.exact(points)
    assert values.shape == (2, 3)
    np.testing.assert_allclose(problem.exact(points[1, 2]), values[1, 2], rtol=1e-12)


def test_bounded_targets_are_minus_infinity_outside():
    assert load("halfnormal").exact([-1.0, 0.1]) == -np.inf


def test_noise_is_of_the_sd_that_is_reported():
    problem, rng = load("rosenbrock"), np.random.default_rng(9)
    theta = np.array([0.5, 0.5])
    pairs = np.array([problem.noisy(theta, rng) for _ in range(4000)])
    assert set(pairs[:, 1]) == {1.0}
    assert pairs[:, 0].mean() == pytest.approx(problem.exact(theta), abs=0.08)
    assert pairs[:, 0].std() == pytest.approx(1, abs=0.05)


def test_emulated_noise_follows_its_stream_and_jitter_leaves_it_alone():
    problem, theta = load("normal", 2), np.zeros(2)
    epsilon = problem.noise_stream(5).standard_normal(3)
    for jitter in (0.0, 0.3):
        target = problem.as_problem("exact", 2.0, jitter=jitter, rng=problem.noise_stream(5))
        outcomes = [target.evaluate(theta) for _ in range(3)]
        values = [outcome.value - problem.exact(theta) for outcome in outcomes]
        np.testing.assert_allclose(values, 2 * epsilon)
        assert (len({outcome.sd for outcome in outcomes}) > 1) == (jitter > 0)


def test_streams_of_a_run_are_all_different():
    # Those of the benchmark, of the evaluations, and of the engine.
    seed, problem = 11, load("normal", 2)
    first = {
        "noise": problem.noise_stream(seed).random(),
        "start": ((problem.start(seed) + 4) / 8)[0],
        "jitter": substream(problem.noise_stream(seed), BenchStream.JITTER).random(),
    }
    for index in range(3):
        for mark in (BenchStream.NOISE, BenchStream.JITTER):
            first[f"evaluation {index} {mark}"] = substream(rng_for(seed, index), mark).random()
    for step in range(5):
        first[f"engine {step}"] = rng_for_step(seed, step).random()
    # The jitter of emulated noise and that of the evaluation with index 0 are never both used.
    del first[f"evaluation 0 {BenchStream.JITTER}"]
    values = sorted(first.values())
    assert np.diff(values).min() > 1e-6


def test_noise_of_a_run_without_a_stream_is_that_of_its_evaluations():
    problem, theta = load("normal", 2), np.zeros(2)
    target = problem.as_problem("exact", 2.0)
    values = [target.evaluate(theta, rng=rng_for(4, index)).value for index in (0, 1, 0)]
    assert values[0] == values[2] != values[1]
    # Not the stream from which the start is drawn.
    normal = rng_for(4, 1).standard_normal()
    assert values[1] != pytest.approx(float(problem.exact(theta)) + 2 * normal)


def test_paper_noise_is_the_usual_sd():
    problem = load("lumpy")
    pairs = [problem.as_problem("exact", noise, rng=problem.noise_stream(1)).evaluate(np.zeros(4))
             for noise in ("paper", 3.0)]  # fmt: skip
    assert pairs[0].sd == pairs[1].sd == 3
    assert pairs[0].value == pairs[1].value


@pytest.mark.parametrize("name", NEW_DATA)
def test_calibration_has_new_data_and_parameters_for_every_seed(name):
    problem = load(name)
    one, again, other = (problem.for_seed(seed) for seed in (1, 1, 2))
    theta = problem.start(0)
    assert one.exact(theta) == again.exact(theta) != other.exact(theta)
    assert problem.exact(theta) == problem.for_seed(0).exact(theta)
    assert (one.generating == again.generating).all()
    assert not (one.generating == other.generating).any()


def test_as_problem_is_one():
    problem = load("halfnormal").as_problem()
    assert isinstance(problem, quell.Problem)
    assert problem.noise == "reported"
    assert problem.prior.is_included
    assert load("halfnormal").as_problem("exact").noise == "exact"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"mode": "noisy", "noise": 1.0}, "mode exact"),
        ({"mode": "both"}, "noisy or exact"),
        ({"mode": "exact", "noise": 0.0}, "positive"),
        ({"mode": "exact", "noise": -1.0}, "positive"),
        ({"mode": "exact", "noise": "papr"}, "'paper', got 'papr'"),
        ({"mode": "exact", "fast": True}, "mode noisy"),
        ({"fast": True}, "no fast path"),
        ({"mode": "exact", "jitter": 0.1}, "needs noise"),
        ({"jitter": -0.1}, "0 or positive"),
    ],
)
def test_what_cannot_be_emulated_is_refused(arguments, words):
    with pytest.raises(BenchError, match=words):
        load("normal").as_problem(**arguments)


def test_unknown_problem_and_dimension():
    with pytest.raises(BenchError, match="did you mean 'banana'"):
        load("bananna")
    with pytest.raises(BenchError, match="choose from ricker"):
        load("zzz")
    with pytest.raises(BenchError, match="2 dimensions only"):
        load("rosenbrock", 3)
    with pytest.raises(BenchError, match="at least 2"):
        load("banana", 1)


def test_missing_data_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("QUELL_DATA", str(tmp_path))
    with pytest.raises(BenchError, match=r"no synthetic\.json in QUELL_DATA=.*export QUELL_DATA="):
        load("logreg")
    (tmp_path / "synthetic.json").write_text('{"targets": {}}')
    with pytest.raises(BenchError, match=r"synthetic\.json has no usable entry for logreg"):
        load("logreg")
    monkeypatch.delenv("QUELL_DATA")
    with pytest.raises(BenchError, match=r"not set; it must name the folder that has a\.json"):
        data_file("a.json")


def test_logreg_without_data_is_much_like_the_stored_one(monkeypatch):
    monkeypatch.delenv("QUELL_DATA", raising=False)
    problem = load("logreg")
    truth, rng = problem.truth, np.random.default_rng(12)
    assert problem.data == "simulated"
    assert truth.mean[4] > 3  # the predictor without failures
    points = multivariate_normal(truth.mean, 1.5 * truth.covariance).rvs(20_000, random_state=rng)
    log_q = multivariate_normal(truth.mean, 1.5 * truth.covariance).logpdf(points)
    weights = np.exp(problem.exact(points) - log_q - truth.log_evidence)
    error = weights.std() / np.sqrt(len(weights))
    assert weights.mean() == pytest.approx(1, abs=5 * error + 0.02)


@pytest.mark.parametrize("name", list(SYNTHETIC))
def test_the_list_tells_the_noise(name):
    assert PROBLEMS[name].noise == f"emulated, SD {load(name).emulated_sd:g}"


def test_problems_are_shared_and_cannot_be_changed():
    assert load("banana") is load("banana", 2)
    with pytest.raises(ValueError, match="read-only"):
        load("banana").lower[0] = 0
