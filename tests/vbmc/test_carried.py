"""Other coordinates: posterior, hyperparameters, surrogate and search box carried over."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.mixtures import random_mixture
from helpers.vbmc import (
    elbo_of,
    fitted_state,
    hand_fit,
    make_history,
    make_problem,
    solution_of,
    unbounded_problem,
)

from quell.gp import GaussianProcess
from quell.mixture import Mixture
from quell.mixture.divergence import gaussian_skl
from quell.vbmc.coordinates import Carried, change_coordinates, go_back
from quell.vbmc.refit import better_start

TURNED = np.array([[0.05, 0.03], [0.03, 0.04]])


def rng(seed=0):
    return np.random.default_rng(seed)


def turned(space, seed):
    """The space under some rotation and scales."""
    r = rng(seed)
    rotation, _ = np.linalg.qr(r.standard_normal((space.dimension, space.dimension)))
    rotation[:, 0] *= np.sign(np.linalg.det(rotation))
    return space.with_linear(rotation, r.uniform(0.3, 2.0, space.dimension))


def linear_map(old, new):
    """A with x_new = x_old A, from the definition x = (v R)/s of both spaces."""
    return np.diag(old.scales) @ old.rotation.T @ new.rotation @ np.diag(1 / new.scales)


def scaled(space, factors):
    """The space with x_new = x_old · factors."""
    return space.with_linear(space.rotation, space.scales / factors)


def whitened(state, covariance, *, full_refit=False):
    return change_coordinates(rng(), state, state.space.whitened(covariance), full_refit=full_refit)


def soft_problem(dimension=2):
    """Bounds at 0 and 10, the plausible box up to the lower one."""
    box = {"lower": 0.0, "upper": 10.0, "plausible_lower": 0.5, "plausible_upper": 4.0}
    return make_problem(dimension, **{k: np.full(dimension, v) for k, v in box.items()})


def by_monte_carlo(mixture, own, other, n=400_000):
    """Mean and covariance of the mixture's draws, mapped from one space to the other."""
    draws = other.to_inference(own.to_original(mixture.sample(n, rng(1))))
    return draws.mean(axis=0), np.cov(draws.T)


class TestLinearChange:
    """Everything that a linear map takes from one space to another exactly."""

    @pytest.mark.parametrize("problem", [make_problem(3), unbounded_problem(3)])
    def test_slope_is_the_linear_map(self, problem):
        old, new = turned(problem.space, 1), turned(problem.space, 2)
        mixture = random_mixture(4, 3, spread=0.2)
        carried = Carried.of(mixture, old, new)
        a = linear_map(old, new)
        x = rng(3).normal(scale=0.5, size=(20, 3))
        np.testing.assert_allclose(x @ a, new.to_inference(old.to_original(x)), atol=1e-9)
        np.testing.assert_allclose(carried.slope, a, atol=1e-9)
        np.testing.assert_allclose(carried.means, mixture.means @ a, atol=1e-9)
        assert carried.log_volume == pytest.approx(-np.log(np.abs(np.linalg.det(a))))

    def test_nothing_happens_between_equal_spaces(self):
        space = turned(make_problem(3).space, 1)
        mixture = random_mixture(4, 3, spread=0.2)
        carried = Carried.of(mixture, space, space)
        np.testing.assert_allclose(carried.slope, np.eye(3), atol=1e-9)
        assert carried.log_volume == pytest.approx(0.0, abs=1e-12)
        np.testing.assert_allclose(carried.covariance(), mixture.covariance(), rtol=1e-9)

    def test_moments_are_exact(self):
        space = unbounded_problem(3).space
        mixture = random_mixture(4, 3)
        old, new = turned(space, 1), turned(space, 2)
        carried, a = Carried.of(mixture, old, new), linear_map(old, new)
        np.testing.assert_allclose(carried.mean(), mixture.mean() @ a, rtol=1e-9)
        np.testing.assert_allclose(
            carried.covariance(), a.T @ mixture.covariance() @ a, rtol=1e-8, atol=1e-10
        )

    def test_mixture_is_exact_for_scalings_and_permutations(self):
        space = unbounded_problem(2).space
        mixture = Mixture([0.7, 0.3], [[0.0, 1.0], [2.0, -1.0]], [0.5, 1.5], [1.0, 0.2])
        new = space.with_linear([[0.0, 1.0], [-1.0, 0.0]], [2.0, 1 / 3])
        a = linear_map(space, new)
        np.testing.assert_allclose(a, [[0.0, 3.0], [-0.5, 0.0]])
        carried = Carried.of(mixture, space, new)
        x = rng().normal(size=(50, 2))
        log_volume = np.log(np.abs(np.linalg.det(a)))
        np.testing.assert_allclose(
            carried.as_mixture().log_density(x @ a), mixture.log_density(x) - log_volume
        )
        assert carried.log_volume == pytest.approx(-log_volume)

    def test_mixture_keeps_means_and_marginal_variances_under_any_map(self):
        space = unbounded_problem(3).space
        mixture = random_mixture(2, 3, seed=1)
        new = turned(space, 5)
        a = linear_map(space, new)
        mapped = Carried.of(mixture, space, new).as_mixture()
        np.testing.assert_allclose(mapped.mean(), mixture.mean() @ a, rtol=1e-9)
        np.testing.assert_array_equal(mapped.weights, mixture.weights)
        np.testing.assert_allclose(
            np.diag(mapped.covariance()), np.diag(a.T @ mixture.covariance() @ a), rtol=1e-9
        )


class TestSoftChange:
    """To soft edges and back: to first order in the size of the components."""

    softness = (0.3, 0.1)

    def spaces(self):
        probit = soft_problem().space
        return probit, turned(probit.with_softness(self.softness), 3)

    def mixture(self, size):
        """Components of this SD all over the box, near the bound and in the middle."""
        means = [[-0.6, -0.5], [-0.1, 0.2], [0.3, -0.4], [0.5, 0.6]]
        return Mixture([0.1, 0.2, 0.3, 0.4], means, size * np.array([1.0, 0.5, 1.0, 2.0]), [1, 0.7])

    @pytest.mark.parametrize("back", [False, True])
    def test_moments_against_monte_carlo(self, back):
        own, other = self.spaces()
        if back:
            own, other = other, own
        mixture = self.mixture(0.03)
        if back:
            mixture = Carried.of(mixture, other, own).as_mixture()
        carried = Carried.of(mixture, own, other)
        mean, covariance = by_monte_carlo(mixture, own, other)
        sd = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(carried.mean(), mean, atol=0.01 * sd.max())
        np.testing.assert_allclose(carried.covariance(), covariance, atol=0.01 * sd.max() ** 2)

    def test_the_error_is_of_second_order(self):
        own, other = self.spaces()
        errors = []
        for size in (0.08, 0.04, 0.02):
            # One component: its own spread is all there is.
            mixture = Mixture([1.0], [[-0.4, 0.3]], [size], [1.0, 0.7])
            mean, covariance = by_monte_carlo(mixture, own, other)
            carried = Carried.of(mixture, own, other)
            errors.append(gaussian_skl(carried.mean(), carried.covariance(), mean, covariance))
        assert errors[0] > errors[1] > errors[2]
        assert errors[2] < 0.01

    def test_log_volume_is_the_average_change_of_the_log_jacobian(self):
        own, other = self.spaces()
        mixture = self.mixture(0.03)
        x = mixture.sample(200_000, rng())
        mapped = other.to_inference(own.to_original(x))
        known = other.edges.at(mapped)  # to the surrogate, which does not learn it
        gain = np.mean(other.log_jacobian(mapped) - known - own.log_jacobian(x))
        assert Carried.of(mixture, own, other).log_volume == pytest.approx(gain, abs=0.03)

    def test_the_mixture_has_the_same_draws_in_the_users_parameters(self):
        own, other = self.spaces()
        mixture = self.mixture(0.05)
        mapped = Carried.of(mixture, own, other).as_mixture()
        first = own.to_original(mixture.sample(50_000, rng()))
        second = other.to_original(mapped.sample(50_000, rng(1)))
        moments = [(theta.mean(axis=0), np.cov(theta.T)) for theta in (first, second)]
        assert gaussian_skl(*moments[0], *moments[1]) < 0.02

    @pytest.mark.parametrize("place", [5.0, 9.0, 40.0, -40.0])
    @pytest.mark.parametrize("is_turned", [False, True])
    def test_components_far_out_stay_components(self, place, is_turned):
        """So far out that all their points are the same number in the user's parameters."""
        own, other = self.spaces()
        if not is_turned:
            other = own.with_softness(self.softness)
        mixture = Mixture([0.9, 0.1], [[0.0, 0.0], [place, 0.0]], [0.2, 0.2], [1.0, 1.0])
        mapped = Carried.of(mixture, own, other).as_mixture()
        assert np.isfinite(mapped.means).all()
        assert (mapped.scales > 0).all()
        assert np.isfinite(mapped.covariance()).all()


def correlated_mixture(dimension=2):
    """Narrow components along a diagonal: their own shape hardly matters."""
    t = np.linspace(-0.5, 0.5, 6)[:, None]
    means = t * np.linspace(1.0, 0.4, dimension) + 0.02 * np.sin(9 * t)
    return Mixture(np.full(6, 1 / 6), means, np.full(6, 0.05), np.ones(dimension))


class TestChangeOfCoordinates:
    @pytest.mark.parametrize("dimension", [2, 3])
    def test_the_posterior_becomes_round(self, dimension):
        mixture = correlated_mixture(dimension)
        state = fitted_state(dimension=dimension, mixture=mixture, before=mixture)
        for _ in range(2):  # the second time from a rotated space
            covariance = state.mixture.covariance()
            new = whitened(state, covariance)
            a = linear_map(state.space, new.space)
            np.testing.assert_allclose(a.T @ covariance @ a, np.eye(dimension), atol=1e-6)
            found = new.mixture.covariance()
            np.testing.assert_allclose(np.diag(found), 1.0, rtol=1e-6)
            np.testing.assert_allclose(found, np.eye(dimension), atol=0.35)
            state = replace(new, fit=hand_fit(new.training.data))

    def test_the_posterior_is_about_the_same_in_the_users_parameters(self):
        state = fitted_state(mixture=correlated_mixture())
        new = whitened(state, state.mixture.covariance())
        old_draws, new_draws = (
            s.space.to_original(s.mixture.sample(20_000, rng())) for s in (state, new)
        )
        moments = [(draws.mean(axis=0), np.cov(draws.T)) for draws in (old_draws, new_draws)]
        assert gaussian_skl(*moments[0], *moments[1]) < 0.1

    @pytest.mark.parametrize("covariance", [np.diag([0.04, 0.09]), np.diag([2.0, 0.01])])
    def test_surrogate_describes_the_same_function_after_a_scaling(self, covariance):
        state = fitted_state()
        new = whitened(state, covariance)
        data, old_data = new.training.data, state.training.data
        np.testing.assert_array_equal(new.training.rows, state.training.rows)
        vectors = new.memory.vectors
        assert vectors.shape == state.fit.memory.vectors.shape
        old = GaussianProcess.condition(old_data, state.fit.memory.vectors)
        gp = GaussianProcess.condition(data, vectors)
        x = rng(2).normal(0.1, 0.4, (30, 2))
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
        new = whitened(state, TURNED)
        gp = GaussianProcess.condition(new.training.data, new.memory.vectors[1:])
        old = elbo_of(state.fit.gp, mixture).value
        assert elbo_of(gp, new.mixture).value == pytest.approx(old, abs=0.3)

    def test_bounded_parameters_too(self):
        state = fitted_state(make_problem(2))
        for space in (
            state.space.whitened(TURNED),
            state.space.with_softness([0.5, np.nan]),
            state.space.with_softness([0.5, 1.0]).whitened(TURNED),
        ):
            new = change_coordinates(rng(), state, space, full_refit=True)
            data = new.training.data
            theta = new.space.to_original(data.x)
            np.testing.assert_allclose(theta, state.evaluations.theta, atol=1e-9)
            expected = state.evaluations.log_joint + new.space.log_jacobian(data.x)
            np.testing.assert_allclose(data.y, expected)

    @pytest.mark.parametrize("softness", [None, (0.5, 1.0)])
    def test_search_box_covers_the_old_one(self, softness):
        state = fitted_state(make_problem(2))
        space = state.space if softness is None else state.space.with_softness(softness)
        new = change_coordinates(rng(), state, space.whitened(TURNED), full_refit=True)
        inside = state.box.lower + (state.box.upper - state.box.lower) * rng(7).random((2000, 2))
        mapped = new.space.to_inference(state.space.to_original(inside))
        covered = (mapped >= new.box.lower) & (mapped <= new.box.upper)
        assert covered.all(axis=1).mean() > 0.99

    @pytest.mark.parametrize("full_refit", [False, True])
    def test_bookkeeping(self, full_refit):
        state = fitted_state(history=make_history(9), n_whitenings=1)
        new = whitened(state, state.mixture.covariance(), full_refit=full_refit)
        assert (new.n_whitenings, new.last_whitening) == (2, 10)
        assert new.full_refit == full_refit
        assert new.fit is None
        assert new.memory.root is None
        assert new.evaluations is state.evaluations
        assert new.trimmed is state.trimmed
        assert not new.space.is_standard
        assert state.space.is_standard

    def test_the_mixture_before_the_iteration_does_not_stay_behind(self):
        """Else the refit compares mixtures of two spaces and may start from the wrong one."""
        new = whitened(fitted_state(), np.diag([0.04, 0.0004]))
        gp = GaussianProcess.condition(new.training.data, new.memory.vectors)
        assert new.before is None
        assert better_start(new, gp) is new.mixture


class TestGoingBack:
    def test_to_the_coordinates_and_hyperparameters_of_a_solution(self):
        old = fitted_state()
        solution = solution_of(old)
        lost = whitened(old, np.diag([9.0, 1e-4]))
        lost = replace(lost, history=make_history(6), n_whitenings=2)
        back = go_back(rng(), lost, solution)
        assert back.space is solution.space
        assert back.mixture is solution.mixture
        assert back.training.data.equals(old.training.data)
        np.testing.assert_allclose(back.memory.vectors[1:], solution.theta)
        np.testing.assert_allclose(back.memory.vectors[0], solution.weights @ solution.theta)
        assert back.memory.root is None
        assert back.full_refit
        assert (back.fit, back.before) == (None, None)
        assert (back.n_whitenings, back.last_whitening) == (2, 7)
        np.testing.assert_array_equal(back.plausible_range, 1.0)

    def test_the_search_box_still_covers_what_it_did(self):
        old = fitted_state()
        lost = whitened(old, TURNED)
        back = go_back(rng(), lost, solution_of(old))
        inside = lost.box.lower + (lost.box.upper - lost.box.lower) * rng(7).random((2000, 2))
        mapped = inside @ linear_map(lost.space, back.space)
        covered = (mapped >= back.box.lower) & (mapped <= back.box.upper)
        assert covered.all(axis=1).mean() > 0.99

    def test_evaluations_since_then_are_kept(self):
        old = fitted_state(n=20)
        later = fitted_state(n=40)
        back = go_back(rng(), later, solution_of(old))
        assert back.evaluations is later.evaluations
        assert back.training.data.size == 40
