"""What is found against an answer: each test on a right answer, and on one that is wrong so."""

from dataclasses import replace

import numpy as np
import pytest
from helpers.cases import (
    LOG_Z,
    hyperparameters,
    make_case,
    normal,
    one_normal,
    points,
    rounded,
)
from helpers.vbmc import make_problem

from quell.diagnostics import judge
from quell.diagnostics.denied import denied_by_posterior, denied_by_surrogate, mass_left_out
from quell.diagnostics.fit import effective_draws, shape_sd, unknown_shape
from quell.diagnostics.lone import lone_peak
from quell.diagnostics.places import mass_at_bounds, mass_in_support, mass_outside
from quell.diagnostics.predictions import odd_ones, prediction_errors
from quell.diagnostics.promise import promise
from quell.diagnostics.residuals import noise_followed, outliers, residual_scale
from quell.diagnostics.verdict import TESTS
from quell.gp import GaussianProcess
from quell.gp.leaving_out import left_out_errors


def rng():
    return np.random.default_rng(1)


@pytest.fixture(scope="module")
def right():
    theta = points(n=120)
    noise = 0.3 * np.random.default_rng(5).standard_normal(120)
    return make_case(theta, normal(theta) + noise, 0.3)


def test_nothing_speaks_against_a_right_answer(right):
    verdict = judge(rng(), right)
    assert [finding for finding in verdict.findings if finding.against] == []
    assert verdict.status == "stable"
    assert verdict.reasons == ()
    figures = verdict.figures()
    assert len(verdict.findings) == len(TESTS) + 2
    assert np.isfinite([figures[finding.test] for finding in verdict.findings]).all()


def two_places(heights, trained=None, mixture=None, sds=0.1):
    """Evaluations of normals around θ = 0 and θ = (16, 0), 16 SDs apart, of these log heights."""
    near, far = points(40, 1.2), points(40, 1.2, seed=4)
    values = np.concatenate([heights[0] + normal(near), heights[1] + normal(far)])
    theta = np.concatenate([near, far + np.array([16.0, 0.0])])
    trained = None if trained is None else np.repeat(trained, 40)
    return make_case(theta, values, sds, trained=trained, mixture=mixture)


class TestDenied:
    def test_a_mode_that_was_evaluated_and_lost_on_the_way(self):
        case = two_places((0.0, 0.0), trained=(True, False))
        found = denied_by_surrogate(case)
        assert found.against
        assert found.figure > 50
        named = [int(part) for part in found.text.split("rows ")[1].split(" and")[0].split(", ")]
        assert all(row >= 40 for row in named)
        assert "start=" in found.text

    def test_one_of_no_weight_is_no_loss(self):
        case = two_places((0.0, -30.0), trained=(True, False))
        assert denied_by_surrogate(case).figure == 0.0
        assert mass_left_out(rng(), case).figure == 0.0

    @pytest.mark.parametrize("height", [0.0, 1.0, -2.0])
    def test_mass_that_the_surrogate_knows_and_the_posterior_leaves_out(self, height):
        case = two_places((0.0, height))
        side = np.linspace(-1.5, 1.5, 61)
        grid = np.stack(np.meshgrid(side + 4.0, side), axis=-1).reshape(-1, 2)
        mean = case.surrogate.pooled(grid)[0]
        there = np.exp(mean).sum() * (side[1] - side[0]) ** 2  # around the far place, as it has it
        share = there / (there + np.exp(case.log_evidence))
        assert not denied_by_surrogate(case).against
        found = mass_left_out(rng(), case)
        assert found.against
        assert 0.3 * share < found.figure < 1.02 * share  # a bound from below
        assert f"{100 * found.figure:.0f} %" in found.text

    def test_little_mass_may_be_left_out(self):
        found = mass_left_out(rng(), two_places((0.0, -4.5)))
        assert not found.against
        assert found.figure < 0.02

    def test_height_is_no_mass(self):
        """A needle: much higher than everything, and next to nothing in it."""
        theta = points(80)
        needle = np.array([[4.0, 0.0]])
        near = needle + 0.02 * points(20, 1.0, seed=8)
        offsets = (near - needle) / 1e-3
        values = np.concatenate([normal(theta), 3.0 + normal(offsets), [3.0]])
        hyper = hyperparameters(length=-6.0)  # so short that the surrogate can have a needle
        case = make_case(np.concatenate([theta, near, needle]), values, 0.01, hyper=hyper)
        assert len(denied_by_posterior(case))
        assert not mass_left_out(rng(), case).against


class TestResiduals:
    def test_outliers_are_named(self):
        theta = points(150)
        values = normal(theta) + 0.3 * np.random.default_rng(2).standard_normal(150)
        best, second = np.argsort(-normal(theta))[:2]
        values[[best, second]] += [-100.0, 4.0]
        found = outliers(make_case(theta, values, 0.3))
        assert found.against
        assert f"rows {best} and {second} of result.evaluations" in found.text
        assert found.figure > 100

    def test_outliers_that_a_surrogate_follows_are_named_too(self):
        theta = points(150)
        values = normal(theta) + 0.3 * np.random.default_rng(2).standard_normal(150)
        best = int(np.argmax(normal(theta)))
        values[best] -= 100.0
        hyper = hyperparameters(length=-6.0, output=3.0)
        found = outliers(make_case(theta, values, 0.3, hyper=hyper))
        assert f"row {best} of" in found.text

    def test_one_that_has_spoilt_the_surrogate_is_named(self):
        theta = points(150)
        values = normal(theta) + 0.3 * np.random.default_rng(2).standard_normal(150)
        best = int(np.argmax(normal(theta)))
        values[best] -= 100.0
        for hyper in (hyperparameters(noise=3.0), hyperparameters(length=-3.0, output=3.0)):
            found = odd_ones(make_case(theta, values, 0.3, hyper=hyper))
            assert str(best) in found.text
        values[best] += 100.0
        assert not odd_ones(make_case(theta, values, 0.3)).against

    def test_everything_may_rest_on_one_value(self):
        theta = points(60)
        values = normal(theta)
        values[7] += 60.0
        assert "row 7 of" in lone_peak(make_case(theta, values)).text
        assert not lone_peak(make_case()).against

    def test_one_where_nobody_cares_is_left_alone(self):
        theta = np.concatenate([points(150), [[60.0, 0.0]]])
        values = normal(theta)
        values[-1] -= 500.0
        found = outliers(make_case(theta, values, 0.3))
        assert not found.against

    @pytest.mark.parametrize("factor", [3.0, 5.0])
    def test_noise_larger_than_reported(self, factor):
        theta = points(150)
        values = normal(theta) + 0.3 * factor * np.random.default_rng(2).standard_normal(150)
        case = make_case(theta, values, 0.3, hyper=hyperparameters(output=-2.0, noise=0.0))
        found = residual_scale(case)
        assert found.against
        assert found.figure == pytest.approx(factor, rel=0.25)
        assert f"{found.figure:.1f} times the reported SDs" in found.text
        assert not outliers(case).against  # the SDs are wrong, not single values

    def test_noise_that_a_short_kernel_takes_for_signal(self):
        theta = points(150)
        values = normal(theta) + 1.2 * np.random.default_rng(2).standard_normal(150)
        case = make_case(theta, values, 0.3, hyper=hyperparameters(length=-6.0))
        found = residual_scale(case)
        assert found.against
        assert found.figure == pytest.approx(4.0, rel=0.25)

    def test_a_surrogate_that_follows_the_noise(self):
        theta = points(150)
        values = normal(theta) + 1.2 * np.random.default_rng(2).standard_normal(150)
        hyper = hyperparameters(length=-4.0, output=1.0)
        found = noise_followed(make_case(theta, values, 0.3, hyper=hyper))
        assert found.against
        assert "follows the noise" in found.text

    def test_without_reported_noise_there_is_nothing_to_compare(self):
        case = make_case(sds=0.0)
        assert np.isnan(residual_scale(case).figure)
        assert np.isnan(noise_followed(case).figure)
        assert outliers(case).figure == 0.0
        assert not any(test(case).against for test in (residual_scale, noise_followed, outliers))


class TestPredictions:
    def test_the_closed_form_is_what_leaving_out_gives(self, right):
        gp = right.surrogate.only(0)
        errors, sds = left_out_errors(gp)
        for n in (0, 7, 50):
            others = gp.data.subset(np.arange(gp.data.size) != n)
            rest = GaussianProcess.condition(others, gp.theta)
            mean, variance = rest.pooled(gp.data.x[[n]])
            variance += rest.new_observation_variance(np.sqrt(gp.data.variance[n]), 1)[0]
            assert errors[n] == pytest.approx(gp.data.y[n] - mean[0], rel=1e-6)
            assert sds[n] == pytest.approx(np.sqrt(variance[0]), rel=1e-6)

    def test_a_surrogate_too_sure_of_itself(self):
        theta = points(80)
        values = normal(theta) + 3.0 * np.random.default_rng(2).standard_normal(80)
        case = make_case(theta, values, 0.0, hyper=hyperparameters(output=-2.0))
        found = prediction_errors(case)
        assert found.against
        assert found.figure > 10


class TestFit:
    def test_a_posterior_elsewhere_than_its_surrogate(self):
        case = make_case(mixture=rounded((3.5, 0.0), scale=0.15))
        found = effective_draws(case)
        assert found.against
        assert found.figure < found.limit
        assert "other parameters" in found.text

    def test_a_surrogate_that_knows_nothing_of_the_shape(self):
        theta = points(8)
        found = unknown_shape(make_case(theta, hyper=hyperparameters(length=-2.5, output=1.5)))
        assert found.against
        assert found.figure > 1
        assert "larger budget" in found.text

    @pytest.mark.parametrize("sd", [0.3, 3.0])
    def test_what_is_known_of_the_shape_by_cubature_is_what_draws_say(self, sd):
        theta = points(n=60)
        noise = sd * np.random.default_rng(5).standard_normal(60)
        case = make_case(theta, normal(theta) + noise, sd)
        by_draws = np.sqrt(2 * unknown_shape(case).figure)
        assert by_draws > 0.02
        assert shape_sd(case.solution) == pytest.approx(by_draws, rel=0.25)


class TestPlaces:
    def test_mass_at_a_bound(self):
        problem = make_problem(2, names=["a", "b"])
        # Nothing is left between a probit of so many SDs and the bound.
        mixture = one_normal([0.0, 10.0], 0.25)
        found = mass_at_bounds(make_case(problem=problem, mixture=mixture))
        assert found.against
        assert found.figure > 0.9
        assert "of b is piled at its upper bound, 10" in found.text

    def test_a_posterior_cut_by_a_bound_is_no_pile(self):
        """All that a smooth density puts next to its bound is a thousandth or so."""
        problem = make_problem(2, lower=np.zeros(2), plausible_lower=np.full(2, 0.5))
        theta = np.abs(points(60)) + 0.01
        space = problem.space
        draws = np.abs(np.random.default_rng(0).standard_normal((400, 2)))
        x = space.to_inference(draws)
        mixture = one_normal(x.mean(axis=0), x.std(axis=0))
        assert mass_at_bounds(make_case(theta, problem=problem, mixture=mixture)).figure < 0.03

    def test_far_outside_of_the_plausible_box(self):
        assert mass_outside(make_case(mixture=rounded((9.5, 0.0)))).figure < 0.5
        found = mass_outside(make_case(mixture=rounded((0.0, 12.0))))
        assert found.against
        assert "of x2 is far outside" in found.text

    def test_names_bring_no_escapes(self):
        problem = make_problem(1, names=["\x1b[2Ja"])
        theta = np.linspace(-3, 3, 12)[:, None]
        case = make_case(theta, problem=problem, mixture=one_normal([10.0], 0.25))
        assert "\\x1b[2Ja is piled" in mass_at_bounds(case).text
        assert "\x1b" not in "".join(judge(rng(), case).reasons)


def test_an_answer_that_promises_more_than_was_seen():
    found = promise(make_case(points(30, 0.3) + np.array([6.0, 0.0])))
    assert found.against
    assert found.figure > 0
    assert "can be trusted" in found.text
    assert "plausible box" in found.text


def test_a_test_that_cannot_be_made_does_not_lose_the_answer(right, monkeypatch):
    def broken(_case):
        raise np.linalg.LinAlgError("singular")

    monkeypatch.setattr("quell.diagnostics.verdict.TESTS", (broken,))
    verdict = judge(rng(), right)
    assert verdict.status == "suspect"
    assert "'broken' could not be made: singular" in verdict.reasons[0]


def test_the_evidence_is_part_of_the_answer():
    """With an evidence far too small the same posterior denies what was evaluated."""
    assert len(denied_by_posterior(make_case())) == 0
    assert len(denied_by_posterior(make_case(log_evidence=LOG_Z - 12.0))) > 20


def test_a_posterior_outside_of_its_support():
    case = make_case()
    assert not mass_in_support(case).against
    for share, against in [(0.5, False), (0.01, True), (0.0, True)]:
        assert mass_in_support(replace(case, share=share)).against == against
    assert np.isfinite(replace(case, share=0.0).claimed).all()
