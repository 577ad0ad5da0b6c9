"""Plots of several results: comparison and study."""

import numpy as np
import pytest
from helpers.plots import drawn, texts

from quell.plots import plot_compare, plot_study
from quell.plots.models import evidence_by_model
from quell.studies.result import Row, StudyResult


@pytest.fixture
def study(exact_result, noisy_result):
    rows = (
        Row.of("anna_$", 1, exact_result),
        Row.of("ben", 1, noisy_result),
        Row("_carl", 1, error="ValueError: no"),
    )
    return StudyResult(rows, {("anna_$", 1): exact_result, ("ben", 1): noisy_result})


class TestCompare:
    def test_marginals_of_all_and_their_evidences(self, exact_result, noisy_result):
        figure = plot_compare({"_first": exact_result, "$second": noisy_result})
        *panels, evidences = figure.axes
        assert [ax.get_xlabel() for ax in panels] == ["share", "_b", "a", "$b"]
        assert [len(drawn(ax, "density")) for ax in panels] == [1, 1, 1, 1]
        [first, second] = [c.lines[0] for c in evidences.containers]
        assert first.get_xdata()[0] == exact_result.log_evidence
        assert second.get_xdata()[0] == noisy_result.log_evidence
        [bar] = evidences.containers[1].lines[2]
        ends = bar.get_segments()[0][:, 0]
        assert np.ptp(ends) == pytest.approx(2 * 1.96 * noisy_result.log_evidence_sd)
        assert {"_first", "$second"} <= set(texts(figure))
        figure.canvas.draw()

    def test_the_same_parameter_twice_and_its_truth(self, exact_result):
        figure = plot_compare([exact_result, exact_result], "share", truth={"share": 0.4})
        ax = figure.axes[0]
        assert len(drawn(ax, "density")) == 2
        assert drawn(ax, "truth")[0].get_xdata()[0] == 0.4

    def test_bad_input_is_refused(self, exact_result, kinds):
        with pytest.raises(TypeError, match="results must be several"):
            plot_compare(exact_result)
        with pytest.raises(ValueError, match="one to 7 to be told apart, got 8"):
            plot_compare([exact_result] * 8)
        with pytest.raises(TypeError, match=r"results\['result 2'\] must be a quell\.Result"):
            plot_compare([exact_result, kinds])
        with pytest.raises(ValueError, match="'nobody', which is none of"):
            plot_compare([exact_result], ["nobody"])


class TestStudy:
    def test_intervals_of_every_run(self, study, exact_result):
        figure = plot_study(study)
        assert [ax.get_xlabel() for ax in figure.axes] == ["share", "_b", "a", "$b", "log evidence"]
        ax = figure.axes[0]
        marginal = exact_result.posterior.marginal("share")
        [middle], [wide] = drawn(ax, "median"), drawn(ax, "95 %")
        assert middle.get_xdata()[0] == pytest.approx(marginal.quantile(0.5))
        ends = [marginal.quantile(0.025), marginal.quantile(0.975)]
        assert list(wide.get_xdata()) == pytest.approx(ends)
        assert list(middle.get_ydata()) == [0]

    def test_evidences_statuses_and_failures(self, study, noisy_result):
        figure = plot_study(study, [])
        [ax] = figure.axes
        assert [t.get_text() for t in ax.get_yticklabels()] == ["anna_$", "ben", "_carl"]
        assert [c.lines[0].get_ydata()[0] for c in ax.containers] == [0, 1]
        assert ax.containers[1].lines[0].get_xdata()[0] == noisy_result.log_evidence
        assert drawn(ax, "failed")[0].get_ydata()[0] == 2
        assert {str(noisy_result.status), "failed"} <= set(texts(figure))

    def test_seeds_are_named_where_there_are_several(self):
        rows = tuple(Row("a", seed, -1.0, 0.1, status="stable") for seed in (1, 2))
        ax = plot_study(StudyResult(rows), []).axes[0]
        assert [t.get_text() for t in ax.get_yticklabels()] == ["a, 1", "a, 2"]

    def test_models_are_compared_by_the_sum_over_problems(self):
        rows = tuple(
            Row(f"{who} {model}", seed, value, 0.3, status="stable")
            for who, model, seed, value in (
                ("anna", "plain", 1, -10.0), ("anna", "plain", 2, -11.0), ("ben", "plain", 1, -8.0),
                ("anna", "rich", 1, -9.0), ("ben", "rich", 1, -9.0),
                ("anna", "half", 1, -1.0), ("ben", "half", 1, np.nan),
            )
        )  # fmt: skip
        models = {row.problem: row.problem.split()[1] for row in rows}
        plain, rich, half = evidence_by_model(rows, models)
        assert (plain.total, rich.total) == (-18.5, -18.0)
        # Two seeds a nat apart: their scatter counts, not the smaller SDs of the runs.
        assert plain.sd == pytest.approx(np.sqrt(0.5 / 2 + 0.3**2))
        assert (half.n_problems, half.n_missing) == (1, 1)
        ax = plot_study(StudyResult(rows), [], models=models).axes[1]
        shown = [c.lines[0].get_xdata()[0] for c in ax.containers]
        assert shown == pytest.approx([-0.5, 0.0])  # the one with a gap is left out
        with pytest.raises(ValueError, match="models must say of which model"):
            plot_study(StudyResult(rows), [], models={})

    def test_bad_input_is_refused(self, study):
        with pytest.raises(TypeError, match=r"must be a quell\.StudyResult"):
            plot_study([1, 2])
        with pytest.raises(ValueError, match="no runs"):
            plot_study(StudyResult(()))
        with pytest.raises(ValueError, match="'nobody', which is none of"):
            plot_study(study, ["nobody"])
