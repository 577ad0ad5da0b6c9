"""Twins of a posterior: where the symmetries of the bounds would have them."""

import numpy as np
import pytest
from helpers.vbmc import found_on_a_line, make_iteration, make_problem, unbounded_problem
from hypothesis import given, settings
from hypothesis import strategies as st

import quell
from quell.space.bounds import check_bounds
from quell.vbmc import twins
from quell.vbmc.twins import MOST_PER_DIMENSION, next_twin, symmetries

LINE = unbounded_problem(1)  # θ = 4 x: the plausible box is [−2, 2]
NONE = np.empty((0, 1))


def images(bounds, point):
    return [
        symmetry.image(np.array(point, dtype=float)).tolist() for symmetry in symmetries(bounds)
    ]


class TestSymmetries:
    def test_two_labels_change_places_with_all_that_is_theirs(self):
        """Two means, two rates; no parameter has bounds that are symmetric."""
        bounds = check_bounds([0, -4, 0, -4], [10, 4, 10, 4], [1, -2, 1, -2], [5, 1, 5, 1])
        assert images(bounds, [1, 2, 3, -1]) == [[3, -1, 1, 2], [3, 2, 1, -1], [1, -1, 3, 2]]

    def test_of_three_labels_each_pair(self):
        bounds = check_bounds([0] * 3, [10] * 3, [1] * 3, [5] * 3)
        assert images(bounds, [1, 2, 3]) == [[2, 1, 3], [3, 2, 1], [1, 3, 2]]

    def test_labels_whose_parameters_all_have_the_same_bounds(self):
        """Two labels of two parameters: label by label, then kind by kind, then two alone."""
        bounds = check_bounds([0] * 4, [10] * 4, [1] * 4, [5] * 4)
        found = images(bounds, [1, 2, 3, 4])
        assert found[:2] == [[3, 4, 1, 2], [2, 1, 4, 3]]
        assert len(found) == 8
        three = check_bounds([0] * 6, [10] * 6, [1] * 6, [5] * 6)
        assert [3, 4, 1, 2, 5, 6] in images(three, [1, 2, 3, 4, 5, 6])
        assert [2, 1, 3, 5, 4, 6] in images(three, [1, 2, 3, 4, 5, 6])

    def test_what_has_no_sign_is_turned_all_at_once_and_alone(self):
        bounds = check_bounds([-9, -np.inf, 0], [9, np.inf, 9], [-3, 1, 1], [3, 5, 2])
        assert images(bounds, [2, 4, 5]) == [[-2, 2, 5], [-2, 4, 5], [2, 2, 5]]

    def test_angles_are_turned_by_half_a_circle(self):
        bounds = check_bounds([0.0], [180.0], [30.0], [60.0], periodic=[True])
        assert images(bounds, [50]) == [[140]]
        assert images(bounds, [140]) == [[50]]

    def test_a_fixed_parameter_stays(self):
        bounds = check_bounds([-9, 1, -9], [9, 1, 9], [-3, 1, -3], [3, 1, 3])
        assert all(image[1] == 1 for image in images(bounds, [2, 1, 4]))
        assert [4, 1, 2] in images(bounds, [2, 1, 4])

    def test_bounds_without_symmetry_have_none(self):
        bounds = check_bounds([0, 0], [9, 8], [1, 1], [2, 2])
        assert not symmetries(bounds)

    def test_there_are_never_many(self):
        bounds = check_bounds([-9] * 10, [9] * 10, [-3] * 10, [3] * 10)
        assert len(symmetries(bounds)) == MOST_PER_DIMENSION * 11

    @settings(max_examples=40, deadline=None)
    @given(seed=st.integers(0, 10_000), n=st.integers(1, 5))
    def test_an_image_is_within_the_bounds_and_twice_is_the_point_itself(self, seed, n):
        rng = np.random.default_rng(seed)
        lower = rng.choice([-2.0, 0.0], n)
        upper, periodic = lower + rng.choice([4.0, 6.0], n), rng.random(n) < 0.3
        bounds = check_bounds(lower, upper, lower + 1, upper - 1, periodic=periodic)
        theta = rng.uniform(lower, upper, (7, n))
        for symmetry in symmetries(bounds):
            image = symmetry.image(theta)
            assert (image >= lower).all()
            assert (image <= upper).all()
            assert not np.allclose(image, theta)
            np.testing.assert_allclose(symmetry.image(image), theta, atol=1e-12)


def state_at(place=-1.2, further=(), problem=LINE, **changes):
    """After warm-up, with the posterior around a place; ``further`` places were evaluated."""
    theta = np.append(np.linspace(place - 0.3, place + 0.3, 9), further)
    return found_on_a_line(problem, place, theta, **changes)


class TestNext:
    def test_it_is_the_image_of_the_best_point(self):
        assert next_twin(LINE, state_at(), NONE) == pytest.approx([1.2])

    @pytest.mark.parametrize("place", [1.1, 1.2, 1.35])
    def test_not_where_an_evaluation_would_have_shown_it(self, place):
        assert next_twin(LINE, state_at(further=[place]), NONE) is None
        assert next_twin(LINE, state_at(), np.array([[place]])) is None  # or is about to

    def test_an_evaluation_elsewhere_shows_nothing(self):
        assert next_twin(LINE, state_at(further=[0.0, 3.0]), NONE) == pytest.approx([1.2])

    def test_not_if_it_is_within_the_posterior(self):
        assert next_twin(LINE, state_at(place=0.1), NONE) is None

    def test_not_before_the_posterior_is_found(self):
        assert next_twin(LINE, state_at(warmup=True), NONE) is None
        lost = (make_iteration(reliability=1e3),)
        assert next_twin(LINE, state_at(history=lost), NONE) is None

    def test_not_where_it_cannot_be(self):
        positive = make_problem(1, prior=lambda t: 0.0 if t[0] < 1 else -np.inf)
        assert next_twin(positive, state_at(problem=positive), NONE) is None


#: Two components of a model that cannot tell them apart: each has a size and a rate.
SIZES_AND_RATES, SPREAD = np.array([[2.0, -1.0], [7.0, 2.0]]), np.array([0.3, 0.1])


def unlabelled(theta):
    here = np.reshape(theta, (2, 2))
    ways = [
        np.sum(((here - there) / SPREAD) ** 2) for there in (SIZES_AND_RATES, SIZES_AND_RATES[::-1])
    ]
    return float(np.logaddexp(*(-0.5 * np.array(ways))))


def test_a_run_finds_the_twin_of_its_posterior():
    """Without the search for twins this run knows one of the two modes."""
    problem = quell.Problem(
        unlabelled, lower=[0, -5] * 2, upper=[10, 5] * 2, plausible_lower=[1, -3] * 2,
        plausible_upper=[8, 3] * 2,
    )  # fmt: skip
    result = quell.infer(problem, budget=200, seed=3, progress=False)
    share = np.mean(result.posterior.sample(4000, np.random.default_rng(1))[:, 0] < 4.5)
    assert 0.3 < share < 0.7
    truth = np.log(2) + 2 * np.log(2 * np.pi * np.prod(SPREAD)) - np.log(1e4)
    assert result.log_evidence == pytest.approx(truth, abs=0.2)


def test_a_symmetry_is_made_once():
    """With one group of two, swapping it is swapping all groups."""
    bounds = check_bounds([0, 0], [9, 9], [1, 1], [2, 2])
    assert len(symmetries(bounds)) == 1
    assert twins.MOST_PER_DIMENSION == 2
