"""What a result says against itself."""

import numpy as np
import pytest
from helpers.problems import make, noisy, run
from helpers.vbmc import make_history, make_iteration

from quell.run.report import _caveats
from quell.vbmc import Action
from quell.vbmc.finish import best_iteration


def caveats(history=(), chosen=None, *, proper=True):
    chosen = make_iteration(stable=True) if chosen is None else chosen
    return " / ".join(_caveats(chosen, history, proper=proper))


def test_nothing_against_an_ordinary_run():
    assert caveats(make_history(5, action=Action.WHITENING)) == ""


def test_an_improper_prior():
    assert "improper" in caveats(proper=False)


@pytest.mark.parametrize(("times", "words"), [(1, "lost once,"), (3, "lost 3 times,")])
def test_a_surrogate_that_was_lost(times, words):
    actions = [Action.WENT_BACK] * times + [Action.NONE] * 2
    found = caveats(make_history(len(actions), action=actions))
    assert words in found
    assert "went on from before" in found


@pytest.mark.parametrize(
    ("n", "words"),
    [(1, "1 evaluation gave -inf beside good ones and was"), (7, "7 evaluations gave -inf beside")],
)
def test_accidents_of_a_noisy_target(n, words):
    chosen = make_iteration(stable=True)
    assert _caveats(chosen, (), proper=True, n_accidents=n)[0].startswith(words)
    assert _caveats(chosen, (), proper=True, n_accidents=0) == []


def test_lost_for_good_at_the_end():
    history = make_history(4, elbo=[-3.0, -2.0, 2e7, 2e7], believable=[True, True, False, False])
    found = caveats(history, best_iteration(history))
    assert "at the end of the run" in found
    assert "the solution after 15 evaluations" in found
    found_again = make_history(4, believable=[True, True, False, True])
    for chosen in found_again:
        assert "at the end of the run" not in caveats(found_again, chosen)


def test_they_are_among_the_reasons_of_a_result():
    result = run(make(noisy))
    chosen = result.iterations[result.chosen - 1]
    assert result.verdict.reasons
    assert all(reason in result.reasons for reason in result.verdict.reasons)
    assert np.isfinite(result.log_evidence)
    assert "believable" in chosen.as_row()
