"""Edges of a support that only evaluations of no density tell of, and accidents told from them."""

import warnings

import numpy as np
import pytest
from helpers.vbmc import make_state, unbounded_problem

from quell import Problem, infer, load, stack
from quell.vbmc.edge_looks import doubt, next_at_edge, with_latest_edges
from quell.vbmc.found_edge import FoundSupport, found_support, log_chance, separating_plane
from quell.vbmc.refit import with_found

INF = np.inf


def cloud(n, d, seed=0):
    """Evaluations of a run: most around the mode, some far out."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) * np.where(rng.random((n, 1)) < 0.3, 3.0, 1.0)


def by_accident(n, share, seed=1):
    return np.random.default_rng(seed).random(n) < share


def found_in(x, zero, noisy=True, **changes):
    space = unbounded_problem(x.shape[1]).space
    return found_support(space, x[~zero], x[zero], noisy=noisy, **changes)


class TestIsItOne:
    @pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
    @pytest.mark.parametrize("seed", range(5))
    def test_accidents_alone_are_no_edge(self, d, seed):
        x = cloud(40 * d, d, seed)
        assert found_in(x, by_accident(len(x), 0.1, seed + 100)) is None

    @pytest.mark.parametrize("d", [1, 2, 3, 4, 6])
    @pytest.mark.parametrize("share", [0.0, 0.05])
    def test_a_plane(self, d, share):
        """With accidents and without: what lies beyond is known, also of points that are new."""
        x = cloud(40 * d + 40, d, d)
        beyond = x.sum(axis=1) > 0.7 * np.sqrt(d)
        accident = ~beyond & by_accident(len(x), share)
        found = found_in(x, beyond | accident)
        assert found is not None
        assert np.mean(found(x[beyond])) < 0.05
        assert found(x[~beyond & ~accident]).all()
        assert np.sum(found(x[accident])) >= 0.7 * accident.sum()
        new = cloud(2000, d, 99)
        assert np.mean(found(new) != (new.sum(axis=1) <= 0.7 * np.sqrt(d))) < 0.05

    @pytest.mark.parametrize("d", [2, 3])
    def test_a_curved_one(self, d):
        x = cloud(80 * d, d)
        beyond = np.sum(x**2, axis=1) > 2 * d
        found = found_in(x, beyond, noisy=False)
        assert found is not None
        assert [edge.kind for edge in found.edges] == ["curved"]
        assert np.array_equal(found(x), ~beyond)

    def test_two(self):
        x = cloud(200, 2)
        beyond = (x[:, 0] > 0.7) | (x[:, 1] < -0.5)
        found = found_in(x, beyond | by_accident(200, 0.03))
        assert found is not None
        assert np.mean(found(x[beyond])) < 0.05

    def test_the_bound_holds(self):
        """Labels at random, among points on a line: how often some are beyond all others."""
        rng = np.random.default_rng(0)
        n, m, b = 12, 4, 3
        found = 0
        for _ in range(4000):
            zero = np.isin(np.arange(n), rng.choice(n, m, replace=False))
            found += zero[:b].all() or zero[-b:].all()
        assert 0 < found / 4000 < np.exp(log_chance(n, m, b, 1))

    def test_what_is_between_two_good_regions_is_none(self):
        x = np.linspace(-3, 3, 61)[:, None]
        zero = np.abs(x[:, 0]) < 0.05
        assert found_in(x, zero) is None


class TestWhereIsIt:
    def test_in_the_middle_of_the_widest_gap(self):
        """Brute force: of all directions, that in which the two kinds are furthest apart."""
        x = cloud(60, 2, 3)
        side = x @ [0.6, 0.8] < 0.5
        w = separating_plane(x[side], x[~side])
        angles = np.linspace(0, 2 * np.pi, 20001)
        normals = np.column_stack([np.cos(angles), np.sin(angles)])
        gaps = (x[side] @ normals.T).min(axis=0) - (x[~side] @ normals.T).max(axis=0)
        assert 2 / np.linalg.norm(w[:2]) == pytest.approx(gaps.max(), rel=0.01)
        height = x @ w[:2] + w[2]
        assert height[side].min() == pytest.approx(1, abs=1e-4)
        assert height[~side].max() == pytest.approx(-1, abs=1e-4)

    @pytest.mark.parametrize("gap", [1.0, 1e-2, 1e-4])
    def test_however_narrow(self, gap):
        good, zero = np.array([[-1.0], [0.0]]), np.array([[gap], [1.0 + gap]])
        w = separating_plane(good, zero)
        assert -w[1] / w[0] == pytest.approx(gap / 2, rel=0.02)

    def test_nowhere(self):
        assert separating_plane(np.array([[0.0], [2.0]]), np.array([[1.0]])) is None

    def test_it_stays_until_something_is_evaluated_in_the_gap(self):
        x = cloud(60, 2)
        zero = x[:, 0] > 0.7
        found = found_in(x, zero)
        far = np.append(x, [[-2.0, 0.0]], axis=0)
        assert found_in(far, np.append(zero, False), before=found) is found
        near = np.append(x, [[x[zero, 0].min() - 1e-3, 0.0]], axis=0)
        moved = found_in(near, np.append(zero, False), before=found)
        assert moved is not found
        assert moved(near[-1:]).all()

    def test_within_what_is_given(self):
        x = cloud(60, 2)
        found = found_in(x, x[:, 0] > 0.7, given=lambda theta: theta[:, 1] > 0)
        assert found(np.array([[0.0, 1.0], [0.0, -1.0], [2.0, 1.0]])).tolist() == [1, 0, 0]
        assert not found.undecided(np.array([[0.7, -1.0]])).any()


def state_beside(edge=0.7, share=0.0, noisy=True, **changes):
    theta = cloud(80, 2)
    zero = (theta[:, 0] > edge) | by_accident(80, share)
    values = np.where(zero, -INF, -0.5 * np.sum(theta**2, axis=1))
    sds = 1.0 if noisy else 0.0
    state = make_state(unbounded_problem(2), theta, values, sds=sds, noisy=noisy, **changes)
    return state, zero


class TestInARun:
    @pytest.mark.parametrize("noisy", [True, False])
    def test_what_is_beyond_is_neither_an_accident_nor_learnt(self, noisy):
        state, zero = state_beside(noisy=noisy, warmup=False)
        state = with_found(state)
        assert state.support is state.found is not None
        assert state.training.n_accidents == 0
        assert sorted(state.training.rows) == np.flatnonzero(~zero).tolist()

    def test_accidents_on_the_good_side_are_still_found(self):
        state, zero = state_beside(share=0.05, warmup=False)
        state = with_found(state)
        inside = zero & (state.evaluations.theta[:, 0] < 0.7)
        assert inside.sum() >= 2
        assert 1 <= state.training.n_accidents <= inside.sum()

    def test_not_in_warm_up(self):
        state, _ = state_beside(warmup=True)
        assert with_found(state) is state

    def test_nothing_changes_without_zero_density(self):
        state, _ = state_beside(edge=INF, warmup=False)
        assert with_found(state) is state

    def test_an_exact_target_has_no_accidents(self):
        state, _ = state_beside(noisy=False, share=0.05, warmup=False)
        assert with_found(state).found is None


def half_normal(edge=0.0, sd=0.0):
    def target(theta, rng):
        value = -0.5 * np.sum(theta**2) + sd * rng.standard_normal()
        value = value if theta[0] < edge else -INF
        return (value, sd) if sd else value

    return Problem(
        target, lower=[-10] * 2, upper=[10] * 2, plausible_lower=[-3] * 2, plausible_upper=[3] * 2,
        noise="reported" if sd else "exact",
    )  # fmt: skip


@pytest.fixture(scope="module")
def noisy():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return infer(half_normal(sd=1.0), budget=100, seed=5000, progress=False)


class TestWholeRuns:
    def test_the_posterior_ends_at_the_edge(self, noisy):
        """As low values, or left out, the points beyond made the density beside it fall early."""
        assert isinstance(noisy.solution.support, FoundSupport)
        assert noisy.posterior.mean()[0] == pytest.approx(-np.sqrt(2 / np.pi), abs=0.12)
        assert noisy.log_evidence == pytest.approx(np.log(np.pi / 400), abs=0.4)
        draws = noisy.posterior.sample(2000, np.random.default_rng(0))
        assert np.mean(draws[:, 0] > 0) < 0.05
        assert any("edge" in reason and "constraint=" in reason for reason in noisy.reasons)

    @pytest.mark.parametrize("seed", [5003, 5004])
    def test_exact(self, seed):
        """Learnt as low values, the edge made the log evidence .11 and .13 too low, SD .01."""
        result = infer(half_normal(), budget=70, seed=seed, progress=False)
        assert abs(result.log_evidence - np.log(np.pi / 400)) < 0.05
        assert np.std(result.posterior.sample(2000, np.random.default_rng(0))[:, 1]) > 0.8

    def test_from_a_file(self, noisy, tmp_path):
        noisy.save(tmp_path / "run.quell")
        again = load(tmp_path / "run.quell")
        theta = cloud(200, 2)
        assert np.array_equal(again.posterior.support(theta), noisy.posterior.support(theta))
        assert np.allclose(again.posterior.log_density(theta), noisy.posterior.log_density(theta))

    def test_stacked(self, noisy):
        other = infer(half_normal(sd=1.0), budget=100, seed=5001, progress=False)
        stacked = stack([noisy, other])
        assert stacked.log_evidence == pytest.approx(np.log(np.pi / 400), abs=0.4)

    def test_contradicted_by_a_value_beyond(self, noisy):
        table = noisy.evaluations
        beyond = table.theta[table.zero_density][:, 0].max() + 1.0
        theta = np.concatenate([table.theta, [[beyond, 0.0]]])
        values = np.append(np.where(table.ok, table.log_joint, -INF), -1.0)
        state = make_state(unbounded_problem(2), theta, values)
        assert with_latest_edges(noisy.solution, table) is not None
        latest = with_latest_edges(noisy.solution, state.evaluations)
        assert latest is None or latest.support(theta[-1:]).all()


class TestDoubt:
    def test_the_mass_in_the_gap(self):
        """Brute force: the SD of the log mass, the edge anywhere in the gap."""
        good, zero = np.linspace(-3, -0.1, 40)[:, None], np.linspace(0.1, 3, 20)[:, None]
        space = unbounded_problem(1).space
        found = found_support(space, good, zero, noisy=False)
        draws = np.random.default_rng(0).uniform(-1, 1, size=(100_000, 1))
        edges = np.linspace(-0.1, 0.1, 201)
        masses = [np.mean(draws < edge) for edge in edges]
        assert doubt(found, draws) == pytest.approx(np.std(np.log(masses)), rel=0.1)

    def test_no_look_without_an_edge(self):
        state, _ = state_beside(edge=INF, warmup=False)
        rng = np.random.default_rng(0)
        assert next_at_edge(rng, unbounded_problem(2), state, np.empty((0, 2))) is None
