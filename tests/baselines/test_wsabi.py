"""Runs of WSABI: answers, noise, journals, workers, and what it refuses."""

import pickle
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import stats

import quell
from quell.baselines import wsabi
from quell.evaluations import Origin

MODULE = "quell.baselines.wsabi"
CENTRE, COVARIANCE = np.array([0.5, -0.3]), np.array([[1.0, 0.8], [0.8, 1.5]])
NORMAL = stats.multivariate_normal(CENTRE, COVARIANCE)


@pytest.fixture
def few_draws(monkeypatch):
    """For runs whose posterior is not looked at closely."""
    monkeypatch.setattr(sys.modules[MODULE], "N_DRAWS", 400)
    monkeypatch.setattr(sys.modules[MODULE], "BURN_IN", 400)


def normal_problem(**changes):
    """A correlated normal of log evidence 3 under a flat prior in a wide box."""
    arguments = {
        "lower": [-20, -20], "upper": [20, 20], "plausible_lower": [-3, -3],
        "plausible_upper": [3, 3], "noise": "exact",
    }  # fmt: skip
    level = 3.0 + np.log(40.0**2)
    arguments |= changes
    return quell.Problem(lambda theta: level + NORMAL.logpdf(theta), **arguments)


def line(noise="exact", **changes):
    arguments = {"lower": -9, "upper": 9, "plausible_lower": -2, "plausible_upper": 2}
    return quell.Problem(lambda t: -0.5 * float(t[0] ** 2), noise=noise, **arguments | changes)


@pytest.fixture(scope="module")
def result():
    return wsabi(normal_problem(), budget=40, seed=5000, progress=False)


def test_evidence_of_a_normal_without_noise(result):
    assert result.log_evidence == pytest.approx(3.0, abs=0.1)
    assert 0 < result.log_evidence_sd < 0.1


def test_posterior_of_a_normal_without_noise(result):
    posterior = result.posterior
    assert posterior.mean() == pytest.approx(CENTRE, abs=0.15)
    assert posterior.covariance() == pytest.approx(COVARIANCE, abs=0.3)
    assert posterior.correlation()[0, 1] == pytest.approx(0.65, abs=0.1)
    assert posterior.interval(0.5, "x1") == pytest.approx(0.5 + np.array([-1, 1]) * 0.6745, abs=0.2)
    assert len(posterior.sample(30_000)) == 30_000
    few = posterior.sample(10, 3)
    assert np.array_equal(few, posterior.sample(10, np.random.default_rng(3)))
    assert (few[:, None] == posterior.draws).all(axis=2).any(axis=1).all()


def test_what_is_printed(result):
    text = str(result)
    assert text.startswith("wsabi after 40 evaluations\n  - the budget of 40 evaluations is spent")
    assert f"log evidence   {result.log_evidence:.3f} ±" in text
    assert "wsabi after 40" in repr(result)
    assert "<table" in result._repr_html_()
    assert list(result.posterior.to_pandas(5).columns) == ["x1", "x2"]


def test_points_follow_the_design(result):
    assert len(result.evaluations) == 40
    assert result.evaluations.origin[0] == Origin.DESIGN
    assert np.allclose(result.evaluations.theta[0], 0.0)  # the centre of the plausible box
    assert set(result.evaluations.origin[1:]) == {Origin.SEARCH}
    assert [row["n_evaluations"] for row in result.history] == list(range(1, 41))


def test_answers_along_the_run(result):
    early, late = result.along([9, 39])
    assert early.n_evaluations == 10
    assert early.log_evidence == result.history[9]["log_evidence"]
    assert np.array_equal(late.posterior.draws, result.posterior.draws)
    assert late.log_evidence == result.log_evidence
    short = wsabi(normal_problem(), budget=10, seed=5000, progress=False)
    assert np.array_equal(early.posterior.draws, short.posterior.draws)


@pytest.mark.usefixtures("few_draws")
def test_the_same_seed_gives_the_same_run():
    first, second = (wsabi(line(), budget=8, seed=5001, progress=False) for _ in range(2))
    assert np.array_equal(first.posterior.draws, second.posterior.draws)
    other = wsabi(line(), budget=8, seed=5002, progress=False)
    assert not np.array_equal(first.evaluations.theta, other.evaluations.theta)


@pytest.mark.usefixtures("few_draws")
def test_a_journal_is_continued_as_if_nothing_had_happened(tmp_path):
    path = tmp_path / "run.journal"
    whole = wsabi(line(), budget=12, seed=5003, progress=False)
    wsabi(line(), budget=7, seed=5003, progress=False, journal=path)
    calls = []

    def callback(update):
        calls.append(update.n_evaluations)

    again = wsabi(line(), budget=12, journal=path, progress=False, callback=callback)
    assert np.array_equal(again.evaluations.theta, whole.evaluations.theta)
    assert np.array_equal(again.posterior.draws, whole.posterior.draws)
    assert again.log_evidence == whole.log_evidence
    assert calls == [7, 8, 9, 10, 11, 12]
    assert "continues the journal" in again.journal


@pytest.mark.usefixtures("few_draws")
def test_a_journal_goes_on_with_its_own_algorithm_only(tmp_path):
    path, other = tmp_path / "wsabi.journal", tmp_path / "quell.journal"
    wsabi(line(), budget=3, seed=5003, progress=False, journal=path)
    with pytest.raises(
        quell.JournalError, match=r"algorithm: wsabi in the journal, quell\.infer now"
    ):
        quell.infer(line(), budget=12, progress=False, journal=path)
    with pytest.raises(quell.JournalError, match=r"settings\.noise_aware: false in the journal"):
        wsabi(line(), budget=3, progress=False, journal=path, noise_aware=True)
    with pytest.raises(quell.FileError, match=r"baseline wsabi.*from its 3 evaluations"):
        quell.load(path)
    with pytest.warns(quell.BudgetWarning):
        quell.infer(line(), budget=12, seed=1, progress=False, journal=other)
    with pytest.raises(
        quell.JournalError, match=r"algorithm: quell\.infer in the journal, wsabi now"
    ):
        wsabi(line(), budget=12, progress=False, journal=other)


@pytest.mark.usefixtures("few_draws")
def test_several_workers_and_failures():
    def target(theta):
        if theta[0] > 1.5:
            raise RuntimeError("it broke")
        return -0.5 * float(theta[0] ** 2) if theta[0] > -1.5 else -np.inf

    box = {"lower": -9, "upper": 9, "plausible_lower": -2, "plausible_upper": 2}
    problem = quell.Problem(target, noise="exact", **box)
    with ThreadPoolExecutor(3) as executor:
        found = wsabi(problem, budget=20, seed=5004, executor=executor, progress=False)
    table = found.evaluations
    assert len(table) == 20
    assert len(np.unique(table.theta, axis=0)) == 20  # though three were out at a time
    assert 0 < np.sum(table.theta > 1.5) < 10  # where it breaks it is not tried for ever
    assert table.zero_density.any()
    # Zero density is a value; where it fails nothing is known.
    assert np.mean(found.posterior.draws[:, 0] < -1.7) < 0.03


@pytest.mark.usefixtures("few_draws")
def test_fixed_integer_and_constrained_parameters():
    problem = quell.Problem(
        lambda theta: -0.5 * float((theta[0] - 4) ** 2 + theta[2] ** 2), noise="exact",
        lower=[0, 2, -9], upper=[9, 2, 9], plausible_lower=[2, 2, -2], plausible_upper=[6, 2, 2],
        integer=[True, False, False], constraint=lambda theta: theta[2] > 0,
    )  # fmt: skip
    found = wsabi(problem, budget=15, seed=5005, start=[4, 2, 1], progress=False)
    theta, draws = found.evaluations.theta, found.posterior.draws
    assert np.array_equal(theta[0], [4, 2, 1])
    assert found.evaluations.origin[0] == Origin.START
    for points in (theta, draws):
        assert np.array_equal(points[:, 0], np.round(points[:, 0]))
        assert (points[:, 1] == 2).all()
    assert (draws[:, 2] > 0).all()
    assert "fixed" in found.summary()


@pytest.mark.usefixtures("few_draws")
def test_noise_is_ignored_unless_asked_for():
    rng = np.random.default_rng(2)
    points = np.linspace(-3, 3, 25)[:, None]
    values = -0.5 * points[:, 0] ** 2 + 1.0 * rng.standard_normal(25)
    given = (points, values, np.ones(25))

    def target(theta, rng):
        return -0.5 * float(theta[0] ** 2) + rng.standard_normal(), 1.0

    box = {"lower": -9, "upper": 9, "plausible_lower": -2, "plausible_upper": 2}
    problem = quell.Problem(target, noise="reported", **box)
    plain, aware = (
        wsabi(problem, budget=1, evaluations=given, seed=5, noise_aware=aware, progress=False)
        for aware in (False, True)
    )
    assert aware.log_evidence_sd > 2 * plain.log_evidence_sd
    truth = np.log(np.sqrt(2 * np.pi) / 18)
    assert abs(aware.log_evidence - truth) < 4 * aware.log_evidence_sd


def test_unknown_noise_is_refused_where_it_counts():
    with pytest.raises(ValueError, match=r'needs the SD of the noise.*noise="unknown"'):
        wsabi(line("unknown"), budget=5, noise_aware=True)


def test_bad_arguments():
    with pytest.raises(TypeError, match=r"problem must be a quell\.Problem, got int"):
        wsabi(3)
    with pytest.raises(ValueError, match="budget must be at least 3, got 2"):
        wsabi(line(), budget=2, start=[[0.0], [1.0], [2.0]], progress=False)
    with pytest.raises(TypeError, match="noise_aware"):
        wsabi(line(), noise_aware="yes")
    with pytest.raises(TypeError, match="did you mean 'budget'"):
        wsabi(line(), budgets=3)
    with pytest.raises(TypeError, match="callback must be callable"):
        wsabi(line(), callback=3)


def test_nothing_but_failures():
    def target(_):
        raise RuntimeError("it broke")

    problem = quell.Problem(
        target, lower=-9, upper=9, plausible_lower=-2, plausible_upper=2, noise="exact"
    )
    with pytest.raises(quell.InferenceFailed, match="evaluations failed, the last one with"):
        wsabi(problem, budget=30, seed=1, progress=False)


def test_an_improper_prior_has_no_evidence():
    with pytest.warns(UserWarning, match="improper"):
        problem = line(lower=-np.inf, upper=np.inf)
    found = wsabi(problem, budget=6, seed=1, progress=False)
    assert np.isnan(found.log_evidence)
    assert "not estimated" in str(found)


@pytest.mark.usefixtures("few_draws")
def test_whether_there_is_noise_is_found_out():
    found = wsabi(line("auto"), budget=6, seed=1, progress=False)
    assert found.evaluations.origin.count(Origin.CHECK) == 1
    assert (found.evaluations.sd == 0).all()
    assert found.problem["noise"] == "exact"


def quadratic(theta):
    return -0.5 * float(theta[0] ** 2)


@pytest.mark.usefixtures("few_draws")
def test_a_result_can_go_to_another_process():
    problem = quell.Problem(
        quadratic, lower=-9, upper=9, plausible_lower=-2, plausible_upper=2, noise="exact"
    )
    found = wsabi(problem, budget=5, seed=1, progress=False)
    again = pickle.loads(pickle.dumps(found))
    assert str(again) == str(found)
    (early,) = again.along([2])
    assert early.n_evaluations == 3


@pytest.mark.usefixtures("few_draws")
def test_progress_is_told_as_of_any_run(caplog):
    with caplog.at_level("INFO", logger="quell"):
        wsabi(line(), budget=6, seed=5001, progress="log")
    told = "\n".join(record.getMessage() for record in caplog.records)
    assert "a budget of 6 evaluations" in told
    assert "6/6 evaluations" in told
    assert "log evidence" in told
