"""The end of an iteration: which refits follow it."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import SETTINGS, fitted_state, make_iteration

from quell import Settings
from quell.vbmc.update import _retrain_frequently


def retrains(state, index, reliability, settings=SETTINGS):
    record = make_iteration(index, reliability=reliability)
    return _retrain_frequently(state, record, settings)


@pytest.fixture(scope="module")
def later():
    """A noisy state whose warm-up ended in iteration 10."""
    return fitted_state(n=6, last_warmup=10)


class TestFrequentRetrain:
    def test_in_warmup_and_while_unreliable(self, later):
        in_warmup = replace(later, warmup=True, last_warmup=None)
        for index in (1, 5, 100):
            assert retrains(in_warmup, index, 0.5)
        for reliability, expected in ((2.9, False), (3.0, False), (3.1, True), (np.inf, True)):
            assert retrains(later, 30, reliability) == expected

    def test_in_two_iterations_after_warmup(self, later):
        # the record is of the iteration before
        assert [retrains(later, index, 0.5) for index in (10, 11, 12)] == [True, True, False]

    def test_under_noise_only_where_nothing_else_is_said(self, later):
        exact = replace(later, noisy=False)
        assert not retrains(exact, 30, 99.0)
        assert retrains(exact, 30, 99.0, Settings(frequent_retrain=True))
        assert not retrains(later, 30, 99.0, Settings(frequent_retrain=False))
