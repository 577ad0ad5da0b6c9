"""A target that was changed since its journal was written: noticed, wherever the target runs."""

import shutil
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from multiprocessing import get_context

import numpy as np
import pytest
from helpers.problems import QUICK, box, noisy, normal

from quell import InferenceInterrupted, JournalError, Problem, Sampler, infer, read_journal
from quell.study import study

MEND = 0.125  #: what the mended target adds; a quarter of the SD of its noise


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.quelljournal"


def run(path, target, noise="auto", vectorised=False, **changes):
    problem = Problem(target, **box(), noise=noise, vectorised=vectorised)
    how = {"budget": 12, "seed": 1, "settings": QUICK, "progress": False, "journal": path}
    return infer(problem, **(how | changes))


FINISHED = {}  #: journals of finished runs by target and noise, so that each is made once


def finish(path, target, noise="auto"):
    """The journal of a finished run."""
    key = target, noise
    if key not in FINISHED:
        run(path, target, noise)
        FINISHED[key] = path.read_bytes()
    path.write_bytes(FINISHED[key])


def shifted(theta, rng, by=MEND):
    value, sd = noisy(theta, rng)
    return value + by, sd


def bare(theta, rng, by=0.0):
    return noisy(theta, rng)[0] + by


class Own:
    """A noisy target with random numbers of its own."""

    def __init__(self, shift=0.0, sd=0.5):
        self.rng, self.shift, self.sd = np.random.default_rng(5), shift, sd

    def __call__(self, theta):
        return normal(theta) + self.shift + 0.5 * self.rng.standard_normal(), self.sd


class OwnInSpiteOfRng(Own):
    def __call__(self, theta, rng):
        return super().__call__(theta) if rng else None


def unknown(shift=0.0):
    own = Own(shift)
    return lambda theta: own(theta)[0]


@pytest.mark.parametrize(
    ("old", "new", "noise"),
    [
        (noisy, shifted, "auto"),
        (noisy, lambda theta, rng: (noisy(theta, rng)[0], 0.25), "reported"),  # only its SD
        (normal, lambda theta: normal(theta) + 1e-6, "exact"),
        (normal, lambda theta: normal(theta) + 1e-6, "auto"),
        (bare, partial(bare, by=MEND), "unknown"),
        (Own(), Own(-20.0), "reported"),
        (OwnInSpiteOfRng(), OwnInSpiteOfRng(-20.0), "reported"),
        (unknown(), unknown(-20.0), "unknown"),
        (noisy, lambda _theta: 1 / 0, "reported"),
        (noisy, lambda _theta: (-np.inf, 0.5), "reported"),
    ],
)
def test_is_refused_and_nothing_is_recorded(path, old, new, noise):
    finish(path, old, noise)
    before = read_journal(path)
    for budget in (12, 14) if new is shifted else (12,):  # finished, or to go on
        with pytest.raises(JournalError, match=r"is of another target: at \[.*journal_check=False"):
            run(path, new, noise, budget=budget)
    after = read_journal(path)
    np.testing.assert_array_equal(after.evaluations.value, before.evaluations.value)
    assert len(after.pending) == 0


def test_it_can_be_left_out(path):
    finish(path, noisy)
    assert run(path, shifted, budget=13, journal_check=False).evaluations.n_counted == 13


def test_both_values_are_told(path):
    finish(path, noisy)
    value = float(read_journal(path).evaluations.value[-1])
    with pytest.raises(JournalError) as caught:
        run(path, shifted)
    assert f"gave {value!r} (SD 0.5); evaluated with the same random numbers it gave" in str(
        caught.value
    )
    assert f"gave {value + MEND!r} (SD 0.5)." in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "noise"),
    [
        (normal, lambda theta: normal(theta) * (1 + 1e-13), "exact"),  # summed in another order
        (Own(), Own(0.5), "reported"),
        (OwnInSpiteOfRng(), OwnInSpiteOfRng(0.5), "reported"),
        (unknown(), unknown(0.5), "unknown"),
    ],
)
def test_what_may_be_chance_or_rounding_is_not(path, old, new, noise):
    finish(path, old, noise)
    assert run(path, new, noise, budget=13).evaluations.n_counted == 13


def test_an_evaluation_that_is_lost_says_nothing(path):
    """A time-out is no change: the evaluation before it is compared."""
    finish(path, noisy, "reported")
    last = read_journal(path).evaluations.theta[-1]

    def slow(theta, rng):
        if np.array_equal(theta, last):
            time.sleep(30)
        return noisy(theta, rng)

    assert run(path, slow, "reported", timeout=2.0).evaluations.n_counted == 12

    def slow_and_shifted(theta, rng):
        value, sd = slow(theta, rng)
        return value + MEND, sd

    with pytest.raises(JournalError, match="another target"):
        run(path, slow_and_shifted, "reported", timeout=2.0)


@pytest.mark.parametrize("n_failures", [1, 2, 5])
def test_failures_by_chance_are_no_change(path, n_failures):
    finish(path, noisy, "reported")
    calls = []

    def flaky(theta, rng):
        calls.append(1)
        if len(calls) <= n_failures:
            raise OSError("no licence")
        return noisy(theta, rng)

    assert run(path, flaky, "reported").evaluations.n_counted == 12
    assert len(calls) == n_failures + 1


def test_an_evaluation_of_a_second_attempt_has_its_own_random_numbers(path):
    calls = []

    def first_fails(theta, rng):
        calls.append(1)
        if len(calls) % 2:
            raise OSError("no licence")
        return noisy(theta, rng)

    result = run(path, first_fails, "reported", retries=1)
    assert result.evaluations.n_failed == 0
    assert run(path, noisy, "reported", budget=13).evaluations.n_counted == 13
    with pytest.raises(JournalError, match="another target"):
        run(path, shifted, "reported")


def test_a_batch_of_a_vectorised_target(path):
    def target(thetas, rng):
        noise = np.array([one.standard_normal() for one in rng])
        return -0.5 * (thetas**2).sum(axis=1) + 0.5 * noise, 0.5

    run(path, target, vectorised=True, workers=3)
    assert run(path, target, vectorised=True, workers=3, budget=14).evaluations.n_counted >= 14
    with pytest.raises(JournalError, match="another target"):
        run(path, lambda t, rng: (target(t, rng)[0] + MEND, 0.5), vectorised=True, workers=3)


def test_where_the_workers_are(path):
    finish(path, noisy)
    with ThreadPoolExecutor(2) as executor:
        run(path, noisy, executor=executor)
    refused = pytest.raises(JournalError, match="another target")
    with ProcessPoolExecutor(1, get_context("spawn")) as executor, refused:
        run(path, shifted, executor=executor)


def test_what_a_user_told_cannot_be_compared(path):
    problem = Problem(noisy, **box(), noise="reported")
    with Sampler(problem, seed=1, settings=QUICK, journal=path) as sampler:
        points = sampler.ask(11)
        sampler.tell(points, -0.5 * points[:, 0] ** 2, 0.5, seconds=1.0)
    assert run(path, noisy, "reported").evaluations.n_counted == 12
    with pytest.raises(JournalError, match="another target"):  # with what the run made itself
        run(path, shifted, "reported")


def test_only_failures_cannot_be_compared(path):
    calls = []

    def bad(_theta):
        calls.append(1)
        raise KeyboardInterrupt if len(calls) in (3, 5) else ValueError("no")

    for n_failed in (2, 3):
        with pytest.raises(InferenceInterrupted):
            run(path, bad, "reported")
        assert read_journal(path).evaluations.n_failed == n_failed


def test_ctrl_c_while_it_is_compared(path):
    def interrupt(_theta):
        raise KeyboardInterrupt

    finish(path, noisy, "reported")
    with pytest.raises(InferenceInterrupted, match="compared with the journal") as caught:
        run(path, interrupt, "reported")
    assert len(caught.value.evaluations) == len(read_journal(path).evaluations) == 12


def test_the_summary_says_from_when_the_journal_is(path):
    assert run(None, noisy).journal == ""
    finish(path, noisy)
    result = run(path, noisy)
    begun = read_journal(path).when[0]
    assert f"continues the journal 'run.quelljournal' of {begun:%Y-%m-%d}" in result.summary()
    assert "with 12 evaluations until" in result.journal


def studied(target, folder, **changes):
    how = {"seeds": [1, 2], "budget": 12, "settings": QUICK, "progress": False}
    problems = {"a": Problem(target, **box()), "b": Problem(noisy, **box())}
    return study(problems, folder=folder, **(how | changes))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a finished study, and its rows."""
    folder = tmp_path_factory.mktemp("study")
    return folder, studied(noisy, folder).rows


class TestStudy:
    def test_finished_runs(self, finished):
        folder, first = finished
        rows = studied(shifted, folder).rows
        assert ["is of another target" in row.error for row in rows] == [True, True, False, False]
        assert rows[2:] == first[2:]
        assert studied(shifted, folder, journal_check=False).rows == first
        assert studied(noisy, folder).rows == first

    def test_runs_that_go_on(self, finished, tmp_path):
        folder = shutil.copytree(finished[0], tmp_path / "copy")
        rows = studied(shifted, folder, budget=13, seeds=[1]).rows
        assert ["is of another target" in row.error for row in rows] == [True, False]
        assert rows[1].evaluations == 13

    def test_in_other_processes(self, finished):
        with ProcessPoolExecutor(1, get_context("spawn")) as executor:
            rows = studied(shifted, finished[0], executor=executor).rows
        assert "is of another target" in rows[0].error
        with ThreadPoolExecutor(1) as executor:
            rows = studied(shifted, finished[0], executor=executor, unit="evaluation").rows
        assert "is of another target" in rows[0].error

    def test_ctrl_c_while_they_are_compared(self, finished):
        def interrupt(_theta, _rng=None):
            raise KeyboardInterrupt

        rows = studied(interrupt, finished[0]).rows
        assert [row.error for row in rows] == ["interrupted by the user"] * 4
