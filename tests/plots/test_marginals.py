import dataclasses

import numpy as np
import pytest
import scipy.stats
from helpers.plots import drawn, normal_posterior, texts

from quell.plots import plot_marginals
from quell.plots.curves import prior_curve
from quell.plots.ranges import range_of


def test_the_prior_is_drawn_with_its_own_density(exact_result):
    figure = plot_marginals(exact_result)
    priors = (scipy.stats.beta(2, 3), scipy.stats.norm(0, 2))
    for ax, prior in zip(figure.axes, priors, strict=True):
        [line] = drawn(ax, "prior")
        x, y = line.get_data()
        np.testing.assert_allclose(y, prior.pdf(x), rtol=2e-3, atol=1e-6)
    assert "prior" in texts(figure)
    assert not drawn(plot_marginals(exact_result, prior=False).axes[0], "prior")


@pytest.mark.parametrize(
    ("problem", "log_prior"),
    [
        ({"prior": {"kind": "improper uniform"}}, True),
        ({"prior": {"kind": "included"}}, True),
        ({"prior": {"kind": "joint"}}, True),
        ({"prior": {"kind": "independent"}, "constraint": True}, True),
        ({"prior": {"kind": "independent"}}, None),
    ],
)
def test_no_prior_where_it_is_not_known(exact_result, problem, log_prior):
    known = exact_result.log_prior if log_prior else None
    result = dataclasses.replace(exact_result, problem=problem, log_prior=known)
    assert prior_curve(result, range_of([result.posterior], "share")) is None


def test_a_panel_for_each_with_its_interval(kinds):
    figure = plot_marginals(kinds, ["count", "angle"], truth={"count": 3})
    [count, angle] = figure.axes
    assert [count.get_xlabel(), angle.get_xlabel()] == ["count", "angle"]
    low, median, high = (round(kinds.marginal("count").quantile(p)) for p in (0.025, 0.5, 0.975))
    assert count.get_title() == f"{median} [{low}, {high}]"
    assert drawn(count, "truth")
    assert not drawn(angle, "truth")


def test_a_column_holds_two_panels_in_a_row():
    figure = plot_marginals(normal_posterior(4), width="column")
    assert len({round(ax.get_subplotspec().colspan.start) for ax in figure.axes}) == 2


def test_axes_must_be_as_many_as_parameters(kinds):
    import matplotlib.pyplot as plt

    _, axes = plt.subplots(1, 2)
    with pytest.raises(ValueError, match="axes must have 5 panels for this plot, got 2"):
        plot_marginals(kinds, axes=axes)
    with pytest.raises(TypeError, match="axes must be matplotlib Axes"):
        plot_marginals(kinds, axes=[1, 2, 3, 4, 5])
