import numpy as np
import pytest
from helpers.native import KINDS, assert_same, in_numpy, needs_kernels, odd_mixture, wrong_sizes
from hypothesis import given, settings
from hypothesis import strategies as st

from quell.native import kernels
from quell.variational.objective import Penalty

pytestmark = needs_kernels


@settings(deadline=None, max_examples=80)
@given(
    kind=st.sampled_from(KINDS),
    n_components=st.sampled_from([1, 2, 3, 10, 50]),
    dimension=st.integers(1, 20),
    box=st.sampled_from([0.1, 1.0, 100.0]),
    pruning_weight=st.sampled_from([0.0, 0.01, 0.2]),
    weights=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_value_and_gradient_are_those_of_the_formula(
    kind, n_components, dimension, box, pruning_weight, weights, seed
):
    q = odd_mixture(n_components, dimension, kind, seed)
    unit = {"tiny": 1e-9, "huge": 1e9}.get(kind, 1.0)
    rng = np.random.default_rng(seed)
    lower = -box * unit * rng.uniform(size=dimension)
    upper = lower + box * unit * rng.integers(0, 3, size=dimension)
    penalty = Penalty(lower, upper, pruning_weight)
    ours = penalty(q, weights=weights)
    with in_numpy("quell.variational.objective"):
        theirs = penalty(q, weights=weights)
    assert_same(ours, theirs, q)


def test_a_box_of_whole_numbers_will_do():
    q = odd_mixture(3, 2, "plain")
    whole = Penalty(np.array([0, 0]), np.array([1, 2]))(q)
    real = Penalty(np.array([0.0, 0.0]), np.array([1.0, 2.0]))(q)
    assert whole[0] == real[0]
    np.testing.assert_array_equal(whole[1], real[1])


def test_wrong_sizes_are_refused():
    q = odd_mixture(3, 2, "plain")
    mixture = (q.weights, q.means, q.scales, q.lengths)
    arguments = (np.zeros(14), *mixture, np.zeros(2), np.ones(2), 0.01, True)
    assert kernels.penalty(*arguments) > 0
    for _, wrong in wrong_sizes(arguments, 7):
        with pytest.raises(ValueError, match="must hold"):
            kernels.penalty(*wrong)
    with pytest.raises(TypeError):
        kernels.penalty(*arguments[:7], "much", True)
