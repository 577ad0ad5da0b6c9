"""Outlines of regions, round numbers on axes, and paths."""

import json

import numpy as np
import pytest
from helpers.plots import kinds_posterior, normal_posterior
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from quell.pages.contours import outlines, straightened
from quell.pages.corner import corner_of
from quell.pages.render import _environment, safe_json
from quell.pages.scales import Scale, round_values
from quell.pages.svg import curve, element, number, trail


def area(loops):
    """The area of a region by the even-odd rule, for outlines that do not cross."""
    total = 0.0
    for i, loop in enumerate(loops):
        x, y = loop.T
        own = 0.5 * abs(float(np.sum(x * np.roll(y, -1) - y * np.roll(x, -1))))
        others = [o for j, o in enumerate(loops) if j != i]
        depth = sum(contains(other, loop[0]) for other in others)
        total += own * (-1) ** depth
    return total


def contains(loop, point):
    x, y = (loop - point).T
    angle = np.arctan2(y, x)
    turns = np.angle(np.exp(1j * (np.roll(angle, -1) - angle)))
    return abs(turns.sum()) > np.pi


class TestOutlines:
    x = np.linspace(-3.0, 3.0, 121)

    def radius(self):
        return np.hypot(self.x[None, :], self.x[:, None])

    def test_a_disc(self):
        loops = outlines(self.x, self.x, 2.0 - self.radius(), 0.5)
        assert len(loops) == 1
        assert area(loops) == pytest.approx(np.pi * 1.5**2, rel=0.01)
        np.testing.assert_allclose(np.hypot(*loops[0].T), 1.5, atol=0.01)

    def test_a_ring_has_a_hole(self):
        loops = outlines(self.x, self.x, 1.0 - np.abs(self.radius() - 1.5), 0.5)
        assert len(loops) == 2
        assert area(loops) == pytest.approx(np.pi * (2.0**2 - 1.0**2), rel=0.01)

    def test_two_islands_on_an_uneven_grid(self):
        x = np.sort(np.append(self.x, [0.111, 0.112, 2.9]))
        values = np.maximum(*(1.0 - np.hypot(x[None, :] - c, self.x[:, None]) for c in (-1.5, 1.5)))
        loops = outlines(x, self.x, values, 0.0)
        assert len(loops) == 2
        assert area(loops) == pytest.approx(2 * np.pi, rel=0.01)

    def test_a_region_ends_at_the_edge_of_the_map(self):
        loops = outlines(self.x, self.x, np.ones((121, 121)), 0.5)
        assert area(loops) == pytest.approx(36.0)

    def test_nothing_above_the_level(self):
        assert outlines(self.x, self.x, np.zeros((121, 121)), 0.5) == []

    @given(st.integers(0, 2**32 - 1))
    def test_every_outline_is_closed_whatever_the_map(self, seed):
        """Saddles among them: the area is that of the cells, with those crossed in between."""
        values = np.random.default_rng(seed).random((7, 8))
        loops = outlines(np.arange(8.0), np.arange(7.0), values, 0.5)
        high = values >= 0.5
        inner = (high[1:, 1:] & high[:-1, 1:] & high[1:, :-1] & high[:-1, :-1]).sum()
        outer = (high[1:, 1:] | high[:-1, 1:] | high[1:, :-1] | high[:-1, :-1]).sum()
        assert inner - 1e-9 <= area(loops) <= outer + 1e-9

    def test_straightened_is_near_and_shorter(self):
        angle = np.linspace(0, 2 * np.pi, 400, endpoint=False)
        loop = 300 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        short = straightened(loop, 1.5)
        assert len(short) < 60
        assert area([short]) == pytest.approx(area([loop]), rel=0.01)


class TestTicks:
    @given(
        st.floats(-1e6, 1e6), st.floats(1e-6, 1e6), st.integers(2, 8), st.booleans()
    )  # fmt: skip
    def test_round_values_are_few_inside_and_even(self, low, width, most, whole):
        values, step = round_values(low, low + width, most, whole=whole)
        assert len(values) <= most
        slack = 1e-6 * max(step, abs(low) * 1e-9)
        assert np.all(values >= low - slack)
        assert np.all(values <= low + width + slack)
        assert np.allclose(np.diff(values), step, rtol=1e-6)
        if whole:
            assert np.all(values == np.rint(values))

    def test_labels_of_a_period_begin_again(self):
        labels = [text for _, text in Scale(300, 420, period=360, lower=0).ticks(7)]
        assert "0" in labels
        assert "340" in labels
        assert "20" in labels

    def test_neighbouring_labels_differ(self):
        for low, high in ((0, 1), (1000.0, 1000.2), (-3e-7, 4e-7), (1e9, 3e9), (0.12, 0.13)):
            labels = [text for _, text in Scale(low, high).ticks(6)]
            assert len(labels) > 1
            assert len(set(labels)) == len(labels)

    def test_places(self):
        assert Scale(0, 10, 100, 200).point(2.5) == 125
        assert Scale(1, 100, 0, 10, log=True).point(10) == pytest.approx(5)


class TestPaths:
    def test_a_path_is_what_was_drawn(self):
        points = np.array([[0.04, 1.0], [10.26, -3.5], [10.26, -3.5], [-5.0, 2.0]])
        assert trail(points) == "M0 1l10.3-4.5-15.3 5.5"

    def test_a_curve_is_broken_where_it_is_unknown(self):
        drawn = str(curve(np.arange(5.0), np.array([0, 1, np.nan, 3, 4.0]), "a"))
        assert drawn.count("M") == 2
        assert "nan" not in drawn

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
    def test_no_number_that_is_none(self, value):
        assert abs(float(number(value))) <= 1e5

    def test_text_and_attributes_are_escaped(self):
        made = str(element("text", "<b>&\x00", class_='"><script>'))
        assert "<b>" not in made
        assert "<script>" not in made
        assert "\\x00" in made


class TestTemplates:
    def test_text_is_written_out_and_escaped_wherever_it_comes_from(self):
        template = _environment().from_string("{{ text }}{{ markup }}")
        made = template.render(text="\x1b<b>\u202e", markup=Markup("<i>"))
        assert made == "\\x1b&lt;b&gt;\\u202e<i>"

    def test_json_cannot_end_its_element(self):
        text = str(safe_json({"</script>": ["<!--", "]]>", "&", np.nan, np.inf]}))
        assert not set("<>&") & set(text)
        assert json.loads(text)["</script>"][:3] == ["<!--", "]]>", "&"]


class TestCorner:
    def test_all_kinds_of_parameters(self):
        corner = corner_of(kinds_posterior())
        assert [p["name"] for p in corner.data["parameters"]] == [
            "share", "size", "angle", "count", "shift"
        ]  # fmt: skip
        assert corner.chart.svg.count('class="r50"') == 10
        assert "nan" not in corner.chart.svg

    def test_the_data_are_those_of_the_posterior(self):
        posterior = normal_posterior(2, ["a", "b"])
        [a, _] = corner_of(posterior).data["parameters"]
        values = a["low"] + np.array(a["curve"])[:, 0] * (a["high"] - a["low"])
        np.testing.assert_allclose(a["below"], posterior.marginal("a").cdf(values), atol=2e-3)

    def test_of_very_many_parameters_the_first_are_drawn(self, monkeypatch):
        monkeypatch.setattr("quell.pages.corner.MOST", 3)
        corner = corner_of(normal_posterior(5))
        assert len(corner.data["parameters"]) == 3
