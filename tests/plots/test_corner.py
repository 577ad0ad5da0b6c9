import numpy as np
import pytest
from helpers.plots import HOSTILE, drawn, kinds_posterior, normal_posterior, texts

from quell.plots import plot_corner, plot_marginals

FREE = ["share", "size", "angle", "count", "shift"]


def corner_axes(figure, n):
    """Panels by (row, column)."""
    places = [(row, column) for row in range(n) for column in range(row + 1)]
    return dict(zip(places, figure.axes, strict=True))


def test_all_parameters_but_fixed_ones(kinds):
    panels = corner_axes(plot_corner(kinds), 5)
    assert [panels[4, i].get_xlabel() for i in range(5)] == FREE
    assert [panels[i, 0].get_ylabel() for i in range(5)] == ["", *FREE[1:]]


def test_some_parameters_in_the_order_asked_for(kinds):
    panels = corner_axes(plot_corner(kinds, ["shift", "share"]), 2)
    assert [panels[1, i].get_xlabel() for i in range(2)] == ["shift", "share"]


def test_the_diagonal_has_the_density_and_quantiles(kinds):
    ax = corner_axes(plot_corner(kinds, ["shift", "count"], quantiles=[0.1, 0.9]), 2)[0, 0]
    [curve] = drawn(ax, "density")
    marginal = kinds.marginal("shift")
    x, y = curve.get_data()
    np.testing.assert_allclose(y, marginal.density(x), rtol=0.02, atol=1e-6)
    lines = sorted(line.get_xdata()[0] for line in drawn(ax, "quantile"))
    assert lines == pytest.approx([marginal.quantile(0.1), marginal.quantile(0.9)])


def test_integers_have_bars_with_their_probabilities(kinds):
    ax = corner_axes(plot_corner(kinds, ["count"]), 1)[0, 0]
    dots = next(a for a in drawn(ax, "density") if hasattr(a, "get_data"))
    k, probability = dots.get_data()
    draws = kinds.sample(20_000, np.random.default_rng(0))[:, 3]
    assert np.array_equal(k, np.rint(k))
    np.testing.assert_allclose(probability, [np.mean(draws == i) for i in k], atol=0.012)
    assert all(float(line.get_xdata()[0]).is_integer() for line in drawn(ax, "quantile"))


def test_regions_have_two_levels_and_steps_of_integers(kinds):
    panels = corner_axes(plot_corner(kinds, ["shift", "count"]), 2)
    [region] = drawn(panels[1, 0], "region")
    assert len(region.levels) == 3  # 90 %, 50 %, and the top
    heights = np.concatenate([path.vertices for path in region.get_paths()])[:, 1]
    edges = np.abs(heights - np.floor(heights) - 0.5) < 1e-3
    assert edges.mean() > 0.9


def test_two_modes_are_two_regions():
    from quell.mixture import Mixture
    from quell.results import Posterior

    one = normal_posterior(2)
    mixture = Mixture([0.5, 0.5], [[-1.0, 0.0], [1.0, 0.0]], [0.1, 0.1], [1.0, 1.0])
    panels = corner_axes(plot_corner(Posterior(mixture, one.space)), 2)
    [region] = drawn(panels[1, 0], "region")
    outer = region.get_paths()[0]
    assert sum(code == 1 for code in outer.codes) >= 2  # pieces begin with a move


def test_truth_is_drawn_where_it_is_on_the_circle(kinds):
    figure = plot_corner(kinds, ["shift", "angle"], truth={"angle": 10.0, "shift": 1.0})
    panels = corner_axes(figure, 2)
    [line] = drawn(panels[1, 1], "truth")
    assert line.get_xdata()[0] == pytest.approx(370.0)
    [point] = drawn(panels[1, 0], "truth")
    assert (*point.get_xdata(), *point.get_ydata()) == pytest.approx((1.0, 370.0))
    assert "truth" in texts(figure)


def test_ticks_of_a_circle_are_numbers_of_the_period(kinds):
    figure = plot_corner(kinds, ["angle"], width=8)
    figure.canvas.draw()
    ax = figure.axes[0]
    shown = {float(t.get_text()) for t in ax.get_xticklabels() if t.get_text()}
    assert max(ax.get_xticks()) > 360
    assert shown
    assert all(0 <= value < 360 for value in shown)


def test_bounds_are_lines_and_grey_beyond(kinds):
    panels = corner_axes(plot_corner(kinds, ["share", "shift"]), 2)
    assert {line.get_xdata()[0] for line in drawn(panels[0, 0], "bound")} == {0.0}
    [beyond] = drawn(panels[1, 0], "beyond")
    assert (beyond.get_x(), beyond.get_x() + beyond.get_width()) == pytest.approx(
        (panels[1, 0].get_xlim()[0], 0.0)
    )
    assert not drawn(panels[1, 1], "bound")


def test_a_second_posterior_is_outlined_where_it_has_the_parameter(kinds):
    other = normal_posterior(2, names=["shift", "new"])
    panels = corner_axes(plot_corner(kinds, ["shift", "share"], other=other), 2)
    assert len(drawn(panels[0, 0], "density")) == 2
    second = drawn(panels[0, 0], "density")[1]
    x, y = second.get_data()
    np.testing.assert_allclose(y, other.marginal("shift").density(x), atol=1e-3)
    assert len(drawn(panels[1, 1], "density")) == 1
    assert not drawn(panels[1, 0], "outline")
    both = corner_axes(plot_corner(kinds, ["shift", "share"], other=kinds_posterior()), 2)
    assert drawn(both[1, 0], "outline")


def test_evaluations_are_drawn_where_they_were_made(noisy_result):
    figure = plot_corner(noisy_result, evaluations=True)
    panels = corner_axes(figure, 2)
    table = noisy_result.evaluations
    [points], [failed] = drawn(panels[1, 0], "evaluations"), drawn(panels[1, 0], "failed")
    assert table.n_failed > 0
    np.testing.assert_array_equal(np.stack(points.get_data(), 1), table.theta[table.ok][:, :2])
    np.testing.assert_array_equal(np.stack(failed.get_data(), 1), table.theta[~table.ok][:, :2])
    assert any(text.startswith("status: ") for text in texts(figure))


def test_hostile_names_are_shown_as_they_are():
    for draw in (plot_corner, plot_marginals):
        figure = draw(normal_posterior(4, names=HOSTILE), names=("_q", "$r"))
        figure.canvas.draw()
        shown = texts(figure)
        assert {"$x", "_b_$\\frac{", "a_b$^$", "k\\x1b[2J", "_q"} <= set(shown)


def test_drawing_in_a_figure_of_the_users():
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(6, 3))
    left, right = figure.subfigures(1, 2)
    posterior = normal_posterior(2)
    assert plot_corner(posterior, figure=left) is left
    assert len(left.axes) == 3
    axes = right.subplots(1, 2)
    plot_marginals(posterior, axes=axes)
    assert drawn(axes[1], "density")
    figure.canvas.draw()


@pytest.mark.parametrize("width", ["column", "full", 5])
def test_a_corner_has_the_width_asked_for(width):
    figure = plot_corner(normal_posterior(3), width=width)
    assert figure.get_figwidth() == {"column": 3.3, "full": 6.9}.get(width, width)
    # Nothing sticks out of the figure.
    box = figure.get_tightbbox()
    assert box.x0 > -0.02
    assert box.x1 < figure.get_figwidth() + 0.02


def test_many_parameters_are_warned_about_and_drawn(monkeypatch):
    monkeypatch.setattr("quell.plots.corner.MOST", 7)
    names = [f"name_{i}" for i in range(8)]
    with pytest.warns(UserWarning, match="choose some with parameters="):
        figure = plot_corner(normal_posterior(8, names=names), width="column")
    assert len(figure.axes) == 8 * 9 // 2
    assert set(names) <= set(texts(figure))  # beside the diagonal, where there is room
    box = figure.get_tightbbox()
    assert box.x1 < 3.35


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"parameters": ["nobody"]}, ValueError, "'nobody', which is none of the names"),
        ({"parameters": ["fixed"]}, ValueError, "'fixed' is fixed"),
        ({"parameters": ["share", 0]}, ValueError, "twice"),
        ({"parameters": []}, ValueError, "at least one"),
        ({"parameters": [17]}, ValueError, "index 17"),
        ({"truth": [1.0, 2.0]}, ValueError, "truth must have one value for each"),
        ({"truth": {"nobody": 1.0}}, ValueError, "'nobody'"),
        ({"shares": [0.5, 1.5]}, ValueError, "shares must be different numbers between 0 and 1"),
        ({"evaluations": True}, TypeError, r"needs a quell\.Result"),
        ({"other": 3}, TypeError, "other must be"),
        ({"width": "wide"}, ValueError, "width must be"),
        ({"width": -1}, ValueError, "width"),
    ],
)
def test_bad_input_is_refused(kinds, options, error, words):
    with pytest.raises(error, match=words):
        plot_corner(kinds, **options)


def test_another_posterior_must_share_a_parameter(kinds):
    with pytest.raises(ValueError, match="none of"):
        plot_corner(kinds, other=normal_posterior(1, names=["alien"]))
    with pytest.raises(TypeError, match=r"result must be a quell\.Result"):
        plot_corner("a result")
