"""The end of an iteration: other coordinates if they are better, and back from a lost fit."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.vbmc import (
    SETTINGS,
    fitted_state,
    hand_theta,
    make_history,
    make_iteration,
    make_problem,
    make_table,
    solution_of,
    unbounded_problem,
)
from scipy import stats

from quell import Settings
from quell.gp import GaussianProcess, TrainedGP
from quell.vbmc import Action, update
from quell.vbmc.coordinates import change_coordinates, log_marginal_likelihood
from quell.vbmc.update import (
    COUNTED_AS,
    LARGE_CHANGE,
    LOST,
    adapt_coordinates,
    adapt_tails,
    end_iteration,
    is_likelier,
    is_worse,
    likelihood_gain,
    recover,
    round_shape,
    whiten_by_schedule,
)
from quell.vbmc.whitening import INTERVAL, axis_ratio

PAPER = Settings.variant("paper-viqr")
TURNED = np.array([[0.05, 0.03], [0.03, 0.04]])


def rng(seed=0):
    return np.random.default_rng(seed)


def conditioned(state, theta=None):
    """A fit to the state's data with its remembered hyperparameters, or with these."""
    theta = state.memory.vectors[1:] if theta is None else theta
    gp = GaussianProcess.condition(state.training.data, theta)
    return TrainedGP(gp, theta[0], np.eye(theta.shape[1]), 0.1, 0.8, 0)


def refitted(state, action, theta=None, **figures):
    """The state after a refit that only conditions, and records these figures."""
    fit = conditioned(state, theta)
    new = replace(state, fit=fit, memory=fit.memory, full_refit=False)
    figures = {"elbo": -2.0, "elbo_sd": 0.5, "solution": solution_of(new)} | figures
    record = make_iteration(len(state.history) + 1, action=action, **figures)
    return replace(new, history=(*state.history, record))


class Refits:
    """In place of `refit`: notes the states it was given; one set of figures for each call."""

    def __init__(self, *figures):
        self.figures, self.states, self.actions = list(figures), [], []

    def __call__(self, _rng, state, _settings, action):
        self.states.append(state)
        self.actions.append(action)
        figures = self.figures.pop(0) if self.figures else {}
        return refitted(state, action, **figures)


@pytest.fixture
def refits(monkeypatch):
    def install(*figures):
        made = Refits(*figures)
        monkeypatch.setattr(update, "refit", made)
        return made

    return install


def shaped(monkeypatch, longest):
    """As if the posterior were this much longer in one direction than in the other."""
    monkeypatch.setattr(update, "round_shape", lambda *_: 0.01 * np.diag([longest**2, 1.0]))


def after(n=7, problem=None, **changes):
    """A state after ``n`` iterations with an ELBO of −2 ± 0.5."""
    state = fitted_state(problem, **changes)
    history = make_history(n, elbo=-2.0, elbo_sd=0.5, solution=solution_of(state))
    return replace(state, history=history, n_whitenings=1)


def assert_taken_back(state, new):
    assert new.history == state.history
    for field in ("space", "mixture", "fit", "memory", "box", "before", "training"):
        assert getattr(new, field) is getattr(state, field)
    assert new.n_whitenings == state.n_whitenings + COUNTED_AS  # the next attempt waits longer
    # An interval longer than after one that was kept.
    assert new.last_whitening == len(state.history) + 1 + INTERVAL


class TestMarginalLikelihood:
    def test_is_that_of_a_normal(self):
        gp = fitted_state().fit.gp
        by_hand = []
        for hyper in gp.hyper:
            lengths, mean = hyper.lengths, hyper.mean_location
            x = gp.data.x
            offsets = (x[:, None] - x) / lengths
            noise = gp.data.variance + hyper.base_variance
            scale = np.exp(2 * hand_theta(2)[len(by_hand), 2])
            kernel = scale * np.exp(-0.5 * np.sum(offsets**2, axis=2)) + np.diag(noise)
            centre = hyper.mean_max - 0.5 * np.sum(((x - mean) / hyper.mean_scales) ** 2, axis=1)
            by_hand.append(stats.multivariate_normal(centre, kernel).logpdf(gp.data.y))
        expected = gp.weights @ by_hand
        assert log_marginal_likelihood(gp) == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("bounded", [False, True])
    @pytest.mark.parametrize("covariance", [np.diag([0.04, 0.09]), np.diag([2.0, 0.01]), TURNED])
    def test_is_the_same_in_whitened_coordinates_for_the_same_function(self, bounded, covariance):
        """The hyperparameters made by hand are round, so a rotation keeps the function too."""
        state = fitted_state(make_problem(2) if bounded else None)
        new = change_coordinates(rng(), state, state.space.whitened(covariance), full_refit=True)
        np.testing.assert_allclose(
            log_marginal_likelihood(conditioned(new).gp),
            log_marginal_likelihood(state.fit.gp), rtol=1e-6,
        )  # fmt: skip


class TestIsWorse:
    def pair(self, old=None, new=None, theta=None):
        """The same state twice, the second time with other figures or hyperparameters."""
        before = after()
        before = replace(
            before, history=(*before.history[:-1], replace(before.history[-1], **(old or {})))
        )
        return before, refitted(before, Action.WHITENING, theta, **(new or {}))

    def test_the_same_is_not(self):
        assert not is_worse(*self.pair())

    def test_whatever_the_elbo(self):
        assert not is_worse(*self.pair(new={"elbo": -99.0}))
        assert not is_worse(*self.pair(new={"elbo": 99.0}))

    def test_less_sure_of_the_elbo(self):
        limit = LOST[0] * 0.5 + LOST[1]
        assert not is_worse(*self.pair(new={"elbo_sd": 0.99 * limit}))
        assert is_worse(*self.pair(new={"elbo_sd": 1.01 * limit}))

    @pytest.mark.parametrize(
        ("before", "now", "worse"),
        [(True, True, False), (True, False, True), (False, True, False), (False, False, False)],
    )
    def test_promising_more_than_was_seen(self, before, now, worse):
        pair = self.pair({"believable": before}, {"believable": now})
        assert is_worse(*pair) == worse

    def test_another_posterior_has_to_be_likelier(self):
        """Coordinates alone change nothing: a large change must be what the observations say."""
        unlikely = hand_theta(2) + np.eye(9)[3]
        for gskl, theta, worse in (
            (2 * LARGE_CHANGE, unlikely, True),
            (0.5 * LARGE_CHANGE, unlikely, False),
            (2 * LARGE_CHANGE, None, False),
        ):
            assert is_worse(*self.pair(new={"gskl": gskl}, theta=theta)) == worse

    @pytest.mark.parametrize(("more_noise", "worse"), [(1.0, False), (1.5, True), (5.0, True)])
    def test_less_likely_by_more_than_chance(self, more_noise, worse):
        """By 2.6, 6.5 and 100 nats; nine hyperparameters differ by 4.5 from fit to fit."""
        old, new = self.pair(theta=hand_theta(2) + np.eye(9)[3] * more_noise)
        assert new.fit.gp.layout.size == 9
        assert (likelihood_gain(old, new) < -4.5) == worse
        assert is_worse(old, new) == worse
        assert not is_worse(new, old)

    def test_likelier(self):
        old, new = self.pair(theta=hand_theta(2) + np.eye(9)[3] * 5.0)
        loss = log_marginal_likelihood(old.fit.gp) - log_marginal_likelihood(new.fit.gp)
        assert loss > 1.0
        assert not is_likelier(old, new)
        assert is_likelier(new, old)
        assert is_likelier(old, old)


class TestWhitening:
    @pytest.mark.parametrize(
        "figures",
        [{"elbo_sd": 1.1}, {"believable": False}, {"theta": hand_theta(2) - 4.0, "gskl": 9.0}],
    )
    def test_a_worse_surrogate_takes_it_back(self, refits, figures):
        refits({"elbo": 9.0} | figures)
        state = after()
        assert_taken_back(state, adapt_coordinates(rng(), state, SETTINGS))

    def test_otherwise_it_is_kept_whatever_the_elbo(self, refits):
        refits({"elbo": -3.0, "elbo_sd": 1.0})
        state = after()
        new = adapt_coordinates(rng(), state, SETTINGS)
        assert len(new.history) == 8
        assert new.history[-1].action == "whitening"
        assert not new.space.is_standard
        assert (new.n_whitenings, new.last_whitening) == (2, 8)

    def test_it_may_cost_a_little_likelihood_while_the_posterior_stays(self, refits, monkeypatch):
        state = after()
        for gskl, gain, kept in (
            (0.5 * LARGE_CHANGE, -4.0, True),
            (2 * LARGE_CHANGE, -4.0, False),
            (0.5 * LARGE_CHANGE, -5.0, False),
        ):
            refits({"gskl": gskl})
            monkeypatch.setattr(update, "likelihood_gain", lambda *_, gain=gain: gain)
            new = adapt_coordinates(rng(), state, SETTINGS)
            assert (len(new.history) == 8) == kept

    def test_the_papers_is_kept_whatever_comes_of_it(self, refits):
        refits({"elbo": -99.0, "elbo_sd": 50.0, "believable": False, "theta": hand_theta(2) - 4.0})
        new = whiten_by_schedule(rng(), after(), PAPER)
        assert new.history[-1].action == "whitening"
        assert not new.space.is_standard
        assert (new.n_whitenings, new.last_whitening) == (2, 8)

    @pytest.mark.parametrize(("longest", "full"), [(1.5, False), (1.9, False), (2.1, True)])
    def test_everything_is_refitted_where_the_change_is_large(
        self, refits, monkeypatch, longest, full
    ):
        made = refits()
        shaped(monkeypatch, longest)
        state = replace(after(), frequent=False)
        new = adapt_coordinates(rng(), state, SETTINGS)
        [given] = made.states
        assert given.full_refit == full
        assert axis_ratio(0.01 * np.diag([longest**2, 1.0])) == pytest.approx(longest)
        assert len(new.history) == 8

    def test_a_small_turn_is_no_reason_to_watch_every_evaluation(self, refits, monkeypatch):
        refits()
        shaped(monkeypatch, 1.5)
        for frequent in (False, True):
            new = adapt_coordinates(rng(), replace(after(), frequent=frequent), SETTINGS)
            assert new.frequent == frequent

    def test_the_papers_refits_everything(self, refits):
        made = refits()
        whiten_by_schedule(rng(), after(), PAPER)
        assert made.states[0].full_refit

    def test_a_round_posterior_is_left_alone(self, refits, monkeypatch):
        made = refits()
        shaped(monkeypatch, 1.05)
        state = after()
        assert adapt_coordinates(rng(), state, SETTINGS) is state
        assert made.states == []

    @pytest.mark.parametrize("by", [adapt_coordinates, whiten_by_schedule])
    def test_one_dimension_is_not_whitened(self, refits, by):
        made = refits()
        state = after(30, dimension=1)
        assert by(rng(), state, SETTINGS) is state
        assert made.states == []

    def test_by_the_posterior_that_would_be_returned(self):
        """Not by the last one, if that promises more than was seen."""
        state = after(12)
        good = state.history[-1]
        odd = replace(solution_of(state).mixture, lengths=np.array([1e-3, 1e3]))
        bad = replace(
            good, index=13, elbo=2e7, believable=False, solution=replace(good.solution, mixture=odd)
        )
        lost = replace(state, history=(*state.history, bad))
        np.testing.assert_array_equal(
            round_shape(lost, state.space), round_shape(state, state.space)
        )


class TestRoundShape:
    def test_does_not_depend_on_the_coordinates_it_is_asked_for_in(self):
        """But for the carried mixture, which loses its rotation: round in x, so it does not."""
        state = after()
        turned = state.space.with_linear([[0.6, -0.8], [0.8, 0.6]], [1.0, 1.0])
        here, there = round_shape(state, state.space), round_shape(state, turned)
        r = turned.rotation
        np.testing.assert_allclose(r @ there @ r.T, here, rtol=0.02)


class TestSoftening:
    """Sharper edges are tried together with whitening, then whitening alone."""

    def state(self, **changes):
        return replace(after(30, make_problem(2, bounded="soft")), n_whitenings=0, **changes)

    def test_is_kept_if_the_surrogate_is_not_worse(self, refits, monkeypatch):
        made = refits()
        monkeypatch.setattr(update, "is_likelier", lambda *_: True)
        new = adapt_coordinates(rng(), self.state(), SETTINGS)
        assert made.actions == ["softened"]
        assert made.states[0].full_refit
        assert new.history[-1].action == Action.SOFTENED
        assert np.isfinite(new.space.softness).all()
        assert not new.space.is_standard
        assert (new.n_whitenings, new.last_whitening) == (1, 31)

    def test_must_not_cost_any_likelihood(self, refits, monkeypatch):
        made = refits()
        shaped(monkeypatch, 1.0)
        monkeypatch.setattr(update, "is_likelier", lambda *_: False)
        state = self.state()
        assert_taken_back(state, adapt_coordinates(rng(), state, SETTINGS))
        assert made.actions == ["softened"]

    def test_then_the_axes_alone_are_tried(self, refits, monkeypatch):
        made = refits()
        shaped(monkeypatch, 1.5)
        monkeypatch.setattr(update, "is_likelier", lambda *_: False)
        new = adapt_coordinates(rng(), self.state(), SETTINGS)
        assert made.actions == ["softened", "whitening"]
        assert new.history[-1].action == "whitening"
        assert len(new.history) == 31  # what was taken back is not on record
        assert np.isnan(new.space.softness).all()

    def test_edges_that_are_soft_already_are_sharpened(self, refits, monkeypatch):
        refits()
        state = self.state()
        soft = change_coordinates(
            rng(), state, state.space.with_softness([9.0, 9.0]), full_refit=True
        )
        soft = replace(refitted(soft, Action.SOFTENED), last_whitening=0)
        monkeypatch.setattr(update, "is_likelier", lambda *_: True)
        new = adapt_coordinates(rng(), soft, SETTINGS)
        assert new.history[-1].action == "sharpened"
        assert (new.space.softness < 4.5).all()

    def test_waits_its_turn(self, refits, monkeypatch):
        made = refits()
        shaped(monkeypatch, 1.0)
        state = self.state(last_whitening=30)
        assert adapt_coordinates(rng(), state, SETTINGS) is state
        assert made.states == []

    def test_of_one_parameter(self, refits, monkeypatch):
        refits()
        monkeypatch.setattr(update, "is_likelier", lambda *_: True)
        state = replace(after(30, make_problem(1, bounded="soft"), dimension=1), n_whitenings=0)
        new = adapt_coordinates(rng(), state, SETTINGS)
        assert new.history[-1].action == "softened"

    def test_not_by_the_papers_schedule(self, refits):
        made = refits()
        for n in range(30, 40):
            state = replace(self.state(), history=make_history(
                n, solution=solution_of(self.state()), elbo_sd=0.5))  # fmt: skip
            whiten_by_schedule(rng(), state, PAPER)
        assert set(made.actions) == {"whitening"}
        assert all(np.isnan(state.space.softness).all() for state in made.states)


class TestHeavyTails:
    """Maps for heavy tails are tried beside the usual coordinates, for a price."""

    TAILS = np.array([[0.3, 0.5], [np.nan, np.nan]])

    def state(self, **changes):
        return replace(after(30), **({"last_warmup": 3, "warmup": False} | changes))

    def price(self, state, n_new=1):
        return n_new * np.log(state.training.data.size)

    @pytest.fixture
    def tried(self, refits, monkeypatch):
        """The outcome of a try whose observations are likelier by ``gain`` nats."""

        def run(state, gain, worse=False, usual=None, n_new=1):
            made = refits()
            monkeypatch.setattr(update, "proposed_tails", lambda *_: (self.TAILS, n_new))
            monkeypatch.setattr(update, "likelihood_gain", lambda *_: gain)
            monkeypatch.setattr(update, "is_worse", lambda *_: worse)
            usual = state if usual is None else usual
            return made, adapt_tails(rng(), state, usual, SETTINGS)

        return run

    def test_kept_if_the_observations_are_likelier_by_more_than_the_price(self, tried):
        state = self.state()
        made, new = tried(state, self.price(state) + 0.01)
        assert made.actions == ["heavy tails"]
        assert made.states[0].full_refit
        assert new.history[-1].action == Action.HEAVY_TAILS
        np.testing.assert_array_equal(new.space.tails, self.TAILS)
        assert not new.space.is_standard
        assert (new.last_tails, new.refused_tails) == (30, 0)

    @pytest.mark.parametrize(("excess", "worse", "n_new"),
                             [(-0.01, False, 1), (50.0, True, 1), (0.01, False, 2)])  # fmt: skip
    def test_otherwise_the_usual_state_goes_on(self, tried, excess, worse, n_new):
        state = self.state()
        usual = replace(state, n_whitenings=7)
        _, new = tried(state, self.price(state) + excess, worse, usual, n_new)
        assert new.history == usual.history
        assert new.space is usual.space
        assert new.n_whitenings == 7  # whitening does not wait longer for it
        assert (new.last_tails, new.refused_tails) == (30, 1)

    def test_waits_longer_after_every_refusal(self, tried):
        for refused, last, is_tried in [(0, 26, False), (0, 25, True), (1, 21, False),
                                        (1, 20, True)]:  # fmt: skip
            state = self.state(refused_tails=refused, last_tails=last)
            made, new = tried(state, 1e3)
            assert bool(made.actions) is is_tried
            assert (new is state) is not is_tried
        made, _ = tried(self.state(last_warmup=27), 1e3)
        assert made.actions == []

    def test_nothing_proposed_changes_nothing(self, refits, monkeypatch):
        made, state = refits(), self.state()
        monkeypatch.setattr(update, "proposed_tails", lambda *_: None)
        assert adapt_tails(rng(), state, state, SETTINGS) is state
        assert made.actions == []

    def test_not_while_the_fit_is_lost(self, tried):
        state = self.state()
        lost = replace(state.history[-1], believable=False)
        state = replace(state, history=(*state.history[:-1], lost))
        made, new = tried(state, 1e3)
        assert new is state
        assert made.actions == []

    def test_draws_no_numbers_of_the_run(self, tried):
        state, generator, other = self.state(), rng(), rng()
        tried(state, 1e3)
        adapt_tails(generator, state, state, SETTINGS)
        assert generator.random() == other.random()

    def test_only_by_the_setting(self, refits, monkeypatch):
        asked = []
        refits()
        monkeypatch.setattr(update, "warmup_is_over", lambda *_, **__: False)
        monkeypatch.setattr(update, "adapt_coordinates", lambda _rng, state, _settings: state)
        monkeypatch.setattr(
            update,
            "adapt_tails",
            lambda _rng, _state, usual, _settings: (asked.append(1), usual)[1],
        )
        end_iteration(rng(), self.state(), SETTINGS)
        assert asked == []
        end_iteration(rng(), self.state(), replace(SETTINGS, heavy_tails=True))
        assert asked == [1]


class TestEndOfIteration:
    @pytest.fixture
    def changed(self, refits, monkeypatch):
        """Whether, and by what, other coordinates were looked for at the end of an iteration."""

        def check(state, settings=SETTINGS, **figures):
            refits(figures)
            monkeypatch.setattr(update, "warmup_is_over", lambda *_, **__: False)
            asked = []
            for name in ("adapt_coordinates", "whiten_by_schedule", "recover"):
                monkeypatch.setattr(
                    update, name,
                    lambda _rng, *states, name=name: (asked.append(name), states[-2])[1],
                )  # fmt: skip
            new = end_iteration(rng(), state, settings)
            assert len(new.history) == len(state.history) + 1
            return asked

        return check

    def test_by_the_schedule_of_the_settings(self, changed):
        assert changed(after()) == ["adapt_coordinates"]
        assert changed(after(), PAPER) == ["whiten_by_schedule"]

    @pytest.mark.parametrize("schedule", ["adaptive", "paper"])
    def test_not_in_warmup_nor_without_whitening(self, changed, schedule):
        settings = Settings(whitening_schedule=schedule)
        assert changed(replace(after(), warmup=True, last_warmup=None), settings) == []
        assert changed(after(), replace(settings, whitening=False)) == []

    def test_a_lost_fit_is_recovered_from_once_warmup_is_over(self, changed):
        lost = {"believable": False}
        assert changed(after(), **lost) == ["recover", "adapt_coordinates"]
        assert changed(replace(after(), warmup=True, last_warmup=None), **lost) == []


class TestEndOfWarmup:
    def ended(self, refits, monkeypatch, settings, **changes):
        """The refits in the iteration in which warm-up ends, and the state after it."""
        made = refits()
        monkeypatch.setattr(update, "warmup_is_over", lambda *_, **__: True)
        state = replace(after(), warmup=True, last_warmup=None, **changes)
        return made, end_iteration(rng(), state, settings)

    def test_before_the_paper_the_next_round_of_evaluations_was_skipped(self, refits, monkeypatch):
        made, new = self.ended(refits, monkeypatch, Settings.variant("paper-old"))
        assert not new.warmup
        first, second = made.states
        assert first.warmup
        assert not second.warmup
        assert second.full_refit
        assert len(second.evaluations) == len(first.evaluations)
        assert [it.action for it in new.history[-2:]] == ["end of warm-up", ""]

    def test_now_it_is_not(self, refits, monkeypatch):
        made, new = self.ended(refits, monkeypatch, Settings.variant("paper-nowv"))
        assert not new.warmup
        assert len(made.states) == 1


class TestRecover:
    def lost(self, n_sane=4, n_lost=2):
        """A state of which the last fits, in other coordinates, promised more than was seen."""
        sane = after(n_sane)
        odd = change_coordinates(
            rng(), sane, sane.space.whitened(np.diag([9.0, 1e-4])), full_refit=True
        )
        for _ in range(n_lost):
            odd = refitted(odd, Action.NONE, elbo=2e7, believable=False)
        return sane, odd

    def test_on_from_the_last_believable_solution(self, refits):
        sane, before = self.lost()
        made = refits({})
        lost = refitted(before, Action.NONE, believable=False)
        new = recover(rng(), before, lost, SETTINGS)
        last = sane.history[-1].solution
        [given] = made.states
        assert made.actions == [Action.WENT_BACK]
        assert given.full_refit
        assert given.space is last.space
        assert given.mixture is last.mixture
        np.testing.assert_array_equal(given.memory.vectors[1:], last.theta)
        assert given.evaluations is before.evaluations
        assert new.history[-1].action == "went back"
        assert new.history[:-1] == before.history  # the lost fit is not on record
        assert new.space is last.space

    def test_where_that_is_lost_too_so_be_it(self, refits):
        _, before = self.lost()
        refits({"believable": False})
        lost = refitted(before, Action.NONE, believable=False)
        new = recover(rng(), before, lost, SETTINGS)
        assert new.history == lost.history
        assert new.fit is lost.fit
        assert new.was_lost
        assert not new.full_refit  # no value is low: there is nothing to learn afresh

    def deep(self):
        """One of its evaluations, after warm-up, is a million nats below the best."""
        _, before = self.lost()
        values = before.evaluations.log_joint.copy()
        theta = np.vstack([before.evaluations.theta, [90.0, 90.0]])
        table = make_table(unbounded_problem(), theta, [*values, -1e6])
        return before.with_data(evaluations=table, trimmed=np.zeros(len(table), dtype=bool))

    @pytest.mark.parametrize("believable", [True, False])
    def test_with_low_values_compressed_for_good(self, refits, believable):
        before = self.deep()
        assert replace(before, history=before.history[:4]).with_data().training.data.y.min() < -9e5
        made = refits({"believable": False}, {"believable": believable})
        lost = refitted(before, Action.NONE, believable=False)
        new = recover(rng(), before, lost, SETTINGS)
        [at_face_value, given] = made.states
        assert at_face_value.training.data.y.min() < -9e5
        np.testing.assert_array_equal(given.memory.vectors, at_face_value.memory.vectors)
        assert given.power < 1.0
        assert given.training.data.y.min() > -1e5
        assert new.was_lost
        assert new.power == given.power
        assert new.full_refit is (not believable)
        calm = replace(new, history=new.history[:4]).with_data()
        assert not calm.is_searching
        assert calm.training.data.y.min() == pytest.approx(new.training.data.y.min(), rel=1e-6)

    def test_where_face_value_will_do_nothing_is_compressed(self, refits):
        before = self.deep()
        made = refits({})
        new = recover(rng(), before, refitted(before, Action.NONE, believable=False), SETTINGS)
        assert len(made.states) == 1
        assert not new.was_lost
        assert new.history[-1].action == "went back"

    def test_nowhere_to_go_back_to(self, refits):
        _, before = self.lost()
        history = tuple(replace(it, believable=False) for it in before.history)
        before = replace(before, history=history)
        made = refits()
        lost = refitted(before, Action.NONE, believable=False)
        assert recover(rng(), before, lost, SETTINGS).history == lost.history
        assert made.states == []

    def test_the_paper_has_no_such_rule(self, refits):
        _, before = self.lost()
        made = refits()
        lost = refitted(before, Action.NONE, believable=False)
        assert recover(rng(), before, lost, PAPER) is lost
        assert made.states == []

    def test_with_real_fits(self, monkeypatch):
        """The first refit of the iteration is lost, the one from the earlier solution is not."""
        _, before = self.lost()
        real = update.refit
        calls = []

        def refit(generator, state, settings, action):
            calls.append(action)
            if len(calls) == 1:
                return refitted(state, action, elbo=2e7, believable=False)
            return real(generator, state, settings, action)

        monkeypatch.setattr(update, "refit", refit)
        new = end_iteration(rng(), before, replace(SETTINGS, whitening=False))
        assert calls == [Action.NONE, Action.WENT_BACK]
        last = new.history[-1]
        assert last.action == Action.WENT_BACK
        assert last.believable
        assert last.index == len(before.history) + 1
        assert new.space.is_standard
        assert last.solution.elbo.expected_log_joint.mean <= new.training.data.y.max()
        assert abs(last.elbo - before.history[0].solution.elbo.value) < 1.0
