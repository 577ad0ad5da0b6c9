"""Runs of GP-IMIQR: answers, its loss, its coordinates, journals, and what it refuses."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import quell
from quell.acquisition.noise import NoiseTable
from quell.baselines import gp_imiqr
from quell.baselines.basis_process import BasisProcess
from quell.baselines.places import Places
from quell.evaluations import Origin

MODULE = sys.modules["quell.baselines.gp_imiqr"]
CENTRE, SDS = np.array([0.5, -1.0]), np.array([1.0, 0.6])
BOX = {"lower": [-8, -8], "upper": [8, 8], "plausible_lower": [-3, -3], "plausible_upper": [3, 3]}


@pytest.fixture
def little_work(monkeypatch):
    """For runs whose posterior is not looked at closely."""
    for name, value in {"N_DRAWS": 300, "BURN_IN": 300, "N_CANDIDATES": 200, "N_STARTS": 1}.items():
        monkeypatch.setattr(MODULE, name, value)


def noisy_normal(theta, rng):
    return -0.5 * float(np.sum(((theta - CENTRE) / SDS) ** 2)) + rng.standard_normal(), 1.0


def line(**changes):
    arguments = {
        "lower": -9, "upper": 9, "plausible_lower": -2, "plausible_upper": 2, "noise": "exact",
    }  # fmt: skip
    return quell.Problem(lambda t: -0.5 * float(t[0] ** 2), **arguments | changes)


@pytest.fixture(scope="module", params=[False, True], ids=["paper", "fair"])
def result(request):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MODULE, "N_CANDIDATES", 500)
        patch.setattr(MODULE, "N_STARTS", 2)
        problem = quell.Problem(noisy_normal, noise="reported", **BOX)
        return gp_imiqr(problem, budget=45, seed=5000, fair=request.param, progress=False)


def test_posterior_of_a_noisy_normal(result):
    posterior = result.posterior
    assert posterior.mean() == pytest.approx(CENTRE, abs=0.5)
    assert posterior.sd() == pytest.approx(SDS, rel=0.4)
    assert np.isnan(result.log_evidence)
    assert "log evidence   not estimated" in str(result)


def test_points_follow_the_design(result):
    table = result.evaluations
    assert table.origin[:10] == (Origin.DESIGN,) * 10
    assert set(table.origin[10:]) == {Origin.SEARCH}
    assert (np.abs(table.theta[:10]) <= 3).all()
    assert len(result.history) == 36
    assert len(np.unique(table.theta, axis=0)) == 45


def test_answers_along_the_run(result):
    (last,) = result.along([35])
    assert np.array_equal(last.posterior.draws, result.posterior.draws)


class TestLoss:
    """The reduction of the loss beside really adding the point."""

    @staticmethod
    def case():
        rng = np.random.default_rng(2)
        x, noise = rng.normal(size=(9, 2)), np.full(9, 0.2)
        h = np.array([0.1, -0.2, 0.5])
        y = -(x**2).sum(axis=1)
        points, log_weights = rng.normal(size=(30, 2)), rng.normal(size=30)
        return x, y, noise, h, points, log_weights

    @pytest.mark.parametrize("noise_sd", [0.01, 0.7])
    def test_it_is_the_difference_after_any_value(self, noise_sd):
        x, y, noise, h, points, log_weights = self.case()
        table = NoiseTable(np.zeros((1, 2)), np.array([noise_sd]), np.ones(2))
        score = MODULE.RangeReduction(BasisProcess.of(x, y, noise, h), points, log_weights, table)
        new = np.array([0.7, 0.2])

        def loss(process):
            return np.exp(log_weights) @ np.sinh(0.67449 * np.sqrt(process.predict(points)[1])) * 2

        before = loss(BasisProcess.of(x, y, noise, h))
        after = loss(
            BasisProcess.of(
                np.vstack([x, new]), np.append(y, 3.0), np.append(noise, noise_sd**2), h
            )
        )
        assert np.exp(score.values(new[None])) == pytest.approx([before - after], rel=1e-4)

    def test_by_default_the_next_evaluation_is_nearly_exact(self):
        x, y, noise, h, points, log_weights = self.case()
        process = BasisProcess.of(x, y, noise, h)
        exact = NoiseTable(np.zeros((1, 2)), np.array([0.01]), np.ones(2))
        given, default = (
            MODULE.RangeReduction(process, points, log_weights, table).values(points)
            for table in (exact, None)
        )
        assert default == pytest.approx(given, rel=1e-9)

    @pytest.mark.parametrize("dimension", [1, 2, 3])
    def test_grid_and_draws_sum_the_same_loss(self, dimension):
        """By weights relative to the whole: both are the integral of one density."""
        lower, upper = np.full(dimension, -5.0), np.full(dimension, 5.0)
        problem = quell.Problem(
            sum, lower=lower, upper=upper, plausible_lower=lower / 2, plausible_upper=upper / 2,
            noise="exact",
        )  # fmt: skip
        rng = np.random.default_rng(3)
        x = rng.uniform(-2, 2, (25, dimension))
        y = -0.5 * (x**2).sum(axis=1)
        places = Places.of(problem, own=True)
        known = MODULE.Known(places, x, y, np.ones(25), np.ones(25))
        process = known.surrogate(np.zeros(dimension + 1))
        points, log_weights = MODULE.loss_points(rng, process, known)
        sds = np.sqrt(process.predict(points)[1])
        share = np.exp(log_weights) * np.sinh(0.6744897501960817 * sds)
        share /= share.sum()
        # The same moments by brute force.
        grid = np.stack(np.meshgrid(*[np.linspace(-5, 5, 41)] * dimension), axis=-1)
        grid = grid.reshape(-1, dimension)
        mean, variance = process.predict(grid)
        weight = np.exp(mean) * np.sinh(0.6744897501960817 * np.sqrt(variance))
        weight /= weight.sum()
        expected = weight @ grid
        spread = np.sqrt(weight @ (grid - expected) ** 2)
        assert share @ points == pytest.approx(expected, abs=0.25 * spread.max())
        assert np.sqrt(share @ (points - expected) ** 2) == pytest.approx(spread, rel=0.2)


@pytest.mark.usefixtures("little_work")
def test_a_journal_is_continued_as_if_nothing_had_happened(tmp_path):
    path = tmp_path / "run.journal"
    whole = gp_imiqr(line(), budget=15, seed=5003, progress=False)
    gp_imiqr(line(), budget=12, seed=5003, progress=False, journal=path)
    again = gp_imiqr(line(), budget=15, journal=path, progress=False)
    assert np.array_equal(again.evaluations.theta, whole.evaluations.theta)
    assert np.array_equal(again.posterior.draws, whole.posterior.draws)
    with pytest.raises(quell.JournalError, match="algorithm: gp-imiqr in the journal, wsabi now"):
        quell.baselines.wsabi(line(), budget=15, journal=path, progress=False)
    with pytest.raises(quell.JournalError, match=r"settings\.fair: false in the journal, true now"):
        gp_imiqr(line(), budget=15, journal=path, fair=True, progress=False)


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("fair", [False, True])
def test_fixed_integer_unbounded_and_constrained_parameters(fair):
    def target(theta):
        if theta[2] > 3:
            raise RuntimeError("it broke")
        return -0.5 * float((theta[0] - 4) ** 2 + theta[2] ** 2) if theta[2] < 2 else -np.inf

    problem = quell.Problem(
        target, noise="exact", prior=lambda theta: -0.05 * theta[2] ** 2,
        lower=[0, 2, -np.inf], upper=[9, 2, np.inf],
        plausible_lower=[2, 2, -2], plausible_upper=[6, 2, 2], integer=[True, False, False],
        constraint=lambda theta: theta[2] > 0,
    )  # fmt: skip
    with ThreadPoolExecutor(2) as executor:
        found = gp_imiqr(
            problem, budget=20, seed=5005, start=[4, 2, 1], executor=executor, fair=fair,
            progress=False,
        )  # fmt: skip
    theta, draws = found.evaluations.theta, found.posterior.draws
    (started,) = (row for row, origin in enumerate(found.evaluations.origin) if origin == "start")
    assert np.array_equal(theta[started], [4, 2, 1])
    for points in (theta, draws):
        assert np.array_equal(points[:, 0], np.round(points[:, 0]))
        assert (points[:, 1] == 2).all()
    assert (draws[:, 2] > 0).all()
    designed = np.array(found.evaluations.origin) == Origin.DESIGN
    assert (theta[designed, 2] > 0).all()
    assert len(theta) == len(np.unique(theta, axis=0)) == 20  # none twice, not even failed ones


def test_noise_of_unknown_size_is_refused():
    with pytest.raises(ValueError, match="gp_imiqr needs the SD of the noise"):
        gp_imiqr(line(noise="unknown"), budget=20, progress=False)


def test_bad_arguments():
    with pytest.raises(TypeError, match=r"problem must be a quell\.Problem, got str"):
        gp_imiqr("normal")
    with pytest.raises(ValueError, match="budget must be at least 10, got 5"):
        gp_imiqr(line(), budget=5, progress=False)
    with pytest.raises(TypeError, match="fair"):
        gp_imiqr(line(), fair=1)


def test_zero_likelihood_is_lower_than_anything_that_matters():
    problem = line()
    points = np.array([[0.0], [1.0], [5.0]])
    table = quell.Evaluations.from_arrays(points, [-1.0, -2.0, -np.inf], problem=problem)
    known = MODULE.Known.of(problem, table, fair=False)
    assert np.array_equal(known.x, points)
    assert np.array_equal(known.y[:2], [-1.0, -2.0])
    assert known.y[2] < -20


@pytest.mark.usefixtures("little_work")
@pytest.mark.parametrize("fair", [False, True])
def test_what_is_known_of_the_noise_when_a_point_is_chosen(fair, monkeypatch):
    seen = []

    class Spy(MODULE.RangeReduction):
        def __init__(self, *arguments):
            seen.append(arguments[-1])
            super().__init__(*arguments)

    monkeypatch.setattr(MODULE, "RangeReduction", Spy)
    problem = quell.Problem(noisy_normal, noise="reported", **BOX)
    gp_imiqr(problem, budget=11, seed=1, fair=fair, progress=False)
    (table,) = seen
    if fair:
        assert (table.sd_at(np.zeros((1, 2))) == 1.0).all()
    else:
        assert table is None


def test_coordinates_there_and_back():
    problem = quell.Problem(
        sum, lower=[0, 1, -np.inf, 0], upper=[1, 1, np.inf, 24], noise="exact",
        plausible_lower=[0.2, 1, -1, 20], plausible_upper=[0.9, 1, 3, 26],
        prior=lambda theta: -theta[2] ** 2, periodic=[False, False, False, True],
    )  # fmt: skip
    rng = np.random.default_rng(1)
    boxes = {}
    for own in (True, False):
        places = Places.of(problem, own=own)
        boxes[own] = places.to_theta(np.stack([places.box.lower, places.box.upper]))
        x = rng.uniform(places.box.lower, places.box.upper, (50, 3))
        theta = places.to_theta(x)
        assert problem.space.contains(theta).all()
        assert places.to_x(theta) == pytest.approx(x, rel=1e-6, abs=1e-6)
        # The density over the coordinates is that over the parameters times the volume.
        step, volume = 1e-6, np.ones(50)
        for i, column in enumerate([0, 2, 3]):
            ahead = places.to_theta(x + step * np.eye(3)[i])[:, column]
            volume *= (ahead - theta[:, column]) / step
        expected = -(theta[:, 2] ** 2) + np.log(volume)
        assert places.log_prior(x) == pytest.approx(expected, abs=1e-3)
    assert boxes[True][:, 0] == pytest.approx([0, 1])
    assert boxes[False][:, 0] == pytest.approx([0.001, 0.999])
    for box in boxes.values():
        assert box[:, 2] == pytest.approx([-13, 15])
