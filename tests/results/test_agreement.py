"""Several runs beside each other."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.problems import make, noisy, run

from quell import diagnose
from quell.mixture import Mixture


@pytest.fixture(scope="module")
def result():
    return run(make(noisy), budget=40)


def moved(result, by=0.0, evidence=0.0, sd=None):
    """The same answer, shifted in inference space, with another log evidence."""
    q = result.posterior.mixture
    other = Mixture(q.weights, q.means + by, q.scales, q.lengths)
    return replace(
        result,
        posterior=replace(result.posterior, mixture=other),
        log_evidence=result.log_evidence + evidence,
        log_evidence_sd=result.log_evidence_sd if sd is None else sd,
    )


def test_runs_that_agree_vouch_for_each_other(result):
    found = diagnose([result, moved(result, 0.001), moved(result, 0.0, 0.1)])
    assert found.agree.all()
    assert found.disagreeing == ()
    assert found.answer == "usable"
    assert found.answers == (result.check().answer,) * 3
    assert np.array_equal(found.mmtv, found.mmtv.T)
    assert np.diag(found.gskl).tolist() == [0.0] * 3
    assert "run 1, run 2" in str(found)
    assert repr(found) == "Agreement(usable, 3 of 3 runs agree)"


def test_the_one_that_disagrees_is_named(result):
    found = diagnose({"a": result, "b": moved(result, 2.0), "c": moved(result, 0.001)})
    assert found.disagreeing == ("b",)
    assert found.answer == "not yet"
    assert "(b)" in found.reasons[0]
    assert not found.agree[0, 1]
    assert found.mmtv[0, 1] > 0.5


def test_where_no_more_than_half_agree_nothing_is_known(result):
    found = diagnose([result, moved(result, 2.0)])
    assert found.answer == "no"
    assert "quell.join_evaluations" in found.reasons[0]


@pytest.mark.parametrize(("evidence", "sd", "agree"), [(0.9, 0.1, True), (1.5, 0.1, False),
                                                       (1.5, 1.0, True)])  # fmt: skip
def test_log_evidences_agree_within_a_nat_or_their_error_bars(result, evidence, sd, agree):
    one, other = moved(result, sd=sd), moved(result, evidence=evidence, sd=sd)
    found = diagnose([one, other])
    assert found.agree[0, 1] == agree
    assert found.evidence_z[0, 1] == pytest.approx(evidence / np.hypot(sd, sd))


def test_runs_with_something_against_them_do_not_vouch(result):
    finding = replace(result.findings[0], text="something is wrong")
    verdict = replace(result.verdict, findings=(finding,))
    wrong = replace(result, verdict=verdict)
    found = diagnose([wrong, moved(wrong, 0.001), moved(result, 0.002)])
    assert found.answer == "no"
    assert "2 of the 3 runs" in found.reasons[0]


def test_bad_input(result):
    with pytest.raises(ValueError, match="at least two results are needed to compare"):
        diagnose(result)
    with pytest.raises(ValueError, match=r"got 1; result\.check"):
        diagnose([result])
    with pytest.raises(TypeError, match=r"must be a quell\.Result, got int"):
        diagnose([result, 3])
    with pytest.raises(TypeError, match="must be a list of results, got NoneType"):
        diagnose(None)
    with pytest.raises(ValueError, match="'run 1' and 'run 3' are the same run"):
        diagnose([result, moved(result, 0.1), moved(result)])
    other = replace(result, problem=result.problem | {"upper": [99.0]})
    with pytest.raises(ValueError, match=r"'run 1' and 'run 2' differ in upper: .* and \[99.0\]"):
        diagnose([result, other])
