"""Journals written before today: they open, and their runs go on.

The files were written when the journal's vocabulary was another one: ``infer`` with a head start, a
start and attempts that failed; a sampler with failures, a point of the user's own, one forgotten,
two pending.
"""

import shutil
from pathlib import Path

import numpy as np
import pytest

from quell import JournalError, Problem, Sampler, Settings, infer, read_journal
from quell.journal import Journal

DATA = Path(__file__).parent / "data"


def noisy(theta, rng):
    return -0.5 * float(np.sum(theta**2)) + 0.5 * rng.standard_normal(), 0.5


def problem(target=noisy, **changes):
    box = {
        "lower": [-10, -10], "upper": [10, 10],
        "plausible_lower": [-3, -3], "plausible_upper": [3, 3], "names": ["a", "b"],
        "bounded": "probit",  # the default of then
    }  # fmt: skip
    return Problem(target, **box | changes)


@pytest.fixture
def old(tmp_path):
    def copy(name):
        return shutil.copy(DATA / f"before-events-{name}.quelljournal", tmp_path / name)

    return copy


def test_its_evaluations_can_be_read(old):
    contents = read_journal(old("infer"))
    assert (contents.seed, contents.n_lost) == (11, 0)
    table = contents.evaluations
    assert (len(table), table.n_counted) == (26, 24)
    assert table.origin.count("given") == 2
    assert table.origin[2] == "start"
    assert {who.split(":")[0] for who in contents.who[2:]} == {"host"}


def test_the_file_has_attempts_that_failed(old):
    journal = Journal(old("infer"))
    attempts = [e for events in journal.events() for e in events if not getattr(e, "final", True)]
    journal.close()
    assert len(attempts) == 2


def test_a_run_goes_on_with_a_larger_budget(old):
    path = old("infer")
    before = read_journal(path).evaluations
    calls = []

    def counting(theta, rng):
        calls.append(theta)
        return noisy(theta, rng)

    result = infer(
        problem(counting), budget=30, seed=11, start=[0.5, -0.5], retries=1, journal=path,
        evaluations=([[1.0, 1.0], [2.0, -1.0]], [-1.0, -2.5], [0.5, 0.5]), progress=False,
    )  # fmt: skip
    assert len(calls) == 7  # one to compare the target with the journal
    table = result.evaluations
    assert table.n_counted == 30
    np.testing.assert_array_equal(table.theta[: len(before)], before.theta)
    np.testing.assert_array_equal(table.value[: len(before)], before.value)
    assert abs(result.log_evidence - np.log(2 * np.pi / 400)) < 1.5


def test_a_sampler_goes_on_with_what_was_pending(old):
    with Sampler(problem(), seed=12, journal=old("sampler")) as sampler:
        assert len(sampler.evaluations) == 15
        assert sampler.evaluations.n_failed == 2
        assert sampler.evaluations.origin.count("user") == 1
        assert [asked.index for asked in sampler.asked] == [15, 16]
        points = sampler.pending
        sampler.tell(points, [noisy(p, np.random.default_rng(i))[0] for i, p in enumerate(points)],
                     0.5)  # fmt: skip
        sampler.ask(3)
        assert len(sampler.asked) == 3
        assert np.isfinite(sampler.result().elbo)


def test_a_forgotten_point_may_still_be_told(old):
    with Sampler(problem(), seed=12, journal=old("sampler")) as sampler:
        [forgotten] = sampler._engine.pending.forgotten.values()
        sampler.tell(forgotten.theta, -1.0, 0.5)
        assert sampler.evaluations.index[-1] == forgotten.index


def test_settings_that_are_gone_had_their_only_value(old):
    assert {"whitening_undo_test", "noise_shaping"} <= set(read_journal(old("infer")).settings)


@pytest.mark.parametrize(
    ("changes", "settings", "word"),
    [
        ({"lower": [-11, -10]}, None, r"problem.lower\[0\]: -10.0 in the journal, -11.0 now"),
        ({}, Settings(batch=4), "settings.batch: 5 in the journal, 4 now"),
    ],
)
def test_another_run_is_refused_with_the_difference(old, changes, settings, word):
    with pytest.raises(JournalError, match=word):
        Sampler(problem(**changes), settings=settings, journal=old("sampler"))


def test_before_versions_were_recorded(old):
    assert read_journal(old("infer")).version == ""


@pytest.mark.parametrize("bounded", ["logit", "soft", ["probit", "student"]])
def test_another_map_is_another_run(old, bounded):
    with pytest.raises(JournalError, match=r'problem.bounded\[\d\]: "probit" in the journal'):
        Sampler(problem(bounded=bounded), seed=12, journal=old("sampler"))
