"""Plots of a run: trace, evaluations, surrogate, residuals, acquisition, and the door to them."""

import dataclasses
import sys

import numpy as np
import pytest
from helpers.plots import drawn, exact_target, texts

from quell import Evaluations
from quell.gp import GaussianProcess
from quell.gp.pooling import between_variance
from quell.plots import (
    plot_acquisition,
    plot_evaluations,
    plot_residuals,
    plot_surrogate,
    plot_trace,
)
from quell.plots.acquisition import Search
from quell.plots.door import KINDS
from quell.plots.residuals import standardised_residuals


class TestTrace:
    def test_lines_are_the_history(self, noisy_result):
        elbo, reliability, components, values = plot_trace(noisy_result).axes
        rows = noisy_result.history
        n = [row["n_evaluations"] for row in rows]
        [line] = drawn(elbo, "elbo")
        np.testing.assert_array_equal(line.get_data(), [n, [row["elbo"] for row in rows]])
        [line] = drawn(reliability, "reliability")
        known = [r["reliability"] if np.isfinite(r["reliability"]) else np.nan for r in rows]
        np.testing.assert_array_equal(line.get_ydata(), known)
        [line] = drawn(components, "components")
        np.testing.assert_array_equal(line.get_ydata(), [row["n_components"] for row in rows])
        shown = sum(len(a.get_xdata()) for g in ("values", "low values") for a in drawn(values, g))
        assert shown == noisy_result.evaluations.ok.sum()
        [failed] = drawn(values, "failed")
        rows = np.flatnonzero(~noisy_result.evaluations.ok) + 1
        np.testing.assert_array_equal(failed.get_xdata(), rows)

    def test_the_returned_iteration_and_actions_are_marked(self, noisy_result):
        history = [dict(row) for row in noisy_result.history]
        history[1]["action"], history[2]["action"] = "whitening", "went back"
        result = dataclasses.replace(noisy_result, history=history, chosen=3)
        figure = plot_trace(result, width="column")
        ax = figure.axes[0]
        [mark] = drawn(ax, "returned iteration")
        assert mark.get_xdata()[0] == history[2]["n_evaluations"]
        assert mark.get_ydata()[0] == history[2]["elbo"]
        [line] = drawn(ax, "went back")
        assert line.get_xdata()[0] == history[2]["n_evaluations"]
        assert {"whitening", "went back", "returned"} <= set(texts(figure))

    def test_without_the_result_there_is_none(self, kinds):
        with pytest.raises(TypeError, match=r"must be a quell\.Result, got Posterior"):
            plot_trace(kinds)


class TestEvaluations:
    def test_points_by_origin_and_failed_ones(self, noisy_result):
        figure = plot_evaluations(noisy_result)
        ax, table = figure.axes[0], noisy_result.evaluations
        origins = np.array(table.origin)
        for origin, word in (("start", "start"), ("design", "design"), ("search", "search")):
            [points] = drawn(ax, word)
            rows = table.ok & (origins == origin)
            found = np.asarray(points.get_offsets())
            assert len(found) == rows.sum() > 0
            assert set(map(tuple, found)) == set(map(tuple, table.theta[rows][:, :2]))
        [failed] = drawn(ax, "failed")
        np.testing.assert_array_equal(failed.get_offsets(), table.theta[~table.ok][:, :2])

    def test_colours_are_values_down_to_a_depth(self, noisy_result):
        figure = plot_evaluations(noisy_result, depth=3.0)
        table = noisy_result.evaluations
        best = np.nanmax(table.log_joint)
        [points] = drawn(figure.axes[0], "search")
        rows = table.ok & (np.array(table.origin) == "search")
        wanted = np.sort(np.clip(table.log_joint[rows], best - 3.0, best))
        np.testing.assert_allclose(np.sort(points.get_array()), wanted)
        with pytest.raises(ValueError, match="depth must be a positive number"):
            plot_evaluations(noisy_result, depth=-1)

    def test_zoom_is_the_range_of_the_posterior(self, noisy_result):
        ax = plot_evaluations(noisy_result, zoom=True).axes[0]
        low, high = ax.get_xlim()
        sd = noisy_result.posterior.sd()[0]
        assert 3 * sd < high - low < 12 * sd

    def test_one_parameter_has_values_upwards(self):
        table = Evaluations.from_arrays([[1.0], [2.0], [3.0]], [-1.0, -5.0, -np.inf], [0.1, 0.2, 1])
        ax = plot_evaluations(table).axes[0]
        [points] = drawn(ax, "given")
        np.testing.assert_array_equal(points.get_data(), [[1.0, 2.0], [-1.0, -5.0]])
        assert drawn(ax, "failed")

    def test_no_table_no_plot(self):
        with pytest.raises(ValueError, match="no evaluations"):
            plot_evaluations(Evaluations.empty(["a"]))
        with pytest.raises(TypeError, match=r"quell\.Evaluations"):
            plot_evaluations(3)


class TestSurrogate:
    def test_slices_are_the_log_joint_in_the_users_units(self, exact_result):
        """The target is known: without the right Jacobian it would be off by nats."""
        point = np.array([0.45, 0.1])
        figure = plot_surrogate(exact_result, at=point)
        for i, ax in enumerate(figure.axes):
            [line] = drawn(ax, "surrogate")
            x, y = line.get_data()
            theta = np.tile(point, (len(x), 1))
            theta[:, i] = x
            prior = exact_result.log_prior(theta)
            inside = np.isfinite(prior) & (x > 0.02) & (x < 0.98)
            truth = np.array([exact_target(t) for t in theta[inside]]) + prior[inside]
            high = truth > truth.max() - 4
            assert high.sum() > 15
            np.testing.assert_allclose(y[inside][high], truth[high], atol=0.3)

    def test_the_answer_agrees_with_it(self, exact_result):
        ax = plot_surrogate(exact_result, "share").axes[0]
        [line], [answer] = drawn(ax, "surrogate"), drawn(ax, "answer")
        top = int(np.argmax(line.get_ydata()))
        assert answer.get_ydata()[top] == pytest.approx(line.get_ydata()[top], abs=0.5)

    def test_evaluations_nearby_and_the_point(self, noisy_result):
        figure = plot_surrogate(noisy_result, ["a"], at={"a": 0.5}, near=4)
        ax = figure.axes[0]
        [point] = drawn(ax, "point")
        assert point.get_xdata()[0] == 0.5
        # With one row alone its place must be that of an evaluation.
        known = {tuple(row) for row in noisy_result.evaluations.theta[:, :1]}
        marks = [c.lines[0] for c in ax.containers]
        assert 1 <= len(marks) <= 4
        assert all((mark.get_xdata()[0],) in known for mark in marks)

    def test_a_point_out_of_bounds_is_refused(self, exact_result):
        with pytest.raises(ValueError, match="at must lie within the bounds"):
            plot_surrogate(exact_result, at={"share": 1.5})
        with pytest.raises(ValueError, match="at has 'nobody'"):
            plot_surrogate(exact_result, at={"nobody": 1.5})


class TestResiduals:
    def test_they_are_those_of_leaving_each_out(self, noisy_result):
        solution = noisy_result.solution
        prediction, residual, _, rows = standardised_residuals(noisy_result)
        data = solution.data
        for i in (0, data.size // 2, data.size - 1):
            others = data.subset(np.arange(data.size) != i)
            gp = GaussianProcess.condition(others, solution.theta, solution.weights)
            mean, variance = gp.predict(data.x[i : i + 1])
            noise = gp.hyper.base_variance + data.variance[i]
            pooled = float(gp.weights @ mean[:, 0])
            spread = float(gp.weights @ (variance[:, 0] + noise))
            spread += float(between_variance(mean, gp.weights)[0])
            assert residual[i] == pytest.approx((data.y[i] - pooled) / np.sqrt(spread), rel=1e-3)
            jacobian = solution.space.log_jacobian(data.x[i])
            assert prediction[i] == pytest.approx(pooled - jacobian, rel=1e-3)
            theta = noisy_result.evaluations.theta[rows[i]]
            np.testing.assert_allclose(solution.space.to_inference(theta), data.x[i], atol=1e-9)

    def test_points_in_both_panels(self, noisy_result):
        figure = plot_residuals(noisy_result)
        left, right = figure.axes
        _, residual, matters, _ = standardised_residuals(noisy_result)
        reach = left.get_ylim()[1]
        wanted = np.clip(residual, -0.97 * reach, 0.97 * reach)
        for ax in (left, right):
            [points] = drawn(ax, "residuals")
            np.testing.assert_allclose(np.sort(points.get_ydata()), np.sort(wanted[matters]))
        [points] = drawn(right, "residuals")
        assert (np.diff(points.get_xdata()) > 0).all()

    def test_an_outlier_is_named_by_its_row(self, noisy_result):
        solution = noisy_result.solution
        y = solution.data.y.copy()
        y[7] += 60.0
        data = dataclasses.replace(solution.data, y=y)
        broken = dataclasses.replace(
            noisy_result, solution=dataclasses.replace(solution, data=data)
        )
        figure = plot_residuals(broken)
        row = standardised_residuals(broken)[3][7]
        assert f"row {row}" in texts(figure)


class TestAcquisition:
    def test_the_map_has_the_scores_and_the_next_point_is_best(self, exact_result):
        figure = plot_acquisition(exact_result, acquisition="viqr")
        [mesh] = drawn(figure.axes[0], "acquisition")
        scores = np.ma.filled(mesh.get_array(), np.nan).astype(float)
        search = Search(exact_result, "viqr")
        following = search.next_point()
        [star] = drawn(figure.axes[0], "next")
        assert (*star.get_xdata(), *star.get_ydata()) == pytest.approx(tuple(following))
        # No place of the map is much better: it is a logarithm.
        assert search.scores(following[None])[0] > np.nanmax(scores) - 0.2
        assert np.nanmax(scores) > np.nanmin(scores) + 0.1

    def test_evaluations_are_on_the_map(self, noisy_result):
        ax = plot_acquisition(noisy_result).axes[0]
        table = noisy_result.evaluations
        [points] = drawn(ax, "evaluations")
        np.testing.assert_array_equal(np.stack(points.get_data(), 1), table.theta[table.ok][:, :2])

    def test_one_parameter_is_a_curve(self, exact_result):
        ax = plot_acquisition(exact_result, ["share"]).axes[0]
        [line] = drawn(ax, "acquisition")
        assert np.isfinite(line.get_ydata()).sum() > 30

    def test_bad_choices_are_refused(self, exact_result):
        import matplotlib.pyplot as plt

        with pytest.raises(ValueError, match="acquisition"):
            plot_acquisition(exact_result, acquisition="nothing")
        with pytest.raises(ValueError, match="axes must have 1 panel"):
            plot_acquisition(exact_result, ax=plt.subplots(1, 2)[1])


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("width", ["column", "full"])
def test_every_kind_can_be_drawn_from_the_result(noisy_result, kind, width):
    result = noisy_result
    if width == "column":  # as from a file, which has no iterations and maybe no log prior
        result = dataclasses.replace(result, iterations=(), log_prior=None)
    figure = result.plot(kind, width=width)
    figure.canvas.draw()
    assert figure.axes
    assert figure.get_figwidth() == {"column": 3.3, "full": 6.9}[width]


def test_an_unknown_kind_is_refused(noisy_result):
    with pytest.raises(ValueError, match="kind must be"):
        noisy_result.plot("pie")


def test_without_matplotlib_one_sentence_says_what_to_install(noisy_result, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for kind in KINDS:
        with pytest.raises(ImportError, match=r"pip install 'quell\[plots\]'"):
            noisy_result.plot(kind)
