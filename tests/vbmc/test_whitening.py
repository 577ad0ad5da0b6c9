"""Whitening: schedule, the linear map, and everything that is carried over."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import (
    elbo_of,
    fitted_state,
    hand_fit,
    make_history,
    make_iteration,
    make_problem,
    solution_of,
)

from quell import Settings
from quell.gp import GaussianProcess
from quell.mixture import Mixture
from quell.mixture.divergence import gaussian_skl
from quell.vbmc import update
from quell.vbmc.update import better_start, try_whitening
from quell.vbmc.whitening import (
    axis_ratio,
    linear_map,
    map_mixture,
    may_whiten,
    whiten,
    whitening_is_due,
)


def rng():
    return np.random.default_rng(0)


def turned(space, seed):
    r = np.random.default_rng(seed)
    rotation, _ = np.linalg.qr(r.standard_normal((space.dimension, space.dimension)))
    rotation[:, 0] *= np.sign(np.linalg.det(rotation))
    return space.with_linear(rotation, r.uniform(0.3, 2.0, space.dimension))


def due_state(n=10, *, k=5, dimension=2, reliability=0.5, longest=1.0, **changes):
    """A state after ``n`` iterations whose posterior has one axis ``longest`` times the others."""
    lengths = np.ones(dimension)
    lengths[0] = longest
    mixture = Mixture(np.full(k, 1 / k), np.zeros((k, dimension)), np.ones(k), lengths)
    figures = {"last_whitening": 1, "mixture": mixture,
               "history": make_history(n, reliability=reliability)}  # fmt: skip
    return fitted_state(dimension=dimension, n=6, **(figures | changes))


def is_due(state, schedule):
    return may_whiten(state) and whitening_is_due(state, schedule, state.mixture.covariance())


def wait(schedule, **changes):
    """Iterations until a whitening is due, None if it never is."""
    return next(
        (n for n in range(1, 80) if is_due(due_state(n, last_whitening=0, **changes), schedule)),
        None,
    )


class TestPaperSchedule:
    def test_due_some_iterations_after_the_last_one(self):
        due = [is_due(due_state(n), "paper") for n in range(1, 12)]
        assert not due[0]
        assert due[-1]
        assert due == sorted(due)  # once due, due until done

    def test_later_ones_are_further_apart(self):
        waits = [wait("paper", n_whitenings=c) for c in (0, 1, 2, 3)]
        assert waits[0] == waits[1] < waits[2] < waits[3]

    @pytest.mark.parametrize(
        "changes",
        [{"warmup": True}, {"reliability": 3.0}, {"reliability": np.inf}, {"k": 4},
         {"dimension": 1}, {"mixture": None}],
    )  # fmt: skip
    def test_not_due(self, changes):
        assert is_due(due_state(30), "paper")
        assert not is_due(due_state(30, **changes), "paper")


class TestAdaptiveSchedule:
    def test_a_round_posterior_is_left_alone(self):
        assert wait("adaptive", longest=1.05) is None

    def test_a_long_one_waits_like_in_the_paper_whatever_its_components(self):
        for c in (0, 1, 3):
            assert wait("adaptive", longest=1.2, k=1, n_whitenings=c) == wait(
                "paper", n_whitenings=c
            )

    def test_a_very_long_one_does_not_wait_longer_each_time(self):
        assert wait("adaptive", longest=1.7, n_whitenings=5) == wait("paper", n_whitenings=1)

    @pytest.mark.parametrize(
        "changes",
        [{"warmup": True}, {"reliability": 3.0}, {"dimension": 1}, {"mixture": None}],
    )
    def test_not_due(self, changes):
        assert is_due(due_state(30, longest=1.9), "adaptive")
        assert not is_due(due_state(30, longest=1.9, **changes), "adaptive")

    def test_a_ridge_does_not_wait_for_a_reliable_solution(self):
        assert is_due(due_state(30, longest=2.1, reliability=50.0), "adaptive")


def test_axis_ratio_of_a_turned_ridge():
    q = Mixture(np.full(2, 0.5), [[-3.0, -3.0], [3.0, 3.0]], [1.0, 1.0], [1.0, 1.0])
    assert axis_ratio(q.covariance()) == pytest.approx(np.sqrt(19.0))


@pytest.mark.parametrize("problem", [make_problem(3), fitted_state(dimension=3, n=6)])
def test_linear_map_between_spaces(problem):
    old, new = turned(problem.space, 1), turned(problem.space, 2)
    x = np.random.default_rng(3).normal(scale=0.5, size=(20, 3))
    expected = new.to_inference(old.to_original(x))
    np.testing.assert_allclose(x @ linear_map(old, new), expected, atol=1e-9)
    np.testing.assert_allclose(linear_map(old, old), np.eye(3), atol=1e-12)


class TestMapMixture:
    def test_exact_for_scalings_and_permutations(self):
        q = Mixture([0.7, 0.3], [[0.0, 1.0], [2.0, -1.0]], [0.5, 1.5], [1.0, 0.2])
        a = np.array([[0.0, 3.0], [0.5, 0.0]])
        mapped = map_mixture(q, a)
        x = np.random.default_rng(0).normal(size=(50, 2))
        log_volume = np.log(np.abs(np.linalg.det(a)))
        np.testing.assert_allclose(mapped.log_density(x @ a), q.log_density(x) - log_volume)

    def test_means_and_marginal_variances_under_any_map(self):
        r = np.random.default_rng(1)
        q = Mixture([0.7, 0.3], r.normal(size=(2, 3)), [0.5, 1.5], [1.0, 0.2, 3.0])
        a = r.normal(size=(3, 3))
        mapped = map_mixture(q, a)
        np.testing.assert_allclose(mapped.mean(), q.mean() @ a)
        np.testing.assert_allclose(
            np.diag(mapped.covariance()), np.diag(a.T @ q.covariance() @ a), rtol=1e-9
        )
        np.testing.assert_array_equal(mapped.weights, q.weights)


def correlated_mixture(dimension=2):
    """Narrow components along a diagonal: their own shape hardly matters."""
    t = np.linspace(-0.5, 0.5, 6)[:, None]
    means = t * np.linspace(1.0, 0.4, dimension) + 0.02 * np.sin(9 * t)
    return Mixture(np.full(6, 1 / 6), means, np.full(6, 0.05), np.ones(dimension))


class TestWhiten:
    @pytest.mark.parametrize("dimension", [2, 3])
    def test_the_posterior_becomes_round(self, dimension):
        mixture = correlated_mixture(dimension)
        state = fitted_state(dimension=dimension, mixture=mixture, before=mixture)
        for _ in range(2):  # the second time from a rotated space
            covariance = state.mixture.covariance()
            new = whiten(rng(), state, covariance)
            a = linear_map(state.space, new.space)
            np.testing.assert_allclose(a.T @ covariance @ a, np.eye(dimension), atol=1e-6)
            found = new.mixture.covariance()
            np.testing.assert_allclose(np.diag(found), 1.0, rtol=1e-6)
            np.testing.assert_allclose(found, np.eye(dimension), atol=0.35)
            state = replace(new, fit=hand_fit(new.training.data))

    def test_the_posterior_is_about_the_same_in_the_users_parameters(self):
        state = fitted_state(mixture=correlated_mixture())
        new = whiten(rng(), state, state.mixture.covariance())
        old_draws, new_draws = (
            s.space.to_original(s.mixture.sample(20_000, rng())) for s in (state, new)
        )
        moments = [(draws.mean(axis=0), np.cov(draws.T)) for draws in (old_draws, new_draws)]
        assert gaussian_skl(*moments[0], *moments[1]) < 0.1

    @pytest.mark.parametrize("covariance", [np.diag([0.04, 0.09]), np.diag([2.0, 0.01])])
    def test_surrogate_describes_the_same_function_after_a_scaling(self, covariance):
        state = fitted_state()
        new = whiten(rng(), state, covariance)
        data, old_data = new.training.data, state.training.data
        np.testing.assert_array_equal(new.training.rows, state.training.rows)
        vectors = new.memory.vectors
        assert vectors.shape == state.fit.memory.vectors.shape
        old = GaussianProcess.condition(old_data, state.fit.memory.vectors)
        gp = GaussianProcess.condition(data, vectors)
        x = np.random.default_rng(2).normal(0.1, 0.4, (30, 2))
        theta = state.space.to_original(x)
        x_new = new.space.to_inference(theta)
        log_volume = new.space.log_jacobian(x_new) - state.space.log_jacobian(x)
        np.testing.assert_allclose(log_volume, log_volume[0], atol=1e-9)
        for (mean, variance), (old_mean, old_variance) in [
            (gp.predict(x_new), old.predict(x)), (gp.pooled(x_new), old.pooled(x)),
        ]:  # fmt: skip
            np.testing.assert_allclose(mean, old_mean + log_volume, atol=1e-6)
            np.testing.assert_allclose(variance, old_variance, rtol=1e-5, atol=1e-8)
        np.testing.assert_allclose(
            elbo_of(gp, new.mixture).value, elbo_of(old, state.mixture).value, atol=0.02
        )
        assert elbo_of(gp, new.mixture).sd == pytest.approx(
            elbo_of(old, state.mixture).sd, rel=0.01
        )

    def test_elbo_is_about_the_same_after_a_rotation(self):
        """The surrogate is rebuilt on the same data; only the mixture loses its rotation."""
        mixture = correlated_mixture()
        state = fitted_state(mixture=mixture)
        new = whiten(rng(), state, np.array([[0.05, 0.03], [0.03, 0.04]]))
        data = new.training.data
        gp = GaussianProcess.condition(data, new.memory.vectors[1:])
        old = elbo_of(state.fit.gp, mixture).value
        assert elbo_of(gp, new.mixture).value == pytest.approx(old, abs=0.3)

    def test_bounded_parameters_too(self):
        problem = make_problem(2)
        state = fitted_state(problem)
        new = whiten(rng(), state, np.array([[0.05, 0.03], [0.03, 0.04]]))
        data = new.training.data
        theta = new.space.to_original(data.x)
        np.testing.assert_allclose(theta, state.evaluations.theta, atol=1e-9)
        expected = state.evaluations.log_joint + new.space.log_jacobian(data.x)
        np.testing.assert_allclose(data.y, expected)

    def test_search_box_covers_the_old_one(self):
        state = fitted_state()
        new = whiten(rng(), state, np.array([[0.05, 0.03], [0.03, 0.04]]))
        inside = state.box.lower + (state.box.upper - state.box.lower) * rng().random((2000, 2))
        mapped = inside @ linear_map(state.space, new.space)
        covered = (mapped >= new.box.lower) & (mapped <= new.box.upper)
        assert covered.all(axis=1).mean() > 0.99

    def test_bookkeeping(self):
        state = fitted_state(history=make_history(9), n_whitenings=1)
        new = whiten(rng(), state, state.mixture.covariance())
        assert (new.n_whitenings, new.last_whitening) == (2, 10)
        assert new.fit is None
        assert new.memory.root is None
        assert new.evaluations is state.evaluations
        assert new.trimmed is state.trimmed
        assert not new.space.is_standard
        assert state.space.is_standard

    @pytest.mark.parametrize(("longest", "full"), [(1.0, False), (1.9, False), (2.1, True)])
    def test_everything_is_refitted_where_the_change_is_large(self, longest, full):
        new = whiten(rng(), fitted_state(), 0.01 * np.diag([1.0, longest**2]))
        assert new.full_refit == full

    def test_the_mixture_before_the_iteration_moves_along(self):
        """Else the refit compares mixtures of two spaces and may start from the wrong one."""
        state = fitted_state()
        new = whiten(rng(), state, np.diag([0.04, 0.0004]))
        data = new.training.data
        gp = GaussianProcess.condition(data, new.memory.vectors)
        assert new.before is None or new.before.n_components == new.mixture.n_components
        if new.before is not None:
            np.testing.assert_allclose(new.before.means, new.mixture.means)
        assert better_start(new, gp) is new.mixture


class TestUndo:
    @pytest.fixture
    def attempt(self, monkeypatch):
        """try_whitening with a refit that only records this ELBO and SD."""

        def check(elbo, sd, *, schedule="adaptive"):
            def refit(_rng, state, *_args, action, **_kwargs):
                record = make_iteration(
                    len(state.history) + 1, elbo=elbo, elbo_sd=sd, action=action
                )
                return replace(state, history=(*state.history, record))

            monkeypatch.setattr(update, "refit", refit)
            state = fitted_state()
            history = make_history(7, elbo=-2.0, elbo_sd=0.5, solution=solution_of(state))
            state = replace(state, history=history, n_whitenings=1)
            settings = Settings(whitening_schedule=schedule)
            return state, try_whitening(rng(), state, settings, state.mixture.covariance())

        return check

    def test_a_surrogate_that_is_lost_takes_it_back(self, attempt):
        state, new = attempt(9.0, 1.1)
        assert new.history == state.history
        for field in ("space", "mixture", "fit", "memory", "box", "before", "training"):
            assert getattr(new, field) is getattr(state, field)
        assert new.n_whitenings == 3  # the next attempt waits longer
        assert new.last_whitening == 13  # an interval longer than after one that was kept

    @pytest.mark.parametrize(
        ("elbo", "sd", "schedule"), [(-99.0, 50.0, "paper"), (-3.0, 1.0, "adaptive")]
    )
    def test_otherwise_it_is_kept_whatever_the_elbo(self, attempt, elbo, sd, schedule):
        _, new = attempt(elbo, sd, schedule=schedule)
        assert len(new.history) == 8
        assert new.history[-1].action == "whitening"
        assert not new.space.is_standard
